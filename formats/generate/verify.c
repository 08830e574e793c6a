#include "formats/generate/verify.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "formats/codec.h"
#include "formats/format.h"
#include "formats/generate/names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_LOOKS = 64 };
#define MAX_BYTES (UINT64_C(1) << 30) /* in all: samples may be large */

struct verify {
    const struct dlb_gen *gen;
    const struct dlb_dataset *ds;
    void *reader;
    struct dlb_bytes made;
    uint64_t n_bytes;
    uint32_t n_checked;
};

/* Small files were written through the page cache, and must be read back from the storage. Mapped
 * pages would stay cached, but none has been touched yet. */
static void forget(const struct verify *v, uint64_t number)
{
    char path[PATH_MAX] = "";
    if (!v->ds->format->reader->whereabouts)
        return;
    v->ds->format->reader->whereabouts(v->ds->state, number, path, sizeof(path));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    (void)fsync(fd);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
}

static int compare_label(const struct verify *v, const struct dlb_sample *sample,
                         struct dlb_err *err)
{
    uint32_t made = dlb_gen_label(v->gen->opts, v->gen->format->generator->number(sample));

    if (!sample->labelled || sample->label == made)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_READ_BACK_DIFFERS, sample->path ? sample->path : v->gen->path,
                    sample->offset_bytes,
                    "its label reads back as %u, and %u was written: remove the folder, generate "
                    "again, and check this storage",
                    sample->label, made);
}

static int compare(struct verify *v, const struct dlb_sample *sample, struct dlb_err *err)
{
    const struct dlb_generator *generator = v->gen->format->generator;
    const struct dlb_field *field = &sample->field[0];

    v->made.len_bytes = 0;
    int rc = v->gen->codec->make(v->gen->opts, generator->number(sample), &v->made, err);
    if (rc != DLB_OK)
        return rc;
    if (generator->stored)
        generator->stored(v->gen, &v->made);
    if (field->len_bytes != v->made.len_bytes ||
        memcmp(field->data, v->made.data, field->len_bytes) != 0)
        return dlb_fail(err, DLB_ERR_READ_BACK_DIFFERS, sample->path ? sample->path : v->gen->path,
                        sample->offset_bytes,
                        "the bytes read back differ from those written: remove the folder, "
                        "generate again, and check this storage");
    v->n_bytes += field->len_bytes;
    v->n_checked++;
    return compare_label(v, sample, err);
}

static int check_shards(struct verify *v, struct dlb_err *err)
{
    const struct dlb_reader *reader = v->ds->format->reader;
    uint32_t n_shards = v->ds->shape.n_shards, n = n_shards < N_LOOKS ? n_shards : N_LOOKS;
    int rc = DLB_OK;

    for (uint32_t i = 0; i < n && rc == DLB_OK && v->n_bytes < MAX_BYTES; i++) {
        struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
        uint32_t shard = (uint32_t)((uint64_t)i * n_shards / n);
        forget(v, shard);
        rc = reader->shard_open(v->reader, shard, err);
        if (rc == DLB_OK)
            rc = reader->next(v->reader, (struct dlb_dest){NULL, 0}, &sample, err);
        if (rc == DLB_OK)
            rc = compare(v, &sample, err);
    }
    return rc;
}

static int check_numbers(struct verify *v, struct dlb_err *err)
{
    const struct dlb_reader *reader = v->ds->format->reader;
    uint64_t n_samples = v->ds->shape.n_samples, n = n_samples < N_LOOKS ? n_samples : N_LOOKS;
    int rc = DLB_OK;

    for (uint64_t i = 0; i < n && rc == DLB_OK && v->n_bytes < MAX_BYTES; i++) {
        struct dlb_sample sample = {.offset_bytes = DLB_NO_OFFSET};
        uint64_t index = (uint64_t)((double)i * (double)n_samples / (double)n);
        forget(v, index);
        rc = reader->read(v->reader, index, (struct dlb_dest){NULL, 0}, &sample, err);
        if (rc == DLB_OK)
            rc = compare(v, &sample, err);
    }
    return rc;
}

/* Cuts the path after the first link in it, from `name` on. */
static void cut_at_link(char *path, char *name)
{
    struct stat st;

    for (char *end = strchr(name, '/'); end; end = strchr(end + 1, '/')) {
        *end = '\0';
        if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            return;
        *end = '/';
    }
}

/* The first file that samples are read from and that gen did not write, or the link on the way to
 * it. "": gen wrote all of them. */
static void find_foreign(const struct dlb_gen *gen, const struct dlb_dataset *ds, char *path,
                         size_t n_path)
{
    const struct dlb_reader *reader = ds->format->reader;
    uint64_t n_files = reader->files ? reader->files(ds->state, UINT64_MAX, path, n_path) : 0;
    size_t n_root = strlen(gen->path);

    for (uint64_t i = 0; i < n_files; i++) {
        (void)reader->files(ds->state, i, path, n_path);
        if (strncmp(path, gen->path, n_root) != 0)
            continue;
        char *name = path + n_root + strspn(path + n_root, "/");
        if (!dlb_names_of_gen(gen, name)) {
            cut_at_link(path, name);
            return;
        }
    }
    *path = '\0';
}

/* Files of somebody else count as samples, too. */
static int fail_number(const struct dlb_gen *gen, const struct dlb_dataset *ds, struct dlb_err *err)
{
    unsigned long long n_samples = ds->shape.n_samples, n_written = (uint64_t)gen->opts->samples;
    char path[PATH_MAX] = "";

    if (n_samples > n_written)
        find_foreign(gen, ds, path, sizeof path);
    if (*path)
        return dlb_fail(err, DLB_ERR_TARGET_FOREIGN, path, DLB_NO_OFFSET,
                        "gen did not write this, but it counts: the folder holds %llu samples "
                        "instead of %llu; move it out of the folder, and run the same gen again",
                        n_samples, n_written);
    return dlb_fail(err, DLB_ERR_READ_BACK_DIFFERS, gen->path, DLB_NO_OFFSET,
                    "holds %llu samples, but %llu were written: remove the folder, generate "
                    "again, and check this storage",
                    n_samples, n_written);
}

int dlb_gen_verify(const struct dlb_gen *gen, const struct dlb_dataset *ds, uint32_t *n_checked,
                   struct dlb_err *err)
{
    struct verify v = {.gen = gen, .ds = ds};
    int rc;

    *n_checked = 0;
    if (!gen->format->generator || !gen->format->generator->number || !gen->codec->make)
        return DLB_OK;
    if (ds->shape.n_samples != (uint64_t)gen->opts->samples)
        return fail_number(gen, ds, err);
    v.reader = dlb_mem_state(ds->format->reader->state_bytes);
    if (!v.reader)
        return dlb_fail_memory(err, gen->path, ds->format->reader->state_bytes);
    rc = ds->format->reader->open(v.reader, ds->state, err);
    if (rc == DLB_OK)
        rc = ds->shape.iterable ? check_shards(&v, err) : check_numbers(&v, err);
    ds->format->reader->close(v.reader);
    free(v.reader);
    dlb_bytes_free(&v.made);
    *n_checked = v.n_checked;
    return rc;
}

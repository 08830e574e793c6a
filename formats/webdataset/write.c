#include "formats/webdataset/write.h"

#include "formats/webdataset/tar.h"

/* Every build knows these options, so that without libarchive the error says what is missing, not
 * that an option is unknown. */
static const struct dlb_opt opts[] = {
    {.key = "shard_samples",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_wds_opts, shard_samples),
     .min = 1,
     .max = 100000000,
     .def = "1000",
     .unit = "samples",
     .help = "samples that gen and convert put into each shard"},
    {.key = "compression",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_wds_opts, compression),
     .def = "none",
     .choices = dlb_tar_pack_names,
     .help = "how gen and convert compress a whole shard: .tar, .tar.gz or .tar.zst; reading "
             "detects the compression"},
    DLB_OPT_END,
};
const struct dlb_opt_group dlb_wds_group_opts = {"webdataset", "tar shards", opts,
                                                 sizeof(struct dlb_wds_opts)};

#ifdef DLB_HAVE_LIBARCHIVE

#include "core/base/json.h"
#include "core/base/mem.h"
#include "formats/codec.h"
#include "formats/generate/file.h"
#include "formats/generate/names.h"
#include "formats/webdataset/list.h"
#include "formats/webdataset/tar_write.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t shard_samples(const struct dlb_gen *gen)
{
    const struct dlb_wds_opts *asked = gen->format_opts;
    return asked && asked->shard_samples > 0 ? (uint64_t)asked->shard_samples : 1000;
}

static enum dlb_tar_pack compression(const struct dlb_gen *gen)
{
    const struct dlb_wds_opts *asked = gen->format_opts;
    return asked ? (enum dlb_tar_pack)asked->compression : DLB_TAR_PLAIN;
}

static const char *const ends[] = {
    [DLB_TAR_PLAIN] = ".tar", [DLB_TAR_GZ] = ".tar.gz", [DLB_TAR_ZST] = ".tar.zst"};

char *dlb_wds_shard_path(const char *folder, uint64_t number, uint64_t n_shards,
                         enum dlb_tar_pack pack)
{
    int n_digits = dlb_names_digits(n_shards, DLB_UNIT_DIGITS);
    char *path = NULL;

    return asprintf(&path, "%s/shard-%0*llu%s", folder, n_digits, (unsigned long long)number,
                    ends[pack]) < 0
               ? NULL
               : path;
}

uint64_t dlb_wds_gen_units(const struct dlb_gen *gen)
{
    uint64_t each = shard_samples(gen);
    return ((uint64_t)gen->opts->samples + each - 1) / each;
}

bool dlb_wds_gen_makes(const struct dlb_gen *gen, const char *name)
{
    return dlb_names_unit(name, "shard-", ends[compression(gen)], dlb_wds_gen_units(gen));
}

bool dlb_wds_gen_compresses(const struct dlb_gen *gen)
{
    const struct dlb_wds_opts *wds = gen->format_opts;
    return wds && wds->compression != DLB_TAR_PLAIN;
}

int dlb_wds_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    (void)gen, (void)err; /* the target folder exists; shards need no others */
    return DLB_OK;
}

static int add_sample(const struct dlb_gen *gen, struct dlb_tar_writer *writer, uint64_t index,
                      struct dlb_gen_worker *worker, struct dlb_err *err)
{
    char name[64], label[16];

    worker->sample.len_bytes = 0;
    int rc = gen->codec->make(gen->opts, index, &worker->sample, err);
    if (rc != DLB_OK)
        return rc;
    (void)snprintf(name, sizeof name, "%08llu.%s", (unsigned long long)index,
                   dlb_codec_extension(gen->codec, gen->opts, index));
    rc = dlb_tar_writer_add(writer, name, worker->sample.data, worker->sample.len_bytes, err);
    if (rc != DLB_OK)
        return rc;
    (void)snprintf(name, sizeof name, "%08llu.cls", (unsigned long long)index);
    int n = snprintf(label, sizeof label, "%u", dlb_gen_label(gen->opts, index));
    rc = dlb_tar_writer_add(writer, name, label, (size_t)n, err);
    if (rc != DLB_OK)
        return rc;
    atomic_fetch_add(&worker->n_samples, 1);
    atomic_fetch_add(&worker->n_written, 1);
    atomic_fetch_add(&worker->n_bytes, worker->sample.len_bytes);
    return DLB_OK;
}

static int write_shard(const struct dlb_gen *gen, uint64_t first, uint64_t n,
                       struct dlb_gen_file *file, struct dlb_gen_worker *worker,
                       struct dlb_err *err)
{
    struct dlb_tar_writer writer;

    int rc = dlb_tar_writer_open(&writer, file, -1, file->path, compression(gen), err);
    for (uint64_t i = 0; rc == DLB_OK && i < n; i++) {
        if (atomic_load_explicit(worker->stop, memory_order_relaxed))
            rc = dlb_fail(err, DLB_ERR_CANCELLED, file->path, DLB_NO_OFFSET, "interrupted");
        else
            rc = add_sample(gen, &writer, first + i, worker, err);
    }
    if (rc == DLB_OK)
        rc = dlb_tar_writer_close(&writer, err);
    dlb_tar_writer_abandon(&writer);
    return rc;
}

int dlb_wds_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err)
{
    uint64_t each = shard_samples(gen), first = unit * each, total = (uint64_t)gen->opts->samples;
    uint64_t n = total - first < each ? total - first : each;
    char *path = dlb_wds_shard_path(gen->path, unit, dlb_wds_gen_units(gen), compression(gen));
    struct dlb_gen_file file;
    struct stat st;
    int rc = DLB_OK;

    if (!path)
        return dlb_fail_memory(err, gen->path, strlen(gen->path) + 32);
    if (!gen->rewrite && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        atomic_fetch_add(&worker->n_samples, n);
        goto out;
    }
    rc = dlb_gen_file_open(&file, path, err);
    if (rc == DLB_OK) {
        rc = write_shard(gen, first, n, &file, worker, err);
        rc = dlb_gen_file_finish(&file, rc, err);
    }
out:
    free(path);
    return rc;
}

void dlb_wds_note_shard(json_t *shards, const struct dlb_wds_shard *shard)
{
    json_t *entry = dlb_json_made(
        json_pack("{s:I, s:I, s:I, s:I}", "file_bytes", (json_int_t)shard->file_bytes, "samples",
                  (json_int_t)shard->n_samples, "bytes", (json_int_t)shard->n_bytes,
                  "max_sample_bytes", (json_int_t)shard->max_sample_bytes));
    dlb_json_put(shards, strrchr(shard->path, '/') + 1, entry);
}

/* Counts the shards as they are on disk: some may be from an earlier gen that was interrupted. */
int dlb_wds_gen_describe(const struct dlb_gen *gen, json_t *manifest, struct dlb_err *err)
{
    uint32_t n = (uint32_t)dlb_wds_gen_units(gen);
    struct dlb_wds_shard *shards = dlb_mem_array(n, sizeof *shards);
    json_t *all = dlb_json_made(json_object());

    for (uint32_t i = 0; i < n; i++)
        shards[i].path = dlb_mem_check(dlb_wds_shard_path(gen->path, i, n, compression(gen)));
    int rc = dlb_wds_scan(&dlb_io_posix, shards, n, NULL, err);
    for (uint32_t i = 0; rc == DLB_OK && i < n; i++) {
        if (shards[i].problem.status != DLB_OK) {
            *err = shards[i].problem;
            rc = (int)err->status;
            break;
        }
        dlb_wds_note_shard(all, &shards[i]);
    }
    dlb_json_put(manifest, "shards", all);
    for (uint32_t i = 0; i < n; i++)
        free(shards[i].path);
    free(shards);
    return rc;
}

#endif

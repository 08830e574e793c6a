#include "formats/webdataset/convert.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "core/base/json.h"
#include "core/base/mem.h"
#include "formats/generate/file.h"
#include "formats/generate/manifest.h"
#include "formats/generate/names.h"
#include "formats/webdataset/write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Keys as gen writes them, with more digits for more samples. */
enum { LEAST_DIGITS = 8, DEFAULT_SHARD_SAMPLES = 1000 };

uint64_t dlb_wds_writer_unit_samples(const void *opts)
{
    const struct dlb_wds_opts *asked = opts;
    return asked && asked->shard_samples > 0 ? (uint64_t)asked->shard_samples
                                             : DEFAULT_SHARD_SAMPLES;
}

int dlb_wds_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err)
{
    struct dlb_wds_writer *writer = wr;
    const struct dlb_wds_opts *opts = how->opts;
    uint64_t n_samples = how->from ? how->from->n_samples : 0;

    *writer = (struct dlb_wds_writer){.fd = -1, .shard_samples = dlb_wds_writer_unit_samples(opts)};
    if (opts)
        writer->pack = (enum dlb_tar_pack)opts->compression;
    writer->n_shards = (n_samples + writer->shard_samples - 1) / writer->shard_samples;
    writer->n_digits = dlb_names_digits(n_samples, LEAST_DIGITS);
    writer->n_classes = how->from ? how->from->n_classes : 0;
    writer->folder = dlb_mem_text(how->path);
    writer->list_folder = dlb_mem_text(how->aside ? how->aside : how->path);
    writer->shards = dlb_json_made(json_object());
    if (mkdir(writer->folder, 0777) != 0 && !(how->aside && errno == EEXIST))
        return dlb_gen_fail_write(err, writer->folder, DLB_NO_OFFSET, "making the folder");
    return DLB_OK;
}

static int start_shard(struct dlb_wds_writer *writer, uint64_t number, struct dlb_err *err)
{
    char *path =
        dlb_mem_check(dlb_wds_shard_path(writer->folder, number, writer->n_shards, writer->pack));

    writer->shard = (struct dlb_wds_shard){.path = path};
    writer->shard_number = number;
    writer->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (writer->fd < 0)
        return dlb_gen_fail_write(err, path, DLB_NO_OFFSET, "creating it");
    return dlb_tar_writer_open(&writer->tar, NULL, writer->fd, path, writer->pack, err);
}

static int finish_shard(struct dlb_wds_writer *writer, struct dlb_err *err)
{
    struct stat st;

    int rc = dlb_tar_writer_close(&writer->tar, err);
    dlb_tar_writer_abandon(&writer->tar);
    if (rc != DLB_OK)
        return rc;
    int bad = fstat(writer->fd, &st);
    bad = close(writer->fd) || bad;
    writer->fd = -1;
    if (bad)
        return dlb_gen_fail_write(err, writer->shard.path, DLB_NO_OFFSET, "writing");
    writer->shard.file_bytes = (uint64_t)st.st_size;
    dlb_wds_note_shard(writer->shards, &writer->shard);
    free(writer->shard.path);
    writer->shard.path = NULL;
    return DLB_OK;
}

static const char *name_of(const struct dlb_field *field)
{
    return field->name[0] ? field->name : "bin"; /* as gen names bytes without a codec */
}

/* Refuses samples that could not be read back unchanged. */
static int check(const struct dlb_sample *sample, bool *has_label, struct dlb_err *err)
{
    *has_label = false;
    for (uint32_t i = 0; i < sample->n_fields; i++) {
        const char *name = name_of(&sample->field[i]);
        if (strchr(name, '/'))
            return dlb_fail(err, DLB_ERR_SAMPLE_FIELD_NAMES, sample->path, sample->offset_bytes,
                            "the field \"%s\" cannot be a member of a shard: it contains a /",
                            name);
        for (uint32_t k = 0; k < i; k++)
            if (strcasecmp(name_of(&sample->field[k]), name) == 0)
                return dlb_fail(err, DLB_ERR_SAMPLE_FIELD_NAMES, sample->path, sample->offset_bytes,
                                "two fields are called \"%s\"", name);
        *has_label |= strcasecmp(name, "cls") == 0;
    }
    if (sample->n_fields == 0 ||
        (sample->n_fields == DLB_MAX_FIELDS && sample->labelled && !*has_label))
        return dlb_fail(err, DLB_ERR_SAMPLE_FIELD_NAMES, sample->path, sample->offset_bytes,
                        "a sample of %u fields: a shard holds 1 to %d, including the label",
                        sample->n_fields, DLB_MAX_FIELDS);
    return DLB_OK;
}

static int add_member(struct dlb_wds_writer *writer, uint64_t index, const char *field,
                      const void *data, size_t n_bytes, uint64_t *sum, struct dlb_err *err)
{
    char name[DLB_FIELD_NAME_BYTES + 24]; /* behind the number */

    (void)snprintf(name, sizeof name, "%0*" PRIu64 ".%s", writer->n_digits, index, field);
    *sum += n_bytes;
    return dlb_tar_writer_add(&writer->tar, name, data, n_bytes, err);
}

/* Samples may have been left out, so a shard may have fewer than others, or none. */
static int change_shard(struct dlb_wds_writer *writer, uint64_t number, struct dlb_err *err)
{
    int rc = DLB_OK;

    if (writer->shard.path && writer->shard_number == number)
        return rc;
    if (writer->shard.path)
        rc = finish_shard(writer, err);
    return rc == DLB_OK ? start_shard(writer, number, err) : rc;
}

int dlb_wds_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct dlb_wds_writer *writer = wr;
    uint64_t n_bytes = 0;
    bool has_label;
    char label[16];

    int rc = check(sample, &has_label, err);
    if (rc == DLB_OK)
        rc = change_shard(writer, sample->index / writer->shard_samples, err);
    for (uint32_t i = 0; rc == DLB_OK && i < sample->n_fields; i++)
        rc = add_member(writer, sample->index, name_of(&sample->field[i]), sample->field[i].data,
                        sample->field[i].len_bytes, &n_bytes, err);
    if (rc == DLB_OK && sample->labelled && !has_label) {
        int n = snprintf(label, sizeof label, "%u", sample->label);
        rc = add_member(writer, sample->index, "cls", label, (size_t)n, &n_bytes, err);
    }
    if (rc != DLB_OK)
        return rc;
    writer->n_samples++;
    writer->shard.n_samples++;
    writer->shard.n_bytes += n_bytes;
    if (n_bytes > writer->shard.max_sample_bytes)
        writer->shard.max_sample_bytes = n_bytes;
    return DLB_OK;
}

static json_t *manifest_of(uint64_t n_classes, uint64_t n_samples, json_t *shards)
{
    return dlb_json_made(json_pack("{s:i, s:{s:s, s:I}, s:I, s:O}", "dlbench_manifest", 1, "params",
                                   "made_by", "convert", "generate.classes", (json_int_t)n_classes,
                                   "samples", (json_int_t)n_samples, "shards", shards));
}

int dlb_wds_writer_finish(void *wr, struct dlb_err *err)
{
    struct dlb_wds_writer *writer = wr;

    int rc = writer->shard.path ? finish_shard(writer, err) : DLB_OK;
    if (rc != DLB_OK)
        return rc;
    json_t *manifest = manifest_of(writer->n_classes, writer->n_samples, writer->shards);
    rc = dlb_manifest_save(writer->list_folder, manifest, err);
    json_decref(manifest);
    return rc;
}

int dlb_wds_writer_join(const struct dlb_write *how, const char *const *aside, uint32_t n,
                        struct dlb_err *err)
{
    json_t *shards = dlb_json_made(json_object());
    uint64_t n_samples = 0;
    int rc = DLB_OK;

    for (uint32_t i = 0; rc == DLB_OK && i < n; i++) {
        json_t *one = NULL;
        rc = dlb_manifest_load(aside[i], &one, err);
        if (rc == DLB_OK && !one)
            rc = dlb_fail(err, DLB_ERR_NOT_FOUND, aside[i], DLB_NO_OFFSET,
                          "holds no list of the shards that were written");
        n_samples += dlb_json_u64(one, "samples", 0);
        (void)json_object_update(shards, json_object_get(one, "shards"));
        json_decref(one);
    }
    if (rc == DLB_OK) {
        json_t *manifest = manifest_of(how->from->n_classes, n_samples, shards);
        rc = dlb_manifest_save(how->path, manifest, err);
        json_decref(manifest);
    }
    json_decref(shards);
    return rc;
}

void dlb_wds_writer_close(void *wr)
{
    struct dlb_wds_writer *writer = wr;

    dlb_tar_writer_abandon(&writer->tar);
    if (writer->fd > 0)
        (void)close(writer->fd);
    free(writer->shard.path);
    free(writer->folder);
    free(writer->list_folder);
    json_decref(writer->shards);
    *writer = (struct dlb_wds_writer){.fd = -1};
}

#endif

#include "formats/tfrecord/tfrecord.h"

#include "formats/codec.h"
#include "formats/generate/file.h"
#include "formats/generate/names.h"
#include "formats/tfrecord/example.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t shard_samples(const struct dlb_gen *gen)
{
    const struct dlb_tfr_opts *asked = gen->format_opts;
    return asked && asked->shard_samples > 0 ? (uint64_t)asked->shard_samples : 1000;
}

uint64_t dlb_tfr_gen_units(const struct dlb_gen *gen)
{
    uint64_t each = shard_samples(gen);
    return ((uint64_t)gen->opts->samples + each - 1) / each;
}

bool dlb_tfr_gen_makes(const struct dlb_gen *gen, const char *name)
{
    return dlb_names_unit(name, "shard-", ".tfrecord", dlb_tfr_gen_units(gen));
}

int dlb_tfr_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    (void)gen, (void)err; /* shards need no folders but the one that gen has made */
    return DLB_OK;
}

static int write_record(struct dlb_gen_file *file, const uint8_t *data, size_t n_bytes,
                        struct dlb_err *err)
{
    uint8_t head[DLB_TFR_HEAD_BYTES], foot[DLB_TFR_FOOT_BYTES];

    dlb_tfr_frame(data, n_bytes, head, foot);
    int rc = dlb_gen_file_write(file, head, sizeof head, err);
    if (rc == DLB_OK)
        rc = dlb_gen_file_write(file, data, n_bytes, err);
    return rc == DLB_OK ? dlb_gen_file_write(file, foot, sizeof foot, err) : rc;
}

static int add_sample(const struct dlb_gen *gen, struct dlb_gen_file *file, uint64_t index,
                      struct dlb_bytes *example, struct dlb_gen_worker *worker, struct dlb_err *err)
{
    const struct dlb_tfr_opts *opts = gen->format_opts;
    const struct dlb_bytes *record = &worker->sample;

    worker->sample.len_bytes = 0;
    int rc = gen->codec->make(gen->opts, index, &worker->sample, err);
    if (rc == DLB_OK && opts && opts->feature[0]) {
        example->len_bytes = 0;
        rc = dlb_example_append(example, opts->feature, record->data, record->len_bytes,
                                opts->label[0] ? opts->label : "image/class/label",
                                dlb_gen_label(gen->opts, index), err);
        record = example;
    }
    if (rc == DLB_OK)
        rc = write_record(file, record->data, record->len_bytes, err);
    if (rc != DLB_OK)
        return rc;
    atomic_fetch_add(&worker->n_samples, 1);
    atomic_fetch_add(&worker->n_written, 1);
    atomic_fetch_add(&worker->n_bytes, record->len_bytes);
    return DLB_OK;
}

static int write_shard(const struct dlb_gen *gen, uint64_t first, uint64_t n, const char *path,
                       struct dlb_gen_worker *worker, struct dlb_err *err)
{
    struct dlb_bytes example = {0};
    struct dlb_gen_file file;
    int rc = dlb_gen_file_open(&file, path, err);

    if (rc != DLB_OK)
        return rc;
    for (uint64_t i = 0; rc == DLB_OK && i < n; i++) {
        if (atomic_load_explicit(worker->stop, memory_order_relaxed))
            rc = dlb_fail(err, DLB_ERR_CANCELLED, path, DLB_NO_OFFSET, "interrupted");
        else
            rc = add_sample(gen, &file, first + i, &example, worker, err);
    }
    dlb_bytes_free(&example);
    return dlb_gen_file_finish(&file, rc, err);
}

int dlb_tfr_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err)
{
    uint64_t each = shard_samples(gen), first = unit * each, total = (uint64_t)gen->opts->samples;
    uint64_t n = total - first < each ? total - first : each;
    char *path = NULL;
    struct stat st;
    int rc = DLB_OK;

    if (asprintf(&path, "%s/shard-%0*llu.tfrecord", gen->path,
                 dlb_names_digits(dlb_tfr_gen_units(gen), DLB_UNIT_DIGITS),
                 (unsigned long long)unit) < 0)
        return dlb_fail_memory(err, gen->path, strlen(gen->path) + sizeof "/shard-000000.tfrecord");
    if (!gen->rewrite && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        atomic_fetch_add(&worker->n_samples, n);
    else
        rc = write_shard(gen, first, n, path, worker, err);
    free(path);
    return rc;
}

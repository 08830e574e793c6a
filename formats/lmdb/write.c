#include "formats/lmdb/write.h"

#ifdef DLB_HAVE_LMDB

#include "formats/codec.h"
#include "formats/generate/file.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As many digits as the last number needs, and at least 8, as f"{i:08}" gives. */
static int digits_for(uint64_t n_samples)
{
    int n = 1;
    for (uint64_t last = n_samples ? n_samples - 1 : 0; last >= 10; last /= 10)
        n++;
    return n > 8 ? n : 8;
}

static int fail_many(const char *path, uint64_t n, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_LMDB_ENTRY_TOO_LARGE, path, DLB_NO_OFFSET,
                    "%llu samples with labels: LMDB keeps labels of at most %llu, because they are "
                    "one value of less than 4 GiB",
                    (unsigned long long)n, (unsigned long long)DLB_LMDB_MAX_LABELS);
}

static int add(struct dlb_lmdb_samples *samples, const uint8_t *data, size_t n_bytes,
               uint32_t label, bool labelled, struct dlb_err *err)
{
    char key[24];
    int n = snprintf(key, sizeof key, "%0*llu", samples->n_digits, (unsigned long long)samples->n);
    uint32_t stored = htole32(label);
    int rc = dlb_bytes_append(&samples->labels, &stored, sizeof stored, err);

    samples->n++;
    samples->labelled |= labelled;
    return rc == DLB_OK ? dlb_lmdb_put(samples->writer, key, (size_t)n, data, n_bytes, err) : rc;
}

static int finish(struct dlb_lmdb_samples *samples, struct dlb_err *err)
{
    int rc = DLB_OK;

    if (samples->labelled)
        rc = dlb_lmdb_put(samples->writer, DLB_LMDB_LABELS_KEY, strlen(DLB_LMDB_LABELS_KEY),
                          samples->labels.data, samples->labels.len_bytes, err);
    if (samples->labelled && rc == DLB_OK)
        rc = dlb_lmdb_put(samples->writer, DLB_LMDB_LABELS_TYPE_KEY,
                          strlen(DLB_LMDB_LABELS_TYPE_KEY), DLB_LMDB_LABELS_TYPE,
                          strlen(DLB_LMDB_LABELS_TYPE), err);
    return rc == DLB_OK ? dlb_lmdb_finish(samples->writer, err) : rc;
}

static void close_all(struct dlb_lmdb_samples *samples)
{
    dlb_lmdb_abandon(samples->writer);
    dlb_bytes_free(&samples->labels);
    samples->writer = NULL;
}

int dlb_lmdb_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err)
{
    struct dlb_lmdb_samples *samples = wr;

    if (mkdir(how->path, 0777) != 0)
        return dlb_gen_fail_write(err, how->path, DLB_NO_OFFSET, "making the folder");
    char *data_path = dlb_path_join(how->path, "data.mdb");
    if (!data_path)
        return dlb_fail_memory(err, how->path, strlen(how->path) + sizeof "/data.mdb");
    samples->n_most = how->from->n_samples;
    samples->n_digits = digits_for(samples->n_most);
    int rc = dlb_lmdb_create(&samples->writer, data_path, err);
    free(data_path);
    return rc;
}

int dlb_lmdb_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct dlb_lmdb_samples *samples = wr;
    const struct dlb_field *value = dlb_sample_value(sample, "LMDB", err);

    if (value && sample->labelled && samples->n_most > DLB_LMDB_MAX_LABELS)
        return fail_many(sample->path, samples->n_most, err);
    return value ? add(samples, value->data, value->len_bytes, sample->label, sample->labelled, err)
                 : (int)err->status;
}

int dlb_lmdb_writer_finish(void *wr, struct dlb_err *err)
{
    return finish(wr, err);
}

void dlb_lmdb_writer_close(void *wr)
{
    close_all(wr);
}

/* A single unit, because a database has one writer. */
uint64_t dlb_lmdb_gen_units(const struct dlb_gen *gen)
{
    (void)gen;
    return 1;
}

int dlb_lmdb_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    uint64_t n = (uint64_t)gen->opts->samples;

    return n > DLB_LMDB_MAX_LABELS && gen->opts->classes > 1 ? fail_many(gen->path, n, err)
                                                             : DLB_OK;
}

static int write_samples(const struct dlb_gen *gen, const char *path, struct dlb_gen_worker *worker,
                         struct dlb_err *err)
{
    uint64_t n = (uint64_t)gen->opts->samples;
    struct dlb_lmdb_samples samples = {.n_digits = digits_for(n)};
    int rc = dlb_lmdb_create(&samples.writer, path, err);

    for (uint64_t i = 0; rc == DLB_OK && i < n; i++) {
        if (atomic_load_explicit(worker->stop, memory_order_relaxed)) {
            rc = dlb_fail(err, DLB_ERR_CANCELLED, path, DLB_NO_OFFSET, "interrupted");
            break;
        }
        worker->sample.len_bytes = 0;
        rc = gen->codec->make(gen->opts, i, &worker->sample, err);
        uint32_t label = dlb_gen_label(gen->opts, i);
        if (rc == DLB_OK)
            rc = add(&samples, worker->sample.data, worker->sample.len_bytes, label, label != 0,
                     err);
        if (rc != DLB_OK)
            break;
        atomic_fetch_add(&worker->n_samples, 1);
        atomic_fetch_add(&worker->n_written, 1);
        atomic_fetch_add(&worker->n_bytes, worker->sample.len_bytes);
    }
    if (rc == DLB_OK)
        rc = finish(&samples, err);
    close_all(&samples);
    return rc;
}

int dlb_lmdb_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                      struct dlb_err *err)
{
    char *path = dlb_path_join(gen->path, "data.mdb");
    char *temporary = path ? dlb_gen_temporary(path) : NULL;
    struct stat st;
    int rc = DLB_OK;

    (void)unit;
    if (!temporary) {
        rc = dlb_fail_memory(err, gen->path, strlen(gen->path) + sizeof "/data.mdb");
    } else if (!gen->rewrite && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        atomic_fetch_add(&worker->n_samples, (uint64_t)gen->opts->samples);
    } else {
        (void)unlink(temporary); /* left by a gen that was killed */
        rc = write_samples(gen, temporary, worker, err);
        if (rc == DLB_OK && rename(temporary, path) != 0)
            rc = dlb_gen_fail_write(err, path, DLB_NO_OFFSET, "renaming the finished database");
        if (rc != DLB_OK)
            (void)unlink(temporary);
    }
    free(temporary);
    free(path);
    return rc;
}

#endif

/* gen and convert: one file (gen calls it data.h5) with the data sets `data` and `label`. Samples
 * of one size are rows; others lie back to back, and `data_offsets` says where each begins. */
#include "formats/hdf5/hdf5.h"

#ifdef DLB_HAVE_HDF5

#include "formats/codec.h"
#include "formats/generate/file.h"
#include "formats/generate/trailer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file format has 32 bits for the size of a chunk. */
#define MAX_CHUNK_BYTES ((uint64_t)UINT32_MAX)

static int check_chunk(const struct dlb_hdf5_plan *plan, const char *path, struct dlb_err *err)
{
    uint64_t most = plan->sample_bytes ? MAX_CHUNK_BYTES / plan->sample_bytes : UINT64_MAX;
    bool packed = plan->pack != DLB_HDF5_PACK_NONE;

    if (plan->sample_bytes && packed && plan->chunk_samples == 0)
        return dlb_fail(err, DLB_ERR_HDF5_CHUNK_SAMPLES, path, DLB_NO_OFFSET,
                        "hdf5.filter works on chunks: set hdf5.chunk_samples to 1 or more");
    if (plan->chunk_samples == 0 || plan->chunk_samples <= most || plan->n_samples <= most)
        return DLB_OK;
    if (most == 0)
        return dlb_fail(err, DLB_ERR_HDF5_CHUNK_SAMPLES, path, DLB_NO_OFFSET,
                        "a chunk has less than 4 GiB, and a sample %llu bytes: use "
                        "hdf5.chunk_samples = 0%s",
                        (unsigned long long)plan->sample_bytes,
                        packed ? " and hdf5.filter = \"none\"" : "");
    return dlb_fail(err, DLB_ERR_HDF5_CHUNK_SAMPLES, path, DLB_NO_OFFSET,
                    "hdf5.chunk_samples: lower it to %llu, because a chunk has less than 4 GiB",
                    (unsigned long long)most);
}

static int plan_of(const struct dlb_hdf5_opts *opts, const char *path, struct dlb_hdf5_plan *plan,
                   struct dlb_err *err)
{
    static const struct dlb_hdf5_opts none = {.chunk_samples = 1};

    opts = opts ? opts : &none;
    plan->pack = (enum dlb_hdf5_pack)opts->filter;
    plan->chunk_samples = (uint64_t)opts->chunk_samples;
    int rc = check_chunk(plan, path, err);
    if (rc != DLB_OK)
        return rc;
    if ((plan->pack == DLB_HDF5_PACK_LZF || plan->pack == DLB_HDF5_PACK_SHUFFLE_LZF) &&
        !dlb_hdf5_has_lzf())
        return dlb_fail(err, DLB_ERR_MISSING, path, DLB_NO_OFFSET,
                        "hdf5.filter = lzf: this program was built without liblzf");
    return DLB_OK;
}

/* Refuses what could not be read back. */
static int check_lists(const struct dlb_hdf5_plan *plan, const char *path, struct dlb_err *err)
{
    bool ragged = plan->sample_bytes == 0;

    if ((plan->unlabelled && !ragged) || plan->n_samples <= DLB_HDF5_MAX_LIST - ragged)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_HDF5_DATASET_UNFIT, path, DLB_NO_OFFSET,
                    "%llu samples: at most %llu labels or offsets are read from one file",
                    (unsigned long long)plan->n_samples, (unsigned long long)DLB_HDF5_MAX_LIST);
}

uint64_t dlb_hdf5_gen_units(const struct dlb_gen *gen)
{
    (void)gen;
    return 1; /* the library writes one file from one thread */
}

bool dlb_hdf5_gen_compresses(const struct dlb_gen *gen)
{
    const struct dlb_hdf5_opts *hdf5 = gen->format_opts;
    return hdf5 && hdf5->filter != DLB_HDF5_PACK_NONE;
}

static int gen_plan(const struct dlb_gen *gen, struct dlb_hdf5_plan *plan, struct dlb_err *err)
{
    *plan = (struct dlb_hdf5_plan){.n_samples = (uint64_t)gen->opts->samples,
                                   .element = DLB_ELEMENT_U8};
    if (gen->codec->identity)
        plan->sample_bytes = (uint64_t)gen->opts->sample_bytes;
    int rc = plan_of(gen->format_opts, NULL, plan, err);
    return rc == DLB_OK ? check_lists(plan, NULL, err) : rc;
}

int dlb_hdf5_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    struct dlb_hdf5_plan plan;

    if (!gen->codec->make)
        return dlb_fail(err, DLB_ERR_CODEC_UNFIT, NULL, DLB_NO_OFFSET,
                        "gen writes no HDF5 for codec %s: use dataset.codec = \"raw\" or \"jpeg\"",
                        gen->codec->name);
    return gen_plan(gen, &plan, err);
}

/* libhdf5 leaves the filter out when data do not compress, as noise does not. With five random bits
 * in each byte they deflate to about two thirds. */
void dlb_hdf5_gen_stored(const struct dlb_gen *gen, struct dlb_bytes *made)
{
    if (!dlb_hdf5_gen_compresses(gen) || !gen->codec->identity)
        return;
    for (size_t i = 0; i < made->len_bytes; i++)
        made->data[i] &= 0x1f;
}

static int gen_samples(const struct dlb_gen *gen, struct dlb_hdf5_out *out,
                       struct dlb_gen_worker *worker, struct dlb_err *err)
{
    int rc = DLB_OK;

    for (uint64_t i = 0; rc == DLB_OK && i < (uint64_t)gen->opts->samples; i++) {
        if (atomic_load_explicit(worker->stop, memory_order_relaxed))
            return dlb_fail(err, DLB_ERR_CANCELLED, out->path, DLB_NO_OFFSET, "interrupted");
        worker->sample.len_bytes = 0;
        rc = gen->codec->make(gen->opts, i, &worker->sample, err);
        dlb_hdf5_gen_stored(gen, &worker->sample);
        if (rc == DLB_OK)
            rc = dlb_hdf5_out_add(out, worker->sample.data, worker->sample.len_bytes,
                                  dlb_gen_label(gen->opts, i), err);
        if (rc == DLB_OK) {
            atomic_fetch_add(&worker->n_samples, 1);
            atomic_fetch_add(&worker->n_written, 1);
            atomic_fetch_add(&worker->n_bytes, worker->sample.len_bytes);
        }
    }
    return rc == DLB_OK ? dlb_hdf5_out_finish(out, err) : rc;
}

int dlb_hdf5_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                      struct dlb_err *err)
{
    struct dlb_hdf5_out out = {.path = NULL};
    struct dlb_hdf5_plan plan;
    struct stat st;
    char *path = NULL, *temporary = NULL;
    (void)unit;

    if (asprintf(&path, "%s/data.h5", gen->path) < 0)
        return dlb_fail_memory(err, gen->path, strlen(gen->path) + sizeof "/data.h5");
    if (!gen->rewrite && stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        atomic_fetch_add(&worker->n_samples, (uint64_t)gen->opts->samples);
        free(path);
        return DLB_OK;
    }
    temporary = dlb_gen_temporary(path);
    if (temporary)
        (void)unlink(
            temporary); /* left by a gen that was killed; the library would follow a link */
    int rc = temporary ? gen_plan(gen, &plan, err) : dlb_fail_memory(err, path, strlen(path) + 1);
    if (rc == DLB_OK)
        rc = dlb_hdf5_out_open(&out, temporary, &plan, err);
    if (rc == DLB_OK)
        rc = gen_samples(gen, &out, worker, err);
    dlb_hdf5_out_close(&out);
    if (rc == DLB_OK && rename(temporary, path) != 0)
        rc = dlb_gen_fail_write(err, path, DLB_NO_OFFSET, "renaming the finished file");
    if (rc != DLB_OK && temporary)
        (void)unlink(temporary);
    free(temporary);
    free(path);
    return rc;
}

/* The size that all samples have, or 0: the largest one times their number is the total. The label
 * may be among these bytes. */
static uint64_t common_bytes(const struct dlb_shape *from)
{
    bool same = from->n_samples > 0 && from->max_sample_bytes > 0 &&
                from->total_bytes / from->n_samples == from->max_sample_bytes &&
                from->total_bytes % from->n_samples == 0;
    return same ? from->max_sample_bytes : 0;
}

int dlb_hdf5_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err)
{
    struct dlb_hdf5_writer *writer = wr;
    struct dlb_hdf5_plan *plan = &writer->plan;

    *plan = (struct dlb_hdf5_plan){.n_samples = how->from->n_samples,
                                   .sample_bytes = common_bytes(how->from),
                                   .element = (enum dlb_element)how->from->element};
    if (plan->sample_bytes % dlb_element_bytes(plan->element) != 0)
        plan->element = DLB_ELEMENT_NONE;
    int rc = plan_of(how->opts, how->path, plan, err);
    if (rc != DLB_OK)
        return rc;
    writer->path = strdup(how->path);
    return writer->path ? DLB_OK : dlb_fail_memory(err, how->path, strlen(how->path) + 1);
}

/* The announced size includes a field with the label, which is stored elsewhere. The first sample
 * shows whether its value has that size; otherwise the file is ragged. */
int dlb_hdf5_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err)
{
    struct dlb_hdf5_writer *writer = wr;
    const struct dlb_field *value = dlb_sample_value(sample, "HDF5", err);

    if (!value)
        return (int)err->status;
    if (!writer->out.path) {
        if (value->len_bytes != writer->plan.sample_bytes)
            writer->plan.sample_bytes = 0;
        writer->plan.unlabelled = !sample->labelled;
        int rc = check_lists(&writer->plan, writer->path, err);
        if (rc == DLB_OK)
            rc = dlb_hdf5_out_open(&writer->out, writer->path, &writer->plan, err);
        if (rc != DLB_OK)
            return rc;
    }
    return dlb_hdf5_out_add(&writer->out, value->data, value->len_bytes, sample->label, err);
}

int dlb_hdf5_writer_finish(void *wr, struct dlb_err *err)
{
    struct dlb_hdf5_writer *writer = wr;
    int rc = dlb_hdf5_out_finish(&writer->out, err);

    return rc == DLB_OK ? dlb_trailer_add(writer->path, err) : rc;
}

void dlb_hdf5_writer_close(void *wr)
{
    struct dlb_hdf5_writer *writer = wr;

    dlb_hdf5_out_close(&writer->out);
    free(writer->path);
    writer->path = NULL;
}

#endif

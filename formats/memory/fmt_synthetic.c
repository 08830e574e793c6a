/* A null source: samples that cost nothing, to measure everything else.
 *
 * read writes nothing. Where the loader offers a place in the batch, that place is the sample:
 * batch memory starts zeroed and is not written, so the payload is zeros. Elsewhere the sample is a
 * shared block of zeros. */
#include "formats/format.h"

#include "core/base/hash.h"

#include <stdlib.h>

struct synthetic {
    uint64_t n_samples, n_bytes, n_classes;
    uint8_t *zeros;
};

struct synthetic_reader {
    const struct synthetic *ds;
};

static int synthetic_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                          struct dlb_err *err)
{
    struct synthetic *ds = state;

    if (!how->gen)
        return dlb_fail(err, DLB_ERR_GENERATE_SIZE_UNFIT, NULL, DLB_NO_OFFSET,
                        "the synthetic format takes its size from generate.samples and "
                        "generate.sample_bytes");
    uint64_t total_bytes,
        numbers[] = {(uint64_t)how->gen->samples, (uint64_t)how->gen->sample_bytes,
                     (uint64_t)how->gen->classes};
    if (__builtin_mul_overflow(numbers[0], numbers[1], &total_bytes) || total_bytes > INT64_MAX)
        return dlb_fail(err, DLB_ERR_GENERATE_SIZE_UNFIT, NULL, DLB_NO_OFFSET,
                        "generate.samples = %llu times generate.sample_bytes = %llu are more bytes "
                        "than 63 bits count: lower them",
                        (unsigned long long)numbers[0], (unsigned long long)numbers[1]);
    ds->n_samples = numbers[0];
    ds->n_bytes = numbers[1];
    ds->n_classes = numbers[2] ? numbers[2] : 1;
    ds->zeros = calloc(1, ds->n_bytes ? ds->n_bytes : 1);
    if (!ds->zeros)
        return dlb_fail_memory(err, NULL, ds->n_bytes);
    *shape = (struct dlb_shape){.n_samples = ds->n_samples,
                                .total_bytes = total_bytes,
                                .max_sample_bytes = ds->n_bytes,
                                .n_classes = (uint32_t)ds->n_classes,
                                .id = dlb_hash64(numbers, sizeof numbers, 0)};
    return DLB_OK;
}

static void synthetic_close(void *state)
{
    struct synthetic *ds = state;
    free(ds->zeros);
    ds->zeros = NULL;
}

static int synthetic_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    (void)err;
    ((struct synthetic_reader *)rd)->ds = ds;
    return DLB_OK;
}

static void synthetic_reader_close(void *rd)
{
    (void)rd;
}

static int synthetic_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                          struct dlb_err *err)
{
    const struct synthetic *ds = ((struct synthetic_reader *)rd)->ds;
    (void)err;

    bool placed = dest.data && ds->n_bytes <= dest.cap_bytes;
    out->field[0].data = placed ? dest.data : ds->zeros;
    out->field[0].len_bytes = ds->n_bytes;
    out->field[0].name = "";
    out->n_fields = 1;
    out->label = (uint32_t)(index % ds->n_classes);
    out->labelled = true;
    out->index = index;
    out->io_bytes = 0;
    out->path = "synthetic data";
    out->offset_bytes = DLB_NO_OFFSET;
    return DLB_OK;
}

static const struct dlb_reader synthetic_reader = {
    .dataset_bytes = sizeof(struct synthetic),
    .state_bytes = sizeof(struct synthetic_reader),
    .dataset_open = synthetic_open,
    .dataset_close = synthetic_close,
    .open = synthetic_reader_open,
    .close = synthetic_reader_close,
    .read = synthetic_read,
};

const struct dlb_format dlb_fmt_synthetic = {
    .name = "synthetic",
    .summary = "a null source that costs nothing, to measure the harness itself",
    .synthetic = true,
    .reader = &synthetic_reader,
};

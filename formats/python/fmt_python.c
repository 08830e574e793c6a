/* A data set of the user's own, which loader.kind = "torch" reads in an interpreter. Nothing is
 * looked at here: its shape is what the section `python` says, which dlbench fills in by asking the
 * interpreter. */
#include "core/base/hash.h"
#include "formats/format.h"
#include "formats/python/python.h"

struct python {
    uint64_t n_samples;
};

static int python_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                       struct dlb_err *err)
{
    const struct dlb_python_shape *told = how->opts;
    struct python *ds = state;

    if (!told || told->samples == 0)
        return dlb_fail(err, DLB_ERR_PYTHON_SAMPLES, NULL, DLB_NO_OFFSET,
                        "how many samples an epoch has is not known: set python.samples");
    uint64_t numbers[] = {(uint64_t)told->samples, (uint64_t)told->sample_bytes};
    uint64_t each = numbers[1] ? numbers[1] : 1;
    ds->n_samples = numbers[0];
    *shape = (struct dlb_shape){.n_samples = numbers[0],
                                .total_bytes = numbers[0] * each,
                                .max_sample_bytes = each,
                                .n_classes = 1,
                                .id = dlb_hash64(numbers, sizeof numbers, 0)};
    return DLB_OK;
}

static void python_close(void *state)
{
    (void)state;
}

static int fail_elsewhere(struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_PYTHON_ONLY, NULL, DLB_NO_OFFSET,
                    "dataset.format = \"python\" is read by Python alone: set loader.kind = "
                    "\"torch\"");
}

static int python_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    (void)rd, (void)ds;
    return fail_elsewhere(err);
}

static void python_reader_close(void *rd)
{
    (void)rd;
}

static int python_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *err)
{
    (void)rd, (void)index, (void)dest, (void)out;
    return fail_elsewhere(err);
}

static const struct dlb_reader python_reader = {
    .dataset_bytes = sizeof(struct python),
    .state_bytes = 64,
    .dataset_open = python_open,
    .dataset_close = python_close,
    .open = python_reader_open,
    .close = python_reader_close,
    .read = python_read,
};

const struct dlb_format dlb_fmt_python = {
    .name = "python",
    .summary = "your own Dataset or loader of Python, with loader.kind = \"torch\"",
    .synthetic = true,
    .elsewhere = true,
    .reader = &python_reader,
};

/* An array of float32 in memory, each row a sample: a data set that is already loaded.
 *
 * The array is made at open, in anonymous memory that all workers share. Forked workers share it
 * because it is never written again. Row i depends on (seed, i) alone, not on the thread that
 * filled it. Huge pages are requested, as by the allocators of numpy and PyTorch. */
#include "formats/format.h"

#include "core/base/hash.h"
#include "core/base/units.h"
#include "formats/memory/array_fill.h"
#include "formats/headroom.h"

#include <string.h>
#include <sys/mman.h>

enum { AHEAD = 4 }; /* rows: the next ones come to the cache while one is copied */

struct memory_opts {
    int64_t rows, columns;
};

static const struct dlb_opt opts[] = {
    {.key = "rows",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct memory_opts, rows),
     .min = 0,
     .max = INT64_C(1000000000000),
     .def = "0",
     .unit = "rows",
     .help = "rows of the array, each a sample; 0: as many as generate.samples"},
    {.key = "columns",
     .type = DLB_OPT_INT,
     .offset = offsetof(struct memory_opts, columns),
     .min = 0,
     .max = INT64_C(1) << 32,
     .def = "100",
     .unit = "float32",
     .help = "numbers in a row; 0: as many as fill generate.sample_bytes"},
    DLB_OPT_END,
};
static const struct dlb_opt_group group = {"memory", "an array of float32 in memory", opts,
                                           sizeof(struct memory_opts)};

struct memory {
    float *data;
    uint64_t n_rows, n_columns, row_bytes, mapped_bytes, seed;
    uint32_t n_classes;
};

struct memory_reader {
    const struct memory *ds;
};

static int take_memory(struct memory *ds, struct dlb_err *err)
{
    const size_t huge = 2 << 20;
    uint64_t n_bytes;

    if (__builtin_mul_overflow(ds->n_rows, ds->row_bytes, &n_bytes) || n_bytes > SIZE_MAX / 2)
        return dlb_fail(err, DLB_ERR_GENERATE_SIZE_UNFIT, "memory", DLB_NO_OFFSET,
                        "memory.rows = %llu times memory.columns = %llu floats exceed the address "
                        "space: lower them",
                        (unsigned long long)ds->n_rows, (unsigned long long)ds->n_columns);
    int rc = dlb_headroom_check(n_bytes, "memory", "the array", "lower memory.rows", err);
    if (rc != DLB_OK)
        return rc;
    ds->mapped_bytes = (n_bytes + huge - 1) & ~(uint64_t)(huge - 1);
    void *data = mmap(NULL, ds->mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return dlb_fail_errno(err, "memory", DLB_NO_OFFSET, "mapping memory for the array");
    ds->data = data;
    /* Without huge pages it is only slower. */
    (void)madvise(data, ds->mapped_bytes, MADV_HUGEPAGE);
    return DLB_OK;
}

static int memory_open(void *state, const struct dlb_open *how, struct dlb_shape *shape,
                       struct dlb_err *err)
{
    struct memory *ds = state;
    struct memory_opts asked = {.columns = 100};

    if (how->opts)
        asked = *(const struct memory_opts *)how->opts;
    if (!how->gen && (asked.rows == 0 || asked.columns == 0))
        return dlb_fail(err, DLB_ERR_GENERATE_SIZE_UNFIT, "memory", DLB_NO_OFFSET,
                        "memory.rows and memory.columns are not set");
    int64_t columns = asked.columns ? asked.columns : how->gen->sample_bytes / 4;
    ds->n_rows = (uint64_t)(asked.rows ? asked.rows : how->gen->samples);
    ds->n_columns = (uint64_t)(columns ? columns : 1);
    ds->row_bytes = ds->n_columns * sizeof(float);
    ds->seed = how->gen ? (uint64_t)how->gen->seed : 0;
    int64_t classes = how->gen && how->gen->classes > 0 ? how->gen->classes : 1;
    ds->n_classes = (uint32_t)classes;
    int rc = take_memory(ds, err);
    if (rc != DLB_OK)
        return rc;
    dlb_array_fill(ds->data, ds->n_rows, ds->n_columns, ds->seed, NULL);
    if (mprotect(ds->data, ds->mapped_bytes, PROT_READ) != 0)
        return dlb_fail_errno(err, "memory", DLB_NO_OFFSET, "making the array read-only");
    uint64_t numbers[] = {ds->n_rows, ds->n_columns, ds->seed, ds->n_classes};
    *shape = (struct dlb_shape){.n_samples = ds->n_rows,
                                .total_bytes = ds->n_rows * ds->row_bytes,
                                .max_sample_bytes = ds->row_bytes,
                                .n_classes = ds->n_classes,
                                .element = DLB_ELEMENT_F32,
                                .id = dlb_hash64(numbers, sizeof numbers, 0)};
    return DLB_OK;
}

static void memory_close(void *state)
{
    struct memory *ds = state;
    if (ds->data)
        (void)munmap(ds->data, ds->mapped_bytes);
    *ds = (struct memory){.data = NULL};
}

static int memory_reader_open(void *rd, const void *ds, struct dlb_err *err)
{
    (void)err;
    ((struct memory_reader *)rd)->ds = ds;
    return DLB_OK;
}

static void memory_reader_close(void *rd)
{
    (void)rd;
}

static int memory_read(void *rd, uint64_t index, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *err)
{
    const struct memory *ds = ((struct memory_reader *)rd)->ds;
    (void)err;

    if (index >= ds->n_rows)
        DLB_BUG("sample beyond the data set");
    out->field[0].data = (const uint8_t *)(ds->data + index * ds->n_columns);
    if (dest.data && ds->row_bytes <= dest.cap_bytes) {
        memcpy(dest.data, out->field[0].data, ds->row_bytes);
        out->field[0].data = dest.data;
    }
    out->field[0].len_bytes = ds->row_bytes;
    out->field[0].name = "";
    out->n_fields = 1;
    out->label = (uint32_t)(index % ds->n_classes);
    out->labelled = true;
    out->element = DLB_ELEMENT_F32;
    out->index = index;
    out->io_bytes = 0; /* nothing is read */
    out->path = "memory";
    out->offset_bytes = index * ds->row_bytes;
    return DLB_OK;
}

static uint32_t memory_read_many(void *rd, const uint64_t *index, uint32_t n, uint8_t *dst,
                                 uint32_t *label)
{
    const struct memory *ds = ((struct memory_reader *)rd)->ds;

    for (uint32_t i = 0; i < n; i++, dst += ds->row_bytes) {
        if (index[i] >= ds->n_rows)
            DLB_BUG("sample beyond the data set");
        if (i + AHEAD < n && index[i + AHEAD] < ds->n_rows)
            __builtin_prefetch(ds->data + index[i + AHEAD] * ds->n_columns);
        memcpy(dst, ds->data + index[i] * ds->n_columns, ds->row_bytes);
        label[i] = (uint32_t)(index[i] % ds->n_classes);
    }
    return n;
}

static const struct dlb_reader memory_reader = {
    .dataset_bytes = sizeof(struct memory),
    .state_bytes = sizeof(struct memory_reader),
    .dataset_open = memory_open,
    .dataset_close = memory_close,
    .open = memory_reader_open,
    .close = memory_reader_close,
    .read = memory_read,
    .read_many = memory_read_many,
};

const struct dlb_format dlb_fmt_memory = {
    .name = "memory",
    .summary = "an array of float32 in memory, a row a sample",
    .opts = &group,
    .numbers = true,
    .synthetic = true,
    .reader = &memory_reader,
};

/* HDF5: the memory that readers announce, and sizes that are near those that the format can hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/hdf5/hdf5.h"
#include "tests/support/folder.h"
#include "tests/support/dataset.h"

#ifdef DLB_HAVE_HDF5

enum { N = 40, EACH = 1000 };

static uint64_t taken_bytes(const struct dlb_hdf5_reader *reader)
{
    uint64_t n = reader->cap_stored + reader->unfilter.cap_bytes[0] + reader->unfilter.cap_bytes[1];
    for (uint64_t i = 0; i < reader->n_kept; i++)
        n += reader->kept[i].data ? reader->ds->chunk_bytes : 0;
    return n;
}

/* Reads every sample of a generated data set. */
static uint64_t announced_bytes(const char *name, const struct dlb_hdf5_opts *opts, uint64_t *taken)
{
    char path[300];
    struct dlb_hdf5 ds = {.opened = false};
    struct dlb_hdf5_reader reader = {.ds = NULL};
    struct dlb_shape shape = {.n_samples = 0};
    struct generation g;
    struct dlb_err err;
    uint8_t row[EACH];
    generation_set(&g, "hdf5", "raw", folder_path(name), N, EACH);
    g.gen.format_opts = opts;
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    (void)snprintf(path, sizeof path, "%s/data.h5", folder_path(name));
    assert_int_equal(dlb_hdf5_open(&ds, path, &dlb_io_posix, opts, false, &shape, &err), DLB_OK);
    assert_int_equal(dlb_hdf5_reader_open(&reader, &ds, &err), DLB_OK);
    for (uint64_t i = 0; i < N; i++)
        assert_int_equal(dlb_hdf5_read_rows(&reader, i, 1, row, &err), DLB_OK);
    *taken = taken_bytes(&reader);
    uint64_t announced = dlb_hdf5_reader_bytes(&ds);
    dlb_hdf5_reader_close(&reader);
    dlb_hdf5_close(&ds);
    return announced;
}

static void readers_take_what_they_announce(void **state)
{
    (void)state;
    if (dlb_inflate_missing)
        skip();
    static const struct {
        int64_t chunk_samples;
        int filter;
        uint64_t n_chunks; /* of memory, beside the stored one */
    } rows[] = {{0, DLB_HDF5_PACK_NONE, 0},           {1, DLB_HDF5_PACK_NONE, 0},
                {8, DLB_HDF5_PACK_NONE, 0},           {1, DLB_HDF5_PACK_DEFLATE, 0},
                {8, DLB_HDF5_PACK_DEFLATE, 1},        {1, DLB_HDF5_PACK_SHUFFLE_DEFLATE, 1},
                {8, DLB_HDF5_PACK_SHUFFLE_DEFLATE, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlb_hdf5_opts opts = {.chunk_samples = rows[i].chunk_samples,
                                     .filter = rows[i].filter};
        uint64_t chunk = (uint64_t)rows[i].chunk_samples * EACH, taken = 0;
        char name[16];
        (void)snprintf(name, sizeof name, "d%zu", i);
        uint64_t announced = announced_bytes(name, &opts, &taken);
        assert_in_range(announced, taken, taken + taken / 8);
        if (rows[i].filter == DLB_HDF5_PACK_NONE)
            assert_int_equal(announced, 0);
        else
            assert_in_range(announced, rows[i].n_chunks * chunk + chunk / 2,
                            rows[i].n_chunks * chunk + chunk);
    }
}

/* Without opening a file. */
static void announced_by_the_way_of_reading(void **state)
{
    (void)state;
    static const uint32_t deflate = DLB_HDF5_DEFLATE, shuffle = DLB_HDF5_SHUFFLE,
                          lzf = DLB_HDF5_LZF, sum = DLB_HDF5_FLETCHER32;
    const uint64_t chunk = 1 << 20, row = 1 << 10;
    const struct {
        int way;
        uint32_t n_filters, filter[4];
        uint64_t n_across, bytes;
    } rows[] = {
        {DLB_HDF5_PLAIN, 0, {0}, 1, 0},
        {DLB_HDF5_LIBRARY, 2, {shuffle, deflate}, 1, 0},
        {DLB_HDF5_LIBRARY_CHUNKS, 0, {0}, 1, 2 * chunk},
        {DLB_HDF5_LIBRARY_CHUNKS, 1, {deflate}, 1, 2 * chunk},
        {DLB_HDF5_LIBRARY_CHUNKS, 3, {shuffle, deflate, sum}, 1, 3 * chunk},
        {DLB_HDF5_LIBRARY_CHUNKS, 2, {sum, deflate}, 1, 3 * chunk},
        {DLB_HDF5_LIBRARY_CHUNKS, 4, {shuffle, lzf, deflate, deflate}, 1, 4 * chunk},
        {DLB_HDF5_LIBRARY_CHUNKS, 1, {deflate}, 3, 4 * chunk + row}, /* rows spread over 3 chunks */
        {DLB_HDF5_TABLE, 0, {0}, 3, row},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlb_hdf5 ds = {.way = rows[i].way,
                              .n_across = rows[i].n_across,
                              .whole_rows = rows[i].n_across == 1,
                              .chunk_bytes = chunk,
                              .chunk_row_bytes = row};
        ds.facts.about.chunk[0] = chunk / row;
        ds.facts.about.n_filters = rows[i].n_filters;
        for (uint32_t k = 0; k < rows[i].n_filters; k++)
            ds.facts.about.filter[k].id = rows[i].filter[k];
        assert_int_equal(dlb_hdf5_reader_bytes(&ds), rows[i].bytes);
    }
}

enum { FINE = -1 };

/* Of what is planned: gen's `prepare`. */
static int planned(uint64_t n_samples, uint64_t sample_bytes, const struct dlb_hdf5_opts *opts)
{
    struct generation g;
    struct dlb_err err;
    generation_set(&g, "hdf5", "raw", folder_path("g"), (int64_t)n_samples, (int64_t)sample_bytes);
    g.gen.format_opts = opts;
    return dlb_hdf5_gen_prepare(&g.gen, &err) == DLB_OK ? FINE : (int)err.code;
}

/* convert's first sample of `n_bytes`, of a source with n_samples of as many. */
static int first_sample(uint64_t n_samples, uint64_t n_bytes, uint64_t announced_bytes,
                        bool labelled)
{
    static const uint8_t bytes[8];
    const struct dlb_writer *format = dlb_format_by_name("hdf5")->writer;
    struct dlb_shape from = {.n_samples = n_samples,
                             .max_sample_bytes = announced_bytes,
                             .total_bytes = n_samples * announced_bytes};
    struct dlb_write how = {.path = folder_path("w.h5"), .from = &from};
    struct dlb_sample sample = {.n_fields = 1, .labelled = labelled};
    struct dlb_err err;
    sample.field[0] = (struct dlb_field){bytes, n_bytes, ""};
    void *writer = calloc(1, (format->state_bytes + 63) & ~(size_t)63);
    assert_non_null(writer);
    int rc = format->open(writer, &how, &err);
    if (rc == DLB_OK && n_bytes > 0)
        rc = format->add(writer, &sample, &err);
    format->close(writer);
    free(writer);
    return rc == DLB_OK ? FINE : (int)err.code;
}

/* More numbers than are read back. */
static void more_samples_than_are_read(void **state)
{
    (void)state;
    struct dlb_hdf5_opts opts = {.chunk_samples = 1};
    const uint64_t most = DLB_HDF5_MAX_LIST;
    assert_int_equal(planned(most, 8, &opts), FINE);
    assert_int_equal(planned(most + 1, 8, &opts), DLB_ERR_HDF5_DATASET_UNFIT);
    assert_int_equal(first_sample(most + 1, 8, 8, true), DLB_ERR_HDF5_DATASET_UNFIT);
    assert_int_equal(first_sample(most + 1, 8, 8, false), FINE);
    assert_int_equal(first_sample(most, 8, 9, false), DLB_ERR_HDF5_DATASET_UNFIT); /* ragged */
}

static void chunks_below_4_gib(void **state)
{
    (void)state;
    static const struct {
        uint64_t n_samples, sample_bytes;
        int64_t chunk_samples;
        int filter, code;
    } rows[] = {
        {2, 3000000000, 1, DLB_HDF5_PACK_NONE, FINE},
        {2, 3000000000, 2, DLB_HDF5_PACK_NONE, DLB_ERR_HDF5_CHUNK_SAMPLES},
        {1, 3000000000, 2, DLB_HDF5_PACK_NONE, FINE},
        {2, UINT32_MAX, 1, DLB_HDF5_PACK_DEFLATE, FINE},
        {2, UINT64_C(1) << 32, 1, DLB_HDF5_PACK_NONE, DLB_ERR_HDF5_CHUNK_SAMPLES},
        {2, 5000000000, 1, DLB_HDF5_PACK_DEFLATE, DLB_ERR_HDF5_CHUNK_SAMPLES},
        {2, 5000000000, 0, DLB_HDF5_PACK_NONE, FINE},
        {2, 5000000000, 0, DLB_HDF5_PACK_DEFLATE, DLB_ERR_HDF5_CHUNK_SAMPLES},
        {UINT32_MAX / 8 + 1, 8, 1000000000, DLB_HDF5_PACK_NONE, DLB_ERR_HDF5_CHUNK_SAMPLES},
        {UINT32_MAX / 8, 8, 1000000000, DLB_HDF5_PACK_NONE, FINE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct dlb_hdf5_opts opts = {.chunk_samples = rows[i].chunk_samples,
                                     .filter = rows[i].filter};
        assert_int_equal(planned(rows[i].n_samples, rows[i].sample_bytes, &opts), rows[i].code);
    }
    assert_int_equal(first_sample(2, 0, 3000000000, true), FINE); /* convert's plan alone */
}

/* The memory is that of the chunk that is written, not of the one that was asked for. */
static void a_chunk_of_all_samples(void **state)
{
    (void)state;
    const struct dlb_hdf5_plan plan = {
        .n_samples = 10, .sample_bytes = 1000, .chunk_samples = 1000000000};
    struct dlb_hdf5_out out;
    struct dlb_err err;
    assert_int_equal(dlb_hdf5_out_open(&out, folder_path("a.h5"), &plan, &err), DLB_OK);
    assert_int_equal(out.plan.chunk_samples, 10);
    assert_in_range(out.cap_held, 10 * 1000, 1 << 20);
    dlb_hdf5_out_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(readers_take_what_they_announce, folder_make,
                                        folder_remove),
        cmocka_unit_test(announced_by_the_way_of_reading),
        cmocka_unit_test_setup_teardown(more_samples_than_are_read, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(chunks_below_4_gib, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(a_chunk_of_all_samples, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77;
}

#endif

/* HDF5 that gen and convert write, read with and without the library; the parts of unfiltering. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/hdf5/filters.h"
#include "tests/support/folder.h"
#include "tests/support/hdf5.h"

static void unfilter_one(struct dlb_hdf5_filter filter, const uint8_t *src, size_t n_src,
                         uint8_t *dst, size_t n_dst)
{
    struct dlb_hdf5_unfilter unfilter = {0};
    struct dlb_err err;

    assert_int_equal(dlb_hdf5_unfilter(&unfilter, &filter, 1, 0, src, n_src, dst, n_dst, &err),
                     DLB_OK);
    dlb_hdf5_unfilter_free(&unfilter);
}

static void unshuffles(void **state)
{
    uint8_t plain[259], shuffled[259], back[259];
    (void)state;
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (uint8_t)(i * 7);
    for (uint32_t each = 1; each <= 10; each++) {
        size_t n = sizeof plain / each;
        memcpy(shuffled, plain, sizeof plain);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < each; k++)
                shuffled[k * n + i] = plain[i * each + k];
        unfilter_one((struct dlb_hdf5_filter){DLB_HDF5_SHUFFLE, each}, shuffled, sizeof plain, back,
                     sizeof plain);
        assert_memory_equal(back, plain, sizeof plain);
    }
    /* Less than one element: */
    unfilter_one((struct dlb_hdf5_filter){DLB_HDF5_SHUFFLE, 8}, plain, 5, back, 5);
    assert_memory_equal(back, plain, 5);
}

static void fletcher32(void **state)
{
    /* By hand: words 6162, 6364, 6500; sums 6162, c4c6, 129c6; 6162, 12628, 24fee, folded. */
    static const uint8_t five[] = {'a', 'b', 'c', 'd', 'e', 0xc7, 0x29, 0xf0, 0x4f};
    static const uint8_t nothing[4];
    uint8_t back[5];
    (void)state;
    unfilter_one((struct dlb_hdf5_filter){DLB_HDF5_FLETCHER32, 0}, five, 9, back, 5);
    assert_memory_equal(back, five, 5);
    unfilter_one((struct dlb_hdf5_filter){DLB_HDF5_FLETCHER32, 0}, nothing, 4, back, 0);
}

static void filters_fail(void **state)
{
    static const struct dlb_hdf5_filter deflate[] = {{DLB_HDF5_DEFLATE, 6}},
                                        sum[] = {{DLB_HDF5_FLETCHER32, 0}},
                                        other[] = {{DLB_HDF5_SHUFFLE, 4}, {32001, 0}};
    struct dlb_hdf5_unfilter unfilter = {0};
    struct dlb_err err;
    uint8_t src[16] = {1, 2, 3, 4}, dst[16];
    char name[64];
    (void)state;
    if (!dlb_inflate_missing) {
        assert_int_equal(dlb_hdf5_unfilter(&unfilter, deflate, 1, 0, src, 16, dst, 16, &err),
                         DLB_E_FORMAT);
        assert_int_equal(dlb_hdf5_unfilter(&unfilter, deflate, 1, 1, src, 16, dst, 16, &err),
                         DLB_OK); /* left out of this chunk */
        assert_memory_equal(dst, src, 16);
    }
    assert_int_equal(dlb_hdf5_unfilter(&unfilter, sum, 1, 0, src, 16, dst, 12, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_HDF5_CHUNK_DAMAGED);
    assert_int_equal(dlb_hdf5_unfilter(&unfilter, sum, 1, 0, src, 3, dst, 12, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_HDF5_CHUNK_DAMAGED);
    assert_int_equal(dlb_hdf5_unfilter(&unfilter, sum, 0, 0, src, 16, dst, 12, &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_HDF5_CHUNK_DAMAGED);
    assert_string_equal(dlb_hdf5_filters_unknown(other, 2, name, sizeof name),
                        "blosc (filter 32001)");
    assert_null(dlb_hdf5_filters_unknown(other, 1, name, sizeof name));
    dlb_hdf5_unfilter_free(&unfilter);
}

static void generated(struct generation *g, const struct dlb_hdf5_opts *opts, const char *codec,
                      const char *path, int64_t samples)
{
    generation_set(g, "hdf5", codec, path, samples, 1000);
    g->gen.format_opts = opts;
}

/* Content is a function of seed and index, however it lies in the file; with a filter it is made to
 * compress. */
static void gen_layouts(void **state)
{
    uint8_t *first = NULL;
    (void)state;
    if (!is_built("hdf5", "raw"))
        skip();
    for (int filter = 0; filter < 5; filter++) {
        for (int64_t chunk = 0; chunk <= 9; chunk += 3) {
            struct dlb_hdf5_opts opts = {.chunk_samples = chunk, .filter = filter};
            char name[32];
            (void)snprintf(name, sizeof name, "g-%d-%d", filter, (int)chunk);
            const char *path = folder_path(name);
            struct generation g;
            generated(&g, &opts, "raw", path, 40);
            int rc = generation_run(&g, 2);
            if (filter > 0 && chunk == 0) {
                assert_int_equal(rc, DLB_E_CONFIG);
                assert_int_equal(g.err.code, DLB_ERR_HDF5_CHUNK_SAMPLES);
                continue;
            }
            if (filter > 2 && !dlb_hdf5_has_lzf()) {
                assert_int_equal(rc, DLB_E_MISSING);
                continue;
            }
            assert_int_equal(rc, DLB_OK);
            assert_int_equal(g.n_written, 40);
            for (int access = DLB_ACCESS_LIBRARY; access <= DLB_ACCESS_CHUNKS; access++) {
                struct hdf5_set set;
                assert_int_equal(hdf5_open_set(&set, name, access, &opts), DLB_OK);
                assert_int_equal(set.ds.shape.n_samples, 40);
                assert_int_equal(set.ds.shape.n_classes, 5);
                assert_int_equal(set.ds.shape.element, DLB_ELEMENT_U8);
                assert_int_equal(set.ds.shape.n_odd, 0);
                first = first ? first : calloc(40, 1000);
                for (uint64_t i = 0; i < 40; i++) {
                    assert_int_equal(hdf5_read_one(&set, i), DLB_OK);
                    assert_int_equal(set.sample.field[0].len_bytes, 1000);
                    assert_int_equal(set.sample.label, dlb_gen_label(&g.opts, i));
                    if (chunk == (filter ? 3 : 0) && access == DLB_ACCESS_LIBRARY)
                        memcpy(first + i * 1000, set.sample.field[0].data, 1000);
                    assert_memory_equal(set.sample.field[0].data, first + i * 1000, 1000);
                }
                hdf5_close_set(&set);
            }
        }
    }
    free(first);
}

static void gen_resumes_and_refuses(void **state)
{
    struct dlb_hdf5_opts opts = {.chunk_samples = 2};
    struct hdf5_set set;
    (void)state;
    if (!is_built("hdf5", "raw"))
        skip();
    struct generation g;
    generated(&g, &opts, "raw", folder_path("r"), 10);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    assert_int_equal(g.n_written, 0);
    folder_write("r/second.h5", "", 0);
    assert_int_equal(hdf5_open_set(&set, "r", DLB_ACCESS_AUTO, &opts), DLB_E_FORMAT);
    assert_int_equal(set.err.code, DLB_ERR_HDF5_SEVERAL_FILES);
    assert_non_null(strstr(set.err.what, " 2 "));
    struct generation tokens;
    generated(&tokens, &opts, "tokens", folder_path("t"), 10);
    assert_int_equal(generation_run(&tokens, 1), DLB_E_CONFIG);
    assert_int_equal(tokens.err.code, DLB_ERR_CODEC_UNFIT);
}

/* A chunk is fetched and unfiltered once while its samples are read one after the other. */
static void chunks_are_kept(void **state)
{
    struct dlb_hdf5_opts opts = {.chunk_samples = 8, .filter = 2};
    struct hdf5_set set;
    uint64_t in_order = 0, jumping = 0;
    (void)state;
    if (!is_built("hdf5", "raw"))
        skip();
    struct generation g;
    generated(&g, &opts, "raw", folder_path("k"), 40);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    assert_int_equal(hdf5_open_set(&set, "k", DLB_ACCESS_CHUNKS, &opts), DLB_OK);
    for (uint64_t i = 0; i < 40; i++) {
        assert_int_equal(hdf5_read_one(&set, i), DLB_OK);
        assert_true(i % 8 == 0 ? set.sample.io_bytes > 0 : set.sample.io_bytes == 0);
        assert_true(set.sample.offset_bytes != DLB_NO_OFFSET);
        in_order += set.sample.io_bytes;
    }
    for (uint64_t i = 0; i < 40; i++) {
        assert_int_equal(hdf5_read_one(&set, i * 8 % 40 + i / 5), DLB_OK);
        jumping += set.sample.io_bytes;
    }
    assert_int_equal(jumping, in_order * 8);
    hdf5_close_set(&set);
}

struct written {
    struct dlb_shape from;
    void *state;
    const struct dlb_format *format;
    struct dlb_err err;
};

static int write_set(struct written *w, const char *path, const struct dlb_hdf5_opts *opts,
                     const size_t *sizes, size_t n, const uint8_t *bytes)
{
    struct dlb_write how = {.path = path, .opts = opts, .from = &w->from};
    w->format = dlb_format_by_name("hdf5");
    w->state = calloc(1, (w->format->writer->state_bytes + 63) & ~(size_t)63);
    assert_non_null(w->state);
    int rc = w->format->writer->open(w->state, &how, &w->err);
    for (size_t i = 0; rc == DLB_OK && i < n; i++) {
        struct dlb_sample sample = {
            .n_fields = 1, .label = (uint32_t)(i % 3), .labelled = true, .index = i};
        sample.field[0] = (struct dlb_field){bytes, sizes[i], ""};
        rc = w->format->writer->add(w->state, &sample, &w->err);
        bytes += sizes[i];
    }
    if (rc == DLB_OK)
        rc = w->format->writer->finish(w->state, &w->err);
    w->format->writer->close(w->state);
    free(w->state);
    return rc;
}

static void check_written(const char *name, const struct dlb_hdf5_opts *opts, const size_t *sizes,
                          size_t n, const uint8_t *bytes, uint32_t element)
{
    for (int access = DLB_ACCESS_LIBRARY; access <= DLB_ACCESS_CHUNKS; access++) {
        const uint8_t *at = bytes;
        struct hdf5_set set;
        assert_int_equal(hdf5_open_set(&set, name, access, opts), DLB_OK);
        assert_int_equal(set.ds.shape.n_samples, n);
        assert_int_equal(set.ds.shape.element, element);
        for (uint64_t i = 0; i < n; i++) {
            assert_int_equal(hdf5_read_one(&set, i), DLB_OK);
            assert_int_equal(set.sample.field[0].len_bytes, sizes[i]);
            assert_memory_equal(set.sample.field[0].data, at, sizes[i]);
            assert_int_equal(set.sample.label, i % 3);
            at += sizes[i];
        }
        hdf5_close_set(&set);
    }
}

enum { N = 300, MOST = 20000 };

static void writes_ragged(void **state)
{
    size_t sizes[N];
    struct written w = {.from = {.n_samples = N, .max_sample_bytes = MOST - 1}};
    (void)state;
    if (!is_built("hdf5", "raw"))
        skip();
    for (size_t i = 0; i < N; i++) {
        sizes[i] = i * i * 31 % MOST; /* the first has no bytes */
        w.from.total_bytes += sizes[i];
    }
    uint8_t *bytes = malloc(w.from.total_bytes);
    assert_non_null(bytes);
    for (size_t i = 0; i < w.from.total_bytes; i++)
        bytes[i] = (uint8_t)(i * i >> 5);
    for (int filter = 0; filter < 3; filter++) {
        struct dlb_hdf5_opts opts = {.chunk_samples = 1, .filter = filter};
        assert_int_equal(write_set(&w, folder_path("ragged.h5"), &opts, sizes, N, bytes), DLB_OK);
        check_written("ragged.h5", &opts, sizes, N, bytes, DLB_ELEMENT_NONE);
    }
    free(bytes);
}

/* Of N rows of 64 bytes; the caller frees them. */
static uint8_t *bytes_of_rows(void)
{
    uint8_t *bytes = malloc(N * 64);

    assert_non_null(bytes);
    for (size_t i = 0; i < N * 64; i++)
        bytes[i] = (uint8_t)(i * i >> 5);
    return bytes;
}

static void writes_rows(void **state)
{
    static const enum dlb_element elements[] = {DLB_ELEMENT_I16, DLB_ELEMENT_F32, DLB_ELEMENT_U64,
                                                DLB_ELEMENT_F64, DLB_ELEMENT_U8};
    size_t sizes[N];
    (void)state;
    if (!is_built("hdf5", "raw"))
        skip();
    uint8_t *bytes = bytes_of_rows();
    for (size_t i = 0; i < N; i++)
        sizes[i] = 64;
    for (size_t k = 0; k < sizeof elements / sizeof *elements; k++) {
        struct dlb_hdf5_opts opts = {.chunk_samples = (int64_t)k * 7};
        struct written w = {.from = {.n_samples = N,
                                     .max_sample_bytes = 64,
                                     .total_bytes = N * 64,
                                     .element = elements[k]}};
        assert_int_equal(write_set(&w, folder_path("rows.h5"), &opts, sizes, N, bytes), DLB_OK);
        check_written("rows.h5", &opts, sizes, N, bytes, elements[k]);
        w.from.n_samples = N - 1;
        w.from.total_bytes -= 64;
        assert_int_equal(write_set(&w, folder_path("many.h5"), &opts, sizes, N, bytes),
                         DLB_E_FORMAT);
        assert_int_equal(w.err.code, DLB_ERR_SOURCE_CHANGED);
        w.from.n_samples = N;
        w.from.total_bytes += 64;
        sizes[9] = 63;
        assert_int_equal(write_set(&w, folder_path("few.h5"), &opts, sizes, N, bytes),
                         DLB_E_FORMAT);
        assert_int_equal(w.err.code, DLB_ERR_SOURCE_CHANGED);
        sizes[9] = 64;
    }
    free(bytes);
}

/* Of the samples that the source announced convert left some out. */
static void writes_fewer(void **state)
{
    static const size_t some[] = {N - 1, N - 100, 1};
    size_t sizes[N];
    (void)state;
    if (!is_built("hdf5", "raw"))
        skip();
    uint8_t *bytes = bytes_of_rows();
    for (size_t k = 0; k < 4 * sizeof some / sizeof *some; k++) {
        struct dlb_hdf5_opts opts = {.chunk_samples = (int64_t)(k % 4) * 100, .filter = k % 4 == 2};
        size_t n = some[k / 4];
        struct written w = {.from = {.n_samples = N,
                                     .max_sample_bytes = 64,
                                     .total_bytes = N * 64,
                                     .element = DLB_ELEMENT_I16}};
        for (size_t i = 0; i < N; i++)
            sizes[i] = 64;
        assert_int_equal(write_set(&w, folder_path("few.h5"), &opts, sizes, n, bytes), DLB_OK);
        check_written("few.h5", &opts, sizes, n, bytes, DLB_ELEMENT_I16);
        size_t n_file;
        free(folder_read("few.h5", &n_file));
        if (k % 4 == 0) /* nothing is left of the rows that did not come */
            assert_in_range(n_file, n * 64, n * 64 + 8192);
        assert_false(folder_has("few.h5.again"));
        w.from.max_sample_bytes = 65; /* ragged */
        sizes[0] = 63;
        assert_int_equal(write_set(&w, folder_path("few.h5"), &opts, sizes, n, bytes), DLB_OK);
        check_written("few.h5", &opts, sizes, n, bytes, DLB_ELEMENT_NONE);
    }
    free(bytes);
}

static void probes(void **state)
{
    const struct dlb_format *format = dlb_format_by_name("hdf5");
    struct dlb_hdf5_opts opts = {.chunk_samples = 1};
    (void)state;
    if (format->missing)
        skip();
    struct generation g;
    generated(&g, &opts, "raw", folder_path("p"), 10);
    assert_int_equal(generation_run(&g, 1), DLB_OK);
    assert_int_equal(format->probe(folder_path("p"), &dlb_io_posix), 100);
    assert_int_equal(format->probe(folder_path("p/data.h5"), &dlb_io_posix), 100);
    folder_write("p.h5", "no HDF5 at all, whatever its name", 33);
    assert_int_equal(format->probe(folder_path("p.h5"), &dlb_io_posix), 0);
    assert_int_equal(format->probe(folder_path("nowhere"), &dlb_io_posix), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unshuffles),
        cmocka_unit_test(fletcher32),
        cmocka_unit_test(filters_fail),
        cmocka_unit_test_setup_teardown(gen_layouts, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(gen_resumes_and_refuses, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(chunks_are_kept, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(writes_ragged, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(writes_rows, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(writes_fewer, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(probes, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

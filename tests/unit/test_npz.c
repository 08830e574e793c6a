/* .npz: arrays stored and deflated, which of them, and every way to be damaged. The files are
 * written by hand here; numpy's own are in contract/test_kv_peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/codecs/inflate.h"
#include "formats/numpy/npz.h"
#include "tests/support/opened.h"

/* A ZIP being written: members, then the directory. */
static uint8_t zip[1 << 16], directory[1 << 12];
static size_t zip_end, directory_end;
static unsigned n_members;

static void put(uint8_t *out, size_t *end, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[(*end)++] = (uint8_t)(value >> (8 * i));
}

static void put_bytes(uint8_t *out, size_t *end, const void *data, size_t n)
{
    if (n)
        memcpy(out + *end, data, n);
    *end += n;
}

static void zip_start(void)
{
    zip_end = directory_end = n_members = 0;
}

/* method 99 and the like: the directory's word, nothing is packed. */
static void zip_add(const char *name, const uint8_t *data, size_t n, unsigned method)
{
    struct dlb_bytes packed = {0};
    struct dlb_err err;
    size_t n_name = strlen(name), header_at = zip_end;

    if (method == 8)
        assert_int_equal(dlb_deflate(DLB_DEFLATED_RAW, 6, data, n, &packed, &err), DLB_OK);
    else
        assert_int_equal(dlb_bytes_append(&packed, data, n, &err), DLB_OK);
    put(zip, &zip_end, 0x04034b50, 4);
    put(zip, &zip_end, 20, 2);
    put(zip, &zip_end, 0, 2);
    put(zip, &zip_end, method, 2);
    put(zip, &zip_end, 0, 4);
    put(zip, &zip_end, dlb_crc32(0, data, n), 4);
    put(zip, &zip_end, packed.len_bytes, 4);
    put(zip, &zip_end, n, 4);
    put(zip, &zip_end, n_name, 2);
    put(zip, &zip_end, 5, 2); /* an extra field that is in the local header alone */
    put_bytes(zip, &zip_end, name, n_name);
    put_bytes(zip, &zip_end, "extra", 5);
    put_bytes(zip, &zip_end, packed.data, packed.len_bytes);
    put(directory, &directory_end, 0x02014b50, 4);
    put(directory, &directory_end, 20, 2);
    put_bytes(directory, &directory_end, zip + header_at + 4, 24);
    put(directory, &directory_end, 0, 2); /* no extra field */
    put(directory, &directory_end, 0, 8); /* comment, disk, attributes */
    put(directory, &directory_end, 0, 2);
    put(directory, &directory_end, header_at, 4);
    put_bytes(directory, &directory_end, name, n_name);
    n_members++;
    dlb_bytes_free(&packed);
}

static void zip_finish(const char *file, const char *comment)
{
    size_t at = zip_end;
    put_bytes(zip, &zip_end, directory, directory_end);
    put(zip, &zip_end, 0x06054b50, 4);
    put(zip, &zip_end, 0, 4);
    put(zip, &zip_end, n_members, 2);
    put(zip, &zip_end, n_members, 2);
    put(zip, &zip_end, directory_end, 4);
    put(zip, &zip_end, at, 4);
    put(zip, &zip_end, strlen(comment), 2);
    put_bytes(zip, &zip_end, comment, strlen(comment));
    folder_write(file, zip, zip_end);
}

/* A .npy of this dict with n bytes 0, 1, 2, ... */
static size_t npy(uint8_t *out, const char *dict, size_t n)
{
    size_t len = strlen(dict);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (uint8_t)len;
    out[9] = (uint8_t)(len >> 8);
    memcpy(out + 10, dict, len);
    for (size_t i = 0; i < n; i++)
        out[10 + len + i] = (uint8_t)i;
    return 10 + len + n;
}

#define ROWS "{'descr': '<i2', 'fortran_order': False, 'shape': (10, 3, 2), }"

static void write_two(const char *file, unsigned method)
{
    uint8_t data[4096];
    zip_start();
    zip_add("notes.txt", (const uint8_t *)"hello", 5, 0);
    zip_add("x.npy", data, npy(data, ROWS, 120), method);
    zip_add("dir/y.npy", data,
            npy(data, "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", 32), method);
    zip_finish(file, "");
}

static void expect(struct opened_set *set, uint64_t n_rows, size_t row_bytes)
{
    uint8_t want[512], there[512];
    for (size_t i = 0; i < sizeof want; i++)
        want[i] = (uint8_t)i;
    assert_int_equal(set->ds.shape.n_samples, n_rows);
    assert_int_equal(set->ds.shape.max_sample_bytes, row_bytes);
    assert_int_equal(set->ds.shape.total_bytes, n_rows * row_bytes);
    for (uint64_t i = n_rows; i-- > 0;) {
        assert_int_equal(opened_read(set, i), DLB_OK);
        opened_is(set, want + i * row_bytes, row_bytes);
        assert_int_equal(set->sample.index, i);
        assert_int_equal(opened_read_to(set, i, (struct dlb_dest){there, row_bytes}), DLB_OK);
        assert_ptr_equal(set->sample.field[0].data, there);
        opened_is(set, want + i * row_bytes, row_bytes);
    }
}

static void arrays(void **state)
{
    struct dlb_npz_opts opts = {.array = ""};
    (void)state;
    for (unsigned method = 0; method <= 8; method += 8) {
        struct opened_set set;
        if (method && dlb_inflate_missing)
            break;
        write_two("a.npz", method);
        opened_must(&set, "npz", "raw", folder_path("a.npz"), NULL);
        assert_int_equal(set.ds.shape.element, DLB_ELEMENT_I16);
        assert_non_null(strstr(set.ds.shape.odd[0], "dir/y"));
        assert_int_equal(set.ds.shape.n_odd, method ? 2 : 1);
        /* 120 bytes behind a head of 128, and as they are stored */
        assert_in_range(set.ds.shape.reader_bytes, method ? 249 : 0, method ? 2 * 248 : 0);
        expect(&set, 10, 12);
        opened_close(&set);
        static const char *const names[] = {"dir/y", "dir/y.npy"};
        for (int i = 0; i < 2; i++) {
            (void)snprintf(opts.array, sizeof opts.array, "%s", names[i]);
            opened_must(&set, "npz", "raw", folder, &opts); /* the only one in the folder */
            expect(&set, 4, 8);
            opened_close(&set);
        }
    }
    (void)snprintf(opts.array, sizeof opts.array, "z");
    opened_refused_as("npz", folder, &opts, DLB_ERR_NPZ_NO_SUCH_ARRAY, "a.npz", "\"x\"");
    folder_write("b.npz", "", 0);
    opened_refused_as("npz", folder, &opts, DLB_ERR_DATASET_SEVERAL_FILES, "", " 2 ");
    const struct dlb_format *format = dlb_format_by_name("npz");
    assert_true(format->probe(folder_path("a.npz"), &dlb_io_posix) > 90);
    assert_int_equal(format->probe(folder_path("b.npz"), &dlb_io_posix), 0);
}

/* The bytes of a deflated array are asked for once by each reader. */
static void io_bytes(void **state)
{
    struct opened_set set;
    uint64_t sum = 0;
    (void)state;
    if (dlb_inflate_missing)
        skip();
    write_two("a.npz", 8);
    opened_must(&set, "npz", "raw", folder, NULL);
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(opened_read(&set, i), DLB_OK);
        sum += set.sample.io_bytes;
    }
    assert_true(sum > 100 && sum < 250);
    opened_close(&set);
}

static void refused_dict(const char *dict, size_t n, enum dlb_code code)
{
    uint8_t data[1024];
    zip_start();
    zip_add("a.npy", data, npy(data, dict, n), 0);
    zip_finish("a.npz", "a comment");
    opened_refused_as("npz", folder, NULL, code, "a.npz", "");
}

static void other_arrays(void **state)
{
    struct opened_set set;
    (void)state;
    refused_dict("{'descr': '<i2', 'fortran_order': False, 'shape': (), }", 2,
                 DLB_ERR_NPZ_ARRAY_UNFIT);
    refused_dict("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 2), }", 8,
                 DLB_ERR_NPZ_ARRAY_UNFIT);
    refused_dict("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", 8,
                 DLB_ERR_NPY_TYPE_UNFIT);
    refused_dict("{'descr': '<i2', 'fortran_order': False, 'shape': (0, 3), }", 0,
                 DLB_ERR_NPZ_ARRAY_UNFIT);
    refused_dict("{'descr': '<i2', 'fortran_order': False, 'shape': (3, 0), }", 0,
                 DLB_ERR_NPZ_ARRAY_UNFIT);
    refused_dict("{'descr': '>i8', 'fortran_order': False, 'shape': (5,), }", 39,
                 DLB_ERR_FILE_CUT_SHORT);
    refused_dict("no dict", 39, DLB_ERR_NPY_HEADER_DAMAGED);
    zip_start();
    zip_add("a.txt", (const uint8_t *)"x", 1, 0);
    zip_finish("a.npz", "");
    opened_refused_as("npz", folder, NULL, DLB_ERR_DATASET_EMPTY, "a.npz", " 1 ");
    uint8_t data[1024];
    zip_start();
    zip_add("a.npy", data, npy(data, ROWS, 120), 12);
    zip_finish("a.npz", "");
    opened_refused_as("npz", folder, NULL, DLB_ERR_NPZ_ZIP_UNSUPPORTED, "a.npz", " 12;");
    zip_start();
    zip_add("a.npy", data,
            npy(data, "{'descr': '>c8', 'fortran_order': False, 'shape': (4,), }", 32), 0);
    zip_finish("a.npz", "PK\5\6 is in the comment");
    opened_must(&set, "npz", "raw", folder, NULL);
    assert_int_equal(set.ds.shape.element, DLB_ELEMENT_NONE);
    expect(&set, 4, 8);
    opened_close(&set);
    opened_open(&set, "npz", "npy", folder, NULL);
    assert_int_equal(set.err.status, DLB_E_CONFIG);
}

/* Whatever bit is wrong: an error with a path, or an array of some kind; deflated ones say it all.
 */
static void flipped(void **state)
{
    (void)state;
    for (unsigned method = 0; method <= 8; method += 8) {
        if (method && dlb_inflate_missing)
            break;
        write_two("a.npz", method);
        for (size_t bit = 0; bit < zip_end * 8; bit += 7) {
            struct opened_set set;
            uint8_t mask = (uint8_t)(1U << bit % 8);
            zip[bit / 8] ^= mask;
            folder_write("a.npz", zip, zip_end);
            zip[bit / 8] ^= mask;
            if (opened_open(&set, "npz", "raw", folder, NULL) == DLB_OK) {
                for (uint64_t i = 0; i < set.ds.shape.n_samples; i++)
                    assert_int_equal(opened_read(&set, i), DLB_OK);
                opened_close(&set);
            } else {
                assert_true(set.err.what[0] && strstr(set.err.path, "a.npz"));
            }
        }
    }
}

static void damaged_deflate(void **state)
{
    (void)state;
    if (dlb_inflate_missing)
        skip();
    write_two("a.npz", 8);
    size_t data_at = 30 + 9 + 5 + 5 + 30 + 5 + 5; /* past the notes and x.npy's own header */
    for (size_t i = 90; i < 110; i++) {
        zip[data_at + i] ^= 0x55;
        folder_write("a.npz", zip, zip_end);
        zip[data_at + i] ^= 0x55;
        opened_refused("npz", folder, NULL, DLB_E_FORMAT, "a.npz", "");
    }
    zip[data_at - 5 - 5 - 30 + 14] ^= 1; /* the CRC in the local header is not what counts */
    folder_write("a.npz", zip, zip_end);
    struct opened_set set;
    opened_must(&set, "npz", "raw", folder, NULL);
    opened_close(&set);
    uint8_t *entry = zip + zip_end - 22 - directory_end + 46 + 9; /* of x.npy */
    entry[16] ^= 1;
    folder_write("a.npz", zip, zip_end);
    opened_refused_as("npz", folder, NULL, DLB_ERR_NPZ_ARRAY_DAMAGED, "a.npz", "CRC-32");
    entry[16] ^= 1;
    entry[27] = 0x7f; /* 2 GiB out of some 150 bytes */
    folder_write("a.npz", zip, zip_end);
    opened_refused_as("npz", folder, NULL, DLB_ERR_NPZ_ZIP_DAMAGED, "a.npz", "1032");
}

static void truncated(void **state)
{
    struct opened_set set;
    (void)state;
    write_two("a.npz", 0);
    for (size_t n = 0; n < zip_end; n++) {
        folder_write("a.npz", zip, n);
        opened_refused_as("npz", folder, NULL, DLB_ERR_FILE_NOT_OF_FORMAT, "a.npz", "");
    }
    folder_write("a.npz", zip, zip_end);
    opened_must(&set, "npz", "raw", folder, NULL);
    folder_cut("a.npz", 200);
    assert_int_equal(opened_read(&set, 0), DLB_OK);
    assert_int_equal(opened_read(&set, 9), DLB_E_IO);
    assert_int_equal(set.err.code, DLB_ERR_FILE_CHANGED);
    assert_true(set.err.offset_bytes >= 200 && set.err.offset_bytes < 300);
    opened_close(&set);
    opened_refused_as("npz", folder_path("none"), NULL, DLB_ERR_NOT_FOUND, "none", "");
}

static void generated(void **state)
{
    struct generation g;
    struct opened_set set;
    (void)state;
    if (dlb_inflate_missing)
        skip();
    generation_set(&g, "npz", "raw", folder_path("d"), 50, 777);
    assert_int_equal(generation_run(&g, 2), DLB_OK);
    assert_int_equal(g.n_written, 50);
    opened_must(&set, "npz", "raw", g.gen.path, NULL);
    assert_int_equal(set.ds.shape.n_samples, 50);
    assert_int_equal(set.ds.shape.element, DLB_ELEMENT_U8);
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(opened_read(&set, i), DLB_OK);
        opened_is_made(&set, "raw", &g.opts, i);
    }
    opened_close(&set);
    generation_set(&g, "npz", "npy", folder_path("e"), 50, 777);
    assert_int_equal(generation_run(&g, 1), DLB_E_CONFIG);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(arrays),          TEST(io_bytes),  TEST(other_arrays), TEST(flipped),
        TEST(damaged_deflate), TEST(truncated), TEST(generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

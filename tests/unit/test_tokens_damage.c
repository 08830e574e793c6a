/* Files of tokens that are cut, empty, of another kind, or tell absurd numbers: refused with path,
 * offset and a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/tokens.h"

enum { T = 8, N = 1000 };

static const struct dlb_tokens_opts plain = {.seq_len = T, .sampling = DLB_TOKENS_CONTIGUOUS};

/* figure: a number or name that the message has to give. */
static void refused_with(const char *name, const char *codec, struct dlb_tokens_opts opts,
                         enum dlb_code code, const char *in_path, const char *figure)
{
    for (int access = DLB_ACCESS_AUTO; access <= DLB_ACCESS_PREAD; access++) {
        struct tokens_set set;
        int rc = tokens_open_as(&set, name, codec, access, opts);
        if (rc != (int)dlb_code_status(code) || set.err.code != code ||
            !strstr(set.err.path, in_path) || !strstr(set.err.what, figure))
            fail_msg("%s: %s, \"%s\": \"%s\"; wanted %s, \"%s\"", name, dlb_code_name(set.err.code),
                     set.err.path, set.err.what, dlb_code_name(code), figure);
    }
}

static void refused(const char *name, const char *codec, struct dlb_tokens_opts opts,
                    enum dlb_code code, const char *in_path)
{
    refused_with(name, codec, opts, code, in_path, "");
}

static void raw(void **state)
{
    struct dlb_tokens_opts opts = plain;
    (void)state;
    folder_write("a.bin", "", 0);
    refused("a.bin", "raw", plain, DLB_ERR_TOKENS_TOO_FEW, "a.bin");
    tokens_write("a.bin", NULL, 0, 0, T, 2);
    refused("a.bin", "raw", plain, DLB_ERR_TOKENS_TOO_FEW, "a.bin");
    folder_write("a.bin", "odd", 3);
    refused_with("a.bin", "raw", plain, DLB_ERR_TOKENS_SIZE_UNFIT, "a.bin", "u16");
    refused("nothing.bin", "raw", plain, DLB_ERR_NOT_FOUND, "nothing.bin");
    folder_sub("d");
    refused("d", "raw", plain, DLB_ERR_DATASET_EMPTY, "/d");
    tokens_write("a.bin", NULL, 0, 0, N, 2);
    opts.sampling = DLB_TOKENS_SHUFFLED;
    refused("a.bin", "raw", opts, DLB_ERR_TOKENS_SAMPLING_UNFIT, "a.bin");
    if (!dlb_codec_by_name("jpeg")->missing)
        refused_with("a.bin", "jpeg", plain, DLB_ERR_CODEC_UNFIT, "a.bin", "jpeg");
    opts = (struct dlb_tokens_opts){.layout = DLB_TOKENS_NPY, .seq_len = T};
    refused("a.bin", "raw", opts, DLB_ERR_FILE_NOT_OF_FORMAT, "a.bin");
    opts.layout = DLB_TOKENS_LLMC;
    refused("a.bin", "raw", opts, DLB_ERR_FILE_NOT_OF_FORMAT, "a.bin");
    opts.layout = DLB_TOKENS_MEGATRON;
    refused("a.bin", "raw", opts, DLB_ERR_NOT_FOUND, "a.idx");
}

static void other_accesses(void **state)
{
    struct dlb_dataset_opts opts = {.format = dataset_place(dlb_format_names, "files"),
                                    .access = DLB_ACCESS_MMAP};
    struct dlb_transform_opts transform = {.size = 32};
    struct dlb_dataset ds;
    struct dlb_err err;
    (void)state;
    (void)snprintf(opts.path, sizeof opts.path, "%s", folder);
    assert_int_equal(dlb_dataset_open(&ds, &opts, &transform, NULL, NULL, &err), DLB_E_CONFIG);
    assert_true(strstr(err.what, "mmap") && strstr(err.what, "files"));
    opts.access = DLB_ACCESS_AUTO;
    opts.codec = dataset_place(dlb_codec_names, "tokens");
    assert_int_equal(dlb_dataset_open(&ds, &opts, &transform, NULL, NULL, &err), DLB_E_CONFIG);
    assert_true(strstr(err.what, "tokens") && strstr(err.what, "files"));
}

static void llmc(void **state)
{
    (void)state;
    tokens_write_llmc("a.bin", 20240520, 1, N, N - 1, 2);
    refused_with("a.bin", "raw", plain, DLB_ERR_FILE_CUT_SHORT, "a.bin", " 1000 ");
    tokens_write_llmc("a.bin", 20240520, 1, N, N + 1, 2);
    refused_with("a.bin", "raw", plain, DLB_ERR_TOKENS_HEADER_DAMAGED, "a.bin", " 1001");
    tokens_write_llmc("a.bin", 20240520, 1, UINT32_MAX, N, 2);
    refused_with("a.bin", "raw", plain, DLB_ERR_TOKENS_HEADER_DAMAGED, "a.bin", " -1 ");
    tokens_write_llmc("a.bin", 20240520, 9, N, N, 2);
    refused_with("a.bin", "raw", plain, DLB_ERR_FILE_VERSION_UNKNOWN, "a.bin", "version 9");
    tokens_write_llmc("a.bin", 20240520, 1, 0, 0, 2);
    refused("a.bin", "raw", plain, DLB_ERR_TOKENS_TOO_FEW, "a.bin");
    folder_cut("a.bin", 1000);
    refused("a.bin", "raw", plain, DLB_ERR_FILE_CUT_SHORT, "a.bin");
    tokens_write_llmc("a.bin", 20240520, 1, N, N, 2);
    refused_with("a.bin", "raw", (struct dlb_tokens_opts){.seq_len = T, .dtype = 3},
                 DLB_ERR_TOKENS_DTYPE_UNFIT, "a.bin", "u16");
}

static void npy(void **state)
{
    static const struct {
        int version;
        const char *dict;
        enum dlb_code code;
        const char *figure;
    } bad[] = {
        {1, "{'descr': '>u2', 'fortran_order': False, 'shape': (1000,), }",
         DLB_ERR_TOKENS_NO_INTEGERS, "'>u2'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }",
         DLB_ERR_TOKENS_NO_INTEGERS, "'<f4'"},
        {1, "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (10,), }",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'fortran_order': True, 'shape': (10, 10), }",
         DLB_ERR_TOKENS_ARRAY_UNFIT, "Fortran"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (10, 10, 10), }",
         DLB_ERR_TOKENS_ARRAY_UNFIT, " 3 "},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (), }", DLB_ERR_TOKENS_ARRAY_UNFIT,
         " 0 "},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (10, 0), }",
         DLB_ERR_TOKENS_ARRAY_UNFIT, " 0 "},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1001,), }", DLB_ERR_FILE_CUT_SHORT,
         " 1001 "},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775808,), }",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (-1,), }",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000), }",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'fortran_order': False, }", DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (9,)}",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000,), } and more",
         DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "{'descr': '<u2", DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {1, "", DLB_ERR_NPY_HEADER_DAMAGED, ""},
        {4, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000,), }",
         DLB_ERR_FILE_VERSION_UNKNOWN, "version 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tokens_write_npy("a.npy", bad[i].version, bad[i].dict, N, 2);
        refused_with("a.npy", "raw", plain, bad[i].code, "a.npy", bad[i].figure);
    }
    tokens_write_npy("a.npy", 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000,), }", N,
                     2);
    for (size_t n = 6; n < 70; n += 9) {
        folder_cut("a.npy", 70 - n);
        refused("a.npy", "raw", (struct dlb_tokens_opts){.layout = DLB_TOKENS_NPY, .seq_len = T},
                70 - n < 6 ? DLB_ERR_FILE_NOT_OF_FORMAT : DLB_ERR_FILE_CUT_SHORT, "a.npy");
    }
    folder_write("a.npy", "\x93NUMPY\2\0\xff\xff\xff\xff", 12);
    refused_with("a.npy", "raw", plain, DLB_ERR_NPY_HEADER_DAMAGED, "a.npy", " 4294967295 ");
}

/* The number at `at` of the index becomes `value`; where the error is then. */
static void megatron_with(uint8_t *good, size_t n, size_t at, uint64_t value, size_t width,
                          const char *in_path, enum dlb_code code, uint64_t offset_bytes)
{
    struct tokens_set set;
    uint64_t kept = tokens_get(good + at, width);
    tokens_put(good + at, value, width);
    folder_write("m.idx", good, n);
    refused("m", "raw", plain, code, in_path);
    (void)tokens_open_as(&set, "m", "raw", 0, plain);
    assert_int_equal(set.err.offset_bytes, offset_bytes);
    tokens_put(good + at, kept, width);
}

static void megatron(void **state)
{
    int32_t length[] = {400, 0, 600};
    int64_t pointer[] = {0, 800, 800};
    size_t n;
    uint8_t *good;
    struct tokens_set set;

    (void)state;
    tokens_write("m.bin", NULL, 0, 0, N, 2);
    tokens_write_idx("m.idx", 8, length, pointer, 3);
    good = folder_read("m.idx", &n);
    assert_int_equal(n, 34 + 3 * 20 + 8);
    assert_int_equal(tokens_open_as(&set, "m", "raw", 0, plain), DLB_OK);
    tokens_close_set(&set);
    megatron_with(good, n, 0, 'X', 1, "m.idx", DLB_ERR_FILE_NOT_OF_FORMAT, 0);
    megatron_with(good, n, 9, 2, 8, "m.idx", DLB_ERR_FILE_VERSION_UNKNOWN, 9);
    megatron_with(good, n, 17, 0, 1, "m.idx", DLB_ERR_TOKENS_NO_INTEGERS, 17);
    megatron_with(good, n, 17, 6, 1, "m.idx", DLB_ERR_TOKENS_NO_INTEGERS, 17);
    megatron_with(good, n, 17, 77, 1, "m.idx", DLB_ERR_TOKENS_NO_INTEGERS, 17);
    megatron_with(good, n, 17, 5, 1, "m.bin", DLB_ERR_FILE_CUT_SHORT,
                  2000); /* i64: four times as long */
    megatron_with(good, n, 18, UINT64_MAX, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 18);
    megatron_with(good, n, 18, UINT64_C(1) << 60, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 18);
    megatron_with(good, n, 26, UINT64_MAX / 8, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 18);
    megatron_with(good, n, 18, 2, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 90);
    megatron_with(good, n, 34, 0xffffffff, 4, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 34);
    megatron_with(good, n, 34, 401, 4, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 42);
    megatron_with(good, n, 34, 0x7fffffff, 4, "m.bin", DLB_ERR_FILE_CUT_SHORT, 2000);
    megatron_with(good, n, 34 + 12 + 16, 802, 8, "m.bin", DLB_ERR_FILE_CUT_SHORT, 2000);
    megatron_with(good, n, 34 + 12 + 16, (uint64_t)-2, 8, "m.bin", DLB_ERR_FILE_CUT_SHORT, 2000);
    megatron_with(good, n, 34 + 36, 1, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 70);
    megatron_with(good, n, 34 + 36 + 8, 9, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 78);
    megatron_with(good, n, 34 + 36 + 16, 0, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 86);
    megatron_with(good, n, 34 + 36 + 24, 2, 8, "m.idx", DLB_ERR_TOKENS_INDEX_DAMAGED, 94);
    for (size_t i = 0; i < n; i += 7) {
        folder_write("m.idx", good, i);
        refused("m", "raw", plain,
                i < 9    ? DLB_ERR_FILE_NOT_OF_FORMAT /* within the magic, the header, the lists */
                : i < 34 ? DLB_ERR_FILE_CUT_SHORT
                         : DLB_ERR_TOKENS_INDEX_DAMAGED,
                "m.idx");
    }
    folder_write("m.idx", good, n);
    folder_cut("m.bin", 1998);
    refused("m", "raw", plain, DLB_ERR_FILE_CUT_SHORT, "m.bin");
    assert_int_equal(remove(folder_path("m.bin")), 0);
    refused("m.idx", "raw", plain, DLB_ERR_TOKENS_NO_BIN, "m.idx");
    free(good);
}

static uint32_t n_asked;

static int counting_stat(const char *path, enum dlb_io_kind *kind, uint64_t *n_bytes,
                         struct dlb_err *err)
{
    n_asked++;
    return dlb_io_posix.stat(path, kind, n_bytes, err);
}

/* A probe does not ask after each link that leads nowhere. */
static void stale_links(void **state)
{
    struct dlb_io io = dlb_io_posix;
    char name[32];

    (void)state;
    io.stat = counting_stat;
    for (int i = 0; i < 30; i++) {
        (void)snprintf(name, sizeof name, "a%02d.npy", i);
        assert_int_equal(symlink("/nowhere/x", folder_path(name)), 0);
    }
    assert_int_equal(dlb_tokens_probe(folder, &io), 0);
    assert_in_range(n_asked, 0, 8);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(raw), TEST(other_accesses), TEST(llmc), TEST(npy), TEST(megatron), TEST(stale_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

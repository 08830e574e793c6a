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

static void refused(const char *name, const char *codec, struct dlb_tokens_opts opts, int status,
                    const char *in_path, const char *words)
{
    for (int access = DLB_ACCESS_AUTO; access <= DLB_ACCESS_PREAD; access++) {
        struct tokens_set set;
        int rc = tokens_open_as(&set, name, codec, access, opts);
        if (rc != status || !strstr(set.err.path, in_path) || !strstr(set.err.what, words))
            fail_msg("%s: status %d, \"%s\": \"%s\"; wanted %d, \"%s\"", name, rc, set.err.path,
                     set.err.what, status, words);
    }
}

static void raw(void **state)
{
    struct dlb_tokens_opts opts = plain;
    (void)state;
    folder_write("a.bin", "", 0);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "too few");
    tokens_write("a.bin", NULL, 0, 0, T, 2);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "too few");
    folder_write("a.bin", "odd", 3);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "no whole number of u16");
    refused("nothing.bin", "raw", plain, DLB_E_IO, "nothing.bin", "No such file");
    folder_sub("d");
    refused("d", "raw", plain, DLB_E_FORMAT, "/d", "no files of tokens");
    tokens_write("a.bin", NULL, 0, 0, N, 2);
    opts.sampling = DLB_TOKENS_SHUFFLED;
    refused("a.bin", "raw", opts, DLB_E_CONFIG, "a.bin", "only layout megatron");
    if (!dlb_codec_by_name("jpeg")->missing)
        refused("a.bin", "jpeg", plain, DLB_E_CONFIG, "a.bin", "tokens are no jpeg");
    opts = (struct dlb_tokens_opts){.layout = DLB_TOKENS_NPY, .seq_len = T};
    refused("a.bin", "raw", opts, DLB_E_FORMAT, "a.bin", "NUMPY");
    opts.layout = DLB_TOKENS_LLMC;
    refused("a.bin", "raw", opts, DLB_E_FORMAT, "a.bin", "no llm.c header");
    opts.layout = DLB_TOKENS_MEGATRON;
    refused("a.bin", "raw", opts, DLB_E_IO, "a.idx", "No such file");
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
    assert_non_null(strstr(err.what, "dataset.access = \"mmap\": format files has no such way"));
    opts.access = DLB_ACCESS_AUTO;
    opts.codec = dataset_place(dlb_codec_names, "tokens");
    assert_int_equal(dlb_dataset_open(&ds, &opts, &transform, NULL, NULL, &err), DLB_E_CONFIG);
    assert_non_null(
        strstr(err.what, "codec tokens needs a format that knows which numbers it holds"));
}

static void llmc(void **state)
{
    (void)state;
    tokens_write_llmc("a.bin", 20240520, 1, N, N - 1, 2);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin",
            "cut short: llm.c's header says 1000 tokens");
    tokens_write_llmc("a.bin", 20240520, 1, N, N + 1, 2);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "too long");
    tokens_write_llmc("a.bin", 20240520, 1, UINT32_MAX, N, 2);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "says -1 tokens");
    tokens_write_llmc("a.bin", 20240520, 9, N, N, 2);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "version 9");
    tokens_write_llmc("a.bin", 20240520, 1, 0, 0, 2);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "too few");
    folder_cut("a.bin", 1000);
    refused("a.bin", "raw", plain, DLB_E_FORMAT, "a.bin", "cut short within llm.c's header");
    tokens_write_llmc("a.bin", 20240520, 1, N, N, 2);
    refused("a.bin", "raw", (struct dlb_tokens_opts){.seq_len = T, .dtype = 3}, DLB_E_CONFIG,
            "a.bin", "holds u16");
}

static void npy(void **state)
{
    static const struct {
        int version;
        const char *dict, *words;
    } bad[] = {
        {1, "{'descr': '>u2', 'fortran_order': False, 'shape': (1000,), }", "'>u2'"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (10,), }", "whole numbers"},
        {1, "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (10,), }", "no dict"},
        {1, "{'descr': '<u2', 'fortran_order': True, 'shape': (10, 10), }", "Fortran"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (10, 10, 10), }", "3 dimensions"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (), }", "0 dimensions"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (10, 0), }", "rows of 0"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1001,), }", "cut short"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (9223372036854775808,), }",
         "beyond all memory"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         "no dict"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
         "beyond all memory"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (-1,), }", "no dict"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000), }", "no dict"},
        {1, "{'descr': '<u2', 'fortran_order': False, }", "no dict"},
        {1, "{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (9,)}", "no dict"},
        {1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000,), } and more", "no dict"},
        {1, "{'descr': '<u2", "no dict"},
        {1, "", "no dict"},
        {4, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000,), }", "version 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tokens_write_npy("a.npy", bad[i].version, bad[i].dict, N, 2);
        refused("a.npy", "raw", plain, DLB_E_FORMAT, "a.npy", bad[i].words);
    }
    tokens_write_npy("a.npy", 1, "{'descr': '<u2', 'fortran_order': False, 'shape': (1000,), }", N,
                     2);
    for (size_t n = 6; n < 70; n += 9) {
        folder_cut("a.npy", 70 - n);
        refused("a.npy", "raw", (struct dlb_tokens_opts){.layout = DLB_TOKENS_NPY, .seq_len = T},
                DLB_E_FORMAT, "a.npy", 70 - n < 6 ? "NUMPY" : "cut short");
    }
    folder_write("a.npy", "\x93NUMPY\2\0\xff\xff\xff\xff", 12);
    refused("a.npy", "raw", plain, DLB_E_FORMAT, "a.npy", "4294967295 bytes long");
}

static void megatron_with(uint8_t *good, size_t n, size_t at, uint64_t value, size_t width,
                          const char *in_path, const char *words)
{
    uint64_t kept = tokens_get(good + at, width);
    tokens_put(good + at, value, width);
    folder_write("m.idx", good, n);
    refused("m", "raw", plain, DLB_E_FORMAT, in_path, words);
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
    megatron_with(good, n, 0, 'X', 1, "m.idx", "MMIDIDX");
    megatron_with(good, n, 9, 2, 8, "m.idx", "version 2");
    megatron_with(good, n, 17, 0, 1, "m.idx", "dtype code 0");
    megatron_with(good, n, 17, 6, 1, "m.idx", "f64");
    megatron_with(good, n, 17, 77, 1, "m.idx", "dtype code 77");
    megatron_with(good, n, 17, 5, 1, "m.bin", "cut short?"); /* i64: four times as long */
    megatron_with(good, n, 18, UINT64_MAX, 8, "m.idx", "cannot hold");
    megatron_with(good, n, 18, UINT64_C(1) << 60, 8, "m.idx", "cannot hold");
    megatron_with(good, n, 26, UINT64_MAX / 8, 8, "m.idx", "cannot hold");
    megatron_with(good, n, 18, 2, 8, "m.idx", "too many");
    megatron_with(good, n, 34, 0xffffffff, 4, "m.idx", "-1 tokens long");
    megatron_with(good, n, 34, 401, 4, "m.idx", "overlap");
    megatron_with(good, n, 34, 0x7fffffff, 4, "m.bin", "cut short?");
    megatron_with(good, n, 34 + 12 + 16, 802, 8, "m.bin", "ends before sequence 2");
    megatron_with(good, n, 34 + 12 + 16, (uint64_t)-2, 8, "m.bin", "ends before sequence 2");
    megatron_with(good, n, 34 + 36, 1, 8, "m.idx", "document 0");
    megatron_with(good, n, 34 + 36 + 8, 9, 8, "m.idx", "document 1");
    megatron_with(good, n, 34 + 36 + 16, 0, 8, "m.idx", "document 2");
    megatron_with(good, n, 34 + 36 + 24, 2, 8, "m.idx", "end at sequence 2 of 3");
    for (size_t i = 0; i < n; i += 7) {
        folder_write("m.idx", good, i);
        refused("m", "raw", plain, DLB_E_FORMAT, "m.idx", "");
    }
    folder_write("m.idx", good, n);
    folder_cut("m.bin", 1998);
    refused("m", "raw", plain, DLB_E_FORMAT, "m.bin", "cut short?");
    assert_int_equal(remove(folder_path("m.bin")), 0);
    refused("m.idx", "raw", plain, DLB_E_FORMAT, "m.idx", "no .bin beside it");
    free(good);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(raw), TEST(other_accesses), TEST(llmc), TEST(npy), TEST(megatron),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

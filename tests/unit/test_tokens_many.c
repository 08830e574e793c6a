/* Windows of tokens that are copied many at once: the bytes of single reads, and never those of a
 * file that was cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/tokens.h"

enum { T = 8, N = 1000, CUT_AT = 3 * 4096 + 6 };

/* Any windows of several files, as single reads give them; not by pread. */
static void many_at_once(void **state)
{
    enum { N_ASKED = 7, EACH = (T + 1) * 2 };
    const uint64_t index[N_ASKED] = {240, 0, 124, 123, 124, 3, 247};
    (void)state;
    folder_sub("d");
    tokens_write("d/a.bin", NULL, 0, 0, N, 2);
    tokens_write("d/b.bin", NULL, 0, 5000, N, 2);
    for (int way = 0; way < 4; way++) {
        struct dlb_tokens_opts opts = {.seq_len = T,
                                       .seed = 5,
                                       .sampling =
                                           way & 1 ? DLB_TOKENS_RANDOM : DLB_TOKENS_CONTIGUOUS};
        struct tokens_set set;
        uint8_t there[N_ASKED * EACH] = {0};
        uint32_t label[N_ASKED];
        int access = way & 2 ? DLB_ACCESS_PREAD : DLB_ACCESS_MMAP;
        assert_int_equal(tokens_open_as(&set, "d", "raw", access, opts), DLB_OK);
        assert_int_equal(set.ds.shape.n_samples, 2 * ((N - 1) / T));
        uint32_t n = set.ds.format->reader->read_many(set.reader, index, N_ASKED, there, label);
        assert_int_equal(n, access == DLB_ACCESS_MMAP ? N_ASKED : 0);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(tokens_read_one(&set, index[i]), DLB_OK);
            assert_memory_equal(there + (size_t)i * EACH, set.sample.field[0].data, EACH);
            assert_int_equal(label[i], set.sample.label);
        }
        tokens_close_set(&set);
    }
}

/* No zeros of a file that was cut, in the middle of a page too, whatever its tokens end in. */
static void many_of_a_cut_file(void **state)
{
    uint64_t index[16];
    uint32_t label[16];
    uint8_t there[16 * (T + 1) * 4];
    (void)state;
    for (uint32_t i = 0; i < 16; i++)
        index[i] = i;
    for (size_t each = 2; each <= 4; each += 2) { /* 4: their last bytes are zero */
        struct dlb_tokens_opts opts = {.seq_len = T, .sampling = DLB_TOKENS_CONTIGUOUS};
        struct tokens_set set;
        opts.dtype = each == 4 ? 3 : 0;
        tokens_write("a.bin", NULL, 0, 1, 20000, each);
        assert_int_equal(tokens_open_as(&set, "a.bin", "raw", DLB_ACCESS_MMAP, opts), DLB_OK);
        const struct dlb_reader *reader = set.ds.format->reader;
        assert_int_equal(reader->read_many(set.reader, index, 16, there, label), 16);
        folder_cut("a.bin", CUT_AT);
        for (int way = 0; way < 2; way++) { /* the first that is not whole comes last, or first */
            uint64_t n_whole = (CUT_AT / each - 1) / T;
            for (uint32_t i = 0; i < 16; i++)
                index[i] = way == 0 ? n_whole - 15 + i : n_whole - i;
            assert_int_equal(reader->read_many(set.reader, index, 16, there, label), 0);
        }
        for (uint64_t first = 0; first < set.ds.shape.n_samples; first++) {
            bool all_there = (first * T + T + 1) * each <= CUT_AT;
            uint32_t n = reader->read_many(set.reader, &first, 1, there, label);
            assert_true(n == 0 || all_there);
            for (size_t i = 0; n && i <= T; i++)
                assert_int_equal(tokens_get(there + i * each, each), 1 + first * T + i);
        }
        tokens_close_set(&set);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(many_at_once),
        TEST(many_of_a_cut_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

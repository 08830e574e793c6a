/* Windows of tokens that are copied many at once: the bytes of single reads, and never those of a
 * file that was cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/tokens.h"

#include <stdio.h>
#include <sys/resource.h>

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

/* All samples of `d`, whose files hold the tokens 0 to N - 1, and where they are read from. */
static void read_all(const struct tokens_set *opened, uint64_t n_files, bool direct)
{
    struct tokens_set set = *opened;
    const struct dlb_reader *reader = set.ds.format->reader;
    const uint64_t each = (N - 1) / T;

    for (uint64_t i = 0; i < n_files * each; i += i % each == 0 ? each - 1 : 1) {
        struct dlb_extent extent = {.fd = 0};
        struct dlb_located located = {.extent = &extent, .cap = 1};
        assert_int_equal(tokens_read_one(&set, i), DLB_OK);
        assert_int_equal(tokens_count(&set), T + 1);
        assert_int_equal(tokens_of(&set, 0), i % each * T);
        assert_int_equal(reader->locate(set.reader, i, &located, &set.err), DLB_OK);
        assert_int_equal(extent.fd < 0, i / each >= 48); /* three quarters of 64 */
        assert_int_equal(extent.align_bytes > 0, direct);
        assert_int_equal(extent.offset_bytes, i % each * T * 2);
    }
}

static void more_files_than_descriptors(void **state)
{
    enum { N_FILES = 80 };
    static const int accesses[] = {DLB_ACCESS_MMAP, DLB_ACCESS_PREAD, DLB_ACCESS_DIRECT};
    const struct dlb_tokens_opts opts = {.seq_len = T, .sampling = DLB_TOKENS_CONTIGUOUS};
    struct rlimit old, low;
    char name[32];

    (void)state;
    folder_sub("d");
    for (int i = 0; i < N_FILES; i++) {
        (void)snprintf(name, sizeof name, "d/%02d.bin", i);
        tokens_write(name, NULL, 0, 0, N, 2);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){64, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    for (size_t k = 0; k < sizeof accesses / sizeof *accesses; k++) {
        const uint64_t index[2][2] = {{0, 1}, {1, 79 * ((N - 1) / T)}};
        struct tokens_set set;
        uint8_t there[2 * (T + 1) * 2];
        uint32_t label[2];
        int rc = tokens_open_as(&set, "d", "raw", accesses[k], opts);
        if (rc != DLB_OK && accesses[k] == DLB_ACCESS_DIRECT)
            continue; /* this file system has none */
        assert_int_equal(rc, DLB_OK);
        const struct dlb_reader *reader = set.ds.format->reader;
        read_all(&set, N_FILES, accesses[k] == DLB_ACCESS_DIRECT);
        bool maps = accesses[k] == DLB_ACCESS_MMAP;
        assert_int_equal(reader->read_many(set.reader, index[0], 2, there, label), maps ? 2 : 0);
        assert_int_equal(reader->read_many(set.reader, index[1], 2, there, label), 0);
        tokens_close_set(&set);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(many_at_once),
        TEST(many_of_a_cut_file),
        TEST(more_files_than_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

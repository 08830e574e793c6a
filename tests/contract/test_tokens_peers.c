/* Token files that numpy wrote: dlbench delivers exactly the bytes that numpy slices from the same
 * arrays. Skipped where there is no Python with numpy ($PYTHON, or python3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/peers.h"
#include "tests/support/tokens.h"

enum { T = 64 };

static void check(const char *name, int access)
{
    struct dlb_tokens_opts opts = {.seq_len = T, .sampling = DLB_TOKENS_CONTIGUOUS};
    struct tokens_set set;
    char want_name[128];
    size_t n_want, at = 0;

    (void)snprintf(want_name, sizeof want_name, "%s.want", name);
    uint8_t *want = folder_read(want_name, &n_want);
    if (tokens_open_as(&set, name, "raw", access, opts) != DLB_OK)
        fail_msg("%s: %s", name, set.err.what);
    assert_int_equal(set.ds.shape.total_bytes, n_want);
    for (uint64_t k = 0; k < set.ds.shape.n_samples; k++) {
        assert_int_equal(tokens_read_one(&set, k), DLB_OK);
        assert_memory_equal(set.sample.field[0].data, want + at, set.sample.field[0].len_bytes);
        at += set.sample.field[0].len_bytes;
    }
    tokens_close_set(&set);
    free(want);
}

static void files_by_numpy(void **state)
{
    size_t n;
    uint32_t n_files = 0;
    (void)state;
    uint8_t *list = folder_read("list", &n);
    list[n] = '\0';
    for (char *rest = NULL, *name = strtok_r((char *)list, "\n", &rest); name;
         name = strtok_r(NULL, "\n", &rest)) {
        check(name, DLB_ACCESS_MMAP);
        check(name, DLB_ACCESS_PREAD);
        n_files++;
    }
    assert_true(n_files > 20);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_by_numpy)};

    char seq_len[16];

    (void)snprintf(seq_len, sizeof seq_len, "%d", T);
    return peers_run("write_tokens.py", seq_len, tests, sizeof tests / sizeof *tests);
}

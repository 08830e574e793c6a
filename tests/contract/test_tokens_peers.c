/* Token files that numpy wrote: dlbench delivers exactly the bytes that numpy slices from the same
 * arrays. Skipped where there is no Python with numpy ($PYTHON, or python3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/support/tokens.h"

#include <sys/wait.h>

enum { T = 64 };

static int write_files(void)
{
    const char *source = getenv("DLB_SOURCE_DIR"), *python = getenv("PYTHON");
    char command[1024];

    (void)snprintf(command, sizeof command, "'%s' '%s/tests/peers/write_tokens.py' '%s' %d",
                   python ? python : "python3", source ? source : ".", folder, T);
    int status = system(command);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

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
    void *none = NULL;

    if (folder_make(&none) != 0)
        return 1;
    int code = write_files();
    /* Without the program, or without numpy. */
    bool skipped = code == 77 || code == 127;
    int failed = skipped ? 0 : code != 0 || cmocka_run_group_tests(tests, NULL, NULL);
    (void)folder_remove(&none);
    return skipped ? 77 : failed;
}

/* What a child prints: its head and its end stay, and what lies between takes no disk. */
#include "scenarios/run/child_log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1 << 20)

static int make_file(void)
{
    char path[] = "/tmp/dlb_log_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)unlink(path);
    return fd;
}

static void print(int fd, char c, size_t n)
{
    char *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, c, n);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    free(bytes);
}

static off_t disk_bytes(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return (off_t)st.st_blocks * 512;
}

/* Reads it all, as grep would: head, mark, zeros, end. */
static void check(const struct dlb_child_log *log, off_t n_bytes)
{
    char *all = malloc((size_t)n_bytes), mark[64];
    assert_non_null(all);
    assert_int_equal(pread(log->fd, all, (size_t)n_bytes, 0), n_bytes);
    for (size_t i = 0; i < DLB_LOG_HEAD_BYTES; i++)
        assert_int_equal(all[i], 'h');
    int n = snprintf(mark, sizeof(mark), "\n[%lld bytes cut]\n",
                     (long long)(log->cut - DLB_LOG_HEAD_BYTES));
    assert_memory_equal(all + DLB_LOG_HEAD_BYTES, mark, (size_t)n);
    for (off_t i = DLB_LOG_HEAD_BYTES + n; i < log->cut; i++)
        assert_int_equal(all[i], 0);
    assert_true(n_bytes - log->cut >= DLB_LOG_BODY_BYTES);
    for (off_t i = log->cut; i < n_bytes; i++)
        assert_int_equal(all[i], 'x');
    free(all);
}

static void test_the_middle_is_cut(void **state)
{
    (void)state;
    struct dlb_child_log log = {.fd = make_file()};
    off_t n_bytes = DLB_LOG_HEAD_BYTES;
    print(log.fd, 'h', DLB_LOG_HEAD_BYTES);
    print(log.fd, 'x', MIB);
    n_bytes += MIB;
    dlb_child_log_bound(&log); /* too little to cut */
    assert_int_equal(log.cut, 0);
    for (int i = 1; i <= 40; i++) {
        print(log.fd, 'x', MIB - 7); /* where the offset was before */
        n_bytes += MIB - 7;
        dlb_child_log_bound(&log);
        if (log.whole) {
            (void)close(log.fd);
            print_message("/tmp has no holes\n");
            skip();
        }
        assert_in_range(disk_bytes(log.fd), DLB_LOG_BODY_BYTES, 3 * MIB + 2 * DLB_LOG_HEAD_BYTES);
    }
    check(&log, n_bytes);
    (void)close(log.fd);
}

static void test_the_end_is_one_line(void **state)
{
    (void)state;
    struct dlb_child_log log = {.fd = make_file()};
    char text[DLB_LOG_TAIL_BYTES + 1];
    print(log.fd, 'h', DLB_LOG_HEAD_BYTES + 8 * MIB);
    dlb_child_log_bound(&log);
    static const char words[] = "\n  File \"train.py\", line 3\nValueError: \xc3\xa9\n";
    assert_int_equal(write(log.fd, words, sizeof(words) - 1), sizeof(words) - 1);
    dlb_child_log_bound(&log);
    dlb_child_log_tail(&log, text);
    assert_non_null(strstr(text, "h   File \"train.py\", line 3 ValueError: \xc3\xa9"));
    (void)close(log.fd);
}

static void test_a_pipe_is_left_alone(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct dlb_child_log log = {.fd = ends[1]};
    print(ends[1], 'x', 100);
    dlb_child_log_bound(&log);
    assert_int_equal(log.cut, 0);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_middle_is_cut),
        cmocka_unit_test(test_the_end_is_one_line),
        cmocka_unit_test(test_a_pipe_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The memory that a process and its descendants hold, watched while it grows. */
#include "core/host/memwatch.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1024.0 * 1024.0)
enum { BLOCK_MIB = 64 };

static char *touch(int flags)
{
    char *block =
        mmap(NULL, (size_t)(BLOCK_MIB * MIB), PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    assert_true(block != MAP_FAILED);
    memset(block, 1, (size_t)(BLOCK_MIB * MIB));
    return block;
}

/* Entries that /proc lists before its own. */
static int n_more;

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

struct dirent *__wrap_readdir(DIR *dir)
{
    static struct dirent one = {.d_name = "1"};
    return n_more > 0 && n_more-- ? &one : __real_readdir(dir);
}

static void test_many_processes(void **state)
{
    (void)state;
    double before = dlb_memwatch_now();
    if (isnan(before))
        skip();
    n_more = 5000;
    assert_true(fabs(dlb_memwatch_now() - before) < 8 * MIB);
    assert_int_equal(n_more, 0);
}

/* Private memory counts, shared memory does not. */
static void test_what_counts(void **state)
{
    (void)state;
    double before = dlb_memwatch_now();
#ifdef __SANITIZE_THREAD__
    skip(); /* its shadow of what is touched is private memory */
#endif
    if (isnan(before))
        skip();
    char *shared = touch(MAP_SHARED);
    assert_true(fabs(dlb_memwatch_now() - before) < 8 * MIB);
    char *own = touch(MAP_PRIVATE);
    double rise = dlb_memwatch_now() - before;
    assert_true(fabs(rise - BLOCK_MIB * MIB) < 8 * MIB);
    (void)munmap(own, (size_t)(BLOCK_MIB * MIB));
    (void)munmap(shared, (size_t)(BLOCK_MIB * MIB));
}

/* A child's, and its child's. */
static void test_descendants(void **state)
{
    (void)state;
    double before = dlb_memwatch_now();
    int ready[2];
    if (isnan(before))
        skip();
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t grandchild = fork();
        if (grandchild == 0) {
            (void)touch(MAP_PRIVATE);
            (void)!write(ready[1], "x", 1);
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)sleep(30);
            _exit(0);
        }
        (void)waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    double rise = dlb_memwatch_now() - before;
    (void)kill(child, SIGKILL); /* the grandchild ends with it */
    (void)waitpid(child, NULL, 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
    assert_true(rise > (BLOCK_MIB - 8) * MIB);
}

static void test_samples(void **state)
{
    (void)state;
    double bytes[DLB_MEMWATCH_MAX];
    struct dlb_memwatch *watch = dlb_memwatch_start();
    assert_non_null(watch);
    (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    uint32_t n = dlb_memwatch_stop(watch, bytes);
    assert_in_range(n, 1, 4); /* a scan of all processes takes its thousandfold of time */
    assert_true(bytes[0] > 0);
    assert_int_equal(dlb_memwatch_stop(NULL, bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_counts), cmocka_unit_test(test_descendants),
        cmocka_unit_test(test_many_processes), cmocka_unit_test(test_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

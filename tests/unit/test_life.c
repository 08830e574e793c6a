/* core/host/life: whether a process still does something. */
#include "core/base/clock.h"
#include "core/host/life.h"
#include "core/host/stuck.h"
#include "tests/support/folder.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void nap_ms(uint64_t ms)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + ms * DLB_NS_PER_MS);
}

/* Another program: a sanitizer's own thread would show life. */
static void wait_only(void)
{
    (void)execlp("sleep", "sleep", "1000", (char *)NULL);
}

static void *nap_often(void *ignored)
{
    for (;;)
        nap_ms(50);
    return ignored;
}

static void work_on_a_thread(void)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, nap_often, NULL);
    (void)pthread_join(thread, NULL);
}

static void work_in_a_grandchild(void)
{
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (child > 0) {
            (void)waitpid(child, NULL, 0);
            _exit(0);
        }
    }
    (void)nap_often(NULL);
}

/* Whether a process that does this shows life within a second, once it has begun. */
static bool lives(void (*what)(void), bool stopped)
{
    uint64_t before = 0, after = 0;
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        what();
        _exit(0);
    }
    nap_ms(500);
    if (stopped)
        assert_int_equal(kill(pid, SIGSTOP), 0);
    nap_ms(100);
    assert_true(dlb_life_of(pid, &before));
    assert_int_equal(dlb_is_stopped(pid), stopped);
    nap_ms(1000);
    assert_true(dlb_life_of(pid, &after));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return before != after;
}

static void test_life(void **state)
{
    (void)state;
    assert_false(lives(wait_only, false));
    assert_true(lives(work_on_a_thread, false));
    assert_false(lives(work_on_a_thread, true));
    assert_true(lives(work_in_a_grandchild, false));
    assert_true(lives(work_in_a_grandchild, true)); /* the child is not stopped */
}

static void test_gone(void **state)
{
    (void)state;
    uint64_t life = 0;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(dlb_life_of(pid, &life));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_life), cmocka_unit_test(test_gone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

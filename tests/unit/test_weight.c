/* The most memory that a group of processes held while it delivered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "loaders/torch/weight.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELD = 64 << 20 };

static pid_t hold_memory(void)
{
    int told[2];
    char ready;

    assert_int_equal(pipe(told), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *held = mmap(NULL, HELD, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (held == MAP_FAILED || setpgid(0, 0))
            _exit(1);
        ready = held[0];
        if (write(told[1], &ready, 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(told[0], &ready, 1), 1);
    (void)close(told[0]);
    (void)close(told[1]);
    return pid;
}

static void test_processes_that_have_left_count(void **state)
{
    (void)state;
    struct dlb_weight weight;
    pid_t pid = hold_memory();
    dlb_weight_begin(&weight, pid);
    dlb_weight_batch(&weight);
    while (atomic_load(&weight.most_bytes) == 0)
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_true(dlb_weight_end(&weight) >= HELD);
    assert_true(dlb_weight_end(&weight) >= HELD);
}

static void test_reads_become_rare(void **state)
{
    (void)state;
    struct dlb_weight weight;
    const uint32_t wanted[] = {1, 8, 64, 512};
    uint32_t n = 0, before = 0;
    dlb_weight_begin(&weight, getpid());
    for (uint32_t i = 1; i <= 1000; i++) {
        dlb_weight_batch(&weight);
        if (dlb_event_seq(&weight.asked) != before)
            assert_int_equal(i, wanted[n++]);
        before = dlb_event_seq(&weight.asked);
    }
    assert_int_equal(n, 4);
    (void)dlb_weight_end(&weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_that_have_left_count),
        cmocka_unit_test(test_reads_become_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

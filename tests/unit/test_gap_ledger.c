/* Where a thread's time goes: when it is not on a core, it waits for one or it is blocked. */
#include "core/base/clock.h"
#include "core/base/futex.h"
#include "scenarios/gap/rungs/ledger.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define BUSY_NS (150 * DLB_NS_PER_MS)
#define N_TRIES 40             /* while the host takes time of the core */
#define ASLEEP_NS DLB_NS_PER_S /* long beside a wait for a CPU */

static struct dlb_gap_memory memory;
static struct dlb_gap_ledger *ledger;

static int open_ledger(void **state)
{
    struct dlb_err err;
    (void)state;
    return dlb_gap_ledger_open(&memory, &ledger, 2, &err);
}

static int close_ledger(void **state)
{
    (void)state;
    dlb_gap_unmap(&memory);
    return 0;
}

static void burn_cpu_ns(uint64_t n_ns)
{
    struct dlb_os_self self;
    uint64_t end_ns;
    dlb_os_self(&self);
    end_ns = self.cpu_ns + n_ns;
    do
        dlb_os_self(&self);
    while (self.cpu_ns < end_ns);
}

static void stay_on_one_cpu(void)
{
    cpu_set_t allowed, one;
    size_t cpu = 0;
    CPU_ZERO(&one);
    (void)sched_getaffinity(0, sizeof allowed, &allowed);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    CPU_SET(cpu, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

static atomic_bool enough;

static void *hog(void *arg)
{
    (void)arg;
    stay_on_one_cpu();
    while (!atomic_load(&enough))
        ;
    return NULL;
}

struct beside {
    struct dlb_gap_account *account;
    pthread_t hog;
    uint64_t wall_ns, lost_ns; /* lost: neither thread had the core */
};

static uint64_t cpu_ns_of(pthread_t thread)
{
    clockid_t clock;
    struct timespec cpu;
    (void)pthread_getcpuclockid(thread, &clock);
    (void)clock_gettime(clock, &cpu);
    return (uint64_t)cpu.tv_sec * DLB_NS_PER_S + (uint64_t)cpu.tv_nsec;
}

static void *worker(void *arg)
{
    struct beside *b = arg;
    stay_on_one_cpu();
    uint64_t had_ns = cpu_ns_of(b->hog) + cpu_ns_of(pthread_self()), start_ns = dlb_now_ns();
    dlb_gap_account_open(b->account);
    burn_cpu_ns(BUSY_NS);
    dlb_gap_account_close(b->account);
    b->wall_ns = dlb_now_ns() - start_ns;
    had_ns = cpu_ns_of(b->hog) + cpu_ns_of(pthread_self()) - had_ns;
    b->lost_ns = b->wall_ns > had_ns ? b->wall_ns - had_ns : 0;
    return NULL;
}

static void run_beside_a_hog(struct beside *b)
{
    pthread_t id;
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&b->hog, NULL, hog, NULL), 0);
    assert_int_equal(pthread_create(&id, NULL, worker, b), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    atomic_store(&enough, true);
    assert_int_equal(pthread_join(b->hog, NULL), 0);
}

/* The account of the first thread. */
static struct dlb_rung_account figures(void)
{
    struct dlb_rung_os os;
    dlb_gap_fill_os(ledger, &os);
    assert_true(os.n_threads > 0);
    struct dlb_rung_account thread = os.threads[0];
    free(os.threads);
    return thread;
}

static bool without_schedstat(const struct dlb_rung_account *thread)
{
    bool without = thread->runqueue_wait_ns == DLB_NOT_MEASURED;
    if (without)
        assert_true(thread->blocked_ns == DLB_NOT_MEASURED);
    return without;
}

/* Two threads share one core: each waits for it about as long as it runs. The kernel accounts time
 * that a host takes to no thread: then the test tries again. */
static void a_hog_raises_the_run_queue_share_alone(void **state)
{
    struct beside b = {.account = &ledger->account[0]};
    (void)state;

    for (int i = 0; i < N_TRIES && (i == 0 || b.lost_ns > b.wall_ns / 50); i++)
        run_beside_a_hog(&b);
    if (b.lost_ns > b.wall_ns / 50) {
        print_message("the host took more than 2%% of the core at each of %d tries\n", N_TRIES);
        skip();
    }
    struct dlb_rung_account thread = figures();
    if (without_schedstat(&thread))
        skip();
    double wall = (double)thread.wall_ns, cpu = (double)thread.cpu_ns;
    double queue = (double)thread.runqueue_wait_ns, blocked = (double)thread.blocked_ns;
    assert_true(cpu >= (double)BUSY_NS);
    assert_true(queue > cpu / 4);
    assert_true(blocked < queue / 4);
    assert_true(cpu + queue + blocked < 1.02 * wall && cpu + queue + blocked > 0.98 * wall);
}

static _Atomic uint32_t nobody;

static void *sleeper(void *arg)
{
    struct dlb_gap_account *account = arg;
    dlb_gap_account_open(account);
    uint64_t until_ns = dlb_now_ns() + ASLEEP_NS;
    while (dlb_now_ns() < until_ns)
        dlb_futex_wait(&nobody, 0, until_ns);
    dlb_gap_account_close(account);
    return NULL;
}

static void a_futex_wait_raises_the_blocked_share_alone(void **state)
{
    pthread_t id;
    (void)state;

    assert_int_equal(pthread_create(&id, NULL, sleeper, &ledger->account[0]), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    struct dlb_rung_account thread = figures();
    if (without_schedstat(&thread))
        skip();
    double blocked = (double)thread.blocked_ns;
    assert_true(blocked > 0.75 * (double)ASLEEP_NS);
    assert_true((double)thread.runqueue_wait_ns < blocked / 4);
    assert_true((double)thread.cpu_ns < blocked / 4);
    assert_in_range(thread.voluntary_switches, 1, UINT32_MAX);
}

/* Each part has time stamps of its own; time between parts is unexplained. */
static void parts_and_the_rest(void **state)
{
    struct dlb_gap_account *account = &ledger->account[0];
    (void)state;

    for (int i = 0; i < 2; i++) {
        dlb_gap_begin(account);
        (void)dlb_sleep_until_ns(dlb_now_ns() + 5 * DLB_NS_PER_MS);
        dlb_gap_end(account, DLB_GAP_PART_wait);
    }
    uint64_t waited_ns = account->part_ns[DLB_GAP_PART_wait];
    assert_true(waited_ns >= 10 * DLB_NS_PER_MS);
    struct dlb_rung_parts parts = {.n = 0};
    dlb_gap_add_parts(account, 1, &parts);
    dlb_gap_add_unexplained(waited_ns + DLB_NS_PER_S, &parts);
    assert_int_equal(parts.n, 2);
    double named = dlb_rung_part_s(&parts, "wait"), rest = dlb_rung_part_s(&parts, "unexplained");
    assert_true(named > 0.00999 && rest > 0.999999 && rest < 1.000001);
    dlb_gap_ledger_reset(ledger);
    assert_int_equal(account->part_ns[DLB_GAP_PART_wait], 0);
    assert_string_equal(account->name, "loop");
}

/* A thread that has not closed its account is left out. */
static void open_accounts_are_left_out(void **state)
{
    (void)state;
    dlb_gap_ledger_reset(ledger);
    dlb_gap_account_open(&ledger->account[0]);
    dlb_gap_account_close(&ledger->account[0]);
    dlb_gap_account_open(&ledger->account[1]);
    struct dlb_rung_os os;
    dlb_gap_fill_os(ledger, &os);
    assert_int_equal(os.n_threads, 1);
    free(os.threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hog_raises_the_run_queue_share_alone),
        cmocka_unit_test(a_futex_wait_raises_the_blocked_share_alone),
        cmocka_unit_test(parts_and_the_rest),
        cmocka_unit_test(open_accounts_are_left_out),
    };
    return cmocka_run_group_tests(tests, open_ledger, close_ledger);
}

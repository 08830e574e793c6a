/* Where a thread's time went: off a core it either waits for one or for somebody. */
#include "core/base/clock.h"
#include "core/base/futex.h"
#include "scenarios/gap/rungs/ledger.h"
#include "scenarios/spec/flat.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define BUSY_NS (150 * DLB_NS_PER_MS)
#define N_TRIES 40             /* where the host takes of the core */
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
    uint64_t wall_ns, lost_ns; /* lost: neither of them had the core */
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

/* The document's first thread. */
static json_t *figures(void)
{
    json_t *os = dlb_gap_os_json(ledger);
    assert_non_null(os);
    json_t *thread = json_incref(json_array_get(json_object_get(os, "threads"), 0));
    json_decref(os);
    return thread;
}

static bool without_schedstat(json_t *thread)
{
    bool without = json_is_null(json_object_get(thread, "runqueue_wait_ns"));
    if (without) {
        assert_true(json_is_null(json_object_get(thread, "blocked_ns")));
        json_decref(thread);
    }
    return without;
}

/* They share one core: about as long as it runs it waits for it. What a host takes of the core the
 * kernel tells of no thread: then once more. */
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
    json_t *thread = figures();
    if (without_schedstat(thread))
        skip();
    double wall = dlb_json_number(thread, "wall_ns"), cpu = dlb_json_number(thread, "cpu_ns");
    double queue = dlb_json_number(thread, "runqueue_wait_ns");
    double blocked = dlb_json_number(thread, "blocked_ns");
    assert_true(cpu >= (double)BUSY_NS);
    assert_true(queue > cpu / 4);
    assert_true(blocked < queue / 4);
    assert_true(cpu + queue + blocked < 1.02 * wall && cpu + queue + blocked > 0.98 * wall);
    json_decref(thread);
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
    json_t *thread = figures();
    if (without_schedstat(thread))
        skip();
    double blocked = dlb_json_number(thread, "blocked_ns");
    assert_true(blocked > 0.75 * (double)ASLEEP_NS);
    assert_true(dlb_json_number(thread, "runqueue_wait_ns") < blocked / 4);
    assert_true(dlb_json_number(thread, "cpu_ns") < blocked / 4);
    assert_true(dlb_json_number(thread, "voluntary_switches") >= 1);
    json_decref(thread);
}

/* Parts are their own stamps; what lies between them is told as unexplained. */
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
    json_t *parts = dlb_gap_parts_json(account, 1, waited_ns + DLB_NS_PER_S);
    assert_non_null(parts);
    assert_int_equal(json_object_size(parts), 2);
    double named = json_number_value(json_object_get(json_object_get(parts, "wait"), "seconds"));
    double rest =
        json_number_value(json_object_get(json_object_get(parts, "unexplained"), "seconds"));
    assert_true(named > 0.00999 && rest > 0.999999 && rest < 1.000001);
    json_decref(parts);
    dlb_gap_ledger_reset(ledger);
    assert_int_equal(account->part_ns[DLB_GAP_PART_wait], 0);
    assert_string_equal(account->name, "loop");
}

/* Who has not closed his account is not told of. */
static void open_accounts_are_left_out(void **state)
{
    (void)state;
    dlb_gap_ledger_reset(ledger);
    dlb_gap_account_open(&ledger->account[0]);
    dlb_gap_account_close(&ledger->account[0]);
    dlb_gap_account_open(&ledger->account[1]);
    json_t *os = dlb_gap_os_json(ledger);
    assert_int_equal(json_array_size(json_object_get(os, "threads")), 1);
    json_decref(os);
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

/* loader.order = "any": what is ready first is delivered first, from any worker. What is ready
 * is counted, so that no time matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

/* What the test and the workers both see. */
struct shared {
    atomic_bool hang;
    struct dlb_event ready; /* signalled with each batch */
};
static struct shared *shared;
static const struct dlb_loader *inner;

static int setup(void **state)
{
    (void)state;
    (void)fflush(NULL);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    return munmap(shared, sizeof *shared);
}

static int start_watched(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    static struct dlb_job watched;
    watched = *job;
    watched.ready = &shared->ready;
    return inner->start(ld, &watched, err);
}

static void wait_for_batches(uint32_t n)
{
    uint64_t give_up_ns = dlb_now_ns() + 60 * DLB_NS_PER_S;
    while (dlb_event_seq(&shared->ready) / 2 < n && dlb_now_ns() < give_up_ns)
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
}

/* Sample 0 hangs until the consumer has waited while another worker's batch was there. */
static int next_overtaking(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                           struct dlb_err *err)
{
    if (!atomic_load(&shared->hang))
        return inner->next(ld, timeout_ns, out, got, err);
    wait_for_batches(1);
    int rc = inner->next(ld, DLB_NS_PER_MS, out, got, err);
    atomic_store(&shared->hang, false);
    return rc;
}

/* Sample 0 hangs until `next` lets it go; all are delivered. */
static void run_held(struct pipeline *p, bool processes,
                     int (*next)(void *, uint64_t, struct dlb_batch *, bool *, struct dlb_err *))
{
    static struct dlb_loader late;
    atomic_store(&shared->hang, true);
    p->loader.kind = pipeline_kind(processes ? "processes" : "threads");
    p->loader.batch_size = 1;
    inner = dlb_loader_choose(&p->loader, &p->err);
    assert_non_null(inner);
    late = *inner;
    late.start = start_watched;
    late.next = next;
    p->use_loader = &late;
    pipeline_run(p);
    assert_int_equal(p->rc, DLB_OK);
    assert_int_equal(p->out->epoch[0].n_unique, 40);
}

static void any_order_overtakes(void **state)
{
    (void)state;
    for (int processes = 0; processes < 2; processes++) {
        uint64_t seq[2];
        for (int any = 0; any < 2; any++) {
            struct fake fake = fake_map(40);
            fake.hang = &shared->hang;
            fake.hang_at = 0;
            struct dlb_dataset ds = fake_dataset(&fake);
            struct pipeline p = {.dataset = &ds, .loader = {.num_workers = 2}};
            p.loader.order = any ? DLB_ORDER_ANY : DLB_ORDER_IN_ORDER;
            run_held(&p, processes, next_overtaking);
            assert_int_equal(p.stats->order_wait_ns > 0, !any);
            seq[any] = p.out->epoch[0].seq_checksum;
            pipeline_free(&p);
            memset((void *)shared, 0, sizeof *shared);
        }
        assert_true(seq[0] != seq[1]);
    }
}

static uint64_t delivered[6];
static uint32_t n_delivered;

/* Sample 0 hangs until everything else that may be ready is, and then it is, too. */
static int next_late(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                     struct dlb_err *err)
{
    if (atomic_load(&shared->hang)) {
        wait_for_batches(4);
        atomic_store(&shared->hang, false);
        wait_for_batches(5);
        assert_true(dlb_event_seq(&shared->ready) / 2 >= 5);
    }
    int rc = inner->next(ld, timeout_ns, out, got, err);
    if (rc == DLB_OK && *got && n_delivered < 6)
        delivered[n_delivered++] = out->index[0];
    return rc;
}

/* When several are ready, with order "any" the one that was ready first is delivered, from any
 * worker. */
static void any_order_is_first_arrival(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct fake fake = fake_map(40);
        fake.hang = &shared->hang;
        fake.hang_at = 0;
        n_delivered = 0;
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = {.dataset = &ds, .loader = {.num_workers = 3}};
        p.loader.pin_memory = way & 2;
        p.loader.pin_mode = DLB_PIN_THREAD;
        p.loader.order = DLB_ORDER_ANY;
        run_held(&p, way & 1, next_late);
        /* Two rounds were dealt out: workers 1 and 2 had both of theirs long before. */
        for (int i = 0; i < 4; i++)
            assert_int_not_equal(delivered[i] % 3, 0);
        pipeline_free(&p);
        memset((void *)shared, 0, sizeof *shared);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_order_overtakes, setup, teardown),
        cmocka_unit_test_setup_teardown(any_order_is_first_arrival, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ring and event, across two threads. */
#include "core/base/futex.h"
#include "core/base/ring.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define N_PASSED 200000

struct pair {
    struct dlb_ring to, back; /* credits come back, so that the ring never overflows */
    struct dlb_event filled, freed;
};

static struct pair *pair_new(void)
{
    struct pair *pair = aligned_alloc(64, sizeof *pair);
    assert_non_null(pair);
    *pair = (struct pair){0};
    return pair;
}

static uint32_t pop(struct dlb_ring *ring, struct dlb_event *event)
{
    uint32_t value;

    for (;;) {
        uint32_t seen = dlb_event_seq(event);
        if (dlb_ring_pop(ring, &value))
            return value;
        dlb_event_wait(event, seen, UINT64_MAX);
    }
}

static void *produce(void *ctx)
{
    struct pair *pair = ctx;

    for (uint32_t i = 0; i < N_PASSED; i++) {
        (void)pop(&pair->back, &pair->freed);
        dlb_ring_push(&pair->to, i);
        dlb_event_signal(&pair->filled);
    }
    return NULL;
}

static void order_is_kept_across_threads(void **state)
{
    struct pair *pair = pair_new();
    pthread_t thread;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) /* so few that both sides sleep often */
        dlb_ring_push(&pair->back, i);
    assert_int_equal(pthread_create(&thread, NULL, produce, pair), 0);
    for (uint32_t i = 0; i < N_PASSED; i++) {
        if (pop(&pair->to, &pair->filled) != i)
            fail_msg("value %u came out of order", i);
        dlb_ring_push(&pair->back, 0);
        dlb_event_signal(&pair->freed);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    free(pair);
}

static void ring_holds_what_it_says(void **state)
{
    struct pair *pair = pair_new();
    uint32_t value = 0;

    (void)state;
    pair->to.head = pair->to.tail = UINT32_MAX - 10; /* counters may wrap */
    for (int round = 0; round < 3; round++) {
        assert_false(dlb_ring_pop(&pair->to, &value));
        for (uint32_t i = 0; i < DLB_RING_CAP; i++)
            dlb_ring_push(&pair->to, i * 3);
        for (uint32_t i = 0; i < DLB_RING_CAP; i++) {
            assert_true(dlb_ring_pop(&pair->to, &value));
            assert_int_equal(value, i * 3);
        }
    }
    free(pair);
}

static void wait_ends_at_its_deadline(void **state)
{
    struct dlb_event event = {0};
    uint64_t deadline_ns = dlb_now_ns() + 20 * DLB_NS_PER_MS;

    (void)state;
    while (dlb_now_ns() < deadline_ns)
        dlb_event_wait(&event, dlb_event_seq(&event), deadline_ns);
    assert_int_equal(dlb_event_seq(&event), 0);
}

/* A signal between looking and sleeping is not lost. */
static void signal_before_wait_is_seen(void **state)
{
    struct dlb_event event = {0};
    uint32_t seen = dlb_event_seq(&event);

    (void)state;
    dlb_event_signal(&event);
    dlb_event_wait(&event, seen, UINT64_MAX); /* would sleep for ever */
    assert_true(dlb_event_seq(&event) != seen);
}

static void sleep_reaches_its_deadline(void **state)
{
    uint64_t deadline_ns = dlb_now_ns() + 2 * DLB_NS_PER_MS;

    (void)state;
    assert_true(dlb_sleep_until_ns(deadline_ns) >= deadline_ns);
    assert_true(dlb_now_ns() >= deadline_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_holds_what_it_says),
        cmocka_unit_test(order_is_kept_across_threads),
        cmocka_unit_test(wait_ends_at_its_deadline),
        cmocka_unit_test(signal_before_wait_is_seen),
        cmocka_unit_test(sleep_reaches_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Empty batches against a bare ring: what the pool's credits, order, bookkeeping and meters cost on
 * top of handing a slot's number from one thread to another and back. One worker; the ring has as
 * many slots, and sleeps and wakes as the pool does.
 *
 * A batch is one sample of the fewest bytes of the synthetic source, so that next to nothing is
 * left but the hand-off. */
#include "core/base/futex.h"
#include "core/base/ring.h"
#include "tests/perf/perf.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCHES = 100000, ROUNDS = 31 };

struct bare {
    struct dlb_ring free, full;
    struct dlb_event to_worker, to_consumer;
    uint32_t n_slots;
};

static uint32_t pop_or_sleep(struct dlb_ring *ring, struct dlb_event *event)
{
    uint32_t slot;
    for (;;) {
        uint32_t seen = dlb_event_seq(event);
        if (dlb_ring_pop(ring, &slot))
            return slot;
        dlb_event_wait(event, seen, UINT64_MAX);
    }
}

static void *produce(void *arg)
{
    struct bare *bare = arg;
    for (int i = 0; i < BATCHES; i++) {
        dlb_ring_push(&bare->full, pop_or_sleep(&bare->free, &bare->to_worker));
        dlb_event_signal(&bare->to_consumer);
    }
    return NULL;
}

static double base(void *ctx)
{
    struct bare *bare = ctx;
    pthread_t producer;

    uint64_t start_ns = dlb_now_ns();
    if (pthread_create(&producer, NULL, produce, bare) != 0)
        perf_die("thread", NULL);
    for (int i = 0; i < BATCHES; i++) {
        dlb_ring_push(&bare->free, pop_or_sleep(&bare->full, &bare->to_consumer));
        dlb_event_signal(&bare->to_worker);
    }
    (void)pthread_join(producer, NULL);
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

static double ours(void *ctx)
{
    return perf_pipeline_epoch(ctx);
}

static void compare(const struct dlb_spec *spec)
{
    struct perf_pipeline pipe;
    char name[64];
    struct bare *bare = aligned_alloc(64, sizeof *bare);

    if (!bare)
        perf_die("memory", NULL);
    *bare = (struct bare){.n_slots = (uint32_t)spec->loader.prefetch_factor};
    for (uint32_t i = 0; i < bare->n_slots; i++)
        dlb_ring_push(&bare->free, i);
    perf_pipeline_open(&pipe, spec);
    (void)snprintf(name, sizeof name, "empty batches, prefetch_factor %lld",
                   (long long)spec->loader.prefetch_factor);
    struct perf_comparison what = {
        .name = name, .unit = "batches", .units = BATCHES, .should_reach = 0.85, .rounds = ROUNDS};
    (void)perf_compare(&what, &(struct perf_way){"dlbench", ours, &pipe},
                       &(struct perf_way){"ring", base, bare});
    perf_pipeline_close(&pipe, NULL);
    free(bare);
}

int main(void)
{
    struct dlb_spec spec;
    char samples[64];

    (void)snprintf(samples, sizeof samples, "generate.samples=%d", BATCHES);
    perf_spec(&spec, (const char *[]){"dataset.format=synthetic", "dataset.codec=raw", samples,
                                      "generate.sample_bytes=1", "loader.batch_size=1",
                                      "loader.num_workers=1", "loader.shuffle=false",
                                      "loader.persistent_workers=true", "device.prefetch=1", NULL});
    spec.loader.prefetch_factor = 2;
    compare(&spec);
    spec.loader.prefetch_factor = 16;
    compare(&spec);
    return 0;
}

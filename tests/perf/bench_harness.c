/* What the harness itself costs: CPU time of consumer and workers per batch and per sample, with a
 * source that costs nothing and an emulated device, through the whole training loop.
 *
 * Two batch sizes give two equations: cpu(B) = per_batch + B * per_sample. CPU time is the threads'
 * own (CLOCK_THREAD_CPUTIME_ID), kernel included.
 *
 * Without workers and with steps of no length no thread sleeps, and the remaining time is the
 * harness. With a worker and steps of 0.5 ms, each batch puts the worker to sleep and wakes it,
 * which costs the kernel more than the harness does anything; so a bare pair of threads that
 * sleeps and wakes as often, for nothing, is measured in turns and taken off. The consumer
 * watches the clock through such steps, in both: that time is the emulated device's, and not
 * counted. */
#include "core/base/clock.h"
#include "core/base/futex.h"
#include "core/base/ring.h"
#include "core/measure/stats.h"
#include "loaders/device/device.h"
#include "loaders/train/consumer.h"
#include "tests/perf/perf.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, SMALL = 1, LARGE = 64, SHOULD_STAY_NS = 2000 };
#define STEP_MS 0.5

static void *device_open(const struct dlb_device *device, const struct perf_pipeline *pipe)
{
    struct dlb_err err = {0};
    struct dlb_memory memory;
    const struct dlb_device_opts *opts = &pipe->spec.device;
    size_t n_bytes = (device->state_bytes + 63) / 64 * 64;
    void *state = aligned_alloc(64, n_bytes);

    if (!state)
        perf_die("device", NULL);
    memset(state, 0, n_bytes);
    struct dlb_device_open how = {.opts = opts,
                                  .n_bufs = (uint32_t)opts->prefetch + 1,
                                  .buf_bytes = pipe->dataset.max_payload_bytes *
                                               (size_t)pipe->spec.loader.batch_size,
                                  .seed = 1,
                                  .copy_on_compute = opts->prefetch == 0};
    if (device->open(state, &how, &err) != DLB_OK)
        perf_die("device", &err);
    pipe->loader->memory(pipe->state, &memory);
    if (pipe->spec.loader.pin_memory &&
        device->pin(state, memory.addr, memory.n_bytes, &err) != DLB_OK)
        perf_die("pin", &err);
    return state;
}

/* CPU ns per batch of consumer and workers together. */
static double measure(const struct dlb_spec *spec)
{
    struct perf_pipeline pipe;
    struct dlb_err err = {0};
    char why[160];
    struct dlb_consumed *consumed = calloc(1, sizeof *consumed);
    struct dlb_loader_stats *stats = calloc(1, sizeof *stats);
    const struct dlb_device *device = dlb_device_choose(&spec->device, NULL, why, &err);

    if (!device || !consumed || !stats)
        perf_die("device", &err);
    perf_pipeline_open(&pipe, spec);
    void *device_state = device_open(device, &pipe);
    struct dlb_feed feed = {.loader_state = pipe.state, .device_state = device_state};
    struct dlb_consume how = {.loader = pipe.loader,
                              .device = device,
                              .feeds = &feed,
                              .n_feeds = 1,
                              .device_prefetch = (uint32_t)spec->device.prefetch,
                              .n_epochs = 1,
                              .n_samples = pipe.dataset.shape.n_samples,
                              .expected = pipe.dataset.shape.n_samples,
                              .round = 1,
                              .n_workers = (uint32_t)spec->loader.num_workers + 1};
    uint64_t before_ns = perf_thread_cpu_ns();
    if (dlb_consume(&how, consumed, &err) != DLB_OK)
        perf_die("consume", &err);
    uint64_t consumer_ns = perf_thread_cpu_ns() - before_ns;
    perf_pipeline_close(&pipe, stats);
    device->close(device_state);
    double n_batches = (double)stats->workers.n_batches;
    /* Without workers the consumer does their work, in the same thread. */
    uint64_t workers_ns = spec->loader.num_workers > 0 ? stats->workers.cpu_ns : 0;
    uint64_t watched_ns =
        consumed->consumer[DLB_CS_DEVICE_WAIT].sum_ns + consumed->consumer[DLB_CS_OVERSLEEP].sum_ns;
    double cpu_ns = ((double)(consumer_ns + workers_ns) - (double)watched_ns) / n_batches;
    free(device_state);
    free(consumed);
    free(stats);
    return cpu_ns;
}

/* The bare pair: what sleeps and wakes cost when they are all there is. */
struct bare {
    struct dlb_ring free, full;
    struct dlb_event to_worker, to_consumer;
    uint32_t n_batches;
    uint64_t worker_cpu_ns;
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

static void *bare_worker(void *arg)
{
    struct bare *bare = arg;
    uint64_t before_ns = perf_thread_cpu_ns();
    for (uint32_t i = 0; i < bare->n_batches; i++) {
        dlb_ring_push(&bare->full, pop_or_sleep(&bare->free, &bare->to_worker));
        dlb_event_signal(&bare->to_consumer);
    }
    bare->worker_cpu_ns = perf_thread_cpu_ns() - before_ns;
    return NULL;
}

static double measure_bare(uint32_t n_slots, uint32_t n_batches)
{
    struct bare *bare = aligned_alloc(64, sizeof *bare);
    pthread_t worker;

    if (!bare)
        perf_die("memory", NULL);
    *bare = (struct bare){.n_batches = n_batches};
    for (uint32_t i = 0; i < n_slots; i++)
        dlb_ring_push(&bare->free, i);
    if (pthread_create(&worker, NULL, bare_worker, bare) != 0)
        perf_die("thread", NULL);
    uint64_t before_ns = perf_thread_cpu_ns(), deadline_ns = dlb_now_ns(), watched_ns = 0;
    for (uint32_t i = 0; i < n_batches; i++) {
        dlb_ring_push(&bare->free, pop_or_sleep(&bare->full, &bare->to_consumer));
        dlb_event_signal(&bare->to_worker);
        deadline_ns += (uint64_t)(STEP_MS * 1e6);
        uint64_t start_ns = dlb_now_ns();
        while (dlb_now_ns() < deadline_ns)
            ;
        watched_ns += dlb_now_ns() - start_ns;
    }
    uint64_t consumer_ns = perf_thread_cpu_ns() - before_ns;
    (void)pthread_join(worker, NULL);
    double cpu_ns = ((double)(consumer_ns + bare->worker_cpu_ns) - (double)watched_ns) / n_batches;
    free(bare);
    return cpu_ns;
}

static void report_working(struct dlb_spec *spec, int64_t n_batches)
{
    double small[ROUNDS], large[ROUNDS];

    spec->loader.num_workers = 0;
    spec->device.step_ms = 0;
    for (int i = 0; i < ROUNDS; i++) {
        spec->loader.batch_size = SMALL;
        spec->generate.samples = SMALL * n_batches;
        small[i] = measure(spec);
        spec->loader.batch_size = LARGE;
        spec->generate.samples = LARGE * n_batches;
        large[i] = measure(spec);
    }
    double per_sample_ns =
        (dlb_median(large, ROUNDS) - dlb_median(small, ROUNDS)) / (LARGE - SMALL);
    double per_batch_ns = dlb_median(small, ROUNDS) - per_sample_ns * SMALL;
    printf("no workers, nobody sleeps: %.0f ns of CPU per sample, %.0f ns per batch   should stay "
           "within %d ns a batch: "
           "%s\n",
           per_sample_ns, per_batch_ns, SHOULD_STAY_NS,
           per_batch_ns <= SHOULD_STAY_NS ? "yes" : "NO");
}

static void report_sleeping(struct dlb_spec *spec, int64_t n_batches)
{
    double ours[ROUNDS], bare[ROUNDS], net[ROUNDS];

    spec->loader.num_workers = 1;
    spec->loader.batch_size = SMALL;
    spec->generate.samples = SMALL * n_batches;
    spec->device.step_ms = STEP_MS;
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = measure(spec);
        bare[i] = measure_bare((uint32_t)spec->loader.prefetch_factor, (uint32_t)n_batches);
        net[i] = ours[i] - bare[i];
    }
    double net_ns = dlb_median(net, ROUNDS);
    printf("1 worker, steps of %.1f ms: %.0f ns of CPU per batch of one sample; a bare pair of "
           "threads sleeps and wakes for "
           "%.0f ns, so the harness adds %.0f ns, most of it for caches that went cold while all "
           "slept\n",
           STEP_MS, dlb_median(ours, ROUNDS), dlb_median(bare, ROUNDS), net_ns);
}

int main(void)
{
    struct dlb_spec spec;

    perf_spec(&spec, (const char *[]){"dataset.format=synthetic", "dataset.codec=raw",
                                      "generate.samples=1", "generate.sample_bytes=1",
                                      "loader.shuffle=false", "loader.pin_memory=true",
                                      "loader.persistent_workers=true", "device.kind=emulated",
                                      "device.prefetch=1", NULL});
    report_working(&spec, 100000);
    report_sleeping(&spec, 1000);
    return 0;
}

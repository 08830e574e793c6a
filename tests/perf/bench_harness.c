/* What the harness itself costs: CPU time of consumer and workers per batch and per sample, with a
 * source that costs nothing and an emulated device, through the whole training loop.
 *
 * Two batch sizes give two equations: cpu(B) = per_batch + B * per_sample. Once with steps so short
 * that the workers are the limit (nobody waits for the device), once with steps that everybody
 * waits for, where each batch pays its sleeps and wakes too. CPU time is the thread's own
 * (CLOCK_THREAD_CPUTIME_ID), kernel included. */
#include "bench/measure/stats.h"
#include "loaders/consumer.h"
#include "loaders/device/device.h"
#include "tests/perf/perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, SMALL = 1, LARGE = 64 };

struct cost {
    double consumer_ns, workers_ns; /* per batch */
};

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

static struct cost measure(const struct dlb_spec *spec)
{
    struct perf_pipeline pipe;
    struct dlb_err err = {0};
    char why[160];
    struct dlb_consumed *consumed = calloc(1, sizeof *consumed);
    struct dlb_loader_stats *stats = calloc(1, sizeof *stats);
    const struct dlb_device *device = dlb_device_choose(&spec->device, why, &err);

    if (!device || !consumed || !stats)
        perf_die("device", &err);
    perf_pipeline_open(&pipe, spec);
    void *device_state = device_open(device, &pipe);
    struct dlb_consume how = {.loader = pipe.loader,
                              .loader_state = pipe.state,
                              .device = device,
                              .device_state = device_state,
                              .device_prefetch = (uint32_t)spec->device.prefetch,
                              .n_epochs = 1,
                              .n_samples = pipe.dataset.shape.n_samples,
                              .expected = pipe.dataset.shape.n_samples};
    uint64_t before_ns = perf_thread_cpu_ns();
    if (dlb_consume(&how, consumed, &err) != DLB_OK)
        perf_die("consume", &err);
    uint64_t consumer_ns = perf_thread_cpu_ns() - before_ns;
    perf_pipeline_close(&pipe, stats);
    device->close(device_state);
    double n_batches = (double)stats->workers.n_batches;
    struct cost cost = {(double)consumer_ns / n_batches, (double)stats->workers.cpu_ns / n_batches};
    free(device_state);
    free(consumed);
    free(stats);
    return cost;
}

static struct cost median_cost(struct dlb_spec *spec, int64_t batch_size, int64_t n_batches)
{
    double consumer[ROUNDS], workers[ROUNDS];

    spec->loader.batch_size = batch_size;
    spec->generate.samples = batch_size * n_batches;
    for (int i = 0; i < ROUNDS; i++) {
        struct cost cost = measure(spec);
        consumer[i] = cost.consumer_ns;
        workers[i] = cost.workers_ns;
    }
    return (struct cost){dlb_median(consumer, ROUNDS), dlb_median(workers, ROUNDS)};
}

static void report(struct dlb_spec *spec, const char *name, double step_ms, int64_t n_batches)
{
    spec->device.step_ms = step_ms;
    struct cost small = median_cost(spec, SMALL, n_batches),
                large = median_cost(spec, LARGE, n_batches);
    double per_sample =
        (large.consumer_ns + large.workers_ns - small.consumer_ns - small.workers_ns) /
        (LARGE - SMALL);
    double per_batch = small.consumer_ns + small.workers_ns - per_sample * SMALL;

    printf("%-28s %6.0f ns per sample, %6.0f ns per batch (consumer %.0f, workers %.0f at batch "
           "size %d)   "
           "should stay within 2,000 ns a batch: %s\n",
           name, per_sample, per_batch, small.consumer_ns, small.workers_ns, SMALL,
           per_batch <= 2000 ? "yes" : "NO");
}

int main(void)
{
    struct dlb_spec spec;

    perf_spec(&spec, (const char *[]){"dataset.format=synthetic", "dataset.codec=raw",
                                      "generate.samples=1", "generate.sample_bytes=1",
                                      "loader.num_workers=1", "loader.shuffle=false",
                                      "loader.pin_memory=true", "loader.persistent_workers=true",
                                      "device.kind=emulated", "device.prefetch=1", NULL});
    report(&spec, "steps of 1 us, never waiting", 0.001, 100000);
    report(&spec, "steps of 0.5 ms, sleeping", 0.5, 1000);
    return 0;
}

/* Runs a whole pipeline inside a test: data set, loader, emulated device, consumer. Header-only. */
#ifndef DLB_TESTS_PIPELINE_H
#define DLB_TESTS_PIPELINE_H

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/shm.h"
#include "loaders/sampler.h"
#include "loaders/train/consumer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a run is made of; zero means the default that pipeline_run gives it. */
struct pipeline {
    const struct dlb_dataset *dataset;
    struct dlb_loader_opts loader;
    struct dlb_device_opts device;
    const struct dlb_loader *use_loader; /* NULL: as loader.kind says */
    const struct dlb_device *use_device; /* NULL: as device.kind says */
    uint32_t rank, world;
    uint64_t seed, max_batches, warmup_batches;
    uint32_t n_epochs;
    uint32_t n_accelerators;      /* 0: 1 */
    bool barrier, shared_workers; /* of several */
    double slow_step_ms;          /* of the last accelerator; 0: as the others */
    bool checksum;
    struct dlb_pulse *pulse;
    const atomic_bool *cancel;
    /* results */
    struct dlb_consumed *out; /* owned by the test: pipeline_free */
    struct dlb_loader_stats *stats;
    struct dlb_err err;
    int rc, stop_rc;
    uint64_t wall_ns; /* an outside clock around the whole run */
    uint64_t stop_ns; /* and around the loader's stop */
};

/* Tests ask for modelled times: "auto" is the emulated accelerator here, unless DLB_TEST_DEVICE
 * names another. */
static inline void pipeline_device(struct dlb_device_opts *opts)
{
    const char *name = getenv("DLB_TEST_DEVICE");
    if (opts->sm_share <= 0)
        opts->sm_share = 1;
    for (int i = 0; opts->kind == 0 && dlb_devices[i]; i++)
        if (strcmp(dlb_devices[i]->name, name ? name : "emulated") == 0)
            opts->kind = i + 1;
}

static inline void *pipeline_state(size_t n_bytes)
{
    size_t rounded = (n_bytes + 127) & ~(size_t)63;
    void *state = aligned_alloc(64, rounded);
    assert_non_null(state);
    memset(state, 0, rounded);
    return state;
}

static inline int pipeline_kind(const char *name)
{
    for (int i = 0; dlb_loaders[i]; i++)
        if (strcmp(dlb_loaders[i]->name, name) == 0)
            return i + 1;
    fail_msg("no loader %s", name);
    return 0;
}

static inline void pipeline_free(struct pipeline *p)
{
    free(p->out);
    free(p->stats);
    p->out = NULL;
    p->stats = NULL;
}

static inline void pipeline_run(struct pipeline *p)
{
    struct dlb_err stop_err = {0};
    char why[160];

    pipeline_free(p);
    if (p->loader.batch_size == 0)
        p->loader.batch_size = 4;
    if (p->loader.prefetch_factor == 0)
        p->loader.prefetch_factor = 2;
    if (p->loader.shuffle_buffer_bytes == 0)
        p->loader.shuffle_buffer_bytes = 1 << 30;
    p->out = calloc(1, sizeof *p->out);
    p->stats = calloc(1, sizeof *p->stats);
    assert_non_null(p->out);
    assert_non_null(p->stats);
    const struct dlb_loader *loader =
        p->use_loader ? p->use_loader : dlb_loader_choose(&p->loader, &p->err);
    assert_non_null(loader);
    uint32_t n = p->n_accelerators ? p->n_accelerators : 1;
    uint32_t n_loaders = p->shared_workers ? 1 : n;
    struct dlb_feed *feeds = calloc(n, sizeof *feeds);
    struct dlb_job *jobs = calloc(n, sizeof *jobs);
    struct dlb_shm ready = {0};
    struct dlb_shuffled shuffled = {0};
    assert_true(feeds && jobs);
    if (n > 1) /* before worker processes are there */
        assert_int_equal(dlb_shm_create(&ready, sizeof(struct dlb_event), true, &p->err), DLB_OK);
    struct dlb_consume consume = {.loader = loader,
                                  .feeds = feeds,
                                  .n_feeds = n,
                                  .ready = ready.addr,
                                  .barrier = p->barrier && n > 1,
                                  .device_prefetch = (uint32_t)p->device.prefetch,
                                  .n_epochs = p->n_epochs ? p->n_epochs : 1,
                                  .max_batches = p->max_batches,
                                  .warmup_batches = p->warmup_batches,
                                  .round = 1,
                                  .n_workers = (uint32_t)p->loader.num_workers + 1,
                                  .n_samples = p->dataset->shape.n_samples,
                                  .host_ns = p->device.step_ms * 1e6 * p->device.host_busy_frac,
                                  .step_ns = p->device.step_ms * 1e6,
                                  .checksum = p->checksum,
                                  .augment = &p->dataset->augment,
                                  .cancel = p->cancel};
    p->rc = DLB_OK;
    for (uint32_t i = 0; i < n_loaders && p->rc == DLB_OK; i++) {
        jobs[i] = (struct dlb_job){.dataset = p->dataset,
                                   .opts = &p->loader,
                                   .rank = p->rank * n_loaders + i,
                                   .world = (p->world ? p->world : 1) * n_loaders,
                                   .n_loaders = n_loaders,
                                   .first_worker = i * (uint32_t)p->loader.num_workers,
                                   .seed = p->seed,
                                   .order = &shuffled,
                                   .device_prefetch = (uint32_t)p->device.prefetch,
                                   .n_others = n / n_loaders - 1,
                                   .pulse = p->pulse,
                                   .cancel = p->cancel,
                                   .ready = ready.addr,
                                   .checksum = p->checksum};
        feeds[i].loader_state = pipeline_state(loader->state_bytes);
        p->rc = loader->start(feeds[i].loader_state, &jobs[i], &p->err);
        struct dlb_sampler_opts order = {.rank = jobs[i].rank,
                                         .world = jobs[i].world,
                                         .batch_size = (uint32_t)p->loader.batch_size,
                                         .drop_last = p->loader.drop_last};
        struct dlb_sampler sampler;
        assert_int_equal(dlb_sampler_open(&sampler, &p->dataset->shape, &order, false, &stop_err),
                         DLB_OK);
        consume.expected +=
            dlb_sampler_expected(&sampler, p->dataset, (uint32_t)p->loader.num_workers);
        consume.padded += dlb_sampler_repeats(&sampler, jobs[0].rank, n_loaders);
        dlb_sampler_close(&sampler);
    }
    pipeline_device(&p->device);
    const struct dlb_device *device = consume.device =
        p->use_device ? p->use_device : dlb_device_choose(&p->device, NULL, why, &p->err);
    assert_non_null(device);
    struct dlb_device_opts slow = p->device;
    slow.step_ms = p->slow_step_ms;
    for (uint32_t i = 0; i < n; i++) {
        bool is_slow = i == n - 1 && p->slow_step_ms > 0;
        struct dlb_device_open how = {.opts = is_slow ? &slow : &p->device,
                                      .n_bufs = (uint32_t)p->device.prefetch + 1,
                                      .buf_bytes = (size_t)p->loader.batch_size *
                                                   p->dataset->max_payload_bytes,
                                      .seed = p->seed + i,
                                      .copy_on_compute = p->device.prefetch == 0,
                                      .keep_bytes = p->checksum,
                                      .augment = &p->dataset->augment};
        struct dlb_memory memory;
        if (p->shared_workers)
            feeds[i].loader_state = feeds[0].loader_state;
        feeds[i].device_state = pipeline_state(device->state_bytes);
        assert_int_equal(device->open(feeds[i].device_state, &how, &p->err), DLB_OK);
        loader->memory(feeds[i].loader_state, &memory);
        if (p->loader.pin_memory && memory.n_bytes > 0)
            assert_int_equal(
                device->pin(feeds[i].device_state, memory.addr, memory.n_bytes, &p->err), DLB_OK);
    }
    uint64_t start_ns = dlb_now_ns();
    if (p->rc == DLB_OK)
        p->rc = dlb_consume(&consume, p->out, &p->err);
    p->wall_ns = dlb_now_ns() - start_ns;
    start_ns = dlb_now_ns();
    for (uint32_t i = 0; i < n_loaders && loader->dismiss; i++)
        loader->dismiss(feeds[i].loader_state);
    for (uint32_t i = 0; i < n_loaders; i++) {
        void *ld = feeds[i].loader_state;
        p->stop_rc = loader->stop(ld, &stop_err);
        assert_int_equal(p->stop_rc, DLB_OK);
        assert_int_equal(loader->stop(ld, &stop_err), DLB_OK); /* idempotent */
        loader->stats(ld, p->stats);
    }
    p->stop_ns = dlb_now_ns() - start_ns;
    for (uint32_t i = 0; i < n; i++) {
        if (i < n_loaders) {
            loader->close(feeds[i].loader_state);
            free(feeds[i].loader_state);
        }
        device->close(feeds[i].device_state);
        free(feeds[i].device_state);
    }
    dlb_shm_free(&ready);
    dlb_shm_free(&shuffled.memory);
    free(feeds);
    free(jobs);
}

#endif

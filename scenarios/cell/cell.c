#include "scenarios/cell/cell.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/shm.h"
#include "loaders/sampler.h"
#include "loaders/train/consumer.h"
#include "scenarios/cell/beside.h"
#include "scenarios/cell/cache.h"
#include "scenarios/cell/choose.h"
#include "scenarios/cell/count.h"
#include "scenarios/cell/data.h"
#include "scenarios/cell/fill.h"
#include "scenarios/cell/numa.h"
#include "scenarios/cell/rings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

const char *const dlb_cell_mode_names[] = {"measure", "ceiling", "warm", "baseline", NULL};

struct cell {
    struct dlb_spec spec;
    enum dlb_cell_mode mode;
    const struct dlb_cell_watch *watch;
    _Atomic uint64_t own_beats; /* used if the caller watches none */
    struct dlb_topo *topo;
    struct dlb_cell_data data;
    const struct dlb_loader *loader;
    struct dlb_job *jobs;      /* [n_loaders] */
    uint32_t n_loaders;        /* one for each accelerator, or one for all */
    uint32_t n_started;        /* of them; the one after may have failed half-way */
    struct dlb_shm ready;      /* holds what they signal */
    struct dlb_shuffled order; /* of all ranks here, with loader.shuffle */
    json_t *settings;          /* the spec as an object of dotted keys */
    bool stuck; /* a worker or a GPU did not stop: the memory that it uses must stay */
    char stuck_why[sizeof(struct dlb_err) + 64];
    const struct dlb_device *device;
    struct dlb_feed *feeds;   /* [accelerators.count] */
    uint32_t n_devices;       /* opened, or failed half-way */
    struct dlb_memory memory; /* of all loaders */
    struct dlb_consumed *consumed;
    struct dlb_loader_stats *stats;
    struct dlb_cell_cache cache;
    struct dlb_cell_facts facts;
    char device_why[160];
};

/* Waits until the cells of all ranks have come as far: they begin their loops together. */
static int meet(const struct cell *c, struct dlb_err *err)
{
    struct dlb_meet *meet = c->watch->meet;
    if (!meet)
        return DLB_OK;
    dlb_meet_ask(meet, dlb_now_ns(), 0);
    if (!dlb_meet_wait(meet, c->watch->cancel) || meet->alone)
        return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET,
                        meet->alone ? "the cell of another rank did not begin" : "interrupted");
    return DLB_OK;
}

static int meet_cold(const struct cell *c, struct dlb_err *err)
{
    int rc = meet(c, err);
    if (!rc)
        dlb_meet_again(c->watch->meet);
    return rc;
}

static int begin_cache(struct cell *c, struct dlb_err *err)
{
    return dlb_cell_cache_begin(&c->cache, &c->spec, &c->data.set, c->watch->cancel, err);
}

/* Ranks of one machine have the same page cache: all have opened their data before one drops it,
 * and no worker reads before all have dropped it. Where two drop the same page at once, both may
 * leave it. A rank that saw such pages drops them when the others are done. */
static int begin_cold(struct cell *c, struct dlb_err *err)
{
    int rc = meet_cold(c, err);
    if (!rc)
        rc = begin_cache(c, err);
    if (!rc)
        rc = meet_cold(c, err);
    if (!rc && c->cache.before.resident_bytes > 0)
        rc = begin_cache(c, err);
    return rc ? rc : meet_cold(c, err);
}

static int open_data(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    if (spec->loader.bind != DLB_BIND_NONE) {
        int rc = dlb_topo_open(&c->topo, err);
        if (rc)
            return rc;
    }
    int rc = dlb_cell_data_open(&c->data, &c->spec, c->mode, c->watch->data_id, err);
    if (rc || c->mode != DLB_MODE_MEASURE)
        return rc;
    c->facts.cache = &c->cache;
    bool on_storage = c->data.set.format->reader->files != NULL;
    bool together = c->watch->meet && on_storage && spec->run.cache == DLB_RUN_COLD;
    return together ? begin_cold(c, err) : begin_cache(c, err);
}

/* Workers of all loaders that have something to read. */
static uint32_t busy_workers(const struct cell *c)
{
    uint32_t n_workers = (uint32_t)c->spec.loader.num_workers * c->n_loaders;
    return c->data.set.shape.iterable ? (uint32_t)dlb_job_share(&c->jobs[0]).n_busy : n_workers;
}

static uint32_t idle_workers(const struct cell *c)
{
    return (uint32_t)c->spec.loader.num_workers * c->n_loaders - busy_workers(c);
}

/* Ranks with nothing to read would end at once and measure nothing of the storage. */
static int check_shares(const struct cell *c, struct dlb_err *err)
{
    const struct dlb_shape *shape = &c->data.set.shape;
    uint64_t n_items = shape->iterable ? shape->n_shards : shape->n_samples;
    if (c->n_loaders == 1 || n_items >= c->jobs[0].world)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_ACCELERATORS_SHARE_TOO_LITTLE, NULL, DLB_NO_OFFSET,
                    "%u accelerators have %llu %s to share: lower accelerators.count, set "
                    "accelerators.shared_workers = true, or write more of them",
                    c->n_loaders, (unsigned long long)n_items,
                    shape->iterable ? "shards" : "samples");
}

/* At each step of several accelerators, or of all ranks'. */
static bool has_barrier(const struct cell *c)
{
    return c->spec.accelerators.barrier && (c->spec.accelerators.count > 1 || c->watch->meet);
}

/* What wakes the loop of several accelerators, and one that waits for other ranks; else NULL. */
static struct dlb_event *ready_event(const struct cell *c)
{
    bool many = c->spec.accelerators.count > 1 || has_barrier(c);
    return !many ? NULL : c->watch->meet ? &c->watch->meet->ready : c->ready.addr;
}

/* Each accelerator is a rank of its own within this process's share, unless they share a loader. */
static void fill_job(struct cell *c, uint32_t i)
{
    const struct dlb_spec *spec = &c->spec;
    c->jobs[i] = (struct dlb_job){
        .dataset = &c->data.set,
        .opts = &spec->loader,
        .topo = c->topo,
        .rank = (uint32_t)spec->run.rank * c->n_loaders + i,
        .world = (uint32_t)spec->run.world * c->n_loaders,
        .n_loaders = c->n_loaders,
        .nth = i,
        .first_worker = i * (uint32_t)spec->loader.num_workers,
        .seed = (uint64_t)spec->run.seed,
        .order = &c->order,
        .device_prefetch = (uint32_t)spec->device.prefetch,
        .n_others = (uint32_t)spec->accelerators.count / c->n_loaders - 1,
        .checksum = spec->run.checksum,
        .trace = c->watch->trace,
        .cancel = c->watch->cancel,
        .ready = ready_event(c),
        .pulse = c->watch->pulse,
        .python = &spec->python,
        .settings = c->settings,
        .scratch = c->watch->scratch,
        .ceiling = c->mode == DLB_MODE_CEILING,
    };
}

static int open_fleet(struct cell *c, struct dlb_err *err)
{
    uint32_t n = (uint32_t)c->spec.accelerators.count;
    c->n_loaders = dlb_accelerators_loaders(&c->spec.accelerators);
    c->jobs = dlb_mem_array(c->n_loaders, sizeof(*c->jobs));
    c->feeds = dlb_mem_array(n, sizeof(*c->feeds));
    c->settings = dlb_spec_to_json(&c->spec, c->data.set.shape.iterable);
    /* Worker processes signal it too: it is mapped before they exist. */
    int rc = n > 1 && !c->watch->meet
                 ? dlb_shm_create(&c->ready, sizeof(struct dlb_event), true, err)
                 : DLB_OK;
    if (!rc) /* so are the rings that they write to */
        rc = dlb_cell_trace_open(c->watch->trace, &c->spec, c->n_loaders, err);
    for (uint32_t i = 0; i < c->n_loaders && !rc; i++)
        fill_job(c, i);
    if (c->watch->pulse) {
        struct dlb_live *live = &c->watch->pulse->live;
        atomic_store(&live->n_devices, n);
        atomic_store(&live->n_workers, (uint32_t)c->spec.loader.num_workers * c->n_loaders);
    }
    return rc ? rc : check_shares(c, err);
}

static int start_one(struct cell *c, uint32_t i, struct dlb_err *err)
{
    struct dlb_memory one;
    c->feeds[i].loader_state = dlb_mem_state(c->loader->state_bytes);
    if (!c->feeds[i].loader_state)
        return dlb_fail_memory(err, NULL, c->loader->state_bytes);
    int rc = c->loader->start(c->feeds[i].loader_state, &c->jobs[i], err);
    if (rc)
        return rc;
    c->n_started++;
    c->loader->memory(c->feeds[i].loader_state, &one);
    c->memory.n_bytes += one.n_bytes;
    c->memory.slots_bytes += one.slots_bytes;
    c->memory.huge = one.huge;
    c->memory.shared = one.shared;
    return DLB_OK;
}

/* Maps the slots, before any thread or driver exists, and starts the workers, which fill batches in
 * loaders/worker/worker.c. */
static int start_loader(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    c->loader = dlb_cell_loader(spec, c->mode, err);
    if (!c->loader)
        return (int)err->status;
    int rc = dlb_loader_check_reads(&spec->loader, c->data.set.format, spec->dataset.access,
                                    c->data.set.shape.iterable, err);
    if (!rc)
        rc = open_fleet(c, err);
    for (uint32_t i = 0; i < c->n_loaders && !rc; i++)
        rc = start_one(c, i, err);
    if (rc)
        return rc;
    for (uint32_t i = 1; i < (uint32_t)spec->accelerators.count; i++)
        if (c->n_loaders == 1)
            c->feeds[i].loader_state = c->feeds[0].loader_state;
    c->facts.memory = &c->memory;
    c->facts.n_idle_workers = idle_workers(c);
    return DLB_OK;
}

/* A GPU, of which there is one, has its own name and a NUMA node. Batch memory is moved to that
 * node before it is pinned, because pinned pages cannot move. */
static int describe(struct cell *c, void *device_state, const struct dlb_memory *memory,
                    struct dlb_err *err)
{
    if (!c->device->describe)
        return DLB_OK;
    c->facts.gpu = c->device->describe(device_state);
    const char *name = dlb_json_text(c->facts.gpu, "name");
    if (name[0])
        (void)snprintf(c->facts.device_name, sizeof(c->facts.device_name), "%s", name);
    if (c->facts.gpu)
        c->facts.numa = dlb_numa_place(dlb_json_text(c->facts.gpu, "pci_bus_id"), memory);
    return c->facts.gpu && c->facts.numa ? DLB_OK
                                         : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                                                    "out of memory to describe the device");
}

/* With its own loader's slots pinned. */
static int open_one(struct cell *c, const struct dlb_device_open *how, uint32_t i,
                    struct dlb_err *err)
{
    struct dlb_memory memory;
    struct dlb_feed *feed = &c->feeds[i];
    feed->device_state = dlb_mem_state(c->device->state_bytes);
    if (!feed->device_state)
        return dlb_fail_memory(err, NULL, c->device->state_bytes);
    c->n_devices++;
    c->loader->memory(feed->loader_state, &memory);
    int rc = c->device->open(feed->device_state, how, err);
    if (!rc)
        rc = describe(c, feed->device_state, &memory, err);
    if (rc || !c->spec.loader.pin_memory || memory.n_bytes == 0)
        return rc;
    c->facts.pinned_bytes = c->memory.n_bytes;
    return c->device->pin(feed->device_state, memory.addr, memory.n_bytes, err);
}

static int open_devices(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    c->device = dlb_cell_device(spec, c->loader, c->watch->memo, c->device_why, err);
    if (!c->device)
        return (int)err->status;
    if (ready_event(c) && !c->device->due)
        return dlb_fail(err, DLB_ERR_ACCELERATORS_EMULATED_ONLY, NULL, DLB_NO_OFFSET,
                        "accelerators.count = %lld: one process drives one %s device%s, only "
                        "emulated ones are many: set device.kind = \"emulated\"",
                        (long long)spec->accelerators.count, c->device->name,
                        has_barrier(c) ? " without a barrier" : "");
    size_t buf_bytes;
    if (__builtin_mul_overflow((uint64_t)spec->loader.batch_size, c->data.set.max_payload_bytes,
                               &buf_bytes))
        return dlb_fail(err, DLB_ERR_BATCH_TOO_LARGE, NULL, DLB_NO_OFFSET,
                        "loader.batch_size times the largest sample is beyond 64 bits");
    struct dlb_device_open how = {
        .opts = &spec->device,
        .n_bufs = (uint32_t)spec->device.prefetch + 1,
        .buf_bytes = buf_bytes,
        .seed = (uint64_t)spec->run.seed,
        .copy_on_compute = spec->device.prefetch == 0,
        .keep_bytes = spec->run.checksum,
        .augment = &c->data.set.augment,
        .memo = c->watch->memo,
    };
    dlb_cell_device_name(c->device, &spec->device, c->facts.device_name,
                         sizeof(c->facts.device_name));
    int rc = DLB_OK;
    for (uint32_t i = 0; i < (uint32_t)spec->accelerators.count && !rc; i++) {
        how.seed = (uint64_t)spec->run.seed + i; /* steps that differ, differ among them */
        rc = open_one(c, &how, i, err);
    }
    if (rc)
        return rc;
    c->facts.device_kind = c->device->name;
    c->facts.device_why = c->device_why;
    return DLB_OK;
}

static int consume(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    struct dlb_pulse *pulse = c->watch->pulse;
    _Atomic uint64_t *beat = pulse ? &pulse->n_batches : &c->own_beats;
    c->consumed = dlb_mem_new(sizeof(*c->consumed));
    struct dlb_consume how = {
        .loader = c->loader,
        .device = c->device,
        .feeds = c->feeds,
        .n_feeds = (uint32_t)spec->accelerators.count,
        .ready = ready_event(c),
        .meet = c->watch->meet,
        .barrier = has_barrier(c),
        .cold = c->mode == DLB_MODE_MEASURE && spec->run.cache == DLB_RUN_COLD,
        .device_prefetch = (uint32_t)spec->device.prefetch,
        .n_epochs = (uint32_t)spec->run.epochs,
        .n_samples = c->data.set.shape.n_samples,
        .host_ns = spec->device.step_ms * 1e6 * spec->device.host_busy_frac,
        .step_ns = spec->device.step_ms * 1e6,
        .checksum = spec->run.checksum,
        .augment = &c->data.set.augment,
        .heartbeat = beat,
        .live = pulse ? &pulse->live : NULL,
        .cancel = c->watch->cancel,
        .trace = c->watch->trace,
    };
    struct dlb_cell_count count = {.spec = spec,
                                   .dataset = &c->data.set,
                                   .jobs = c->jobs,
                                   .n_loaders = c->n_loaders,
                                   .n_busy = busy_workers(c) / c->n_loaders,
                                   .ceiling = c->mode == DLB_MODE_CEILING};
    int rc = dlb_cell_count(&count, &how, err);
    if (!rc)
        rc = meet(c, err);
    if (rc)
        return rc;
    c->facts.consumed = c->consumed;
    struct dlb_cell_beside beside;
    dlb_cell_beside_begin(&beside, &c->facts);
    rc = dlb_consume(&how, c->consumed, err);
    if (c->watch->meet)
        dlb_meet_end(c->watch->meet, rc == DLB_OK);
    dlb_cell_beside_end(&beside, &c->facts);
    if (c->facts.gpu)
        c->facts.ran = c->device->ran ? c->device->ran(c->feeds[0].device_state) : NULL;
    c->facts.peak_pss_bytes = c->memory.shared ? dlb_os_rss_bytes() : dlb_os_peak_pss_bytes();
    c->facts.n_batches = atomic_load(beat);
    return rc;
}

static void note_stuck(struct cell *c, const struct dlb_err *err)
{
    if (!c->stuck)
        (void)dlb_err_text(err, c->stuck_why, sizeof(c->stuck_why));
    c->stuck = true;
}

/* Closes what was opened, in reverse order. A worker or GPU that does not stop changes neither
 * the measurements nor the reason of a failure. */
static void finish(struct cell *c)
{
    struct dlb_err err;
    c->stats = dlb_mem_new(sizeof(*c->stats));
    for (uint32_t i = 0; i < c->n_started && c->loader->dismiss; i++)
        c->loader->dismiss(c->feeds[i].loader_state);
    if (c->n_started > 0 && c->loader->describe)
        c->facts.python = c->loader->describe(c->feeds[0].loader_state);
    for (uint32_t i = 0; i < c->n_started; i++) {
        if (c->loader->stop(c->feeds[i].loader_state, &err) != DLB_OK)
            note_stuck(c, &err);
        else
            c->loader->stats(c->feeds[i].loader_state, c->stats);
    }
    if (c->n_started > 0 && !c->stuck) {
        dlb_os_process_add(&c->facts.after, &c->stats->os);
        dlb_cell_cache_end(&c->cache, &c->data.set, c->stats);
        if (c->facts.peak_pss_bytes != DLB_NOT_MEASURED)
            c->facts.peak_pss_bytes += c->stats->private_bytes;
        c->facts.stats = c->stats;
        c->facts.loader_opts = &c->spec.loader;
    }
    for (uint32_t i = 0; i < c->n_devices; i++)
        if (c->device->end && !c->device->end(c->feeds[i].device_state)) {
            (void)dlb_fail(&err, DLB_ERR_GPU_HANGS, NULL, DLB_NO_OFFSET,
                           "the GPU did not finish its work");
            note_stuck(c, &err);
        }
}

static void release(struct cell *c)
{
    if (c->stuck)
        return;
    for (uint32_t i = 0; i < c->n_devices; i++) {
        c->device->close(c->feeds[i].device_state);
        free(c->feeds[i].device_state);
    }
    for (uint32_t i = 0; c->feeds && i < c->n_loaders && c->feeds[i].loader_state; i++) {
        c->loader->close(c->feeds[i].loader_state);
        free(c->feeds[i].loader_state);
    }
    dlb_shm_free(&c->ready);
    dlb_shm_free(&c->order.memory);
    dlb_dataset_close(&c->data.set);
    if (c->topo)
        dlb_topo_close(c->topo);
    json_decref(c->settings);
    json_decref(c->facts.python);
    json_decref(c->facts.gpu);
    json_decref(c->facts.numa);
    json_decref(c->facts.nvml);
    json_decref(c->facts.ran);
    free(c->feeds);
    free(c->jobs);
    free(c->consumed);
    free(c->stats);
    free(c);
}

static int execute(struct cell *c, struct dlb_err *err)
{
    dlb_pulse_opening = c->watch->pulse;
    int rc = open_data(c, err);
    dlb_pulse_opening = NULL;
    if (rc || c->data.not_done[0])
        return rc;
    if (c->watch->pulse)
        memcpy(c->watch->pulse->library, c->data.set.shape.library,
               sizeof c->watch->pulse->library);
    rc = start_loader(c, err);
    if (!rc)
        rc = open_devices(c, err);
    if (!rc)
        rc = consume(c, err);
    finish(c);
    return rc;
}

static void conclude(const struct cell *c, int rc, const struct dlb_err *err,
                     struct dlb_cell_result *out)
{
    dlb_cell_result_init(out);
    out->data_id = c->data.id;
    if (rc) {
        dlb_cell_result_fail(out, err);
    } else if (c->data.not_done[0]) {
        out->status = DLB_REP_SKIPPED;
        (void)snprintf(out->reason, sizeof(out->reason), "%s", c->data.not_done);
    }
    (void)snprintf(out->stuck_why, sizeof(out->stuck_why), "%s", c->stuck ? c->stuck_why : "");
    dlb_cell_fill(out, &c->facts);
    if (c->watch->meet)
        out->hists = dlb_cell_fill_hists(&c->facts);
    if (c->mode == DLB_MODE_CEILING) /* its epochs deliver the same samples many times */
        out->loop.n_epochs = 0;
}

void dlb_cell_run(const struct dlb_spec *spec, enum dlb_cell_mode mode,
                  const struct dlb_cell_watch *watch, struct dlb_cell_result *out)
{
    struct cell *c = dlb_mem_new(sizeof(*c));
    struct dlb_err err = {.offset_bytes = DLB_NO_OFFSET};
    c->spec = *spec;
    c->mode = mode;
    c->watch = watch;
    c->facts.peak_pss_bytes = DLB_NOT_MEASURED;
    /* Linux rounds sleeps up by 50 us by default; that would be the harness's oversleep. Threads
     * inherit it. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    int rc = execute(c, &err);
    conclude(c, rc, &err, out);
    release(c);
}

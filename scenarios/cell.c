#include "scenarios/cell.h"

#include "bench/base/clock.h"
#include "bench/host/nvml.h"
#include "loaders/consumer.h"
#include "loaders/sampler.h"
#include "scenarios/cell_doc.h"
#include "scenarios/flat.h"
#include "scenarios/numa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define RESIDENCY_MAX_FILES 256 /* asked per repetition; more would cost more than it tells */
#define WARM_BATCH_BYTES (UINT64_C(4) << 20) /* the warm pass only has to touch the bytes */
#define STATE_ALIGN 64

struct cell {
    struct dlb_spec spec;
    enum dlb_cell_mode mode;
    const struct dlb_cell_watch *watch;
    _Atomic uint64_t own_beat; /* where nobody watches */
    struct dlb_topo *topo;
    struct dlb_dataset dataset;
    struct dlb_job job;
    const struct dlb_loader *loader;
    void *loader_state;
    bool loader_started;
    bool stuck; /* a worker did not come back: what it uses must stay */
    const struct dlb_device *device;
    void *device_state;
    struct dlb_memory memory;
    struct dlb_consumed *consumed;
    struct dlb_loader_stats *stats;
    struct dlb_cell_facts facts;
    char device_why[160], not_done[160]; /* not_done: why the warm pass was left out */
};

static void *state_new(size_t n_bytes)
{
    size_t rounded = (n_bytes + STATE_ALIGN - 1) / STATE_ALIGN * STATE_ALIGN;
    void *state = aligned_alloc(STATE_ALIGN, rounded ? rounded : STATE_ALIGN);
    if (state)
        memset(state, 0, rounded);
    return state;
}

static int no_memory(struct dlb_err *err)
{
    return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a cell's state");
}

/* The warm pass keeps its batches small, whatever the configuration asks, and gives up where memory
 * cannot hold the data. */
static void fit_warm(struct cell *c)
{
    const struct dlb_shape *shape = &c->dataset.shape;
    uint64_t available = dlb_os_mem_available_bytes();
    if (available != DLB_NOT_MEASURED && shape->total_bytes > available) {
        (void)snprintf(c->not_done, sizeof(c->not_done),
                       "the data (%.1f GB) do not fit in the memory that is available (%.1f GB): "
                       "no warm pass",
                       (double)shape->total_bytes / 1e9, (double)available / 1e9);
        return;
    }
    uint64_t sample = c->dataset.max_payload_bytes ? c->dataset.max_payload_bytes : 1;
    int64_t fits = (int64_t)(WARM_BATCH_BYTES / sample);
    if (fits < 1)
        fits = 1;
    if (c->spec.loader.batch_size > fits)
        c->spec.loader.batch_size = fits;
}

static int open_data(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    struct dlb_err ignored;
    if (c->mode == DLB_MODE_MEASURE && spec->dataset.path[0] &&
        !dlb_formats[spec->dataset.format]->synthetic)
        (void)dlb_residency_path(spec->dataset.path, RESIDENCY_MAX_FILES, &c->facts.residency,
                                 &ignored);
    if (spec->loader.bind != DLB_BIND_NONE) {
        int rc = dlb_topo_open(&c->topo, err);
        if (rc)
            return rc;
    }
    int rc = dlb_dataset_open(&c->dataset, &spec->dataset, &spec->transform, &spec->generate,
                              dlb_spec_format_opts(spec), err);
    if (!rc && c->mode == DLB_MODE_WARM)
        fit_warm(c);
    return rc;
}

/* Workers that no shard is left for: iterable data is split by rank, then by worker. */
static uint32_t idle_workers(const struct cell *c)
{
    uint32_t workers = (uint32_t)c->spec.loader.num_workers, world = c->job.world;
    if (!c->dataset.shape.iterable)
        return 0;
    uint32_t own = (c->dataset.shape.n_shards + world - 1 - c->job.rank) / world;
    return workers > own ? workers - own : 0;
}

/* Slots are mapped here, before any thread or driver exists. */
static int start_loader(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    c->loader = dlb_loader_choose(&spec->loader, err);
    if (!c->loader)
        return (int)err->status;
    c->loader_state = state_new(c->loader->state_bytes);
    if (!c->loader_state)
        return no_memory(err);
    c->job = (struct dlb_job){
        .dataset = &c->dataset,
        .opts = &spec->loader,
        .topo = c->topo,
        .rank = (uint32_t)spec->run.rank,
        .world = (uint32_t)spec->run.world,
        .seed = (uint64_t)spec->run.seed,
        .device_prefetch = (uint32_t)spec->device.prefetch,
        .checksum = spec->run.checksum,
        .cancel = c->watch->cancel,
    };
    int rc = dlb_loader_check_reads(&spec->loader, c->dataset.format, spec->dataset.access,
                                    c->dataset.shape.iterable, err);
    if (!rc)
        rc = c->loader->start(c->loader_state, &c->job, err);
    if (rc)
        return rc;
    c->loader_started = true;
    c->loader->memory(c->loader_state, &c->memory);
    c->facts.memory = &c->memory;
    c->facts.n_idle_workers = idle_workers(c);
    return DLB_OK;
}

/* A real device has a name of its own, and a place. */
static int describe(struct cell *c)
{
    c->facts.gpu = c->device->describe(c->device_state);
    const char *name = dlb_json_text(c->facts.gpu, "name");
    if (name[0])
        (void)snprintf(c->facts.device_name, sizeof(c->facts.device_name), "%s", name);
    if (c->facts.gpu)
        c->facts.numa = dlb_numa_place(dlb_json_text(c->facts.gpu, "pci_bus_id"), &c->memory);
    return c->facts.gpu && c->facts.numa ? DLB_OK : DLB_E_NOMEM;
}

static int open_device(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    c->device = dlb_device_choose(&spec->device, c->watch->memo, c->device_why, err);
    if (!c->device)
        return (int)err->status;
    c->device_state = state_new(c->device->state_bytes);
    if (!c->device_state)
        return no_memory(err);
    size_t buf_bytes;
    if (__builtin_mul_overflow((uint64_t)spec->loader.batch_size, c->dataset.max_payload_bytes,
                               &buf_bytes))
        return dlb_fail(err, DLB_E_CONFIG, NULL, DLB_NO_OFFSET,
                        "loader.batch_size times the largest sample is beyond 64 bits");
    struct dlb_device_open how = {
        .opts = &spec->device,
        .n_bufs = (uint32_t)spec->device.prefetch + 1,
        .buf_bytes = buf_bytes,
        .seed = (uint64_t)spec->run.seed,
        .copy_on_compute = spec->device.prefetch == 0,
        .keep_bytes = spec->run.checksum,
        .augment = &c->dataset.augment,
        .memo = c->watch->memo,
    };
    int rc = c->device->open(c->device_state, &how, err);
    if (rc)
        return rc;
    dlb_cell_device_name(c->device, &spec->device, c->facts.device_name,
                         sizeof(c->facts.device_name));
    if (c->device->describe && describe(c) != DLB_OK)
        return no_memory(err);
    c->facts.device_kind = c->device->name;
    c->facts.device_why = c->device_why;
    if (!spec->loader.pin_memory || c->memory.n_bytes == 0)
        return DLB_OK;
    c->facts.pinned_bytes = c->memory.n_bytes;
    return c->device->pin(c->device_state, c->memory.addr, c->memory.n_bytes, err);
}

static int count_expected(const struct cell *c, uint64_t *out, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    struct dlb_sampler sampler;
    struct dlb_sampler_opts opts = {.seed = (uint64_t)spec->run.seed,
                                    .rank = (uint32_t)spec->run.rank,
                                    .world = (uint32_t)spec->run.world,
                                    .batch_size = (uint32_t)spec->loader.batch_size,
                                    .drop_last = spec->loader.drop_last};
    int rc = dlb_sampler_open(&sampler, &c->dataset.shape, &opts, false, err);
    if (rc)
        return rc;
    *out = dlb_sampler_expected(&sampler, &c->dataset, (uint32_t)spec->loader.num_workers);
    dlb_sampler_close(&sampler);
    return DLB_OK;
}

static int consume(struct cell *c, struct dlb_err *err)
{
    const struct dlb_spec *spec = &c->spec;
    _Atomic uint64_t *beat = c->watch->heartbeat ? c->watch->heartbeat : &c->own_beat;
    c->consumed = calloc(1, sizeof(*c->consumed));
    if (!c->consumed)
        return no_memory(err);
    struct dlb_consume how = {
        .loader = c->loader,
        .loader_state = c->loader_state,
        .device = c->device,
        .device_state = c->device_state,
        .device_prefetch = (uint32_t)spec->device.prefetch,
        .n_epochs = (uint32_t)spec->run.epochs,
        .max_batches = (uint64_t)spec->run.max_batches,
        .warmup_batches = (uint64_t)spec->run.warmup_batches,
        .n_samples = c->dataset.shape.n_samples,
        .checksum = spec->run.checksum,
        .augment = &c->dataset.augment,
        .heartbeat = beat,
        .cancel = c->watch->cancel,
    };
    int rc = count_expected(c, &how.expected, err);
    if (rc)
        return rc;
    c->facts.consumed = c->consumed;
    const char *bus_id = dlb_json_text(c->facts.gpu, "pci_bus_id");
    struct dlb_nvml *nvml = bus_id[0] ? dlb_nvml_start(bus_id) : NULL;
    dlb_os_process(&c->facts.before);
    rc = dlb_consume(&how, c->consumed, err);
    dlb_os_process(&c->facts.after);
    c->facts.nvml = dlb_nvml_stop(nvml);
    c->facts.peak_pss_bytes = c->memory.shared ? dlb_os_rss_bytes() : dlb_os_peak_pss_bytes();
    c->facts.n_batches = atomic_load(beat);
    return rc;
}

/* Whatever was opened, in the reverse order. Returns the first failure that is not already known.
 */
static int finish(struct cell *c, int rc, struct dlb_err *err)
{
    struct dlb_err later;
    if (c->loader_started) {
        int stopped = c->loader->stop(c->loader_state, &later);
        c->stuck = stopped != DLB_OK;
        if (stopped && !rc) {
            rc = stopped;
            *err = later;
        }
        c->stats = calloc(1, sizeof(*c->stats));
        if (c->stats && stopped == DLB_OK) {
            c->loader->stats(c->loader_state, c->stats);
            dlb_os_process_add(&c->facts.after, &c->stats->os);
            if (c->facts.peak_pss_bytes != DLB_NOT_MEASURED)
                c->facts.peak_pss_bytes += c->stats->private_bytes;
            c->facts.stats = c->stats;
            c->facts.loader_opts = &c->spec.loader;
        }
    }
    return rc;
}

static void release(struct cell *c)
{
    if (c->stuck)
        return;
    if (c->device_state)
        c->device->close(c->device_state);
    if (c->loader_state)
        c->loader->close(c->loader_state);
    dlb_dataset_close(&c->dataset);
    if (c->topo)
        dlb_topo_close(c->topo);
    json_decref(c->facts.gpu);
    json_decref(c->facts.numa);
    json_decref(c->facts.nvml);
    free(c->device_state);
    free(c->loader_state);
    free(c->consumed);
    free(c->stats);
    free(c);
}

static int execute(struct cell *c, struct dlb_err *err)
{
    int rc = open_data(c, err);
    if (rc || c->not_done[0])
        return rc;
    rc = start_loader(c, err);
    if (!rc)
        rc = open_device(c, err);
    if (!rc)
        rc = consume(c, err);
    return finish(c, rc, err);
}

static json_t *document(const struct cell *c, int rc, const struct dlb_err *err)
{
    const char *status = rc == DLB_E_CANCELLED ? "cancelled"
                         : rc                  ? "failed"
                         : c->not_done[0]      ? "skipped"
                                               : "ok";
    json_t *doc = json_object();
    bool ok = doc && dlb_json_put(doc, "status", json_string(status));
    if (ok && rc) {
        char text[sizeof(struct dlb_err) + 64];
        (void)dlb_err_text(err, text, sizeof(text));
        ok = dlb_json_put(doc, "reason", dlb_json_safe_text(text)) &&
             dlb_json_put(doc, "error", json_integer(rc));
    } else if (ok && c->not_done[0]) {
        ok = dlb_json_put(doc, "reason", json_string(c->not_done));
    }
    if (ok && c->stuck)
        ok = dlb_json_put(doc, "stuck", json_true());
    if (ok && dlb_cell_doc_fill(doc, &c->facts))
        return doc;
    json_decref(doc);
    return NULL;
}

json_t *dlb_cell_run(const struct dlb_spec *spec, enum dlb_cell_mode mode,
                     const struct dlb_cell_watch *watch)
{
    struct cell *c = calloc(1, sizeof(*c));
    struct dlb_err err = {.offset_bytes = DLB_NO_OFFSET};
    if (!c)
        return NULL;
    c->spec = *spec;
    c->mode = mode;
    c->watch = watch;
    c->facts.peak_pss_bytes = DLB_NOT_MEASURED;
    /* Linux rounds sleeps up by 50 us by default; that would be the harness's oversleep. Threads
     * inherit it. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    int rc = execute(c, &err);
    json_t *doc = document(c, rc, &err);
    release(c);
    return doc;
}

void dlb_cell_device_name(const struct dlb_device *device, const struct dlb_device_opts *opts,
                          char *text, size_t n_text)
{
    if (device->emulated)
        (void)snprintf(text, n_text, "emulated %s", dlb_device_profiles[opts->profile].title);
    else
        (void)snprintf(text, n_text, "%s", device->summary);
}

#include "scenarios/cell/fill.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of the bytes: the rest were framing, or came at the end of an epoch. */
#define REQUESTS_SEEN 0.9

static void stages(struct dlb_stage_result *out, const struct dlb_hist *hists, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = dlb_stage_result_of(&hists[i]);
}

static struct dlb_os_result os(const struct dlb_os_process *b, const struct dlb_os_process *a)
{
    return (struct dlb_os_result){
        .utime_ns = dlb_count_rise(a->utime_ns, b->utime_ns),
        .stime_ns = dlb_count_rise(a->stime_ns, b->stime_ns),
        .minor_faults = dlb_count_rise(a->minor_faults, b->minor_faults),
        .major_faults = dlb_count_rise(a->major_faults, b->major_faults),
        .voluntary_switches = dlb_count_rise(a->voluntary_switches, b->voluntary_switches),
        .involuntary_switches = dlb_count_rise(a->involuntary_switches, b->involuntary_switches),
        .read_chars = dlb_count_rise(a->read_chars, b->read_chars),
        .read_device_bytes = dlb_count_rise(a->read_device_bytes, b->read_device_bytes),
    };
}

static void *copy_of(const void *from, uint32_t n, size_t n_bytes)
{
    void *out = dlb_mem_array(n, n_bytes);
    if (n > 0)
        memcpy(out, from, n * n_bytes);
    return out;
}

/* Our processes' time is known once workers ended: else they count as others, and *out is left
 * unknown. */
static void fill_strain(struct dlb_strain *out, const struct dlb_cell_facts *facts,
                        const struct dlb_os_result *own)
{
    const struct dlb_os_strain *b = &facts->strain_before, *a = &facts->strain_after;
    double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
    double n_ticks = dlb_os_rise(b->machine.all_ticks, a->machine.all_ticks);
    double wall_ns = dlb_os_rise(b->now_ns, a->now_ns);
    double own_ticks = (dlb_measured(own->utime_ns) + dlb_measured(own->stime_ns)) / tick_ns;
    double others = dlb_os_rise(b->machine.task_ticks, a->machine.task_ticks) - own_ticks;
    double busy = dlb_os_rise(b->machine.busy_ticks, a->machine.busy_ticks);
    dlb_strain_unknown(out);
    if (!facts->stats || !(n_ticks > 0))
        return;
    out->n_ticks = n_ticks;
    out->stolen_frac = dlb_os_rise(b->machine.stolen_ticks, a->machine.stolen_ticks) / n_ticks;
    out->others_frac = isnan(others) ? others : fmax(others, 0) / n_ticks;
    out->idle_frac = 1 - busy / n_ticks;
    out->pressure_frac = dlb_os_rise(b->pressure_ns, a->pressure_ns) / wall_ns;
    out->throttled_frac = dlb_os_rise(b->throttled_ns, a->throttled_ns) / wall_ns;
    out->n_hot = dlb_os_rise(b->n_hot, a->n_hot);
}

static void fill_loop(struct dlb_loop_result *out, const struct dlb_cell_facts *facts)
{
    const struct dlb_consumed *c = facts->consumed;
    out->total = c->total;
    out->pace = c->pace;
    out->lowest = c->lowest;
    out->n_batches = facts->n_batches;
    out->consumer_cpu_ns = c->cpu_ns;
    out->n_checksum_mismatches = c->n_checksum_mismatches;
    stages(out->consumer, c->consumer, DLB_CS_COUNT);
    stages(out->device, c->device, DLB_DS_COUNT);
    out->n_accelerators = c->n_accelerators;
    out->n_shares = c->n_accelerators <= DLB_SHARES_KEPT ? c->n_accelerators : 0;
    out->share = copy_of(c->share, out->n_shares, sizeof(*out->share));
    out->n_epochs = c->n_epochs < DLB_MAX_EPOCHS_KEPT ? c->n_epochs : DLB_MAX_EPOCHS_KEPT;
    out->epoch = copy_of(c->epoch, out->n_epochs, sizeof(*out->epoch));
    out->os = os(&facts->before, &facts->after);
    const struct dlb_os_machine *before = &facts->strain_before.machine,
                                *after = &facts->strain_after.machine;
    out->machine_busy_frac = dlb_os_busy_frac(before, after);
    out->machine_stolen_frac = dlb_os_stolen_frac(before, after);
    out->machine_stolen_ns = dlb_os_stolen_ns(before, after);
    fill_strain(&out->strain, facts, &out->os);
}

/* How workers read; with io_uring, each read's own time too. */
static void fill_io(struct dlb_io_result *out, const struct dlb_loader_opts *opts,
                    const struct dlb_loader_stats *s)
{
    const struct dlb_io_used *used = &s->io;
    const struct dlb_stage_result request = dlb_stage_result_of(&s->window.io.request);
    out->asked = (enum dlb_read_io)opts->io;
    out->used = used->n_uring + used->n_undecided == 0      ? DLB_IO_USED_SYNC
                : used->n_sync > 0 || used->n_undecided > 0 ? DLB_IO_USED_MIXED
                                                            : DLB_IO_USED_URING;
    if (used->reason[0])
        (void)snprintf(out->reason, sizeof(out->reason), "%s", used->reason);
    if (out->used == DLB_IO_USED_SYNC)
        return;
    out->depth = (uint64_t)opts->io_depth;
    out->max_in_flight = s->window.io.max_in_flight;
    out->n_requests = request.count;
    out->n_resubmitted = s->window.io.n_again;
    out->n_bytes = s->window.io.n_bytes;
    out->sum_ns = request.sum_ns;
    out->p50_ns = request.p50_ns;
    out->p99_ns = request.p99_ns;
    out->p999_ns = request.p999_ns;
    out->max_ns = request.max_ns;
    out->registered_buffers = used->n_registered > 0;
}

/* What one read took: of requests to the kernel where these brought the bytes, else (maps,
 * libraries that read by themselves) of whole samples, which may be fetched in several pieces. */
static void fill_reads(struct dlb_workers_result *out, const struct dlb_loader_stats *s)
{
    out->reads_are_requests =
        s->window.io.request.count > 0 &&
        (double)s->window.io.n_bytes >= REQUESTS_SEEN * (double)s->window.io_bytes;
    out->reads = dlb_stage_result_of(out->reads_are_requests ? &s->window.io.request
                                                             : &s->window.stage[DLB_WS_READ]);
}

static void fill_workers(struct dlb_workers_result *out, const struct dlb_cell_facts *facts)
{
    const struct dlb_loader_stats *s = facts->stats;
    uint32_t n =
        s->n_skipped_named < DLB_MAX_SKIPPED_NAMED ? s->n_skipped_named : DLB_MAX_SKIPPED_NAMED;
    stages(out->stage, s->window.stage, DLB_WS_COUNT);
    fill_reads(out, s);
    fill_io(&out->io, facts->loader_opts, s);
    out->io_bytes = s->workers.io_bytes;
    out->n_samples = s->workers.n_samples;
    out->cpu_ns = s->window.cpu_ns;
    out->runqueue_ns = s->runqueue_ns;
    out->order_wait_ns = s->order_wait_ns;
    out->n_skipped = s->workers.n_skipped;
    out->n_cut_shards = s->workers.n_cut_shards;
    out->n_idle = facts->n_idle_workers;
    out->skipped = dlb_mem_array(n, sizeof(*out->skipped));
    for (; out->n_skipped_named < n; out->n_skipped_named++) {
        char text[sizeof(struct dlb_err) + 64];
        out->skipped[out->n_skipped_named] =
            dlb_mem_text(dlb_err_text(&s->skipped[out->n_skipped_named], text, sizeof(text)));
    }
}

static int part_of(const json_t *stage)
{
    const char *part = dlb_json_text(stage, "part");
    int i = DLB_WS_READ;

    while (i <= DLB_WS_COLLATE && strcmp(dlb_worker_stage_names[i], part) != 0)
        i++;
    return i;
}

/* Stages that another program timed: sums, without quantiles. What it read holds its decoding and
 * its transforms. */
static void fill_python_stages(struct dlb_workers_result *out, const json_t *python)
{
    const json_t *stages = json_object_get(python, "stages"), *one;
    uint64_t within_ns = 0;
    size_t i;

    if (json_array_size(stages) == 0)
        return;
    for (int part = DLB_WS_READ; part <= DLB_WS_COLLATE; part++)
        out->stage[part] = (struct dlb_stage_result){.p50_ns = DLB_NOT_MEASURED,
                                                     .p99_ns = DLB_NOT_MEASURED,
                                                     .p999_ns = DLB_NOT_MEASURED,
                                                     .max_ns = DLB_NOT_MEASURED};
    json_array_foreach(stages, i, one) {
        int part = part_of(one);
        if (part > DLB_WS_COLLATE)
            continue;
        out->stage[part].count += dlb_json_u64(one, "count", 0);
        out->stage[part].sum_ns += dlb_json_u64(one, "sum_ns", 0);
        if (part == DLB_WS_DECODE || part == DLB_WS_TRANSFORM)
            within_ns += dlb_json_u64(one, "sum_ns", 0);
    }
    out->stage[DLB_WS_READ].sum_ns = dlb_count_rise(out->stage[DLB_WS_READ].sum_ns, within_ns);
}

static void fill_device(struct dlb_device_result *out, const struct dlb_cell_facts *facts)
{
    (void)snprintf(out->kind, sizeof(out->kind), "%s", facts->device_kind);
    (void)snprintf(out->name, sizeof(out->name), "%s", facts->device_name);
    (void)snprintf(out->why, sizeof(out->why), "%s", facts->device_why);
    if (!facts->gpu)
        return;
    const json_t *step = json_object_get(facts->gpu, "step");
    out->step_asked_ns = dlb_json_number(step, "asked_ns");
    out->step_read_ns = dlb_json_number(step, "read_ns");
    out->step_measured_ns = dlb_json_number(step, "measured_ns");
    out->gpu = dlb_json_made(json_copy(facts->gpu));
    dlb_json_put(out->gpu, "run", facts->ran ? json_incref(facts->ran) : json_null());
    dlb_json_put(out->gpu, "numa", facts->numa ? json_incref(facts->numa) : json_null());
    dlb_json_put(out->gpu, "nvml", facts->nvml ? json_incref(facts->nvml) : json_null());
}

static void fill_memory(struct dlb_memory_result *out, const struct dlb_cell_facts *facts)
{
    const struct dlb_traceml_memory *growth = &facts->growth;
    bool known = facts->consumed != NULL;
    *out = (struct dlb_memory_result){
        .peak_pss_bytes = facts->peak_pss_bytes,
        .slots_bytes = facts->memory->slots_bytes,
        .pinned_bytes = facts->pinned_bytes,
        .huge_pages = facts->memory->huge,
        .early_bytes = known ? growth->early_bytes : (double)NAN,
        .recent_bytes = known ? growth->recent_bytes : (double)NAN,
    };
    (void)snprintf(out->growth, sizeof(out->growth), "%s",
                   known && growth->class ? growth->class : "");
}

/* The rest of a shard was skipped: how much it is, and in which epochs, is not known. */
static void take_as_cut(struct dlb_loop_result *loop)
{
    for (uint32_t i = 0; i < loop->n_epochs; i++)
        loop->epoch[i].whole = false;
}

void dlb_cell_fill(struct dlb_cell_result *result, const struct dlb_cell_facts *facts)
{
    static const struct dlb_cell_cache no_cache;
    result->has_cache = true;
    dlb_cell_cache_result(facts->cache ? facts->cache : &no_cache, &result->cache);
    result->has_device = facts->device_kind != NULL;
    if (result->has_device)
        fill_device(&result->device, facts);
    result->python = json_incref(facts->python);
    result->has_memory = facts->memory != NULL;
    if (result->has_memory)
        fill_memory(&result->memory, facts);
    result->has_loop = facts->consumed != NULL;
    if (result->has_loop)
        fill_loop(&result->loop, facts);
    result->has_workers = facts->stats != NULL;
    if (result->has_workers)
        fill_workers(&result->workers, facts);
    if (result->has_workers)
        fill_python_stages(&result->workers, facts->python);
    if (result->has_workers && dlb_cell_result_lost(result).unknown)
        take_as_cut(&result->loop);
}

struct dlb_cell_hists *dlb_cell_fill_hists(const struct dlb_cell_facts *facts)
{
    struct dlb_cell_hists *out = dlb_mem_new(sizeof(*out));
    if (facts->consumed) {
        memcpy(out->consumer, facts->consumed->consumer, sizeof(out->consumer));
        memcpy(out->device, facts->consumed->device, sizeof(out->device));
    }
    if (facts->stats) {
        memcpy(out->worker, facts->stats->window.stage, sizeof(out->worker));
        out->request = facts->stats->window.io.request;
    }
    return out;
}

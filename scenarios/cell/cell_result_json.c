/* A cell's result as JSON and back. A table gives each object's keys, once for both ways. */
#include "core/base/escape.h"
#include "core/base/json_fields.h"
#include "core/base/mem.h"
#include "scenarios/cell/cache_json.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/spec.h"

#include <stdlib.h>
#include <string.h>

static const struct dlb_json_field data_fields[] = {
    DLB_JSON_HEX(dlb_cell_result, "data_id", data_id), DLB_JSON_FIELDS_END};
static const struct dlb_json_field stage_fields[] = {
    DLB_JSON_COUNT(dlb_stage_result, "count", count),
    DLB_JSON_COUNT(dlb_stage_result, "sum_ns", sum_ns),
    DLB_JSON_COUNT(dlb_stage_result, "p50_ns", p50_ns),
    DLB_JSON_COUNT(dlb_stage_result, "p99_ns", p99_ns),
    DLB_JSON_COUNT(dlb_stage_result, "p999_ns", p999_ns),
    DLB_JSON_COUNT(dlb_stage_result, "max_ns", max_ns),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field total_fields[] = {
    DLB_JSON_COUNT(dlb_share, "n_steps", n_steps),
    DLB_JSON_COUNT(dlb_share, "n_samples", n_samples),
    DLB_JSON_COUNT(dlb_share, "n_bytes", n_bytes),
    DLB_JSON_COUNT(dlb_share, "window_ns", window_ns),
    DLB_JSON_COUNT(dlb_share, "busy_ns", busy_ns),
    DLB_JSON_COUNT(dlb_share, "idle_input_ns", idle_input_ns),
    DLB_JSON_COUNT(dlb_share, "idle_copy_ns", idle_copy_ns),
    DLB_JSON_COUNT(dlb_share, "idle_other_ns", idle_other_ns),
    DLB_JSON_COUNT(dlb_share, "late_copy_ns", late_copy_ns),
    DLB_JSON_COUNT(dlb_share, "epoch_idle_ns", epoch_idle_ns),
    DLB_JSON_COUNT(dlb_share, "epoch_other_ns", epoch_other_ns),
    DLB_JSON_COUNT(dlb_share, "wall_ns", wall_ns),
    DLB_JSON_COUNT(dlb_share, "unaccounted_ns", unaccounted_ns),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field stretch_fields[] = {
    DLB_JSON_COUNT(dlb_stretch, "n_steps", n_steps),
    DLB_JSON_COUNT(dlb_stretch, "n_samples", n_samples),
    DLB_JSON_COUNT(dlb_stretch, "ns", ns),
    DLB_JSON_COUNT(dlb_stretch, "busy_ns", busy_ns),
    DLB_JSON_COUNT(dlb_stretch, "idle_input_ns", idle_input_ns),
    DLB_JSON_COUNT(dlb_stretch, "idle_copy_ns", idle_copy_ns),
    DLB_JSON_COUNT(dlb_stretch, "idle_other_ns", idle_other_ns),
    DLB_JSON_COUNT(dlb_stretch, "late_copy_ns", late_copy_ns),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field pace_fields[] = {
    DLB_JSON_SMALL(dlb_pace, "round", round),
    DLB_JSON_SMALL(dlb_pace, "n_cycles", n_cycles),
    DLB_JSON_FLAG(dlb_pace, "whole_rounds", whole_rounds),
    DLB_JSON_REAL(dlb_pace, "n_epoch_batches", n_epoch_batches),
    DLB_JSON_REAL(dlb_pace, "trend", trend),
    DLB_JSON_REAL(dlb_pace, "trend_limit", trend_limit),
    DLB_JSON_REAL(dlb_pace, "drained_frac", drained_frac),
    DLB_JSON_REAL(dlb_pace, "batch_cv", batch_cv),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field loop_fields[] = {
    DLB_JSON_COUNT(dlb_loop_result, "n_batches", n_batches),
    DLB_JSON_COUNT(dlb_loop_result, "n_checksum_mismatches", n_checksum_mismatches),
    DLB_JSON_COUNT(dlb_loop_result, "consumer_cpu_ns", consumer_cpu_ns),
    DLB_JSON_REAL(dlb_loop_result, "machine_busy_frac", machine_busy_frac),
    DLB_JSON_REAL(dlb_loop_result, "machine_stolen_frac", machine_stolen_frac),
    DLB_JSON_REAL(dlb_loop_result, "machine_stolen_ns", machine_stolen_ns),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field strain_fields[] = {
    DLB_JSON_REAL(dlb_strain, "ticks", n_ticks),
    DLB_JSON_REAL(dlb_strain, "stolen_frac", stolen_frac),
    DLB_JSON_REAL(dlb_strain, "others_frac", others_frac),
    DLB_JSON_REAL(dlb_strain, "idle_frac", idle_frac),
    DLB_JSON_REAL(dlb_strain, "pressure_frac", pressure_frac),
    DLB_JSON_REAL(dlb_strain, "throttled_frac", throttled_frac),
    DLB_JSON_REAL(dlb_strain, "hot", n_hot),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field epoch_fields[] = {
    DLB_JSON_COUNT(dlb_epoch, "samples", n_samples),
    DLB_JSON_COUNT(dlb_epoch, "unique", n_unique),
    DLB_JSON_COUNT(dlb_epoch, "expected", n_expected),
    DLB_JSON_COUNT(dlb_epoch, "padded", n_padded),
    DLB_JSON_COUNT(dlb_epoch, "skipped", n_skipped),
    DLB_JSON_COUNT(dlb_epoch, "bytes", n_bytes),
    DLB_JSON_HEX(dlb_epoch, "set_checksum", set_checksum),
    DLB_JSON_HEX(dlb_epoch, "seq_checksum", seq_checksum),
    DLB_JSON_COUNT(dlb_epoch, "first_batch_ns", first_batch_ns),
    DLB_JSON_COUNT(dlb_epoch, "gap_ns", gap_ns),
    DLB_JSON_COUNT(dlb_epoch, "wall_ns", wall_ns),
    DLB_JSON_FLAG(dlb_epoch, "ended", ended),
    DLB_JSON_FLAG(dlb_epoch, "whole", whole),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field share_fields[] = {
    DLB_JSON_COUNT(dlb_share, "steps", n_steps),
    DLB_JSON_COUNT(dlb_share, "samples", n_samples),
    DLB_JSON_COUNT(dlb_share, "window_ns", window_ns),
    DLB_JSON_REAL(dlb_share, "au_nominal", au.nominal),
    DLB_JSON_REAL(dlb_share, "au_measured", au.measured),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field au_fields[] = {
    DLB_JSON_REAL(dlb_au, "nominal", nominal), DLB_JSON_REAL(dlb_au, "measured", measured),
    DLB_JSON_REAL(dlb_au, "mlperf_v1", mlperf_v1), DLB_JSON_REAL(dlb_au, "mlperf_v2", mlperf_v2),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field au_rate_fields[] = {
    DLB_JSON_REAL(dlb_au, "mlperf_v1_samples_per_s", mlperf_v1_samples_per_s),
    DLB_JSON_REAL(dlb_au, "mlperf_v2_samples_per_s", mlperf_v2_samples_per_s), DLB_JSON_FIELDS_END};
static const struct dlb_json_field os_fields[] = {
    DLB_JSON_COUNT(dlb_os_result, "utime_ns", utime_ns),
    DLB_JSON_COUNT(dlb_os_result, "stime_ns", stime_ns),
    DLB_JSON_COUNT(dlb_os_result, "minor_faults", minor_faults),
    DLB_JSON_COUNT(dlb_os_result, "major_faults", major_faults),
    DLB_JSON_COUNT(dlb_os_result, "voluntary_switches", voluntary_switches),
    DLB_JSON_COUNT(dlb_os_result, "involuntary_switches", involuntary_switches),
    DLB_JSON_COUNT(dlb_os_result, "read_chars", read_chars),
    DLB_JSON_COUNT(dlb_os_result, "read_device_bytes", read_device_bytes),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field workers_fields[] = {
    DLB_JSON_COUNT(dlb_workers_result, "io_bytes", io_bytes),
    DLB_JSON_COUNT(dlb_workers_result, "worker_samples", n_samples),
    DLB_JSON_COUNT(dlb_workers_result, "worker_cpu_ns", cpu_ns),
    DLB_JSON_COUNT(dlb_workers_result, "runqueue_ns", runqueue_ns),
    DLB_JSON_COUNT(dlb_workers_result, "order_wait_ns", order_wait_ns),
    DLB_JSON_COUNT(dlb_workers_result, "n_skipped", n_skipped),
    DLB_JSON_COUNT(dlb_workers_result, "n_cut_shards", n_cut_shards),
    DLB_JSON_SMALL(dlb_workers_result, "n_idle_workers", n_idle),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field io_fields[] = {
    DLB_JSON_TEXT(dlb_io_result, "reason", reason),
    DLB_JSON_COUNT(dlb_io_result, "depth", depth),
    DLB_JSON_COUNT(dlb_io_result, "max_in_flight", max_in_flight),
    DLB_JSON_COUNT(dlb_io_result, "requests", n_requests),
    DLB_JSON_COUNT(dlb_io_result, "resubmitted", n_resubmitted),
    DLB_JSON_COUNT(dlb_io_result, "bytes", n_bytes),
    DLB_JSON_COUNT(dlb_io_result, "sum_ns", sum_ns),
    DLB_JSON_COUNT(dlb_io_result, "p50_ns", p50_ns),
    DLB_JSON_COUNT(dlb_io_result, "p99_ns", p99_ns),
    DLB_JSON_COUNT(dlb_io_result, "p999_ns", p999_ns),
    DLB_JSON_COUNT(dlb_io_result, "max_ns", max_ns),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field memory_fields[] = {
    DLB_JSON_COUNT(dlb_memory_result, "peak_pss_bytes", peak_pss_bytes),
    DLB_JSON_COUNT(dlb_memory_result, "slots_bytes", slots_bytes),
    DLB_JSON_COUNT(dlb_memory_result, "pinned_bytes", pinned_bytes),
    DLB_JSON_FLAG(dlb_memory_result, "huge_pages", huge_pages),
    DLB_JSON_REAL(dlb_memory_result, "early_bytes", early_bytes),
    DLB_JSON_REAL(dlb_memory_result, "recent_bytes", recent_bytes),
    DLB_JSON_TEXT(dlb_memory_result, "growth", growth),
    DLB_JSON_FIELDS_END};
static const struct dlb_json_field device_fields[] = {
    DLB_JSON_TEXT(dlb_device_result, "kind", kind), DLB_JSON_TEXT(dlb_device_result, "name", name),
    DLB_JSON_TEXT(dlb_device_result, "why", why), DLB_JSON_FIELDS_END};
static const struct dlb_json_field step_fields[] = {
    DLB_JSON_REAL(dlb_device_result, "asked_ns", step_asked_ns),
    DLB_JSON_REAL(dlb_device_result, "read_ns", step_read_ns),
    DLB_JSON_REAL(dlb_device_result, "measured_ns", step_measured_ns), DLB_JSON_FIELDS_END};
static const struct dlb_json_field baseline_fields[] = {
    DLB_JSON_REAL(dlb_baseline_result, "bytes_per_s", bytes_per_s),
    DLB_JSON_REAL(dlb_baseline_result, "iops", iops),
    DLB_JSON_REAL(dlb_baseline_result, "p50_ns", p50_ns),
    DLB_JSON_REAL(dlb_baseline_result, "p99_ns", p99_ns),
    DLB_JSON_REAL(dlb_baseline_result, "p999_ns", p999_ns),
    DLB_JSON_FIELDS_END};

static json_t *stages_to(const struct dlb_stage_result *stages, const char *const *names, int n)
{
    json_t *out = dlb_json_made(json_object());
    for (int i = 0; i < n; i++)
        dlb_json_put(out, names[i], dlb_json_fields_object(stage_fields, &stages[i]));
    return out;
}

static void stages_from(const json_t *object, struct dlb_stage_result *stages,
                        const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        dlb_json_fields_take(json_object_get(object, names[i]), stage_fields, &stages[i]);
}

static uint32_t small(const json_t *object, const char *key, uint32_t otherwise)
{
    uint64_t count = dlb_json_u64(object, key, otherwise);
    return count <= UINT32_MAX ? (uint32_t)count : otherwise;
}

static json_t *shares_to(const struct dlb_loop_result *loop)
{
    json_t *each = json_null();
    if (loop->n_shares > 0) {
        each = dlb_json_made(json_array());
        for (uint32_t i = 0; i < loop->n_shares; i++)
            dlb_json_append(each, dlb_json_fields_object(share_fields, &loop->share[i]));
    }
    return dlb_json_made(
        json_pack("{sI, so}", "count", (json_int_t)loop->n_accelerators, "each", each));
}

static void shares_from(const json_t *object, struct dlb_loop_result *loop)
{
    const json_t *each = json_object_get(object, "each"), *one;
    size_t i;
    loop->n_accelerators = small(object, "count", 1);
    loop->share = dlb_mem_array(json_array_size(each), sizeof(*loop->share));
    json_array_foreach(each, i, one) {
        if (i < loop->n_accelerators)
            dlb_json_fields_take(one, share_fields, &loop->share[loop->n_shares++]);
    }
}

static json_t *epochs_to(const struct dlb_loop_result *loop)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < loop->n_epochs; i++)
        dlb_json_append(out, dlb_json_fields_object(epoch_fields, &loop->epoch[i]));
    return out;
}

static void epochs_from(const json_t *array, struct dlb_loop_result *loop)
{
    const json_t *one;
    size_t i;
    loop->epoch = dlb_mem_array(json_array_size(array), sizeof(*loop->epoch));
    json_array_foreach(array, i, one) {
        dlb_json_fields_take(one, epoch_fields, &loop->epoch[loop->n_epochs++]);
    }
}

static json_t *au_to(const struct dlb_loop_result *loop)
{
    json_t *out = dlb_json_fields_object(au_fields, &loop->total.au);
    dlb_json_fields_put(out, au_rate_fields, &loop->total.au);
    dlb_json_put(out, "lowest", dlb_json_fields_object(au_fields, &loop->lowest));
    return out;
}

static json_t *pace_to(const struct dlb_pace *pace)
{
    json_t *out = dlb_json_fields_object(pace_fields, pace);
    dlb_json_put(out, "within", dlb_json_fields_object(stretch_fields, &pace->within));
    dlb_json_put(out, "cycles", dlb_json_fields_object(stretch_fields, &pace->cycles));
    return out;
}

static void pace_from(const json_t *object, struct dlb_pace *pace)
{
    dlb_json_fields_take(object, pace_fields, pace);
    dlb_json_fields_take(json_object_get(object, "within"), stretch_fields, &pace->within);
    dlb_json_fields_take(json_object_get(object, "cycles"), stretch_fields, &pace->cycles);
}

static void loop_to(json_t *out, const struct dlb_loop_result *loop)
{
    dlb_json_fields_put(out, total_fields, &loop->total);
    dlb_json_fields_put(out, loop_fields, loop);
    dlb_json_put(out, "consumer_stages",
                 stages_to(loop->consumer, dlb_consumer_stage_names, DLB_CS_COUNT));
    dlb_json_put(out, "device_stages",
                 stages_to(loop->device, dlb_device_stage_names, DLB_DS_COUNT));
    dlb_json_put(out, "pace", pace_to(&loop->pace));
    dlb_json_put(out, "au", au_to(loop));
    dlb_json_put(out, "accelerators", shares_to(loop));
    dlb_json_put(out, "epochs", epochs_to(loop));
    dlb_json_put(out, "os", dlb_json_fields_object(os_fields, &loop->os));
    dlb_json_put(out, "strain", dlb_json_fields_object(strain_fields, &loop->strain));
}

static void loop_from(const json_t *doc, struct dlb_loop_result *loop)
{
    const json_t *au = json_object_get(doc, "au");
    dlb_json_fields_take(doc, total_fields, &loop->total);
    dlb_json_fields_take(doc, loop_fields, loop);
    stages_from(json_object_get(doc, "consumer_stages"), loop->consumer, dlb_consumer_stage_names,
                DLB_CS_COUNT);
    stages_from(json_object_get(doc, "device_stages"), loop->device, dlb_device_stage_names,
                DLB_DS_COUNT);
    dlb_json_fields_take(au, au_fields, &loop->total.au);
    dlb_json_fields_take(au, au_rate_fields, &loop->total.au);
    dlb_json_fields_take(json_object_get(au, "lowest"), au_fields, &loop->lowest);
    pace_from(json_object_get(doc, "pace"), &loop->pace);
    shares_from(json_object_get(doc, "accelerators"), loop);
    epochs_from(json_object_get(doc, "epochs"), loop);
    dlb_json_fields_take(json_object_get(doc, "os"), os_fields, &loop->os);
    dlb_json_fields_take(json_object_get(doc, "strain"), strain_fields, &loop->strain);
}

static const char *const io_ways[] = {
    [DLB_IO_USED_SYNC] = "sync", [DLB_IO_USED_MIXED] = "mixed", [DLB_IO_USED_URING] = "io_uring"};

static json_t *io_to(const struct dlb_io_result *io)
{
    json_t *out = dlb_json_fields_object(io_fields, io);
    bool own = io->used != DLB_IO_USED_SYNC;
    dlb_json_put(out, "asked", json_string(dlb_read_io_names[io->asked]));
    dlb_json_put(out, "used", json_string(io_ways[io->used]));
    dlb_json_put(out, "registered_buffers",
                 own ? json_boolean(io->registered_buffers) : json_null());
    return out;
}

static void io_from(const json_t *object, struct dlb_io_result *io)
{
    dlb_json_fields_take(object, io_fields, io);
    for (int i = DLB_READ_SYNC; i <= DLB_READ_AUTO; i++)
        if (strcmp(dlb_json_text(object, "asked"), dlb_read_io_names[i]) == 0)
            io->asked = (enum dlb_read_io)i;
    for (int i = DLB_IO_USED_SYNC; i <= DLB_IO_USED_URING; i++)
        if (strcmp(dlb_json_text(object, "used"), io_ways[i]) == 0)
            io->used = (enum dlb_io_way)i;
    io->registered_buffers = dlb_json_is_true(object, "registered_buffers");
}

static void workers_to(json_t *out, const struct dlb_workers_result *workers)
{
    json_t *reads = dlb_json_fields_object(stage_fields, &workers->reads);
    json_t *skipped = dlb_json_made(json_array());
    dlb_json_put(reads, "of", json_string(workers->reads_are_requests ? "requests" : "samples"));
    for (uint32_t i = 0; i < workers->n_skipped_named; i++)
        dlb_json_append(skipped, dlb_json_safe_text(workers->skipped[i]));
    dlb_json_fields_put(out, workers_fields, workers);
    dlb_json_put(out, "reads", reads);
    dlb_json_put(out, "worker_stages",
                 stages_to(workers->stage, dlb_worker_stage_names, DLB_WS_COUNT));
    dlb_json_put(out, "io", io_to(&workers->io));
    dlb_json_put(out, "skipped", skipped);
}

static void workers_from(const json_t *doc, struct dlb_workers_result *workers)
{
    const json_t *skipped = json_object_get(doc, "skipped"), *one;
    const json_t *reads = json_object_get(doc, "reads");
    size_t i;
    dlb_json_fields_take(doc, workers_fields, workers);
    dlb_json_fields_take(reads, stage_fields, &workers->reads);
    workers->reads_are_requests = strcmp(dlb_json_text(reads, "of"), "requests") == 0;
    stages_from(json_object_get(doc, "worker_stages"), workers->stage, dlb_worker_stage_names,
                DLB_WS_COUNT);
    io_from(json_object_get(doc, "io"), &workers->io);
    workers->skipped = dlb_mem_array(json_array_size(skipped), sizeof(*workers->skipped));
    json_array_foreach(skipped, i, one) {
        if (json_is_string(one))
            workers->skipped[workers->n_skipped_named++] =
                dlb_unescape(dlb_mem_text(json_string_value(one)));
    }
}

static json_t *device_to(const struct dlb_device_result *device)
{
    json_t *out = dlb_json_fields_object(device_fields, device);
    dlb_json_put(out, "gpu", device->gpu ? json_incref(device->gpu) : json_null());
    return out;
}

static void device_from(const json_t *object, struct dlb_device_result *device)
{
    json_t *gpu = json_object_get(object, "gpu");
    dlb_json_fields_take(object, device_fields, device);
    dlb_json_fields_take(json_object_get(gpu, "step"), step_fields, device);
    device->gpu = json_is_object(gpu) ? json_incref(gpu) : NULL;
}

#define RESIDENCY_UNKNOWN "unknown" /* no system call told which data are resident */

/* The cache, and two figures of it that stand beside it. */
static void cache_part_to(json_t *out, const struct dlb_cell_result *r)
{
    const struct dlb_cache_result *cache = &r->cache;
    dlb_json_put(out, "cache", dlb_cache_result_to_json(cache));
    dlb_json_put(out, "resident_frac", dlb_json_real_or_null(cache->resident_before_frac));
    dlb_json_put(out, "residency_by",
                 json_string(cache->residency_by[0] ? cache->residency_by : RESIDENCY_UNKNOWN));
}

json_t *dlb_cell_result_to_json(const struct dlb_cell_result *r)
{
    json_t *out = dlb_json_made(json_object());
    dlb_json_put(out, "status", json_string(dlb_rep_status_name(r->status)));
    dlb_json_put(out, "block", json_integer(r->block));
    dlb_json_put(out, "index", json_integer(r->index));
    if (r->data_id)
        dlb_json_fields_put(out, data_fields, r);
    if (r->status != DLB_REP_OK)
        dlb_json_put(out, "reason", dlb_json_text_or_null(r->reason));
    if (r->error)
        dlb_json_put(out, "error", json_integer((json_int_t)r->error));
    if (r->code < DLB_N_CODES)
        dlb_json_put(out, "code", json_string(dlb_code_name(r->code)));
    if (r->stuck_why[0])
        dlb_json_put(out, "stuck_why", dlb_json_safe_text(r->stuck_why));
    if (r->has_cache)
        cache_part_to(out, r);
    if (r->has_device)
        dlb_json_put(out, "device", device_to(&r->device));
    if (r->python)
        dlb_json_put(out, "python", json_incref(r->python));
    if (r->ranks)
        dlb_json_put(out, "ranks", json_incref(r->ranks));
    if (r->hists)
        dlb_json_put(out, "hists", dlb_cell_hists_to_json(r->hists));
    if (r->has_memory)
        dlb_json_put(out, "memory", dlb_json_fields_object(memory_fields, &r->memory));
    if (r->has_loop)
        loop_to(out, &r->loop);
    if (r->has_workers)
        workers_to(out, &r->workers);
    if (r->has_baseline) {
        dlb_json_fields_put(out, baseline_fields, &r->baseline);
        dlb_json_put(out, "command", dlb_json_text_or_null(r->baseline.command));
    }
    return out;
}

static void head_from(const json_t *doc, struct dlb_cell_result *r)
{
    r->block = small(doc, "block", 0);
    r->index = small(doc, "index", 0);
    dlb_json_fields_take(doc, data_fields, r);
    dlb_json_take_text(doc, "reason", r->reason, sizeof(r->reason));
    dlb_json_take_text(doc, "stuck_why", r->stuck_why, sizeof(r->stuck_why));
    r->code = dlb_code_by_name(dlb_json_text(doc, "code"));
    if (r->status == DLB_REP_FAILED || r->status == DLB_REP_CANCELLED) {
        uint64_t error = dlb_json_u64(doc, "error", DLB_E_WORKER);
        r->error =
            error > DLB_END && error <= DLB_E_CANCELLED ? (enum dlb_status)error : DLB_E_WORKER;
    }
}

static void baseline_from(const json_t *doc, struct dlb_baseline_result *baseline)
{
    const char *command = dlb_json_text(doc, "command");
    dlb_json_fields_take(doc, baseline_fields, baseline);
    baseline->command = command[0] ? dlb_unescape(dlb_mem_text(command)) : NULL;
}

int dlb_cell_result_from_json(struct dlb_cell_result *r, const json_t *doc, struct dlb_err *err)
{
    const char *status = dlb_json_text(doc, "status");
    int s = DLB_REP_OK;
    dlb_cell_result_init(r);
    while (s <= DLB_REP_NOT_MEASURED && strcmp(status, dlb_rep_status_name(s)) != 0)
        s++;
    if (s > DLB_REP_NOT_MEASURED)
        return dlb_fail(err, DLB_ERR_FORMAT, NULL, DLB_NO_OFFSET,
                        "a cell's result has no status that is known: \"%.*s\"",
                        DLB_CUT(status, 40));
    r->status = (enum dlb_rep_status)s;
    head_from(doc, r);
    r->has_cache = json_is_object(json_object_get(doc, "cache"));
    r->python = json_incref(json_object_get(doc, "python"));
    r->ranks = json_incref(json_object_get(doc, "ranks"));
    r->hists = dlb_cell_hists_from_json(json_object_get(doc, "hists"));
    r->has_device = json_is_object(json_object_get(doc, "device"));
    r->has_memory = json_is_object(json_object_get(doc, "memory"));
    r->has_loop = json_object_get(doc, "window_ns") != NULL;
    r->has_workers = json_object_get(doc, "worker_samples") != NULL;
    r->has_baseline = json_object_get(doc, "command") != NULL;
    if (r->has_cache) {
        dlb_cache_result_from_json(json_object_get(doc, "cache"), &r->cache);
        const char *by = dlb_json_text(doc, "residency_by");
        if (strcmp(by, RESIDENCY_UNKNOWN) != 0)
            dlb_cut_text(r->cache.residency_by, sizeof(r->cache.residency_by), by);
    }
    if (r->has_device)
        device_from(json_object_get(doc, "device"), &r->device);
    if (r->has_memory)
        dlb_json_fields_take(json_object_get(doc, "memory"), memory_fields, &r->memory);
    if (r->has_loop)
        loop_from(doc, &r->loop);
    if (r->has_workers)
        workers_from(doc, &r->workers);
    if (r->has_baseline)
        baseline_from(doc, &r->baseline);
    return DLB_OK;
}

/* A cell's result as JSON and back. A table gives each object's keys, once for both ways. */
#include "core/base/mem.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum type {
    COUNT, /* uint64_t; DLB_NOT_MEASURED is null */
    SMALL, /* uint32_t */
    REAL,  /* double; NaN is null */
    FLAG,  /* bool */
    HEX,   /* uint64_t as 16 hex digits */
    TEXT,  /* char[cap]; "" is null */
};

struct field {
    const char *key;
    enum type type;
    size_t offset, cap;
};
#define FIELD(of, key, type, member)                                                               \
    {                                                                                              \
        key, type, offsetof(struct of, member), 0                                                  \
    }
#define FIELD_TEXT(of, key, member)                                                                \
    {                                                                                              \
        key, TEXT, offsetof(struct of, member), sizeof(((struct of *)0)->member)                   \
    }
#define END                                                                                        \
    {                                                                                              \
        NULL, COUNT, 0, 0                                                                          \
    }

static json_t *load(const struct field *field, const void *base)
{
    const void *at = (const char *)base + field->offset;
    switch (field->type) {
    case COUNT:
        return dlb_json_u64_or_null(*(const uint64_t *)at);
    case SMALL:
        return dlb_json_u64_or_null(*(const uint32_t *)at);
    case REAL:
        return dlb_json_real_or_null(*(const double *)at);
    case FLAG:
        return json_boolean(*(const bool *)at);
    case HEX:
        return dlb_json_hex(*(const uint64_t *)at);
    case TEXT:
        break;
    }
    return *(const char *)at ? dlb_json_safe_text(at) : json_null();
}

static void store(const struct field *field, const json_t *object, void *base)
{
    void *at = (char *)base + field->offset;
    const char *text = dlb_json_text(object, field->key);
    switch (field->type) {
    case COUNT:
        *(uint64_t *)at = dlb_json_u64(object, field->key, DLB_NOT_MEASURED);
        break;
    case SMALL:
        *(uint32_t *)at = (uint32_t)dlb_json_u64(object, field->key, 0);
        break;
    case REAL:
        *(double *)at = dlb_json_number(object, field->key);
        break;
    case FLAG:
        *(bool *)at = dlb_json_is_true(object, field->key);
        break;
    case HEX:
        *(uint64_t *)at = strtoull(text, NULL, 16);
        break;
    case TEXT:
        (void)snprintf(at, field->cap, "%s", text);
        break;
    }
}

static void put(json_t *out, const struct field *fields, const void *base)
{
    for (const struct field *field = fields; field->key; field++)
        (void)dlb_json_put(out, field->key, load(field, base));
}

static void take(const json_t *object, const struct field *fields, void *base)
{
    for (const struct field *field = fields; field->key; field++)
        store(field, object, base);
}

static json_t *object_of(const struct field *fields, const void *base)
{
    json_t *out = dlb_json_made(json_object());
    put(out, fields, base);
    return out;
}

static const struct field stage_fields[] = {FIELD(dlb_stage_result, "count", COUNT, count),
                                            FIELD(dlb_stage_result, "sum_ns", COUNT, sum_ns),
                                            FIELD(dlb_stage_result, "p50_ns", COUNT, p50_ns),
                                            FIELD(dlb_stage_result, "p99_ns", COUNT, p99_ns),
                                            FIELD(dlb_stage_result, "p999_ns", COUNT, p999_ns),
                                            FIELD(dlb_stage_result, "max_ns", COUNT, max_ns),
                                            END};
static const struct field loop_fields[] = {
    FIELD(dlb_loop_result, "n_steps", COUNT, n_steps),
    FIELD(dlb_loop_result, "n_samples", COUNT, n_samples),
    FIELD(dlb_loop_result, "n_bytes", COUNT, n_bytes),
    FIELD(dlb_loop_result, "window_ns", COUNT, window_ns),
    FIELD(dlb_loop_result, "busy_ns", COUNT, busy_ns),
    FIELD(dlb_loop_result, "idle_input_ns", COUNT, idle_input_ns),
    FIELD(dlb_loop_result, "idle_copy_ns", COUNT, idle_copy_ns),
    FIELD(dlb_loop_result, "idle_other_ns", COUNT, idle_other_ns),
    FIELD(dlb_loop_result, "late_copy_ns", COUNT, late_copy_ns),
    FIELD(dlb_loop_result, "epoch_idle_ns", COUNT, epoch_idle_ns),
    FIELD(dlb_loop_result, "epoch_other_ns", COUNT, epoch_other_ns),
    FIELD(dlb_loop_result, "n_batches", COUNT, n_batches),
    FIELD(dlb_loop_result, "wall_ns", COUNT, wall_ns),
    FIELD(dlb_loop_result, "unaccounted_ns", COUNT, unaccounted_ns),
    FIELD(dlb_loop_result, "n_checksum_mismatches", COUNT, n_checksum_mismatches),
    FIELD(dlb_loop_result, "consumer_cpu_ns", COUNT, consumer_cpu_ns),
    FIELD(dlb_loop_result, "machine_busy_frac", REAL, machine_busy_frac),
    FIELD(dlb_loop_result, "machine_stolen_frac", REAL, machine_stolen_frac),
    FIELD(dlb_loop_result, "machine_stolen_ns", REAL, machine_stolen_ns),
    END};
static const struct field epoch_fields[] = {
    FIELD(dlb_epoch_result, "samples", COUNT, n_samples),
    FIELD(dlb_epoch_result, "unique", COUNT, n_unique),
    FIELD(dlb_epoch_result, "expected", COUNT, n_expected),
    FIELD(dlb_epoch_result, "padded", COUNT, n_padded),
    FIELD(dlb_epoch_result, "skipped", COUNT, n_skipped),
    FIELD(dlb_epoch_result, "bytes", COUNT, n_bytes),
    FIELD(dlb_epoch_result, "set_checksum", HEX, set_checksum),
    FIELD(dlb_epoch_result, "seq_checksum", HEX, seq_checksum),
    FIELD(dlb_epoch_result, "first_batch_ns", COUNT, first_batch_ns),
    FIELD(dlb_epoch_result, "gap_ns", COUNT, gap_ns),
    FIELD(dlb_epoch_result, "wall_ns", COUNT, wall_ns),
    FIELD(dlb_epoch_result, "whole", FLAG, whole),
    END};
static const struct field share_fields[] = {
    FIELD(dlb_share_result, "steps", COUNT, n_steps),
    FIELD(dlb_share_result, "samples", COUNT, n_samples),
    FIELD(dlb_share_result, "window_ns", COUNT, window_ns),
    FIELD(dlb_share_result, "au_nominal", REAL, au_nominal),
    FIELD(dlb_share_result, "au_measured", REAL, au_measured),
    END};
static const struct field lowest_fields[] = {
    FIELD(dlb_au, "nominal", REAL, nominal), FIELD(dlb_au, "measured", REAL, measured),
    FIELD(dlb_au, "mlperf_v1", REAL, mlperf_v1), FIELD(dlb_au, "mlperf_v2", REAL, mlperf_v2), END};
static const struct field au_fields[] = {
    FIELD(dlb_au, "nominal", REAL, nominal),
    FIELD(dlb_au, "measured", REAL, measured),
    FIELD(dlb_au, "mlperf_v1", REAL, mlperf_v1),
    FIELD(dlb_au, "mlperf_v2", REAL, mlperf_v2),
    FIELD(dlb_au, "mlperf_v1_samples_per_s", REAL, mlperf_v1_samples_per_s),
    FIELD(dlb_au, "mlperf_v2_samples_per_s", REAL, mlperf_v2_samples_per_s),
    END};
static const struct field os_fields[] = {
    FIELD(dlb_os_result, "utime_ns", COUNT, utime_ns),
    FIELD(dlb_os_result, "stime_ns", COUNT, stime_ns),
    FIELD(dlb_os_result, "minor_faults", COUNT, minor_faults),
    FIELD(dlb_os_result, "major_faults", COUNT, major_faults),
    FIELD(dlb_os_result, "voluntary_switches", COUNT, voluntary_switches),
    FIELD(dlb_os_result, "involuntary_switches", COUNT, involuntary_switches),
    FIELD(dlb_os_result, "read_chars", COUNT, read_chars),
    FIELD(dlb_os_result, "read_device_bytes", COUNT, read_device_bytes),
    END};
static const struct field workers_fields[] = {
    FIELD(dlb_workers_result, "io_bytes", COUNT, io_bytes),
    FIELD(dlb_workers_result, "worker_samples", COUNT, n_samples),
    FIELD(dlb_workers_result, "worker_cpu_ns", COUNT, cpu_ns),
    FIELD(dlb_workers_result, "runqueue_ns", COUNT, runqueue_ns),
    FIELD(dlb_workers_result, "order_wait_ns", COUNT, order_wait_ns),
    FIELD(dlb_workers_result, "n_skipped", COUNT, n_skipped),
    FIELD(dlb_workers_result, "n_cut_shards", COUNT, n_cut_shards),
    FIELD(dlb_workers_result, "n_idle_workers", SMALL, n_idle),
    END};
static const struct field io_fields[] = {
    FIELD_TEXT(dlb_io_result, "reason", reason),
    FIELD(dlb_io_result, "depth", COUNT, depth),
    FIELD(dlb_io_result, "max_in_flight", COUNT, max_in_flight),
    FIELD(dlb_io_result, "requests", COUNT, n_requests),
    FIELD(dlb_io_result, "resubmitted", COUNT, n_resubmitted),
    FIELD(dlb_io_result, "bytes", COUNT, n_bytes),
    FIELD(dlb_io_result, "sum_ns", COUNT, sum_ns),
    FIELD(dlb_io_result, "p50_ns", COUNT, p50_ns),
    FIELD(dlb_io_result, "p99_ns", COUNT, p99_ns),
    FIELD(dlb_io_result, "p999_ns", COUNT, p999_ns),
    FIELD(dlb_io_result, "max_ns", COUNT, max_ns),
    END};
static const struct field memory_fields[] = {
    FIELD(dlb_memory_result, "peak_pss_bytes", COUNT, peak_pss_bytes),
    FIELD(dlb_memory_result, "slots_bytes", COUNT, slots_bytes),
    FIELD(dlb_memory_result, "pinned_bytes", COUNT, pinned_bytes),
    FIELD(dlb_memory_result, "huge_pages", FLAG, huge_pages), END};
static const struct field cache_fields[] = {
    FIELD_TEXT(dlb_cache_result, "why", why),
    FIELD(dlb_cache_result, "resident_before_frac", REAL, resident_before_frac),
    FIELD(dlb_cache_result, "resident_after_frac", REAL, resident_after_frac),
    FIELD(dlb_cache_result, "process_bytes", COUNT, process_bytes),
    FIELD(dlb_cache_result, "device_bytes", COUNT, device_bytes),
    FIELD(dlb_cache_result, "delivered_bytes", COUNT, delivered_bytes),
    FIELD_TEXT(dlb_cache_result, "filesystem", filesystem),
    FIELD_TEXT(dlb_cache_result, "device", device),
    END};
static const struct field device_fields[] = {FIELD_TEXT(dlb_device_result, "kind", kind),
                                             FIELD_TEXT(dlb_device_result, "name", name),
                                             FIELD_TEXT(dlb_device_result, "why", why), END};
static const struct field step_fields[] = {
    FIELD(dlb_device_result, "asked_ns", REAL, step_asked_ns),
    FIELD(dlb_device_result, "read_ns", REAL, step_read_ns),
    FIELD(dlb_device_result, "measured_ns", REAL, step_measured_ns), END};
static const struct field baseline_fields[] = {
    FIELD(dlb_baseline_result, "bytes_per_s", REAL, bytes_per_s),
    FIELD(dlb_baseline_result, "iops", REAL, iops),
    FIELD(dlb_baseline_result, "p50_ns", REAL, p50_ns),
    FIELD(dlb_baseline_result, "p99_ns", REAL, p99_ns),
    FIELD(dlb_baseline_result, "p999_ns", REAL, p999_ns),
    END};

static json_t *stages_to(const struct dlb_stage_result *stages, const char *const *names, int n)
{
    json_t *out = dlb_json_made(json_object());
    for (int i = 0; i < n; i++)
        (void)dlb_json_put(out, names[i], object_of(stage_fields, &stages[i]));
    return out;
}

static void stages_from(const json_t *object, struct dlb_stage_result *stages,
                        const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        take(json_object_get(object, names[i]), stage_fields, &stages[i]);
}

static json_t *shares_to(const struct dlb_loop_result *loop)
{
    json_t *each = json_null();
    if (loop->n_shares > 0) {
        each = dlb_json_made(json_array());
        for (uint32_t i = 0; i < loop->n_shares; i++)
            dlb_json_append(each, object_of(share_fields, &loop->share[i]));
    }
    return dlb_json_made(
        json_pack("{sI, so}", "count", (json_int_t)loop->n_accelerators, "each", each));
}

static void shares_from(const json_t *object, struct dlb_loop_result *loop)
{
    const json_t *each = json_object_get(object, "each"), *one;
    size_t i;
    loop->n_accelerators = (uint32_t)dlb_json_u64(object, "count", 1);
    loop->share = dlb_mem_array(json_array_size(each), sizeof(*loop->share));
    json_array_foreach(each, i, one) {
        take(one, share_fields, &loop->share[loop->n_shares++]);
    }
}

static json_t *epochs_to(const struct dlb_loop_result *loop)
{
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < loop->n_epochs; i++)
        dlb_json_append(out, object_of(epoch_fields, &loop->epoch[i]));
    return out;
}

static void epochs_from(const json_t *array, struct dlb_loop_result *loop)
{
    const json_t *one;
    size_t i;
    loop->epoch = dlb_mem_array(json_array_size(array), sizeof(*loop->epoch));
    json_array_foreach(array, i, one) {
        take(one, epoch_fields, &loop->epoch[loop->n_epochs++]);
    }
}

static json_t *au_to(const struct dlb_loop_result *loop)
{
    json_t *out = object_of(au_fields, &loop->au);
    (void)dlb_json_put(out, "lowest", object_of(lowest_fields, &loop->lowest));
    return out;
}

static void loop_to(json_t *out, const struct dlb_loop_result *loop)
{
    put(out, loop_fields, loop);
    (void)dlb_json_put(out, "consumer_stages",
                       stages_to(loop->consumer, dlb_consumer_stage_names, DLB_CS_COUNT));
    (void)dlb_json_put(out, "device_stages",
                       stages_to(loop->device, dlb_device_stage_names, DLB_DS_COUNT));
    (void)dlb_json_put(out, "au", au_to(loop));
    (void)dlb_json_put(out, "accelerators", shares_to(loop));
    (void)dlb_json_put(out, "epochs", epochs_to(loop));
    (void)dlb_json_put(out, "os", object_of(os_fields, &loop->os));
}

static void loop_from(const json_t *doc, struct dlb_loop_result *loop)
{
    const json_t *au = json_object_get(doc, "au");
    take(doc, loop_fields, loop);
    stages_from(json_object_get(doc, "consumer_stages"), loop->consumer, dlb_consumer_stage_names,
                DLB_CS_COUNT);
    stages_from(json_object_get(doc, "device_stages"), loop->device, dlb_device_stage_names,
                DLB_DS_COUNT);
    take(au, au_fields, &loop->au);
    take(json_object_get(au, "lowest"), lowest_fields, &loop->lowest);
    shares_from(json_object_get(doc, "accelerators"), loop);
    epochs_from(json_object_get(doc, "epochs"), loop);
    take(json_object_get(doc, "os"), os_fields, &loop->os);
}

static const char *const io_ways[] = {
    [DLB_IO_USED_SYNC] = "sync", [DLB_IO_USED_MIXED] = "mixed", [DLB_IO_USED_URING] = "io_uring"};

static json_t *io_to(const struct dlb_io_result *io)
{
    json_t *out = object_of(io_fields, io);
    bool own = io->used != DLB_IO_USED_SYNC;
    (void)dlb_json_put(out, "asked", json_string(io->asked_uring ? "io_uring" : "sync"));
    (void)dlb_json_put(out, "used", json_string(io_ways[io->used]));
    (void)dlb_json_put(out, "registered_buffers",
                       own ? json_boolean(io->registered_buffers) : json_null());
    return out;
}

static void io_from(const json_t *object, struct dlb_io_result *io)
{
    take(object, io_fields, io);
    io->asked_uring = strcmp(dlb_json_text(object, "asked"), "io_uring") == 0;
    for (int i = DLB_IO_USED_SYNC; i <= DLB_IO_USED_URING; i++)
        if (strcmp(dlb_json_text(object, "used"), io_ways[i]) == 0)
            io->used = (enum dlb_io_way)i;
    io->registered_buffers = dlb_json_is_true(object, "registered_buffers");
}

static void workers_to(json_t *out, const struct dlb_workers_result *workers)
{
    json_t *reads = object_of(stage_fields, &workers->reads);
    json_t *skipped = dlb_json_made(json_array());
    (void)dlb_json_put(reads, "of",
                       json_string(workers->reads_are_requests ? "requests" : "samples"));
    for (uint32_t i = 0; i < workers->n_skipped_named; i++)
        dlb_json_append(skipped, dlb_json_safe_text(workers->skipped[i]));
    put(out, workers_fields, workers);
    (void)dlb_json_put(out, "reads", reads);
    (void)dlb_json_put(out, "worker_stages",
                       stages_to(workers->stage, dlb_worker_stage_names, DLB_WS_COUNT));
    (void)dlb_json_put(out, "io", io_to(&workers->io));
    (void)dlb_json_put(out, "skipped", skipped);
}

static void workers_from(const json_t *doc, struct dlb_workers_result *workers)
{
    const json_t *skipped = json_object_get(doc, "skipped"), *one;
    const json_t *reads = json_object_get(doc, "reads");
    size_t i;
    take(doc, workers_fields, workers);
    take(reads, stage_fields, &workers->reads);
    workers->reads_are_requests = strcmp(dlb_json_text(reads, "of"), "requests") == 0;
    stages_from(json_object_get(doc, "worker_stages"), workers->stage, dlb_worker_stage_names,
                DLB_WS_COUNT);
    io_from(json_object_get(doc, "io"), &workers->io);
    workers->skipped = dlb_mem_array(json_array_size(skipped), sizeof(*workers->skipped));
    json_array_foreach(skipped, i, one) {
        if (json_is_string(one))
            workers->skipped[workers->n_skipped_named++] = dlb_mem_text(json_string_value(one));
    }
}

static json_t *cache_to(const struct dlb_cache_result *cache)
{
    json_t *out = object_of(cache_fields, cache), *limits = dlb_json_made(json_array());
    for (uint32_t i = 0; i < cache->n_limits; i++)
        dlb_json_append(limits, dlb_json_safe_text(cache->limits[i]));
    (void)dlb_json_put(out, "asked", json_string(dlb_run_cache_names[cache->asked]));
    (void)dlb_json_put(out, "label", json_string(dlb_cache_label_name(cache->label)));
    (void)dlb_json_put(out, "metadata", json_string(dlb_cache_label_name(cache->metadata)));
    (void)dlb_json_put(out, "limits", limits);
    return out;
}

static void cache_from(const json_t *object, struct dlb_cache_result *cache)
{
    const json_t *limit;
    size_t i;
    take(object, cache_fields, cache);
    for (int k = 0; dlb_run_cache_names[k]; k++)
        if (strcmp(dlb_run_cache_names[k], dlb_json_text(object, "asked")) == 0)
            cache->asked = k;
    cache->label = dlb_cache_label_of(dlb_json_text(object, "label"));
    cache->metadata = dlb_cache_label_of(dlb_json_text(object, "metadata"));
    json_array_foreach(json_object_get(object, "limits"), i, limit) {
        const char *text = json_string_value(limit);
        if (text && cache->n_limits < DLB_CACHE_LIMITS)
            (void)snprintf(cache->limits[cache->n_limits++], DLB_CACHE_LIMIT_BYTES, "%s", text);
    }
}

static json_t *device_to(const struct dlb_device_result *device)
{
    json_t *out = object_of(device_fields, device);
    (void)dlb_json_put(out, "gpu", device->gpu ? json_incref(device->gpu) : json_null());
    return out;
}

static void device_from(const json_t *object, struct dlb_device_result *device)
{
    json_t *gpu = json_object_get(object, "gpu");
    take(object, device_fields, device);
    take(json_object_get(gpu, "step"), step_fields, device);
    device->gpu = json_is_object(gpu) ? json_incref(gpu) : NULL;
}

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? dlb_json_safe_text(text) : json_null();
}

/* What the cache of a cell that never looked at its files is told as. */
static void cache_part_to(json_t *out, const struct dlb_cell_result *r)
{
    const struct dlb_cache_result *cache = &r->cache;
    (void)dlb_json_put(out, "cache", cache_to(cache));
    (void)dlb_json_put(out, "resident_frac", dlb_json_real_or_null(cache->resident_before_frac));
    (void)dlb_json_put(out, "residency_by",
                       json_string(cache->residency_by[0] ? cache->residency_by : "unknown"));
}

json_t *dlb_cell_result_to_json(const struct dlb_cell_result *r)
{
    json_t *out = dlb_json_made(json_object());
    (void)dlb_json_put(out, "status", json_string(dlb_rep_status_name(r->status)));
    (void)dlb_json_put(out, "block", json_integer(r->block));
    (void)dlb_json_put(out, "index", json_integer(r->index));
    if (r->status != DLB_REP_OK)
        (void)dlb_json_put(out, "reason", text_or_null(r->reason));
    if (r->error)
        (void)dlb_json_put(out, "error", json_integer((json_int_t)r->error));
    if (r->code < DLB_N_CODES)
        (void)dlb_json_put(out, "code", json_string(dlb_code_name(r->code)));
    if (r->stuck_why[0])
        (void)dlb_json_put(out, "stuck_why", dlb_json_safe_text(r->stuck_why));
    if (r->has_cache)
        cache_part_to(out, r);
    if (r->has_device)
        (void)dlb_json_put(out, "device", device_to(&r->device));
    if (r->has_memory)
        (void)dlb_json_put(out, "memory", object_of(memory_fields, &r->memory));
    if (r->has_loop)
        loop_to(out, &r->loop);
    if (r->has_workers)
        workers_to(out, &r->workers);
    if (r->has_baseline) {
        put(out, baseline_fields, &r->baseline);
        (void)dlb_json_put(out, "command", text_or_null(r->baseline.command));
    }
    return out;
}

static void head_from(const json_t *doc, struct dlb_cell_result *r)
{
    r->block = (uint32_t)dlb_json_u64(doc, "block", 0);
    r->index = (uint32_t)dlb_json_u64(doc, "index", 0);
    (void)snprintf(r->reason, sizeof(r->reason), "%s", dlb_json_text(doc, "reason"));
    (void)snprintf(r->stuck_why, sizeof(r->stuck_why), "%s", dlb_json_text(doc, "stuck_why"));
    r->code = dlb_code_by_name(dlb_json_text(doc, "code"));
    if (r->status == DLB_REP_FAILED || r->status == DLB_REP_CANCELLED)
        r->error = (enum dlb_status)dlb_json_u64(doc, "error", DLB_E_WORKER);
}

static void baseline_from(const json_t *doc, struct dlb_baseline_result *baseline)
{
    const char *command = dlb_json_text(doc, "command");
    take(doc, baseline_fields, baseline);
    baseline->command = command[0] ? dlb_mem_text(command) : NULL;
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
                        "a cell's result has no status that is known: \"%.40s\"", status);
    r->status = (enum dlb_rep_status)s;
    head_from(doc, r);
    r->has_cache = json_is_object(json_object_get(doc, "cache"));
    r->has_device = json_is_object(json_object_get(doc, "device"));
    r->has_memory = json_is_object(json_object_get(doc, "memory"));
    r->has_loop = json_object_get(doc, "window_ns") != NULL;
    r->has_workers = json_object_get(doc, "worker_samples") != NULL;
    r->has_baseline = json_object_get(doc, "command") != NULL;
    if (r->has_cache) {
        cache_from(json_object_get(doc, "cache"), &r->cache);
        (void)snprintf(r->cache.residency_by, sizeof(r->cache.residency_by), "%s",
                       dlb_json_text(doc, "residency_by"));
    }
    if (r->has_device)
        device_from(json_object_get(doc, "device"), &r->device);
    if (r->has_memory)
        take(json_object_get(doc, "memory"), memory_fields, &r->memory);
    if (r->has_loop)
        loop_from(doc, &r->loop);
    if (r->has_workers)
        workers_from(doc, &r->workers);
    if (r->has_baseline)
        baseline_from(doc, &r->baseline);
    return DLB_OK;
}

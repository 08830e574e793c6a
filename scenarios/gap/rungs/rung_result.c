#include "scenarios/gap/rungs/rung_result.h"

#include "core/base/escape.h"
#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOT_A_NUMBER ((double)NAN)

static const char *const status_names[] = {"ok", "not-measured", "failed", "cancelled"};

static const struct dlb_rung_calls no_calls = {DLB_NOT_MEASURED, DLB_NOT_MEASURED, DLB_NOT_MEASURED,
                                               DLB_NOT_MEASURED, DLB_NOT_MEASURED};

/* The kernel's figures of an account, each with its key. */
static const struct figure {
    const char *key;
    size_t offset;
} figures[] = {
#define FIGURE(field)                                                                              \
    {                                                                                              \
        .key = #field, .offset = offsetof(struct dlb_rung_account, field)                          \
    }
    FIGURE(wall_ns),
    FIGURE(cpu_ns),
    FIGURE(runqueue_wait_ns),
    FIGURE(blocked_ns),
    FIGURE(voluntary_switches),
    FIGURE(involuntary_switches),
    FIGURE(minor_faults),
    FIGURE(major_faults),
#undef FIGURE
};
enum { N_FIGURES = sizeof figures / sizeof *figures };

static uint64_t *figure_of(struct dlb_rung_account *account, size_t i)
{
    return (uint64_t *)(void *)((char *)account + figures[i].offset);
}

/* Stamps of start-up, each with its key; a rung writes those that it has. */
static const struct figure stamps[] = {
    {"array", offsetof(struct dlb_rung_start_up, array_s)},
    {"prepare", offsetof(struct dlb_rung_start_up, prepare_s)},
    {"device", offsetof(struct dlb_rung_start_up, device_s)},
    {"start", offsetof(struct dlb_rung_start_up, start_s)},
    {"import", offsetof(struct dlb_rung_start_up, import_s)},
};
enum { N_STAMPS = sizeof stamps / sizeof *stamps };

static double *stamp_of(struct dlb_rung_start_up *start_up, size_t i)
{
    return (double *)(void *)((char *)start_up + stamps[i].offset);
}

void dlb_rung_result_init(struct dlb_rung_result *result)
{
    *result = (struct dlb_rung_result){
        .status = DLB_RUNG_NOT_MEASURED,
        .seconds = NOT_A_NUMBER,
        .n_samples = DLB_NOT_MEASURED,
        .n_batches = DLB_NOT_MEASURED,
        .batch_bytes = DLB_NOT_MEASURED,
        .n_workers = DLB_NOT_MEASURED,
        .faults = {NOT_A_NUMBER, false, DLB_NOT_MEASURED, NOT_A_NUMBER, NOT_A_NUMBER},
        .os = {.page_bytes = DLB_NOT_MEASURED},
        .copy_calls = no_calls,
        .sync_calls = no_calls,
        .huge_pages = {.array_frac = NOT_A_NUMBER, .batch_frac = NOT_A_NUMBER},
        .n_liveness_polls = DLB_NOT_MEASURED,
        .liveness_polls_s = NOT_A_NUMBER,
        .ordered_seconds_per_sample = NOT_A_NUMBER};
    for (size_t i = 0; i < N_FIGURES; i++)
        *figure_of(&result->os.process, i) = DLB_NOT_MEASURED;
    for (size_t i = 0; i < N_STAMPS; i++)
        *stamp_of(&result->start_up, i) = NOT_A_NUMBER;
}

void dlb_rung_result_free(struct dlb_rung_result *result)
{
    free(result->epochs);
    free(result->os.threads);
    dlb_rung_result_init(result);
}

void dlb_rung_result_fail(struct dlb_rung_result *result, const char *rung,
                          const struct dlb_err *err)
{
    dlb_rung_result_init(result);
    result->status = err->status == DLB_E_CANCELLED ? DLB_RUNG_CANCELLED : DLB_RUNG_FAILED;
    result->code = err->code;
    dlb_cut_text(result->rung, sizeof result->rung, rung);
    (void)dlb_err_text(err, result->reason, sizeof result->reason);
}

const struct dlb_rung_part *dlb_rung_part(const struct dlb_rung_parts *parts, const char *name)
{
    for (uint32_t i = 0; i < parts->n; i++)
        if (strcmp(parts->part[i].name, name) == 0)
            return &parts->part[i];
    return NULL;
}

double dlb_rung_part_s(const struct dlb_rung_parts *parts, const char *name)
{
    const struct dlb_rung_part *part = dlb_rung_part(parts, name);
    return part ? part->seconds : NOT_A_NUMBER;
}

void dlb_rung_add_part(struct dlb_rung_parts *parts, const char *name, double seconds,
                       uint64_t minor_faults)
{
    if (parts->n == DLB_RUNG_MAX_PARTS)
        return;
    struct dlb_rung_part *part = &parts->part[parts->n++];
    dlb_cut_text(part->name, sizeof part->name, name);
    part->seconds = seconds;
    part->minor_faults = minor_faults;
}

/* --- to JSON --- */

json_t *dlb_rung_parts_json(const struct dlb_rung_parts *parts)
{
    json_t *out = dlb_json_made(json_object());
    for (uint32_t i = 0; i < parts->n; i++) {
        const struct dlb_rung_part *part = &parts->part[i];
        json_t *one = dlb_json_made(json_object());
        dlb_json_put(one, "seconds", dlb_json_real_or_null(part->seconds));
        if (part->minor_faults != DLB_NOT_MEASURED)
            dlb_json_put(one, "minor_faults", dlb_json_u64_or_null(part->minor_faults));
        dlb_json_put(out, part->name, one);
    }
    return out;
}

json_t *dlb_rung_start_up_json(const struct dlb_rung_start_up *start_up)
{
    struct dlb_rung_start_up copy = *start_up;
    json_t *out = dlb_json_made(json_object());
    for (size_t i = 0; i < N_STAMPS; i++)
        if (isfinite(*stamp_of(&copy, i)))
            dlb_json_put(out, stamps[i].key, dlb_json_real_or_null(*stamp_of(&copy, i)));
    return out;
}

static json_t *account_json(const struct dlb_rung_account *account)
{
    struct dlb_rung_account copy = *account;
    json_t *out = dlb_json_made(json_object());
    for (size_t i = 0; i < N_FIGURES; i++)
        dlb_json_put(out, figures[i].key, dlb_json_u64_or_null(*figure_of(&copy, i)));
    if (account->name[0]) {
        dlb_json_put(out, "name", dlb_json_safe_text(account->name));
        dlb_json_put(out, "own_process", json_boolean(account->own_process));
    }
    return out;
}

static json_t *os_json(const struct dlb_rung_os *os)
{
    json_t *out = dlb_json_made(json_object()), *threads = dlb_json_made(json_array());
    bool any = os->n_threads > 0;
    for (uint32_t i = 0; i < os->n_threads; i++)
        dlb_json_append(threads, account_json(&os->threads[i]));
    dlb_json_put(out, "process", any ? account_json(&os->process) : json_null());
    dlb_json_put(out, "threads", any ? json_incref(threads) : json_null());
    dlb_json_put(out, "page_bytes", dlb_json_u64_or_null(os->page_bytes));
    json_decref(threads);
    return out;
}

static json_t *faults_json(const struct dlb_rung_faults *faults)
{
    if (faults->page_bytes == DLB_NOT_MEASURED)
        return json_null();
    return dlb_json_made(json_pack("{so, ss, so, so, so}", "ns", dlb_json_real_or_null(faults->ns),
                                   "kind", faults->shared ? "shared" : "private", "page_bytes",
                                   dlb_json_u64_or_null(faults->page_bytes), "seconds",
                                   dlb_json_real_or_null(faults->seconds), "per_batch",
                                   dlb_json_real_or_null(faults->per_batch)));
}

static json_t *calls_json(const struct dlb_rung_calls *calls)
{
    if (calls->count == DLB_NOT_MEASURED)
        return json_null();
    return dlb_json_made(json_pack(
        "{so, so, so, so, so}", "count", dlb_json_u64_or_null(calls->count), "sum_ns",
        dlb_json_u64_or_null(calls->sum_ns), "p50_ns", dlb_json_u64_or_null(calls->p50_ns),
        "p99_ns", dlb_json_u64_or_null(calls->p99_ns), "max_ns",
        dlb_json_u64_or_null(calls->max_ns)));
}

static json_t *huge_json(const struct dlb_rung_huge_pages *huge)
{
    if (!huge->asked[0])
        return json_null();
    return dlb_json_made(json_pack("{so, so, so, so}", "asked", dlb_json_safe_text(huge->asked),
                                   "batches_asked", dlb_json_safe_text(huge->batches_asked),
                                   "array_frac", dlb_json_real_or_null(huge->array_frac),
                                   "batch_frac", dlb_json_real_or_null(huge->batch_frac)));
}

static json_t *polls_json(const struct dlb_rung_result *result)
{
    if (result->n_liveness_polls == DLB_NOT_MEASURED)
        return json_null();
    return dlb_json_made(json_pack("{so, so}", "count",
                                   dlb_json_u64_or_null(result->n_liveness_polls), "seconds",
                                   dlb_json_real_or_null(result->liveness_polls_s)));
}

/* What is counted beside the kernel's own accounts. */
static void put_counted(json_t *out, const struct dlb_rung_result *result)
{
    dlb_json_put(out, "faults", faults_json(&result->faults));
    dlb_json_put(out, "copy_calls", calls_json(&result->copy_calls));
    dlb_json_put(out, "sync_calls", calls_json(&result->sync_calls));
    dlb_json_put(out, "liveness_polls", polls_json(result));
    dlb_json_put(out, "huge_pages", huge_json(&result->huge_pages));
}

json_t *dlb_rung_kernel_json(const struct dlb_rung_result *result)
{
    json_t *out = os_json(&result->os);
    put_counted(out, result);
    return out;
}

static void put_figures(json_t *out, const struct dlb_rung_result *result)
{
    const struct dlb_rung_device *device = &result->device;
    json_t *epochs = dlb_json_made(json_array());
    for (uint32_t i = 0; i < result->n_epochs; i++)
        dlb_json_append(epochs, dlb_json_real_or_null(result->epochs[i]));
    dlb_json_put(out, "seconds", dlb_json_real_or_null(result->seconds));
    dlb_json_put(out, "epochs", epochs);
    dlb_json_put(out, "n_samples", dlb_json_u64_or_null(result->n_samples));
    dlb_json_put(out, "n_batches", dlb_json_u64_or_null(result->n_batches));
    dlb_json_put(out, "batch_bytes", dlb_json_u64_or_null(result->batch_bytes));
    dlb_json_put(out, "n_workers", dlb_json_u64_or_null(result->n_workers));
    if (device->kind[0])
        dlb_json_put(out, "device",
                     dlb_json_made(json_pack(
                         "{so, so, so, sb}", "kind", dlb_json_safe_text(device->kind), "name",
                         dlb_json_safe_text(device->name), "why", dlb_json_safe_text(device->why),
                         "emulated", (int)device->emulated)));
    dlb_json_put(out, "checksum",
                 result->checksum[0] ? dlb_json_safe_text(result->checksum) : json_null());
    dlb_json_put(out, "start_up", dlb_rung_start_up_json(&result->start_up));
    dlb_json_put(out, "parts", dlb_rung_parts_json(&result->parts));
    dlb_json_put(out, "worker_parts", dlb_rung_parts_json(&result->worker_parts));
    dlb_json_put(out, "os", os_json(&result->os));
    put_counted(out, result);
    if (result->ordered_part[0])
        dlb_json_put(
            out, "ordered",
            dlb_json_made(json_pack("{so, so}", "part", dlb_json_safe_text(result->ordered_part),
                                    "seconds_per_sample",
                                    dlb_json_real_or_null(result->ordered_seconds_per_sample))));
}

json_t *dlb_rung_result_to_json(const struct dlb_rung_result *result)
{
    json_t *out = dlb_json_made(json_object());
    dlb_json_put(out, "rung", dlb_json_safe_text(result->rung));
    dlb_json_put(out, "status", dlb_json_safe_text(status_names[result->status]));
    if (result->status == DLB_RUNG_OK) {
        put_figures(out, result);
    } else {
        dlb_json_put(out, "reason", dlb_json_safe_text(result->reason));
        dlb_json_put(out, "error",
                     dlb_json_made(json_integer((json_int_t)dlb_code_status(result->code))));
        dlb_json_put(out, "code", dlb_json_safe_text(dlb_code_name(result->code)));
    }
    if (result->stuck)
        dlb_json_put(out, "stuck", json_true());
    return out;
}

/* --- from JSON --- */

static enum dlb_rung_status status_from(const json_t *doc)
{
    const char *text = dlb_json_text(doc, "status");
    for (size_t i = 0; i < sizeof status_names / sizeof *status_names; i++)
        if (strcmp(text, status_names[i]) == 0)
            return (enum dlb_rung_status)i;
    return DLB_RUNG_NOT_MEASURED;
}

/* A process that died has a status and no code: the first code of a status is its general one. */
static enum dlb_code code_from(const json_t *doc)
{
    enum dlb_code code = dlb_code_by_name(dlb_json_text(doc, "code"));
    uint64_t status = dlb_json_u64(doc, "error", DLB_E_WORKER);
    for (int i = 0; code == DLB_N_CODES && i < DLB_N_CODES; i++)
        if ((uint64_t)dlb_code_status((enum dlb_code)i) == status)
            code = (enum dlb_code)i;
    return code == DLB_N_CODES ? DLB_ERR_WORKER : code;
}

static void parts_from(const json_t *doc, struct dlb_rung_parts *out)
{
    const char *name;
    json_t *part;
    json_object_foreach((json_t *)doc, name, part) {
        dlb_rung_add_part(out, name, dlb_json_number(part, "seconds"),
                          dlb_json_u64(part, "minor_faults", DLB_NOT_MEASURED));
    }
}

static void account_from(const json_t *doc, struct dlb_rung_account *out)
{
    dlb_json_take_text(doc, "name", out->name, sizeof out->name);
    out->own_process = dlb_json_is_true(doc, "own_process");
    for (size_t i = 0; i < N_FIGURES; i++)
        *figure_of(out, i) = dlb_json_u64(doc, figures[i].key, DLB_NOT_MEASURED);
}

static void os_from(const json_t *doc, struct dlb_rung_os *out)
{
    const json_t *threads = json_object_get(doc, "threads");
    out->n_threads = (uint32_t)json_array_size(threads);
    out->threads = dlb_mem_array(out->n_threads, sizeof *out->threads);
    for (uint32_t i = 0; i < out->n_threads; i++)
        account_from(json_array_get(threads, i), &out->threads[i]);
    account_from(json_object_get(doc, "process"), &out->process);
    out->page_bytes = dlb_json_u64(doc, "page_bytes", DLB_NOT_MEASURED);
}

static void faults_from(const json_t *doc, struct dlb_rung_faults *out)
{
    out->ns = dlb_json_number(doc, "ns");
    out->shared = strcmp(dlb_json_text(doc, "kind"), "shared") == 0;
    out->page_bytes = dlb_json_u64(doc, "page_bytes", DLB_NOT_MEASURED);
    out->seconds = dlb_json_number(doc, "seconds");
    out->per_batch = dlb_json_number(doc, "per_batch");
}

static void calls_from(const json_t *doc, struct dlb_rung_calls *out)
{
    out->count = dlb_json_u64(doc, "count", DLB_NOT_MEASURED);
    out->sum_ns = dlb_json_u64(doc, "sum_ns", DLB_NOT_MEASURED);
    out->p50_ns = dlb_json_u64(doc, "p50_ns", DLB_NOT_MEASURED);
    out->p99_ns = dlb_json_u64(doc, "p99_ns", DLB_NOT_MEASURED);
    out->max_ns = dlb_json_u64(doc, "max_ns", DLB_NOT_MEASURED);
}

static void huge_from(const json_t *doc, struct dlb_rung_huge_pages *out)
{
    dlb_json_take_text(doc, "asked", out->asked, sizeof out->asked);
    dlb_json_take_text(doc, "batches_asked", out->batches_asked, sizeof out->batches_asked);
    out->array_frac = dlb_json_number(doc, "array_frac");
    out->batch_frac = dlb_json_number(doc, "batch_frac");
}

static void device_from(const json_t *doc, struct dlb_rung_device *out)
{
    dlb_json_take_text(doc, "kind", out->kind, sizeof out->kind);
    dlb_json_take_text(doc, "name", out->name, sizeof out->name);
    dlb_json_take_text(doc, "why", out->why, sizeof out->why);
    out->emulated = dlb_json_is_true(doc, "emulated");
}

static void figures_from(const json_t *doc, struct dlb_rung_result *out)
{
    const json_t *epochs = json_object_get(doc, "epochs");
    const json_t *polls = json_object_get(doc, "liveness_polls");
    const json_t *ordered = json_object_get(doc, "ordered");
    const json_t *start_up = json_object_get(doc, "start_up");
    out->n_epochs = (uint32_t)json_array_size(epochs);
    out->epochs = dlb_mem_array(out->n_epochs, sizeof *out->epochs);
    for (uint32_t i = 0; i < out->n_epochs; i++)
        out->epochs[i] = json_number_value(json_array_get(epochs, i));
    out->seconds = dlb_json_number(doc, "seconds");
    out->n_samples = dlb_json_u64(doc, "n_samples", DLB_NOT_MEASURED);
    out->n_batches = dlb_json_u64(doc, "n_batches", DLB_NOT_MEASURED);
    out->batch_bytes = dlb_json_u64(doc, "batch_bytes", DLB_NOT_MEASURED);
    out->n_workers = dlb_json_u64(doc, "n_workers", DLB_NOT_MEASURED);
    dlb_json_take_text(doc, "checksum", out->checksum, sizeof out->checksum);
    for (size_t i = 0; i < N_STAMPS; i++)
        *stamp_of(&out->start_up, i) = dlb_json_number(start_up, stamps[i].key);
    device_from(json_object_get(doc, "device"), &out->device);
    parts_from(json_object_get(doc, "parts"), &out->parts);
    parts_from(json_object_get(doc, "worker_parts"), &out->worker_parts);
    os_from(json_object_get(doc, "os"), &out->os);
    faults_from(json_object_get(doc, "faults"), &out->faults);
    calls_from(json_object_get(doc, "copy_calls"), &out->copy_calls);
    calls_from(json_object_get(doc, "sync_calls"), &out->sync_calls);
    huge_from(json_object_get(doc, "huge_pages"), &out->huge_pages);
    out->n_liveness_polls = dlb_json_u64(polls, "count", DLB_NOT_MEASURED);
    out->liveness_polls_s = dlb_json_number(polls, "seconds");
    dlb_json_take_text(ordered, "part", out->ordered_part, sizeof out->ordered_part);
    out->ordered_seconds_per_sample = dlb_json_number(ordered, "seconds_per_sample");
}

void dlb_rung_result_from_json(const json_t *doc, struct dlb_rung_result *result)
{
    dlb_rung_result_init(result);
    result->status = status_from(doc);
    result->stuck = dlb_json_is_true(doc, "stuck");
    dlb_json_take_text(doc, "rung", result->rung, sizeof result->rung);
    dlb_json_take_text(doc, "reason", result->reason, sizeof result->reason);
    if (result->status == DLB_RUNG_OK)
        figures_from(doc, result);
    else
        result->code = code_from(doc);
}

#include "scenarios/storage/baseline.h"

#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes read per second at the pace of the window: workers load before it, too. */
static double pipeline_rate(const json_t *doc)
{
    return dlb_json_number(doc, "io_bytes") / dlb_json_number(doc, "worker_samples") *
           dlb_json_number(doc, "n_samples") * 1e9 / dlb_json_number(doc, "window_ns");
}

static const json_t *of_block(const json_t *docs, uint64_t block)
{
    const json_t *doc;
    size_t i;
    json_array_foreach(docs, i, doc)
        if (dlb_json_u64(doc, "block", UINT64_MAX) == block &&
            strcmp(dlb_json_text(doc, "status"), "ok") == 0)
            return doc;
    return NULL;
}

static int64_t baseline_cell(const struct dlb_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_tasks; i++)
        if (plan->tasks[i].kind == DLB_TASK_BASELINE)
            return plan->tasks[i].index;
    return -1;
}

static json_t *estimate(const struct dlb_estimate *e)
{
    return json_pack("{so, so, so, ss}", "median", dlb_json_real_or_null(e->n ? e->median : NAN),
                     "low", dlb_json_real_or_null(e->n ? e->low : NAN), "high",
                     dlb_json_real_or_null(e->n ? e->high : NAN), "interval",
                     dlb_interval_name(e->n ? e->interval : DLB_INTERVAL_NONE));
}

json_t *dlb_storage_baseline_json(const struct dlb_plan *plan, const struct dlb_results *results)
{
    int64_t cell = baseline_cell(plan);
    size_t n_docs = json_array_size(results->baseline), i;
    uint32_t n = 0;
    const json_t *doc, *shown = NULL;

    if (cell < 0 || n_docs == 0)
        return json_null();
    double *ours = calloc(2 * n_docs, sizeof(*ours)), *theirs = ours ? ours + n_docs : NULL;
    if (!ours)
        return NULL;
    json_array_foreach(results->baseline, i, doc) {
        const json_t *own = of_block(results->cells[cell], dlb_json_u64(doc, "block", 0));
        double rate = dlb_json_number(doc, "bytes_per_s");
        if (!own || strcmp(dlb_json_text(doc, "status"), "ok") != 0 || !(rate > 0))
            continue;
        shown = doc;
        theirs[n] = rate;
        ours[n++] = pipeline_rate(own);
    }
    struct dlb_estimate share = dlb_estimate_paired_ratio(ours, theirs, n, plan->seed);
    const char *reason = dlb_json_text(json_array_get(results->baseline, 0), "reason");
    json_t *out = json_pack(
        "{ss, so, sI, so, so, so, so, so, so, so}", "program", "fio", "command",
        shown ? json_incref(json_object_get(shown, "command")) : json_null(), "accelerators",
        (json_int_t)dlb_json_u64(plan->cells[cell].config, "accelerators.count", 1), "bytes_per_s",
        dlb_json_real_or_null(dlb_median(theirs, n)), "iops",
        dlb_json_real_or_null(dlb_json_number(shown, "iops")), "read_p50_ns",
        dlb_json_real_or_null(dlb_json_number(shown, "p50_ns")), "read_p99_ns",
        dlb_json_real_or_null(dlb_json_number(shown, "p99_ns")), "pipeline_bytes_per_s",
        dlb_json_real_or_null(dlb_median(ours, n)), "share", estimate(&share), "reason",
        n == 0 && reason[0] ? dlb_json_safe_text(reason) : json_null());
    free(ours);
    return out;
}

#include "scenarios/storage/baseline.h"

#include "core/base/json.h"
#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>

/* Bytes read per second at the pace of the window: workers load before it, too. */
static double pipeline_rate(const struct dlb_cell_result *rep)
{
    return dlb_measured(rep->workers.io_bytes) / dlb_measured(rep->workers.n_samples) *
           dlb_cell_result_samples_per_s(rep);
}

static const struct dlb_cell_result *of_block(const struct dlb_reps *reps, uint32_t block)
{
    for (uint32_t i = 0; i < reps->n; i++)
        if (reps->rep[i].block == block && reps->rep[i].status == DLB_REP_OK)
            return &reps->rep[i];
    return NULL;
}

static int64_t baseline_cell(const struct dlb_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_tasks; i++)
        if (plan->tasks[i].kind == DLB_TASK_BASELINE)
            return plan->tasks[i].index;
    return -1;
}

/* The last repetition of the other program that is paired with one of the pipeline. */
static void put_reads(json_t *out, const struct dlb_cell_result *shown)
{
    struct dlb_cell_result none;
    dlb_cell_result_init(&none);
    const struct dlb_baseline_result *reads = shown ? &shown->baseline : &none.baseline;
    dlb_json_put(out, "command", dlb_json_text_or_null(reads->command));
    dlb_json_put(out, "iops", dlb_json_real_or_null(reads->iops));
    dlb_json_put(out, "read_p50_ns", dlb_json_real_or_null(reads->p50_ns));
    dlb_json_put(out, "read_p99_ns", dlb_json_real_or_null(reads->p99_ns));
}

json_t *dlb_storage_baseline_json(const struct dlb_plan *plan, const struct dlb_results *results)
{
    const struct dlb_reps *reps = &results->baseline;
    const struct dlb_cell_result *shown = NULL;
    int64_t cell = baseline_cell(plan);
    uint32_t n = 0;

    if (cell < 0 || reps->n == 0)
        return json_null();
    double *ours = dlb_mem_array(reps->n, sizeof(*ours));
    double *theirs = dlb_mem_array(reps->n, sizeof(*theirs));
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_cell_result *rep = &reps->rep[i];
        const struct dlb_cell_result *own = of_block(&results->cells[cell], rep->block);
        if (!own || rep->status != DLB_REP_OK || !(rep->baseline.bytes_per_s > 0))
            continue;
        shown = rep;
        theirs[n] = rep->baseline.bytes_per_s;
        ours[n++] = pipeline_rate(own) / dlb_cell_result_n_ranks(own); /* fio runs on one */
    }
    struct dlb_estimate share = dlb_estimate_paired_ratio(ours, theirs, n);
    const char *reason = reps->rep[0].reason;
    json_t *out = dlb_json_made(
        json_pack("{ss, sI, so, so, so, so}", "program", "fio", "accelerators",
                  (json_int_t)plan->cells[cell].spec->accelerators.count, "bytes_per_s",
                  dlb_json_real_or_null(dlb_median(theirs, n)), "pipeline_bytes_per_s",
                  dlb_json_real_or_null(dlb_median(ours, n)), "share", dlb_estimate_to_json(&share),
                  "reason", n == 0 && reason[0] ? dlb_json_safe_text(reason) : json_null()));
    enum dlb_code code = n == 0 ? reps->rep[0].code : DLB_N_CODES;
    dlb_json_put(out, "code",
                 code < DLB_N_CODES ? dlb_json_made(json_string(dlb_code_name(code)))
                                    : json_null());
    put_reads(out, shown);
    free(ours);
    free(theirs);
    return out;
}

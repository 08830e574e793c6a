#include "scenarios/cell/cell_result.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dlb_stage_result no_stage = {DLB_NOT_MEASURED, DLB_NOT_MEASURED,
                                                 DLB_NOT_MEASURED, DLB_NOT_MEASURED,
                                                 DLB_NOT_MEASURED, DLB_NOT_MEASURED};
static const struct dlb_au no_au = {NAN, NAN, NAN, NAN, NAN, NAN};

static void fill_stages(struct dlb_stage_result *stages, int n)
{
    for (int i = 0; i < n; i++)
        stages[i] = no_stage;
}

/* Every byte of DLB_NOT_MEASURED is 0xff: a struct of such figures is set at once. */
static void unmeasured(void *figures, size_t n_bytes)
{
    memset(figures, 0xff, n_bytes);
}

static void init_loop(struct dlb_loop_result *loop)
{
    unmeasured(&loop->total, sizeof(loop->total));
    loop->total.au = loop->lowest = no_au;
    loop->n_batches = loop->consumer_cpu_ns = loop->n_checksum_mismatches = DLB_NOT_MEASURED;
    fill_stages(loop->consumer, DLB_CS_COUNT);
    fill_stages(loop->device, DLB_DS_COUNT);
    loop->n_accelerators = 1;
    unmeasured(&loop->os, sizeof(loop->os));
    loop->machine_busy_frac = loop->machine_stolen_frac = loop->machine_stolen_ns = (double)NAN;
    dlb_strain_unknown(&loop->strain);
}

static void init_workers(struct dlb_workers_result *workers)
{
    struct dlb_io_result *io = &workers->io;
    fill_stages(workers->stage, DLB_WS_COUNT);
    workers->reads = no_stage;
    io->depth = io->max_in_flight = io->n_requests = io->n_resubmitted = io->n_bytes =
        DLB_NOT_MEASURED;
    io->sum_ns = io->p50_ns = io->p99_ns = io->p999_ns = io->max_ns = DLB_NOT_MEASURED;
    workers->io_bytes = workers->n_samples = DLB_NOT_MEASURED;
    workers->cpu_ns = workers->runqueue_ns = workers->order_wait_ns = DLB_NOT_MEASURED;
    workers->n_skipped = workers->n_cut_shards = DLB_NOT_MEASURED;
}

void dlb_cell_result_init(struct dlb_cell_result *r)
{
    *r = (struct dlb_cell_result){.code = DLB_N_CODES};
    init_loop(&r->loop);
    init_workers(&r->workers);
    r->memory.peak_pss_bytes = r->memory.slots_bytes = r->memory.pinned_bytes = DLB_NOT_MEASURED;
    r->memory.early_bytes = r->memory.recent_bytes = (double)NAN;
    r->cache.resident_before_frac = r->cache.resident_after_frac = (double)NAN;
    r->cache.process_bytes = r->cache.device_bytes = r->cache.delivered_bytes = DLB_NOT_MEASURED;
    r->device.step_asked_ns = r->device.step_read_ns = r->device.step_measured_ns = (double)NAN;
    r->baseline = (struct dlb_baseline_result){NULL, NAN, NAN, NAN, NAN, NAN};
}

void dlb_cell_result_free(struct dlb_cell_result *r)
{
    for (uint32_t i = 0; i < r->workers.n_skipped_named; i++)
        free(r->workers.skipped[i]);
    free((void *)r->workers.skipped);
    free(r->loop.share);
    free(r->loop.epoch);
    free(r->baseline.command);
    json_decref(r->device.gpu);
    free(r->hists);
    json_decref(r->ranks);
    json_decref(r->document);
    json_decref(r->python);
    memset(r, 0, sizeof(*r));
}

const char *dlb_rep_status_name(enum dlb_rep_status status)
{
    static const char *const names[] = {"ok", "failed", "cancelled", "skipped", "not-measured"};
    return names[status];
}

void dlb_cell_result_fail(struct dlb_cell_result *result, const struct dlb_err *err)
{
    result->status = err->status == DLB_E_CANCELLED ? DLB_REP_CANCELLED : DLB_REP_FAILED;
    result->error = err->status;
    result->code = err->code;
    (void)dlb_err_text(err, result->reason, sizeof(result->reason));
}

double dlb_measured(uint64_t value)
{
    return value == DLB_NOT_MEASURED ? (double)NAN : (double)value;
}

struct dlb_lost dlb_cell_result_lost(const struct dlb_cell_result *result)
{
    struct dlb_lost lost = {0, 0, false};
    bool told = false,
         cut = result->workers.n_cut_shards != DLB_NOT_MEASURED && result->workers.n_cut_shards > 0;
    for (uint32_t i = 0; i < result->loop.n_epochs; i++) {
        const struct dlb_epoch *epoch = &result->loop.epoch[i];
        uint64_t n = epoch->n_skipped;
        /* How many samples followed in a shard that was cut is known by what is missing. */
        if (cut && epoch->ended && epoch->n_expected > epoch->n_samples + n) {
            n = epoch->n_expected - epoch->n_samples;
            told = true;
        }
        lost.n += n;
        lost.of += epoch->n_samples + n;
    }
    lost.unknown = cut && !told;
    return lost;
}

double dlb_lost_frac(const struct dlb_lost *lost)
{
    return lost->of > 0 && !lost->unknown ? (double)lost->n / (double)lost->of : (double)NAN;
}

struct dlb_stage_result dlb_stage_result_of(const struct dlb_hist *hist)
{
    bool any = hist->count > 0;
    return (struct dlb_stage_result){
        .count = hist->count,
        .sum_ns = hist->sum_ns,
        .p50_ns = any ? dlb_hist_quantile_ns(hist, 0.5) : DLB_NOT_MEASURED,
        .p99_ns = any ? dlb_hist_quantile_ns(hist, 0.99) : DLB_NOT_MEASURED,
        .p999_ns = any ? dlb_hist_quantile_ns(hist, 0.999) : DLB_NOT_MEASURED,
        .max_ns = any ? hist->max_ns : DLB_NOT_MEASURED,
    };
}

double dlb_per_sample_read(const struct dlb_workers_result *workers, double n)
{
    double n_read = dlb_measured(workers->stage[DLB_WS_READ].count);
    return n_read > 0 ? n / n_read : (double)NAN;
}

static double per_s(const struct dlb_loop_result *loop, uint64_t n)
{
    double window_ns = dlb_measured(loop->total.window_ns);
    return window_ns > 0 ? dlb_measured(n) * 1e9 / window_ns : (double)NAN;
}

double dlb_cell_result_samples_per_s(const struct dlb_cell_result *result)
{
    return per_s(&result->loop, result->loop.total.n_samples);
}

double dlb_cell_result_n_accelerators(const struct dlb_cell_result *result)
{
    return result->loop.n_accelerators > 0 ? result->loop.n_accelerators : 1;
}

uint32_t dlb_cell_result_n_ranks(const struct dlb_cell_result *result)
{
    size_t n = json_array_size(json_object_get(result->ranks, "ranks"));
    return n > 0 ? (uint32_t)n : 1;
}

double dlb_cell_result_gated(const struct dlb_cell_result *result)
{
    const json_t *ranks = json_object_get(result->ranks, "ranks"), *rank;
    double lowest = result->loop.total.au.nominal;
    size_t i;
    json_array_foreach(ranks, i, rank) {
        double one = dlb_json_number(rank, "utilisation");
        lowest = isnan(one) || isnan(lowest) ? (double)NAN : fmin(lowest, one);
    }
    return lowest;
}

void dlb_cell_result_rank_utilisations(const struct dlb_cell_result *result, double *out)
{
    const json_t *rank;
    size_t i;
    json_array_foreach(json_object_get(result->ranks, "ranks"), i, rank)
        out[i] = dlb_json_number(rank, "utilisation");
}

double dlb_cell_result_steps_per_s(const struct dlb_cell_result *result)
{
    return per_s(&result->loop, result->loop.total.n_steps) /
           dlb_cell_result_n_accelerators(result);
}

void dlb_reps_add(struct dlb_reps *reps, struct dlb_cell_result *result)
{
    reps->rep = dlb_mem_grow(reps->rep, reps->n + 1, sizeof(*reps->rep));
    reps->rep[reps->n++] = *result;
    memset(result, 0, sizeof(*result));
}

void dlb_reps_replace(struct dlb_reps *reps, struct dlb_cell_result *result)
{
    struct dlb_cell_result kept = *result;
    bool stands = result->status == DLB_REP_OK || result->status == DLB_REP_FAILED;
    for (uint32_t i = 0; stands && i < reps->n; i++)
        if (reps->rep[i].block == result->block) {
            kept = reps->rep[i];
            reps->rep[i] = *result;
            break;
        }
    reps->passed = dlb_mem_grow(reps->passed, reps->n_passed + 1, sizeof(*reps->passed));
    reps->passed[reps->n_passed++] = kept;
    memset(result, 0, sizeof(*result));
}

void dlb_reps_free(struct dlb_reps *reps)
{
    for (uint32_t i = 0; i < reps->n; i++)
        dlb_cell_result_free(&reps->rep[i]);
    for (uint32_t i = 0; i < reps->n_passed; i++)
        dlb_cell_result_free(&reps->passed[i]);
    free(reps->rep);
    free(reps->passed);
    *reps = (struct dlb_reps){0};
}

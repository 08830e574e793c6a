#include "scenarios/storage/judge.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "scenarios/judge/judge.h"
#include "scenarios/judge/judged.h"
#include "scenarios/plan/twin.h"
#include "scenarios/storage/baseline.h"
#include "scenarios/storage/sizing.h"
#include "scenarios/storage/words.h"

#include <math.h>
#include <stdio.h>

/* Requests to the kernel; NaN where none were seen. */
static double iops(const struct dlb_judged_cell *cell)
{
    const struct dlb_workers_result *workers = &cell->shown->workers;
    if (!workers->reads_are_requests)
        return (double)NAN;
    return dlb_per_sample_read(workers, dlb_measured(workers->reads.count)) *
           cell->rates[DLB_RATE_WINDOW].over.median;
}

static double worker_ns(const struct dlb_judged_cell *cell, enum dlb_worker_stage stage)
{
    return cell->evidence.worker_stage_ns[stage];
}

static bool is_warm(const struct dlb_judged_cell *cell)
{
    return cell->shown && cell->shown->cache.label == DLB_CACHE_WARM;
}

/* Bytes per second that a worker spent reading, within the window. */
static double reader_bytes_per_s(const struct dlb_judged_cell *cell)
{
    const struct dlb_workers_result *workers = &cell->shown->workers;
    double sample_bytes = dlb_measured(workers->io_bytes) / dlb_measured(workers->n_samples);
    return sample_bytes * dlb_measured(workers->stage[DLB_WS_READ].count) * 1e9 /
           worker_ns(cell, DLB_WS_READ);
}

/* The cell of n accelerators if it can be compared with `at`; else NULL. */
static const struct dlb_judged_cell *beside(const struct dlb_storage_outcome *o, uint32_t n,
                                            int64_t at)
{
    int64_t index = dlb_storage_cell_of(o->plan, n);
    const struct dlb_judged_cell *cell = dlb_storage_judged(o, index);
    return cell && index != at && cell->n_values > 0 &&
                   is_warm(cell) == is_warm(dlb_storage_judged(o, at))
               ? cell
               : NULL;
}

/* The highest byte rate of any larger number of accelerators; NaN without one. */
static double most_beyond(const struct dlb_storage_outcome *o, int64_t at)
{
    double most = (double)NAN;
    for (uint32_t i = 0; i < o->plan->n_cells; i++) {
        uint32_t n = dlb_storage_count_of(o->plan, i);
        const struct dlb_judged_cell *cell = beside(o, n, at);
        if (cell && n > dlb_storage_count_of(o->plan, (uint32_t)at))
            most = fmax(most, dlb_judged_read_bytes_per_s(cell));
    }
    return most;
}

/* Time that a hypervisor took from as many CPUs as workers and training loop can use at a time. */
static double stolen_ns(const struct dlb_judged_cell *cell)
{
    double n_threads = cell->evidence.num_workers + 1.0;
    return cell->shown->loop.machine_stolen_ns * fmin(n_threads / cell->evidence.n_cpus, 1);
}

static struct dlb_bottleneck_evidence evidence_of(const struct dlb_storage_outcome *o, int64_t at)
{
    const struct dlb_judged_cell *cell = dlb_storage_judged(o, at), *first = beside(o, 1, at),
                                 *two = beside(o, 2, at);
    if (!cell->shown)
        return (struct dlb_bottleneck_evidence){.measured = false};
    const struct dlb_loop_result *loop = &cell->shown->loop;
    double delivered =
        dlb_measured(loop->total.n_bytes) * 1e9 / dlb_measured(loop->total.window_ns);
    double read = dlb_judged_read_bytes_per_s(cell);
    return (struct dlb_bottleneck_evidence){
        .measured = cell->n_values > 0,
        .harness_bound = cell->verdict.klass == DLB_V_HARNESS_BOUND,
        .warm = is_warm(cell),
        .input_frac = cell->evidence.input_frac + cell->evidence.late_copy_frac,
        .copy_frac = cell->evidence.h2d_frac - cell->evidence.late_copy_frac,
        .other_frac = cell->evidence.residual_frac,
        .read_ns = worker_ns(cell, DLB_WS_READ),
        .decode_ns = worker_ns(cell, DLB_WS_DECODE) + worker_ns(cell, DLB_WS_TRANSFORM),
        .collate_ns = worker_ns(cell, DLB_WS_COLLATE),
        .cpu_ns = dlb_measured(cell->shown->workers.cpu_ns),
        .runqueue_ns = dlb_measured(cell->shown->workers.runqueue_ns),
        .machine_busy_frac = loop->machine_busy_frac,
        .stolen_ns = stolen_ns(cell),
        /* Out of the page cache, and into the batch. */
        .moved_bytes_per_s = read + delivered,
        .memcpy_bytes_per_s =
            o->plan->host.memcpy_bytes_per_s * dlb_cell_result_n_ranks(cell->shown),
        .ceiling_known = isfinite(cell->evidence.harness_frac) &&
                         isfinite(cell->evidence.harness_headroom) && o->plan->cells[at].twin > 0,
        .shared = o->plan->base->accelerators.shared_workers,
        .ahead = o->plan->host.n_shards > 0 &&
                 o->plan->cells[at].spec->dataset.access != DLB_ACCESS_DIRECT,
        .reader_bytes_per_s = reader_bytes_per_s(cell),
        .first_reader_bytes_per_s = first ? reader_bytes_per_s(first) : (double)NAN,
        .bytes_per_s = read,
        .more_bytes_per_s = o->n == 0 && two ? dlb_judged_read_bytes_per_s(two) : (double)NAN,
        .most_bytes_per_s = most_beyond(o, at),
    };
}

/* Judges the cell again with its null-source twins, if it has some. */
static void judge_harness(const struct dlb_plan *plan, const struct dlb_results *results,
                          struct dlb_judgement *j)
{
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_judged_cell *cell = &j->cells[i];
        uint32_t twin = plan->cells[i].twin;
        if (twin == 0 || twin >= results->n_ceilings || cell->status != DLB_CELL_OK)
            continue;
        cell->evidence.harness_frac = dlb_twin_share(&results->ceilings[twin - 1]);
        cell->evidence.harness_headroom =
            dlb_twin_headroom(&results->ceilings[twin], cell->rates[DLB_RATE_WINDOW].over.median);
        dlb_judge(&cell->evidence, &cell->verdict);
    }
}

static json_t *harness_json(const struct dlb_storage_outcome *o)
{
    int64_t at = o->beyond >= 0 && o->plan->cells[o->beyond].twin ? o->beyond : o->best;
    if (at < 0 || o->plan->cells[at].twin == 0)
        return json_null();
    const struct dlb_evidence *e = &o->judgement->cells[at].evidence;
    return dlb_json_made(json_pack("{sI, so, so, ss}", "accelerators",
                                   (json_int_t)dlb_storage_count_of(o->plan, (uint32_t)at),
                                   "step_frac", dlb_json_real_or_null(e->harness_frac), "headroom",
                                   dlb_json_real_or_null(e->harness_headroom), "headroom_device",
                                   dlb_devices[dlb_device_emulated() - 1]->name));
}

/* Why nothing is known beyond N. */
static void say_cap(struct dlb_storage_outcome *o)
{
    int64_t next = dlb_storage_cell_of(o->plan, o->n + 1);
    const char *of;
    if (next >= 0 && o->view.points[next].impossible)
        (void)snprintf(o->why, sizeof(o->why),
                       "this host's memory ends the search (%u could not be run: %.*s)", o->n + 1,
                       DLB_CUT(o->judgement->cells[next].reason, 180));
    else if (o->n == dlb_storage_data_limit(o->plan, &of))
        (void)snprintf(o->why, sizeof(o->why), "the data set has no %s for more", of);
    else
        (void)snprintf(o->why, sizeof(o->why), "storage.max_accelerators ends the search");
}

static void conclude(struct dlb_storage_outcome *o)
{
    dlb_storage_view_open(&o->view, o->plan, o->results);
    dlb_search_next(&o->view.search, &o->step);
    o->settled = o->step.done && !o->step.cut && !o->view.stopped;
    o->n = o->step.best;
    for (uint32_t i = 0; !o->step.done && i < o->plan->n_cells; i++) {
        const struct dlb_search_point *p = &o->view.points[i];
        if (p->n > o->n && dlb_search_median(&o->view.search, p) >= o->view.search.gate)
            o->n = p->n;
    }
    o->best = o->n > 0 ? dlb_storage_cell_of(o->plan, o->n) : -1;
    o->beyond = o->settled && !o->step.capped ? dlb_storage_cell_of(o->plan, o->n + 1) : -1;
    if (o->settled && o->step.capped) {
        o->bottleneck = DLB_BOTTLENECK_NONE;
        say_cap(o);
    } else if (o->beyond >= 0) {
        struct dlb_bottleneck_evidence e = evidence_of(o, o->beyond);
        o->bottleneck = dlb_bottleneck_find(&e, o->why, sizeof(o->why));
    } else {
        o->bottleneck = DLB_BOTTLENECK_UNKNOWN;
        (void)snprintf(o->why, sizeof(o->why), "%s",
                       o->step.cut ? "storage.max_minutes ended the search"
                                   : "the search was cut short");
    }
}

/* One number of accelerators. NaN where nothing was measured. */
static void put_rates(const struct dlb_judged_cell *cell, json_t *out)
{
    struct dlb_cell_result none;
    dlb_cell_result_init(&none);
    bool any = cell && cell->n_values > 0;
    const struct dlb_stage_result *reads = any ? &cell->shown->workers.reads : &none.workers.reads;
    const double nan = (double)NAN;
    dlb_json_put(out, "samples_per_s",
                 dlb_json_real_or_null(any ? cell->rates[DLB_RATE_WINDOW].over.median : nan));
    dlb_json_put(out, "bytes_per_s",
                 dlb_json_real_or_null(any ? dlb_judged_read_bytes_per_s(cell) : nan));
    dlb_json_put(out, "iops", dlb_json_real_or_null(any ? iops(cell) : nan));
    dlb_json_put(out, "read_p50_ns", dlb_json_real_or_null(dlb_measured(reads->p50_ns)));
    dlb_json_put(out, "read_p99_ns", dlb_json_real_or_null(dlb_measured(reads->p99_ns)));
    dlb_json_put(out, "read_p999_ns", dlb_json_real_or_null(dlb_measured(reads->p999_ns)));
}

static json_t *point_json(const struct dlb_storage_outcome *o, uint32_t cell)
{
    const struct dlb_search_point *point = &o->view.points[cell];
    double au = dlb_search_median(&o->view.search, point), low = INFINITY, high = -INFINITY;
    for (uint32_t i = 0; i < point->n_values; i++) {
        low = fmin(low, point->au[i]);
        high = fmax(high, point->au[i]);
    }
    json_t *out = dlb_json_made(json_pack(
        "{sI, sI, so, so, so, sI}", "accelerators", (json_int_t)point->n, "cell", (json_int_t)cell,
        "au", dlb_json_real_or_null(au), "au_low", dlb_json_real_or_null(low), "au_high",
        dlb_json_real_or_null(high), "repeats", (json_int_t)point->n_values));
    put_rates(dlb_storage_judged(o, cell), out);
    return out;
}

/* Sorted by number of accelerators. */
static json_t *curve_json(const struct dlb_storage_outcome *o)
{
    json_t *out = dlb_json_made(json_array());
    uint32_t last = 0;
    for (;;) {
        int64_t next = -1;
        for (uint32_t i = 0; i < o->plan->n_cells; i++)
            if (o->view.points[i].n > last && o->view.points[i].n_values > 0 &&
                (next < 0 || o->view.points[i].n < o->view.points[next].n))
                next = i;
        if (next < 0)
            return out;
        last = o->view.points[next].n;
        dlb_json_append(out, point_json(o, (uint32_t)next));
    }
}

/* The share by which the highest rate at any number exceeds what N accelerators of each rank need
 * at the gate. NaN if the search was cut short: that rate is the accelerators' own pace. */
static double headroom(const struct dlb_storage_outcome *o)
{
    if (!o->settled || o->step.capped)
        return (double)NAN;
    const struct dlb_spec *spec = o->plan->cells[0].spec;
    double each =
        (double)spec->loader.batch_size * 1e3 / spec->device.step_ms * o->view.search.gate;
    double most = 0;
    for (uint32_t i = 0; i < o->plan->n_cells; i++)
        if (o->judgement->cells[i].n_values > 0)
            most = fmax(most, o->judgement->cells[i].rates[DLB_RATE_WINDOW].over.median);
    return o->n > 0 ? most / (each * o->n * dlb_storage_n_ranks(o)) - 1 : (double)NAN;
}

static json_t *data_json(const struct dlb_storage_outcome *o, bool *cold_proof, uint64_t *n_steps)
{
    const struct dlb_plan_host *host = &o->plan->host;
    struct dlb_sizing size = {.n_samples = host->n_samples,
                              .n_bytes = host->stored_bytes,
                              .batch_size = (uint64_t)o->plan->cells[0].spec->loader.batch_size,
                              .n_accelerators = dlb_storage_n_of_all(o),
                              .ram_bytes = host->ram_bytes,
                              .write_bytes_per_s = (double)NAN};
    dlb_sizing_fill(&size);
    *cold_proof = size.covers_ram;
    *n_steps = (uint64_t)dlb_storage_steps_per_epoch(o->plan, o->n > 0 ? o->n : 1);
    return dlb_json_made(json_pack("{sI, sI, sI, so, sI, sb}", "bytes", (json_int_t)host->n_bytes,
                                   "stored_bytes", (json_int_t)host->stored_bytes, "ram_bytes",
                                   (json_int_t)host->ram_bytes, "ram_multiple",
                                   dlb_json_real_or_null(size.ram_multiple), "steps_per_epoch",
                                   (json_int_t)*n_steps, "cold_proof", *cold_proof));
}

/* An end of the interval; null where it is not known. */
static json_t *end_json(const struct dlb_search_step *s, uint32_t end)
{
    return s->done && end < UINT32_MAX ? json_integer((json_int_t)end) : json_null();
}

/* A search that ended while the gate was met tells no upper end. */
static json_t *high_json(const struct dlb_storage_outcome *o)
{
    return o->settled && o->step.capped ? json_null() : end_json(&o->step, o->step.high);
}

static json_t *fit_json(const struct dlb_search_step *s)
{
    const struct dlb_knee *knee = &s->knee;
    if (!s->done || !knee->fitted)
        return json_null();
    return dlb_json_made(json_pack(
        "{sb, sf, sf, sf, so, sf, so, sI, sI}", "used", s->fitted, "at", knee->at, "low", knee->low,
        "high", knee->high, "sharpness", dlb_json_real_or_null(knee->sharpness), "noise_frac",
        knee->noise_frac, "lack_of_fit_p", dlb_json_real_or_null(knee->lack_of_fit_p), "values",
        (json_int_t)knee->n_values, "left_out", (json_int_t)knee->n_left_out));
}

static const char *stopped_by(const struct dlb_storage_outcome *o)
{
    if (o->view.stopped)
        return "failed";
    if (!o->step.done)
        return "interrupted";
    if (o->step.cut)
        return "budget";
    return o->step.capped || o->step.low == o->step.high ? "decided" : "noise";
}

static json_t *storage_json(struct dlb_storage_outcome *o)
{
    const struct dlb_workload_opts *workload = &o->plan->cells[0].spec->workload;
    const struct dlb_search_step *s = &o->step;
    json_t *out = dlb_json_made(
        json_pack("{so, ss, sI, sI, so, so, sb, sb, sf, ss, ss, so, so}", "workload",
                  dlb_json_safe_text(workload->name), "accelerator",
                  dlb_workload_accelerators[workload->accelerator], "max_accelerators",
                  (json_int_t)o->n, "max_accelerators_all_ranks",
                  (json_int_t)o->n * dlb_storage_n_ranks(o), "low", end_json(s, s->low), "high",
                  high_json(o), "settled", o->settled, "capped", o->settled && s->capped, "gate",
                  o->view.search.gate, "code", dlb_bottleneck_code(o->bottleneck), "bottleneck",
                  dlb_bottleneck_name(o->bottleneck), "bottleneck_text", dlb_json_safe_text(o->why),
                  "headroom_frac", dlb_json_real_or_null(headroom(o))));
    dlb_json_put(out, "n",
                 dlb_json_made(json_pack("{so, so, ss}", "low", end_json(s, s->low), "high",
                                         high_json(o), "by", s->fitted ? "curve" : "repetitions")));
    dlb_json_put(out, "fit", fit_json(s));
    dlb_json_put(out, "stopped", dlb_json_safe_text(stopped_by(o)));
    put_rates(dlb_storage_judged(o, o->best), out);
    dlb_json_put(out, "harness", harness_json(o));
    dlb_json_put(out, "data", data_json(o, &o->cold_proof, &o->steps_per_epoch));
    dlb_json_put(out, "baseline", dlb_storage_baseline_json(o->plan, o->results));
    dlb_json_put(out, "curve", curve_json(o));
    return out;
}

/* The cell of N becomes the best, and the recommended one if it is judged. */
static void put_best(const struct dlb_storage_outcome *o, struct dlb_judgement *j)
{
    bool judged = o->best >= 0 && dlb_is_judged(&j->cells[o->best]);
    j->best = o->best;
    j->recommended = judged ? o->best : -1;
    j->separable = o->settled;
    j->n_set = 0;
    j->no_answer = !o->settled && !(o->step.cut && !o->view.stopped && o->view.search.n_points > 0);
    dlb_judge_settings(o->plan, j);
}

void dlb_storage_judge(const struct dlb_plan *plan, const struct dlb_results *results,
                       struct dlb_judgement *j)
{
    struct dlb_storage_outcome o = {.plan = plan, .results = results, .judgement = j};
    judge_harness(plan, results, j);
    conclude(&o);
    j->storage = storage_json(&o);
    dlb_storage_words(&o, j);
    put_best(&o, j);
    dlb_storage_notes(&o, j);
    dlb_storage_view_close(&o.view);
}

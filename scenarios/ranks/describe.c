#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/measure/stats.h"
#include "core/measure/straggler.h"
#include "scenarios/ranks/merge.h"

#include <math.h>
#include <stdlib.h>

static double window_share(const struct dlb_cell_result *result, uint64_t ns)
{
    return dlb_measured(ns) / dlb_measured(result->loop.total.window_ns);
}

/* Its mean step. With a barrier over all ranks what it waits is measured. */
static struct dlb_rank_step step_of(const struct dlb_rank_part *part)
{
    const struct dlb_share *total = &part->result.loop.total;
    double step_ms = 1e3 / dlb_cell_result_steps_per_s(&part->result);
    double rounds_ms = (double)part->n_rounds * 1e6;
    struct dlb_rank_step out = {
        .step_ms = step_ms,
        .wait_ms = part->n_rounds > 0 ? part->wait_ns / rounds_ms : (double)NAN,
        .input_ms = step_ms * window_share(&part->result, total->idle_input_ns),
        .h2d_ms = step_ms * window_share(&part->result, total->idle_copy_ns),
        .compute_ms = step_ms * window_share(&part->result, total->busy_ns)};
    if (part->n_rounds > 0) /* idle_input_ns has what others waited for, too */
        out.input_ms = part->own_input_ns / rounds_ms;
    return out;
}

static void find_straggler(const struct dlb_rank_part *parts, uint32_t n, struct dlb_straggler *out)
{
    struct dlb_rank_step *steps = dlb_mem_array(n, sizeof(*steps));
    bool waits = true;
    for (uint32_t i = 0; i < n; i++) {
        steps[i] = step_of(&parts[i]);
        waits = waits && parts[i].n_rounds > 0;
    }
    if (!waits)
        dlb_rank_steps_join(steps, n);
    dlb_straggler_find(steps, n, out);
    free(steps);
}

static json_t *rank_json(const struct dlb_rank_part *part, uint32_t rank, const char *straggler)
{
    const struct dlb_share *total = &part->result.loop.total;
    return dlb_json_made(json_pack(
        "{sI, so, so, so, so, so, so, so, so, so}", "rank", (json_int_t)rank, "node",
        dlb_json_safe_text(part->node), "data_id",
        part->result.data_id ? dlb_json_hex(part->result.data_id) : json_null(), "status",
        json_string(dlb_rep_status_name(part->result.status)), "samples_per_s",
        dlb_json_real_or_null(dlb_cell_result_samples_per_s(&part->result)), "gpu_idle_frac",
        dlb_json_real_or_null(1 - window_share(&part->result, total->busy_ns)), "input_wait_frac",
        dlb_json_real_or_null(window_share(&part->result, total->idle_input_ns)), "utilisation",
        dlb_json_real_or_null(total->au.nominal), "done_s", dlb_json_real_or_null(part->done_s),
        "straggler", straggler ? json_string(straggler) : json_null()));
}

static json_t *straggler_json(const struct dlb_straggler *s, const struct dlb_rank_part *parts)
{
    if (s->kind == DLB_STRAGGLER_NONE)
        return json_null();
    return dlb_json_made(
        json_pack("{ss, sI, so, sI, sf, sf, sf, sf}", "class", dlb_straggler_name(s->kind), "rank",
                  (json_int_t)s->culprit, "node", dlb_json_safe_text(parts[s->culprit].node),
                  "median_rank", (json_int_t)s->victim, "cost_ms", s->cost_ms, "score", s->score,
                  "part_ms", s->culprit_ms, "median_part_ms", s->victim_ms));
}

static json_t *us_json(const struct dlb_hist *cost)
{
    if (cost->count == 0)
        return json_null();
    return dlb_json_made(json_pack("{sf, sf}", "p50", (double)dlb_hist_quantile_ns(cost, 0.5) / 1e3,
                                   "p99", (double)dlb_hist_quantile_ns(cost, 0.99) / 1e3));
}

static double less(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmin(a, b);
}

static double more(double a, double b)
{
    return -less(-a, -b);
}

/* The rates of all ranks together, of the slowest, and of the median one. */
static json_t *rates_json(const struct dlb_rank_part *parts, uint32_t n, double total)
{
    double *rates = dlb_mem_array(n, sizeof(*rates)), worst = INFINITY;
    for (uint32_t i = 0; i < n; i++) {
        rates[i] = dlb_cell_result_samples_per_s(&parts[i].result);
        worst = less(worst, rates[i]);
    }
    double median = isnan(worst) ? (double)NAN : dlb_median(rates, n);
    free(rates);
    return dlb_json_made(json_pack("{so, so, so}", "total", dlb_json_real_or_null(total), "worst",
                                   dlb_json_real_or_null(worst), "median",
                                   dlb_json_real_or_null(median)));
}

bool dlb_ranks_together(const struct dlb_rank_part *parts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!parts[i].together)
            return false;
    return true;
}

json_t *dlb_ranks_describe(const struct dlb_rank_part *parts, uint32_t n,
                           const struct dlb_hist *cost, double samples_per_s)
{
    struct dlb_straggler straggler;
    json_t *each = dlb_json_made(json_array());
    double first_s = INFINITY, last_s = 0; /* not known if the end of one is not */
    find_straggler(parts, n, &straggler);
    for (uint32_t i = 0; i < n; i++) {
        bool is = straggler.kind != DLB_STRAGGLER_NONE && straggler.culprit == i;
        dlb_json_append(each,
                        rank_json(&parts[i], i, is ? dlb_straggler_name(straggler.kind) : NULL));
        first_s = less(first_s, parts[i].done_s);
        last_s = more(last_s, parts[i].done_s);
    }
    return dlb_json_made(json_pack("{so, so, so, so, so, so, so}", "ranks", each,
                                   "ranks_samples_per_s", rates_json(parts, n, samples_per_s),
                                   "ranks_together", json_boolean(dlb_ranks_together(parts, n)),
                                   "first_done_s", dlb_json_real_or_null(first_s), "last_done_s",
                                   dlb_json_real_or_null(last_s), "barrier_us", us_json(cost),
                                   "straggler", straggler_json(&straggler, parts)));
}

/* torch-dataloader's own stamps, less the page faults in each part; and each cause is checked
 * against the rung that removes it.
 *
 * A part is the time that torch-dataloader's training loop spent on it, less the time that
 * torch-direct's spent on it. Faults are a part of their own: the number that the kernel counted,
 * times the price of one in that process. Misses are the time that stacking takes longer in
 * shuffled order than in order. The closure is what no stamp covers, and what a removal did not
 * remove: it makes the sum right. Faults, copies and start-up are priced and stamped; no rung
 * removes them.
 *
 * Figures are of medians over repetitions. Their intervals are of the same figures in each block,
 * from the repetitions that ran close in time. */
#include "scenarios/gap/decompose.h"

#include "core/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const dlb_gap_cause_names[DLB_GAP_N_CAUSES] = {"per-item indexing",
                                                           "stacking",
                                                           "shuffle's cache and TLB misses",
                                                           "page faults",
                                                           "transport",
                                                           "pinning",
                                                           "copies",
                                                           "start-up",
                                                           "closure"};
const char *const dlb_gap_label_names[DLB_GAP_N_LABELS] = {"removed", "stamped", "priced",
                                                           "closure"};

static double part_seconds(const struct dlb_rung_result *result, const char *name)
{
    return dlb_rung_part_s(&result->parts, name);
}

static double fault_seconds(const struct dlb_rung_result *result, const char *name)
{
    const struct dlb_rung_part *part = dlb_rung_part(&result->parts, name);
    if (!part || part->minor_faults == DLB_NOT_MEASURED)
        return (double)NAN;
    return (double)part->minor_faults * result->faults.ns * 1e-9;
}

static double or_zero(double value)
{
    return isfinite(value) ? value : 0;
}

/* A part without its page faults; 0 when the rung does not have the part. */
static double net(const struct dlb_gap_judged *rung, const char *name)
{
    return or_zero(dlb_gap_over(rung, part_seconds, name)) -
           or_zero(dlb_gap_over(rung, fault_seconds, name));
}

static double all_faults(const struct dlb_gap_judged *rung)
{
    static const char *const names[] = {"start",  "permutation", "list_and_sampler",
                                        "index",  "stack",       "free",
                                        "gather", "slice",       "rest",
                                        "copy",   "step",        "end"};
    double sum = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        sum += or_zero(dlb_gap_over(rung, fault_seconds, names[i]));
    return sum;
}

static double indexing(const struct dlb_gap_judged *rung)
{
    return net(rung, "index") + net(rung, "free") + net(rung, "list_and_sampler");
}

static double start_up(const struct dlb_gap_judged *rung)
{
    return net(rung, "start") + net(rung, "permutation") + net(rung, "end");
}

/* In order and shuffled, stacking faults in the same pages, so the difference is only misses. Of
 * repetitions that measured both. */
static double misses(const struct dlb_rung_result *result, const char *name)
{
    if (strcmp(result->ordered_part, name) != 0 || result->n_samples == DLB_NOT_MEASURED)
        return (double)NAN;
    return part_seconds(result, name) -
           result->ordered_seconds_per_sample * (double)result->n_samples;
}

static double epoch_seconds(const struct dlb_rung_result *result, const char *name)
{
    (void)name;
    return result->seconds;
}

static double epoch(const struct dlb_gap_judged *rung)
{
    return dlb_gap_over(rung, epoch_seconds, NULL);
}

/* What stamps, counts and removals show, of rungs with any number of repetitions. */
struct amounts {
    double total, removed;            /* by asking for whole lists; NaN: not measured */
    double seconds[DLB_GAP_N_CAUSES]; /* the closure is not among them */
};

static void measure(const struct dlb_gap_judged *loader, const struct dlb_gap_judged *direct,
                    const struct dlb_gap_judged *lists, struct amounts *out)
{
    double *s = out->seconds;
    out->total = epoch(loader) - epoch(direct);
    out->removed = lists ? epoch(loader) - epoch(lists) : (double)NAN;
    s[DLB_GAP_CAUSE_MISSES] = dlb_gap_over(loader, misses, "stack");
    s[DLB_GAP_CAUSE_INDEXING] = indexing(loader);
    s[DLB_GAP_CAUSE_STACKING] = net(loader, "stack") - fmax(or_zero(s[DLB_GAP_CAUSE_MISSES]), 0);
    s[DLB_GAP_CAUSE_FAULTS] = all_faults(loader) - all_faults(direct);
    /* torch-direct has neither workers nor pinned memory, so there is nothing to subtract. */
    s[DLB_GAP_CAUSE_TRANSPORT] = net(loader, "transport");
    s[DLB_GAP_CAUSE_PINNING] = net(loader, "pin");
    s[DLB_GAP_CAUSE_COPIES] = net(loader, "copy") - net(direct, "copy");
    s[DLB_GAP_CAUSE_START_UP] = start_up(loader) - start_up(direct);
    s[DLB_GAP_CAUSE_CLOSURE] = (double)NAN;
}

static bool is_item(int cause)
{
    return cause == DLB_GAP_CAUSE_INDEXING || cause == DLB_GAP_CAUSE_STACKING;
}

static double items_claimed(const struct amounts *a)
{
    return a->seconds[DLB_GAP_CAUSE_INDEXING] + a->seconds[DLB_GAP_CAUSE_STACKING];
}

/* torch-batch-sampler asks for whole lists, which removes per-item indexing and stacking together.
 * Their stamped time is capped at what that rung saves; without that rung it is not shown. */
static void find_items(struct dlb_gap_judgement *j, const struct dlb_gap_judged *lists,
                       const struct amounts *all)
{
    const double *claim = all->seconds;
    double shown =
        lists ? fmin(all->removed / (claim[DLB_GAP_CAUSE_INDEXING] + claim[DLB_GAP_CAUSE_STACKING]),
                     1)
              : 0;
    for (int i = 0; i < DLB_GAP_N_CAUSES; i++)
        if (is_item(i)) {
            int with =
                i == DLB_GAP_CAUSE_INDEXING ? DLB_GAP_CAUSE_STACKING : DLB_GAP_CAUSE_INDEXING;
            j->part[i].seconds = shown > 0 ? fmax(all->seconds[i], 0) * shown : (double)NAN;
            j->part[i].removed_by = lists ? lists->name : NULL;
            j->part[i].removed_with = lists ? dlb_gap_cause_names[with] : NULL;
            j->part[i].removes_seconds = all->removed;
        }
}

static void find_misses(struct dlb_gap_share *part, const struct amounts *all)
{
    double seconds = all->seconds[DLB_GAP_CAUSE_MISSES];
    part->seconds = isfinite(seconds) ? fmax(seconds, 0) : (double)NAN;
    part->removed_by = isfinite(seconds) ? "the same stacking in order" : NULL;
    part->removes_seconds = seconds;
}

/* The rest of a sum; NaN parts are in it. */
static double rest(double total, const double *parts)
{
    for (int i = 0; i < DLB_GAP_CAUSE_CLOSURE; i++)
        total -= or_zero(parts[i]);
    return total;
}

/* The parts of one block; those that are not shown, or are capped, over all blocks are so here. */
static void split(const struct dlb_gap_judgement *j, const struct amounts *all,
                  const struct amounts *block, double parts[DLB_GAP_N_CAUSES])
{
    bool capped = all->removed < items_claimed(all);
    for (int i = 0; i < DLB_GAP_CAUSE_CLOSURE; i++) {
        parts[i] = isfinite(j->part[i].seconds) ? block->seconds[i] : (double)NAN;
        if (is_item(i) && capped)
            parts[i] *= block->removed / items_claimed(block);
    }
    parts[DLB_GAP_CAUSE_CLOSURE] = rest(block->total, parts);
}

/* The repetition of a block, as a rung of its own. */
static bool of_block(const struct dlb_gap_judged *rung, uint32_t block, struct dlb_gap_judged *out)
{
    for (uint32_t i = 0; rung && i < rung->n_results; i++)
        if (rung->block[i] == block && rung->result[i].status == DLB_RUNG_OK) {
            *out = *rung;
            out->result = &rung->result[i];
            out->n_results = 1;
            return true;
        }
    return false;
}

/* An interval that holds the figure, which is of medians. */
static void put_interval(const double *values, uint32_t n, double figure, double *low, double *high)
{
    if (!dlb_mean_interval(values, n, low, high) || !isfinite(figure)) {
        *low = *high = (double)NAN;
        return;
    }
    *low = fmin(*low, figure);
    *high = fmax(*high, figure);
}

static void find_intervals(struct dlb_gap_judgement *j, const struct dlb_gap_judged *loader,
                           const struct dlb_gap_judged *direct, const struct dlb_gap_judged *lists,
                           const struct amounts *all)
{
    uint32_t n_most = loader->n_results, n = 0;
    double *values = dlb_mem_array((size_t)n_most * (DLB_GAP_N_CAUSES + 1), sizeof(double));
    for (uint32_t i = 0; i < n_most; i++) {
        struct dlb_gap_judged one[3];
        struct amounts block;
        double parts[DLB_GAP_N_CAUSES];
        uint32_t at = loader->block[i];
        if (!of_block(loader, at, &one[0]) || !of_block(direct, at, &one[1]) ||
            (lists && !of_block(lists, at, &one[2])))
            continue;
        measure(&one[0], &one[1], lists ? &one[2] : NULL, &block);
        split(j, all, &block, parts);
        for (int k = 0; k < DLB_GAP_N_CAUSES; k++)
            values[(size_t)k * n_most + n] = parts[k];
        values[(size_t)DLB_GAP_N_CAUSES * n_most + n++] = block.total;
    }
    for (int k = 0; k < DLB_GAP_N_CAUSES; k++)
        put_interval(&values[(size_t)k * n_most], n, j->part[k].seconds, &j->part[k].low,
                     &j->part[k].high);
    put_interval(&values[(size_t)DLB_GAP_N_CAUSES * n_most], n, j->total_seconds, &j->total_low,
                 &j->total_high);
    j->n_blocks = n;
    free(values);
}

void dlb_gap_decompose(struct dlb_gap_judgement *j)
{
    static const enum dlb_gap_label labels[DLB_GAP_N_CAUSES] = {
        [DLB_GAP_CAUSE_FAULTS] = DLB_GAP_PRICED,    [DLB_GAP_CAUSE_TRANSPORT] = DLB_GAP_STAMPED,
        [DLB_GAP_CAUSE_PINNING] = DLB_GAP_STAMPED,  [DLB_GAP_CAUSE_COPIES] = DLB_GAP_STAMPED,
        [DLB_GAP_CAUSE_START_UP] = DLB_GAP_STAMPED, [DLB_GAP_CAUSE_CLOSURE] = DLB_GAP_CLOSURE};
    const struct dlb_gap_judged *loader = dlb_gap_measured(j, "torch-dataloader");
    const struct dlb_gap_judged *direct = dlb_gap_measured(j, "torch-direct");
    const struct dlb_gap_judged *lists = dlb_gap_measured(j, "torch-batch-sampler");
    struct amounts all;
    double parts[DLB_GAP_N_CAUSES];
    j->decomposed = loader && direct;
    j->total_seconds = j->total_low = j->total_high = (double)NAN;
    if (!j->decomposed)
        return;
    measure(loader, direct, lists, &all);
    j->total_seconds = all.total;
    for (int i = 0; i < DLB_GAP_N_CAUSES; i++)
        j->part[i] = (struct dlb_gap_share){
            .seconds = all.seconds[i], .label = labels[i], .removes_seconds = (double)NAN};
    find_misses(&j->part[DLB_GAP_CAUSE_MISSES], &all);
    find_items(j, lists, &all);
    for (int i = 0; i < DLB_GAP_N_CAUSES; i++)
        parts[i] = j->part[i].seconds;
    j->part[DLB_GAP_CAUSE_CLOSURE].seconds = rest(j->total_seconds, parts);
    find_intervals(j, loader, direct, lists, &all);
}

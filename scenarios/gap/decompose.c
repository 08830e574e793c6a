/* torch-dataloader's own stamps, less the page faults in each part; and each cause is checked
 * against the rung that removes it.
 *
 * A part is the time that torch-dataloader's training loop spent on it, less the time that
 * torch-direct's spent on it. Faults are a part of their own: the number that the kernel counted,
 * times the price of one in that process. Misses are the time that stacking takes longer in
 * shuffled order than in order. Unexplained is what no stamp covers, and what a removal did not
 * remove. Faults, copies and start-up are counted and stamped; no rung removes them. */
#include "scenarios/gap/decompose.h"

#include <math.h>
#include <string.h>

const char *const dlb_gap_cause_names[DLB_GAP_N_CAUSES] = {"per-item indexing",
                                                           "stacking",
                                                           "shuffle's cache and TLB misses",
                                                           "page faults",
                                                           "transport",
                                                           "pinning",
                                                           "copies",
                                                           "start-up",
                                                           "unexplained"};

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

static struct dlb_gap_share find_misses(const struct dlb_gap_judged *loader)
{
    double seconds = dlb_gap_over(loader, misses, "stack");
    return isfinite(seconds)
               ? (struct dlb_gap_share){.seconds = fmax(seconds, 0),
                                        .removed_by = "the same stacking in order",
                                        .removes_seconds = seconds}
               : (struct dlb_gap_share){.seconds = (double)NAN, .removes_seconds = (double)NAN};
}

/* torch-batch-sampler asks for whole lists, which removes per-item indexing and stacking together.
 * Their stamped time is capped at what that rung saves; without that rung it is not shown. */
static void find_items(struct dlb_gap_judgement *j, const struct dlb_gap_judged *loader)
{
    const struct dlb_gap_judged *without = dlb_gap_measured(j, "torch-batch-sampler");
    double claim[2] = {indexing(loader),
                       net(loader, "stack") - or_zero(j->part[DLB_GAP_CAUSE_MISSES].seconds)};
    double removed = without ? loader->seconds.median - without->seconds.median : (double)NAN;
    double shown = without ? fmin(removed / (claim[0] + claim[1]), 1) : 0;
    for (int i = 0; i < 2; i++)
        j->part[DLB_GAP_CAUSE_INDEXING + i] = (struct dlb_gap_share){
            .seconds = shown > 0 ? fmax(claim[i], 0) * shown : (double)NAN,
            .removed_by = without ? without->name : NULL,
            .removed_with = without ? dlb_gap_cause_names[DLB_GAP_CAUSE_STACKING - i] : NULL,
            .removes_seconds = removed};
}

void dlb_gap_decompose(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *loader = dlb_gap_measured(j, "torch-dataloader");
    const struct dlb_gap_judged *direct = dlb_gap_measured(j, "torch-direct");
    j->decomposed = loader && direct;
    j->total_seconds = (double)NAN;
    if (!j->decomposed)
        return;
    j->total_seconds = loader->seconds.median - direct->seconds.median;
    for (int i = 0; i < DLB_GAP_N_CAUSES; i++)
        j->part[i] = (struct dlb_gap_share){.removes_seconds = (double)NAN};
    j->part[DLB_GAP_CAUSE_MISSES] = find_misses(loader);
    find_items(j, loader);
    j->part[DLB_GAP_CAUSE_FAULTS].seconds = all_faults(loader) - all_faults(direct);
    /* torch-direct has neither workers nor pinned memory, so there is nothing to subtract. */
    j->part[DLB_GAP_CAUSE_TRANSPORT].seconds = net(loader, "transport");
    j->part[DLB_GAP_CAUSE_PINNING].seconds = net(loader, "pin");
    j->part[DLB_GAP_CAUSE_COPIES].seconds = net(loader, "copy") - net(direct, "copy");
    j->part[DLB_GAP_CAUSE_START_UP].seconds = start_up(loader) - start_up(direct);
    double known = 0;
    for (int i = 0; i < DLB_GAP_CAUSE_UNEXPLAINED; i++)
        known += or_zero(j->part[i].seconds);
    j->part[DLB_GAP_CAUSE_UNEXPLAINED].seconds = j->total_seconds - known;
}

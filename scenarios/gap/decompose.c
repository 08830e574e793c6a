/* Where torch-dataloader's time beyond torch-direct goes: its own stamps, less the page faults in
 * each part, and every cause held against what takes it away.
 *
 * A part is what torch-dataloader's training loop spent on it less what torch-direct did. Faults
 * are a part of their own: those that the kernel counted, times what one costs in that process.
 * Misses are what stacking in shuffled order takes longer than in order. What no stamp covers, and
 * what a removal did not remove, is unexplained. Faults, copies and start-up are counted and
 * stamped; no rung takes them away. */
#include "scenarios/gap/gap.h"

#include "scenarios/spec/flat.h"

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
                                                           "unexplained"};

static double part_seconds(const json_t *doc, const char *name)
{
    return dlb_json_number(json_object_get(json_object_get(doc, "parts"), name), "seconds");
}

static double fault_seconds(const json_t *doc, const char *name)
{
    const json_t *part = json_object_get(json_object_get(doc, "parts"), name);
    return dlb_json_number(part, "minor_faults") *
           dlb_json_number(json_object_get(doc, "faults"), "ns") * 1e-9;
}

double dlb_gap_over(const struct dlb_gap_judged *rung,
                    double (*read)(const json_t *doc, const char *name), const char *name)
{
    double *values = calloc(json_array_size(rung->docs) + 1, sizeof(double));
    const json_t *doc;
    size_t i;
    uint32_t n = 0;
    if (!values)
        return (double)NAN;
    json_array_foreach(rung->docs, i, doc) {
        double value = read(doc, name);
        if (strcmp(dlb_json_text(doc, "status"), "ok") == 0 && isfinite(value))
            values[n++] = value;
    }
    double median = dlb_median(values, n);
    free(values);
    return median;
}

static double or_zero(double value)
{
    return isfinite(value) ? value : 0;
}

/* A part without its page faults; 0 for one that the rung has not. */
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

/* Both in order and shuffled fault in the same pages, so the difference is the misses alone. Of
 * repetitions that did both. */
static double misses(const json_t *doc, const char *name)
{
    const json_t *ordered = json_object_get(doc, "ordered");
    if (strcmp(dlb_json_text(ordered, "part"), name) != 0)
        return (double)NAN;
    return part_seconds(doc, name) -
           dlb_json_number(ordered, "seconds_per_sample") * dlb_json_number(doc, "n_samples");
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

/* Items one by one and stacking go together when whole lists are asked for. Of what their stamps
 * claim, no more is shown than that removes; without that rung, nothing. */
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
    /* No worker, no pinned memory: neither has anything to spend here. */
    j->part[DLB_GAP_CAUSE_TRANSPORT].seconds = net(loader, "transport");
    j->part[DLB_GAP_CAUSE_PINNING].seconds = net(loader, "pin");
    j->part[DLB_GAP_CAUSE_COPIES].seconds = net(loader, "copy") - net(direct, "copy");
    j->part[DLB_GAP_CAUSE_START_UP].seconds = start_up(loader) - start_up(direct);
    double known = 0;
    for (int i = 0; i < DLB_GAP_CAUSE_UNEXPLAINED; i++)
        known += or_zero(j->part[i].seconds);
    j->part[DLB_GAP_CAUSE_UNEXPLAINED].seconds = j->total_seconds - known;
}

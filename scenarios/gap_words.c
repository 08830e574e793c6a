/* The ladder in words: the gap, where it goes, what closes it. */
#include "scenarios/gap.h"

#include "bench/base/units.h"
#include "scenarios/flat.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct dlb_gap_judgement *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct dlb_gap_judgement *j, const char *fmt, ...)
{
    size_t len = strlen(j->text);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(j->text + len, sizeof(j->text) - len, fmt, args);
    va_end(args);
}

struct duration {
    char text[32];
};

static struct duration duration(double seconds)
{
    struct duration d;
    (void)dlb_duration_text(fabs(seconds), d.text, sizeof(d.text));
    if (seconds < 0)
        (void)snprintf(d.text, sizeof(d.text), "less than nothing");
    return d;
}

static void say_gap(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *loader = dlb_gap_measured(j, "torch-dataloader");
    const struct dlb_gap_judged *direct = dlb_gap_measured(j, "torch-direct");
    char samples[40], bytes[24];
    (void)dlb_count_text((double)in->params->samples, samples, sizeof(samples));
    (void)dlb_bytes_text(dlb_gap_array_bytes(in->params), bytes, sizeof(bytes));
    if (loader && direct)
        add(j,
            "The gap on this machine: %.3gx. A DataLoader that shuffles, without workers, takes "
            "%s for %s samples (%s), slicing them in order %s (torch %s of %.200s).\n",
            loader->to_direct, duration(loader->seconds.median).text, samples, bytes,
            duration(direct->seconds.median).text, in->python->torch, in->python->path);
    else if (!in->python->found)
        add(j, "PyTorch was not measured, so there is no gap to show: %s.\n", in->python->reason);
    else
        add(j, "Without both torch-dataloader and torch-direct there is no gap to show.\n");
    if (in->said[0])
        add(j, "Size: %s.\n", in->said);
}

static void say_parts(struct dlb_gap_judgement *j)
{
    bool first = true, unshown = false;
    if (!j->decomposed)
        return;
    add(j, "Where these %s go: ", duration(j->total_seconds).text);
    for (int i = 0; i < DLB_GAP_N_CAUSES; i++) {
        double frac = j->part[i].seconds / j->total_seconds;
        unshown = unshown || !isfinite(frac);
        if (!isfinite(frac) || (fabs(frac) < 0.0005 && i != DLB_GAP_CAUSE_UNEXPLAINED))
            continue;
        add(j, "%s%s %.1f%%", first ? "" : ", ", dlb_gap_cause_names[i], frac * 100);
        first = false;
    }
    add(j, ".");
    const struct dlb_gap_share *items = &j->part[DLB_GAP_CAUSE_INDEXING];
    if (isfinite(items->seconds))
        add(j, " Asking for whole lists (%s) instead of items takes %s of it away.",
            items->removed_by, duration(items->removes_seconds).text);
    if (isfinite(j->part[DLB_GAP_CAUSE_MISSES].removes_seconds))
        add(j, " Stacking in order instead of shuffled takes %s away.",
            duration(j->part[DLB_GAP_CAUSE_MISSES].removes_seconds).text);
    if (unshown)
        add(j, " Causes whose removal was not measured, or removed too little, are unexplained.");
    add(j, "\n");
}

static int by_seconds(const void *a, const void *b)
{
    double x = (*(const struct dlb_gap_judged *const *)a)->seconds.median;
    double y = (*(const struct dlb_gap_judged *const *)b)->seconds.median;
    return (x > y) - (x < y);
}

/* Below it a rung is as slow as what it should replace. */
#define GAIN_MIN 1.02

/* Fastest first: what replaces the DataLoader gains most. */
static void say_cures(struct dlb_gap_judgement *j)
{
    static const struct {
        const char *rung, *how;
    } cures[] = {
        {"dlbench", "workers that gather into pinned memory which is reused, copied ahead"},
        {"torch-gather", "X[idx] with a shuffled idx, no DataLoader"},
        {"torch-batch-sampler", "a BatchSampler as sampler, batch_size=None"},
        {"torch-dataloader-workers", "num_workers and pin_memory"},
        {"torch-out-of-order", "in_order=False beside them"},
    };
    enum { N_CURES = sizeof(cures) / sizeof(cures[0]) };
    const struct dlb_gap_judged *loader = dlb_gap_measured(j, "torch-dataloader");
    const struct dlb_gap_judged *found[N_CURES];
    size_t n = 0, n_said[2] = {0, 0};
    for (size_t i = 0; loader && i < N_CURES; i++)
        if ((found[n] = dlb_gap_measured(j, cures[i].rung)))
            n++;
    qsort((void *)found, n, sizeof(found[0]), by_seconds);
    for (size_t i = 0; i < n; i++) {
        double gain = loader->seconds.median / found[i]->seconds.median;
        bool helps = gain >= GAIN_MIN;
        const char *how = "";
        for (size_t k = 0; k < N_CURES; k++)
            how = strcmp(cures[k].rung, found[i]->name) == 0 ? cures[k].how : how;
        add(j, "%s %s (%s) %.3gx as fast",
            n_said[!helps]++ ? ";"
            : helps          ? "What closes it, in order of gain:"
            : n_said[0]      ? ". What does not:"
                             : "What does not close it:",
            found[i]->name, how, gain);
    }
    if (n > 0)
        add(j, ".\n");
}

/* Of which part of the loop's time its epoch mostly consists. */
static void say_bound(struct dlb_gap_judgement *j)
{
    static const struct {
        const char *part, *words;
    } known[] = {{"wait", "its workers, who gather from memory"},
                 {"sync", "the device"},
                 {"copy", "copies to the device"},
                 {"permutation", "drawing the shuffled order"},
                 {"gather", "gathering from memory"}};
    const struct dlb_gap_judged *rung = dlb_gap_measured(j, "dlbench");
    const json_t *parts = rung ? json_object_get(rung->shown, "parts") : NULL;
    double most = 0;
    const char *words = NULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        double seconds = dlb_json_number(json_object_get(parts, known[i].part), "seconds");
        if (seconds > most) {
            most = seconds;
            words = known[i].words;
        }
    }
    if (words)
        add(j,
            "The dlbench rung is %.3gx of direct and %.3gx of the floor; %.0f%% of its time its "
            "loop waits for %s.\n",
            rung->to_direct, rung->to_floor, most / dlb_json_number(rung->shown, "seconds") * 100,
            words);
}

static double of_faults(const struct dlb_gap_judged *rung, const char *key)
{
    return dlb_json_number(json_object_get(rung->shown, "faults"), key);
}

static void say_shape(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *shape = dlb_gap_measured(j, "per-sample");
    const struct dlb_gap_judged *fresh = dlb_gap_measured(j, "transport");
    const struct dlb_gap_judged *pooled = dlb_gap_measured(j, "transport-pooled");
    char faults[40];
    if (shape && isfinite(shape->to_direct))
        add(j,
            "The same shape in C, a sample at a time without an interpreter, is %.3gx of "
            "direct.\n",
            shape->to_direct);
    if (fresh && pooled && isfinite(of_faults(fresh, "per_batch")))
        add(j,
            "Page faults: a fresh batch costs %s, %.0f ns each; reusing memory takes %s away "
            "(transport to transport-pooled), of which the ledger's faults are %s.\n",
            dlb_count_text(round(of_faults(fresh, "per_batch")), faults, sizeof(faults)),
            of_faults(fresh, "ns"), duration(fresh->seconds.median - pooled->seconds.median).text,
            duration(of_faults(fresh, "seconds") - of_faults(pooled, "seconds")).text);
}

static void say_polls(struct dlb_gap_judgement *j)
{
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        const struct dlb_gap_judged *rung = &j->rung[i];
        double n = dlb_json_number(json_object_get(rung->shown, "liveness_polls"), "count");
        if (rung->status == DLB_GAP_OK && n > 0)
            add(j,
                "%.0f wait%s of 5.0 s in %s: DataLoader's look whether its workers live, which "
                "ends "
                "a wait for a batch and begins it anew. It is no stall of its own.\n",
                n, n == 1 ? "" : "s", rung->name);
    }
}

#define BUSY_FRAC 0.05 /* of an epoch, without a CPU though there was work */

/* Other programs take CPUs away: what they took is in every part. */
static void say_busy(struct dlb_gap_judgement *j)
{
    double most = 0;
    const char *whose = "";
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        const json_t *threads = json_object_get(json_object_get(j->rung[i].shown, "os"), "threads");
        const json_t *loop = json_array_get(threads, 0);
        double frac = dlb_json_number(loop, "runqueue_wait_ns") / dlb_json_number(loop, "wall_ns");
        if (j->rung[i].status == DLB_GAP_OK && frac > most) {
            most = frac;
            whose = j->rung[i].name;
        }
    }
    if (most >= BUSY_FRAC)
        add(j,
            "The machine was busy: up to %.0f%% of an epoch (%s) the training loop waited for a "
            "CPU. Times and parts hold that, too.\n",
            most * 100, whose);
}

void dlb_gap_words(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *j)
{
    say_gap(in, j);
    say_parts(j);
    say_cures(j);
    say_bound(j);
    say_shape(j);
    say_polls(j);
    say_busy(j);
}

/* The ladder in words: the gap, where it goes, what closes it. */
#include "scenarios/gap/gap.h"

#include "core/base/units.h"
#include "core/host/osacct.h"
#include "scenarios/spec/flat.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
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

struct sentence {
    char text[160];
};

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

/* How large the case was, and why it was no larger. */
static void say_case(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *j)
{
    char batch[40];
    uint64_t n = dlb_gap_n_batches(in->params);

    add(j, "%" PRIu64 " batch%s of %s an epoch%s%s%s.\n", n, n == 1 ? "" : "es",
        dlb_count_text((double)in->params->batch_size, batch, sizeof(batch)),
        n < DLB_GAP_MIN_BATCHES ? " (published: 7; what comes once an epoch weighs more here)" : "",
        in->said[0] ? ": " : "", in->said);
}

/* From the repetitions' intervals: the slowest of the one over the fastest of the other. */
static struct sentence range_of(const struct dlb_gap_judged *rung,
                                const struct dlb_gap_judged *base)
{
    struct sentence s = {""};
    double low = rung->seconds.low / base->seconds.high,
           high = rung->seconds.high / base->seconds.low;
    if (isfinite(low) && isfinite(high) && high > low)
        (void)snprintf(s.text, sizeof(s.text), " (%.3g to %.3g over the repetitions)", low, high);
    return s;
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
            "The gap on this machine: %.3gx%s. A DataLoader that shuffles, without workers, takes "
            "%s for %s samples (%s), slicing them in order %s (torch %s of %.200s).\n",
            loader->to_direct, range_of(loader, direct).text, duration(loader->seconds.median).text,
            samples, bytes, duration(direct->seconds.median).text, in->python->torch,
            in->python->path);
    else if (!in->python->found)
        add(j, "PyTorch was not measured, so there is no gap to show: %s.\n", in->python->reason);
    else
        add(j, "Without both torch-dataloader and torch-direct there is no gap to show.\n");
    say_case(in, j);
}

static void say_parts(struct dlb_gap_judgement *j)
{
    bool first = true;
    if (!j->decomposed)
        return;
    add(j, "Where these %s go: ", duration(j->total_seconds).text);
    for (int i = 0; i < DLB_GAP_N_CAUSES; i++) {
        double frac = j->part[i].seconds / j->total_seconds;
        if (!isfinite(frac) || (fabs(frac) < 0.0005 && i != DLB_GAP_CAUSE_UNEXPLAINED))
            continue;
        add(j, "%s%s %.1f%%", first ? "" : ", ", dlb_gap_cause_names[i], frac * 100);
        first = false;
    }
    add(j, ".");
    const struct dlb_gap_share *items = &j->part[DLB_GAP_CAUSE_INDEXING];
    if (isfinite(items->seconds))
        add(j,
            " Asking for whole lists (%s) instead of items takes %s of it away, %s and %s "
            "together; how much is whose is by stamps.",
            items->removed_by, duration(items->removes_seconds).text,
            dlb_gap_cause_names[DLB_GAP_CAUSE_INDEXING], items->removed_with);
    if (isfinite(j->part[DLB_GAP_CAUSE_MISSES].removes_seconds))
        add(j, " Stacking in order instead of shuffled takes %s away.",
            duration(j->part[DLB_GAP_CAUSE_MISSES].removes_seconds).text);
    else
        add(j, " The shuffle's misses are in stacking: there was no stacking in order to hold "
               "against it.");
    if (!isfinite(items->seconds))
        add(j, " Items and stacking are unexplained: nothing that was measured takes them away.");
    add(j, " Page faults are counted and priced, copies and start-up stamped: no rung takes these "
           "away.\n");
}

/* Every repetition of one faster than any of the other. Single ones tell nothing apart. */
static bool is_faster(const struct dlb_gap_judged *one, const struct dlb_gap_judged *than)
{
    return one->n_values > 1 && than->n_values > 1 && one->seconds.high < than->seconds.low;
}

enum { N_CURES = 5 };

struct cure {
    const struct dlb_gap_judged *rung;
    const char *how;
};

/* Fastest first. Returns how many were measured. */
static size_t find_cures(const struct dlb_gap_judgement *j, struct cure out[])
{
    static const struct {
        const char *rung, *how;
    } cures[N_CURES] = {
        {"dlbench", "workers that gather into pinned memory which is reused, copied ahead"},
        {"torch-gather", "X[idx] with a shuffled idx, no DataLoader"},
        {"torch-batch-sampler", "a BatchSampler as sampler, batch_size=None"},
        {"torch-dataloader-workers", "num_workers, and pin_memory where a GPU is"},
        {"torch-out-of-order", "in_order=False beside them"},
    };
    size_t n = 0;
    for (size_t i = 0; i < N_CURES; i++) {
        const struct dlb_gap_judged *one = dlb_gap_measured(j, cures[i].rung);
        size_t at = n;
        if (!one)
            continue;
        for (; at > 0 && out[at - 1].rung->seconds.median > one->seconds.median; at--)
            out[at] = out[at - 1];
        out[at] = (struct cure){one, cures[i].how};
        n++;
    }
    return n;
}

/* Those that help, or the others; false where there are none. */
static bool say_cures_that(bool help, const char *heading, const struct cure *cures, size_t n,
                           struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *loader = dlb_gap_measured(j, "torch-dataloader"), *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct dlb_gap_judged *one = cures[i].rung;
        if (is_faster(one, loader) != help)
            continue;
        add(j, "%s %s (%s) %.3gx as fast",
            !last                           ? heading
            : help && !is_faster(last, one) ? "; not told apart from that:"
                                            : ";",
            one->name, cures[i].how, loader->seconds.median / one->seconds.median);
        last = one;
    }
    return last;
}

static void say_cures(struct dlb_gap_judgement *j)
{
    struct cure cures[N_CURES] = {{NULL, NULL}};
    size_t n = dlb_gap_measured(j, "torch-dataloader") ? find_cures(j, cures) : 0;
    bool any = say_cures_that(true, "What closes it, in order of gain:", cures, n, j);
    (void)say_cures_that(false,
                         any ? ". What does not, or is not told apart by these repetitions:"
                             : "What closes it is not told apart by these repetitions:",
                         cures, n, j);
    if (n > 0)
        add(j, ".\n");
}

/* What its workers do meanwhile: random rows out of memory, at a rate; and drawing their order. */
static struct sentence say_working(const struct dlb_gap_params *params,
                                   const struct dlb_gap_judged *rung)
{
    struct sentence s = {""};
    const json_t *parts = rung ? json_object_get(rung->shown, "worker_parts") : NULL;
    double gather_s = dlb_json_number(json_object_get(parts, "gather"), "seconds");
    double order_s = dlb_json_number(json_object_get(parts, "permutation"), "seconds");
    char rate[24];

    if (gather_s > 0 && isfinite(order_s))
        (void)snprintf(
            s.text, sizeof(s.text),
            ", each of whom gathers rows at %s/s (%.0f ns a row) and spends %.0f%% on their order",
            dlb_bytes_text((uint64_t)((double)dlb_gap_array_bytes(params) / gather_s), rate,
                           sizeof(rate)),
            gather_s * 1e9 / (double)params->samples, order_s / (gather_s + order_s) * 100);
    return s;
}

/* Of which part of the loop's time its epoch mostly consists. */
static void say_bound(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *j)
{
    static const struct {
        const char *part, *words;
    } known[] = {{"wait", "its workers"}, {"sync", "the device"}, {"copy", "copies to the device"}};
    const struct dlb_gap_judged *rung = dlb_gap_measured(j, "dlbench");
    const json_t *parts = rung ? json_object_get(rung->shown, "parts") : NULL;
    double most = 0;
    const char *words = NULL;
    struct sentence working = say_working(in->params, rung);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        double seconds = dlb_json_number(json_object_get(parts, known[i].part), "seconds");
        if (seconds > most) {
            most = seconds;
            words = known[i].words;
        }
    }
    if (!rung || !words)
        return;
    if (isfinite(rung->to_direct) && isfinite(rung->to_floor))
        add(j, "The dlbench rung is %.3gx of direct and %.3gx of the floor; %.0f%% of",
            rung->to_direct, rung->to_floor, most / dlb_json_number(rung->shown, "seconds") * 100);
    else
        add(j, "Of the dlbench rung only this is known: %.0f%% of",
            most / dlb_json_number(rung->shown, "seconds") * 100);
    add(j, " its time its loop waits for %s%s.\n", words, working.text);
}

static double of_faults(const struct dlb_gap_judged *rung, const char *key)
{
    return dlb_json_number(json_object_get(rung ? rung->shown : NULL, "faults"), key);
}

static double process_figure(const json_t *doc, const char *key)
{
    return dlb_json_number(json_object_get(json_object_get(doc, "os"), "process"), key);
}

/* Median over the repetitions, of all threads and processes. */
static double of_all(const struct dlb_gap_judged *rung, const char *key)
{
    return rung ? dlb_gap_over(rung, process_figure, key) : (double)NAN;
}

static void say_shape(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *shape = dlb_gap_measured(j, "per-sample");
    const struct dlb_gap_judged *fresh = dlb_gap_measured(j, "transport");
    const struct dlb_gap_judged *pooled = dlb_gap_measured(j, "transport-pooled");
    char faults[40];
    double saved_s = (of_all(fresh, "cpu_ns") - of_all(pooled, "cpu_ns")) * 1e-9;
    double explained_s = (of_all(fresh, "minor_faults") - of_all(pooled, "minor_faults")) *
                         of_faults(fresh, "ns") * 1e-9;
    if (shape && isfinite(shape->to_direct))
        add(j,
            "The same shape in C, a sample at a time without an interpreter, is %.3gx of "
            "direct.\n",
            shape->to_direct);
    if (saved_s > 0 && isfinite(explained_s))
        add(j,
            "Page faults: a fresh batch costs %s, %.0f ns of CPU each. Reusing memory takes %s of "
            "CPU time away (transport to transport-pooled, all processes), and %.0f%% of that is "
            "faults at that price; of an epoch it takes %s away.\n",
            dlb_count_text(round(of_faults(fresh, "per_batch")), faults, sizeof(faults)),
            of_faults(fresh, "ns"), duration(saved_s).text, explained_s / saved_s * 100,
            duration(fresh->seconds.median - pooled->seconds.median).text);
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

/* Other programs take CPUs away: what they took is in every part. A rung of more threads than one
 * may have waited for its own. */
static void say_busy(struct dlb_gap_judgement *j)
{
    double most = 0;
    const char *whose = "";
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        const json_t *threads = json_object_get(json_object_get(j->rung[i].shown, "os"), "threads");
        const json_t *loop = json_array_get(threads, 0);
        double frac = dlb_json_number(loop, "runqueue_wait_ns") / dlb_json_number(loop, "wall_ns");
        if (j->rung[i].status == DLB_GAP_OK && json_array_size(threads) == 1 && frac > most) {
            most = frac;
            whose = j->rung[i].name;
        }
    }
    if (most >= BUSY_FRAC)
        add(j,
            "The machine was busy: up to %.0f%% of an epoch (%s) the training loop, alone in its "
            "process, waited for a CPU. Times and parts hold that, too.\n",
            most * 100, whose);
}

/* The kernel tells no thread of it. */
static void say_stolen(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *j)
{
    if (in->stolen_frac >= DLB_OS_STOLEN_NOTED)
        add(j,
            "The hypervisor gave %.0f%% of this machine's CPU time to others meanwhile (steal in "
            "/proc/stat): times and parts hold that, too, and a thread that had to stand still is "
            "shown as blocked.\n",
            in->stolen_frac * 100);
}

void dlb_gap_words(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *j)
{
    say_gap(in, j);
    say_parts(j);
    say_cures(j);
    say_bound(in, j);
    say_shape(j);
    say_polls(j);
    say_busy(j);
    say_stolen(in, j);
}

#include "scenarios/gap/words.h"

#include "core/base/escape.h"
#include "core/base/units.h"
#include "core/host/osacct.h"
#include "scenarios/gap/fit.h"

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

struct phrase {
    char text[160];
};

static struct phrase duration(double seconds)
{
    struct phrase p = {""};
    char text[32];
    (void)snprintf(p.text, sizeof(p.text), "%s%s", seconds < 0 ? "-" : "",
                   dlb_duration_text(fabs(seconds), text, sizeof(text)));
    return p;
}

/* What an interpreter says, without line ends: the text is read line by line. */
static const char *one_line(const char *said, char *text, size_t n_text)
{
    (void)snprintf(text, n_text, "%s", said);
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = ' ';
    return text;
}

/* The size of the case, and why it is not larger. */
static void say_case(const struct dlb_gap_setting *setting, struct dlb_gap_judgement *j)
{
    char batch[40];
    uint64_t n = dlb_gap_n_batches(setting->params);

    add(j, "An epoch has %" PRIu64 " batch%s of %s%s%s%s.\n", n, n == 1 ? "" : "es",
        dlb_count_text((double)setting->params->batch_size, batch, sizeof(batch)),
        n < DLB_GAP_MIN_BATCHES
            ? " (the published run has 7: costs that come once an epoch weigh more here)"
            : "",
        setting->said[0] ? "; " : "", setting->said);
}

/* The upper end of one rung's interval over the lower end of the other's, and the reverse. */
static struct phrase range_of(const struct dlb_gap_judged *rung, const struct dlb_gap_judged *base)
{
    struct phrase p = {""};
    double low = rung->seconds.low / base->seconds.high,
           high = rung->seconds.high / base->seconds.low;
    if (isfinite(low) && isfinite(high) && high > low)
        (void)snprintf(p.text, sizeof(p.text), " (%.3g to %.3g by the ends of both intervals)", low,
                       high);
    return p;
}

static void say_gap(const struct dlb_gap_setting *setting, struct dlb_gap_judgement *j)
{
    const struct dlb_gap_python *python = setting->python;
    const struct dlb_gap_judged *loader = dlb_gap_measured(j, "torch-dataloader");
    const struct dlb_gap_judged *direct = dlb_gap_measured(j, "torch-direct");
    char samples[40], bytes[24], said[sizeof(python->path)], path[sizeof(python->path)];
    (void)one_line(python->path, path, sizeof(path));
    (void)dlb_count_text((double)setting->params->samples, samples, sizeof(samples));
    (void)dlb_bytes_text(dlb_gap_array_bytes(setting->params), bytes, sizeof(bytes));
    if (loader && direct)
        add(j,
            "The gap on this machine: %.3gx%s%s. A DataLoader that shuffles, without workers, "
            "takes "
            "%s for %s samples (%s); slicing them in order takes %s (torch %s of %.*s).\n",
            loader->to_direct, range_of(loader, direct).text,
            dlb_gap_is_faster(j, direct, loader)
                ? ""
                : ", which these repetitions do not tell from none",
            duration(loader->seconds.median).text, samples, bytes,
            duration(direct->seconds.median).text, python->torch, DLB_CUT(path, 200));
    else if (!python->found)
        add(j, "PyTorch was not measured, so there is no gap to show: %s.\n",
            one_line(python->reason, said, sizeof(said)));
    else
        add(j, "The gap is the ratio of torch-dataloader to torch-direct, and one of the two was "
               "not measured.\n");
    say_case(setting, j);
}

/* The interval of a part, and how it is known. The closure's name says it. */
static struct phrase between(const struct dlb_gap_share *part, double total)
{
    struct phrase p = {""};
    const char *label = dlb_gap_label_names[part->label];
    bool closure = part->label == DLB_GAP_CLOSURE;
    if (isfinite(part->low) && total > 0)
        (void)snprintf(p.text, sizeof(p.text), " (%.1f to %.1f%%%s%s)", part->low / total * 100,
                       part->high / total * 100, closure ? "" : ", ", closure ? "" : label);
    else if (!closure)
        (void)snprintf(p.text, sizeof(p.text), " (%s)", label);
    return p;
}

static void say_parts(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_share *items = &j->part[DLB_GAP_CAUSE_INDEXING];
    const struct dlb_gap_share *missed = &j->part[DLB_GAP_CAUSE_MISSES];
    bool first = true;
    if (!j->decomposed)
        return;
    add(j, "Where these %s go: ", duration(j->total_seconds).text);
    for (int i = 0; i < DLB_GAP_N_CAUSES; i++) {
        double frac = j->part[i].seconds / j->total_seconds;
        if (!isfinite(frac) || (fabs(frac) < 0.0005 && i != DLB_GAP_CAUSE_CLOSURE))
            continue;
        add(j, "%s%s %.1f%%%s", first ? "" : ", ", dlb_gap_cause_names[i], frac * 100,
            between(&j->part[i], j->total_seconds).text);
        first = false;
    }
    add(j, ".");
    if (isfinite(items->seconds))
        add(j,
            " %s asks for whole lists instead of items, which saves %s of %s and %s together; time "
            "stamps split it.",
            items->removed_by, duration(items->removes_seconds).text,
            dlb_gap_cause_names[DLB_GAP_CAUSE_INDEXING], items->removed_with);
    else
        add(j, " Per-item indexing and stacking are in the closure: no rung that was measured "
               "removes them.");
    if (isfinite(missed->removes_seconds))
        add(j, " Stacking in order instead of shuffled saves %s.",
            duration(missed->removes_seconds).text);
    else
        add(j, " Stacking in order was not measured, so the shuffle's misses are in stacking.");
    if (j->n_blocks >= DLB_MEAN_MIN_N)
        add(j, " Intervals are 95%%, from differences within each of %" PRIu32 " blocks.",
            j->n_blocks);
    else
        add(j, " Intervals need gap.repeats of %d and more.", DLB_MEAN_MIN_N);
    add(j, " Page faults are counted and priced, copies and start-up have time stamps; no rung "
           "removes them. The closure is what is left of the sum.\n");
}

static void say_cure(const struct dlb_gap_cure *cure, const char *before,
                     struct dlb_gap_judgement *j)
{
    add(j, "%s %s (%s) %.3gx as fast%s", before, cure->rung->name, cure->how, cure->gain,
        cure->tied ? ", not told apart from the one before" : "");
}

static void say_cures(struct dlb_gap_judgement *j)
{
    uint32_t i = 0;
    for (; i < j->n_cures && j->cure[i].helps; i++)
        say_cure(&j->cure[i], i == 0 ? "What closes it, in order of gain:" : ";", j);
    if (i > 0)
        add(j, ".\n");
    for (uint32_t first = i; i < j->n_cures; i++)
        say_cure(&j->cure[i],
                 i == first ? "What does not close it, as far as these repetitions show:" : ";", j);
    if (j->n_cures > 0 && !j->cure[j->n_cures - 1].helps)
        add(j, ".\n");
}

/* What the workers do meanwhile: they read random rows from memory, and make their order. */
static struct phrase say_working(const struct dlb_gap_params *params,
                                 const struct dlb_rung_result *shown)
{
    struct phrase p = {""};
    double gather_s = dlb_rung_part_s(&shown->worker_parts, "gather");
    double order_s = dlb_rung_part_s(&shown->worker_parts, "permutation");
    char rate[24];

    if (gather_s > 0 && isfinite(order_s))
        (void)snprintf(
            p.text, sizeof(p.text),
            "; each worker gathers rows at %s/s (%.0f ns a row) and spends %.0f%% of its time on "
            "their order",
            dlb_bytes_text((uint64_t)((double)dlb_gap_array_bytes(params) / gather_s), rate,
                           sizeof(rate)),
            gather_s * 1e9 / (double)params->samples, order_s / (gather_s + order_s) * 100);
    return p;
}

/* What the loop of the dlbench rung waits for most. */
static void say_bound(const struct dlb_gap_setting *setting, struct dlb_gap_judgement *j)
{
    static const struct {
        const char *part, *words;
    } known[] = {{"wait", "its workers"}, {"sync", "the device"}, {"copy", "copies to the device"}};
    const struct dlb_gap_judged *rung = dlb_gap_measured(j, "dlbench");
    double most = 0;
    const char *words = NULL;
    if (!rung || !rung->shown)
        return;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        double seconds = dlb_rung_part_s(&rung->shown->parts, known[i].part);
        if (seconds > most) {
            most = seconds;
            words = known[i].words;
        }
    }
    if (!words)
        return;
    add(j, "The dlbench rung");
    if (isfinite(rung->to_direct) && isfinite(rung->to_floor))
        add(j, " takes %.3gx as long as direct and %.3gx as long as the floor. Its loop",
            rung->to_direct, rung->to_floor);
    else
        add(j, "'s loop");
    add(j, " waits for %s for %.0f%% of its time%s.\n", words, most / rung->shown->seconds * 100,
        say_working(setting->params, rung->shown).text);
}

static double process_cpu_s(const struct dlb_rung_result *result, const char *name)
{
    uint64_t ns = result->os.process.cpu_ns;
    (void)name;
    return ns == DLB_NOT_MEASURED ? (double)NAN : (double)ns * 1e-9;
}

static double process_faults(const struct dlb_rung_result *result, const char *name)
{
    uint64_t n = result->os.process.minor_faults;
    (void)name;
    return n == DLB_NOT_MEASURED ? (double)NAN : (double)n;
}

/* What fresh memory costs: the two transport rungs differ in nothing else. */
static void say_faults(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *fresh = dlb_gap_measured(j, "transport");
    const struct dlb_gap_judged *pooled = dlb_gap_measured(j, "transport-pooled");
    char count[40], change[200] = "is as long, as far as these repetitions show";
    if (!fresh || !pooled || !fresh->shown)
        return;
    const struct dlb_rung_faults *faults = &fresh->shown->faults;
    double saved_s =
        dlb_gap_over(fresh, process_cpu_s, NULL) - dlb_gap_over(pooled, process_cpu_s, NULL);
    double priced_s =
        (dlb_gap_over(fresh, process_faults, NULL) - dlb_gap_over(pooled, process_faults, NULL)) *
        faults->ns * 1e-9;
    double shorter_s = fresh->seconds.median - pooled->seconds.median;
    if (!(saved_s > 0) || !isfinite(priced_s))
        return;
    if (dlb_gap_is_faster(j, pooled, fresh) || dlb_gap_is_faster(j, fresh, pooled))
        (void)snprintf(change, sizeof(change), "is %s %s", duration(fabs(shorter_s)).text,
                       shorter_s < 0 ? "longer" : "shorter");
    add(j,
        "Page faults: filling a fresh batch takes %s faults of %.0f ns of CPU time each. Reusing "
        "memory (transport-pooled instead of transport) saves %s of CPU time in all processes; the "
        "price of faults explains %.0f%% of that. The epoch %s.\n",
        dlb_count_text(round(faults->per_batch), count, sizeof(count)), faults->ns,
        duration(saved_s).text, priced_s / saved_s * 100, change);
}

static void say_shape(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *shape = dlb_gap_measured(j, "per-sample");
    if (shape && isfinite(shape->to_direct))
        add(j,
            "The same work in C, one sample at a time without an interpreter (per-sample), takes "
            "%.3gx as long as direct.\n",
            shape->to_direct);
    say_faults(j);
}

static void say_polls(struct dlb_gap_judgement *j)
{
    for (uint32_t i = 0; i < j->n_rungs; i++) {
        const struct dlb_gap_judged *rung = &j->rung[i];
        uint64_t n = rung->shown ? rung->shown->n_liveness_polls : 0;
        if (rung->status == DLB_GAP_OK && n > 0 && n != DLB_NOT_MEASURED)
            add(j,
                "%" PRIu64 " wait%s of 5.0 s in %s: DataLoader stops waiting for a batch to check "
                "that its workers are alive, and then waits again. This is not a stall.\n",
                n, n == 1 ? "" : "s", rung->name);
    }
}

#define BUSY_FRAC 0.05 /* of an epoch, in which the loop was ready and had no CPU */

static void say_busy(struct dlb_gap_judgement *j)
{
    if (j->busy_rung && j->busy_frac >= BUSY_FRAC)
        add(j,
            "The machine was busy: in %s the training loop, the only thread of its process, waited "
            "for a CPU for %.0f%% of an epoch. Times and parts include such waits.\n",
            j->busy_rung->name, j->busy_frac * 100);
}

/* The kernel does not account stolen time to threads. */
static void say_stolen(const struct dlb_gap_setting *setting, struct dlb_gap_judgement *j)
{
    if (setting->stolen_frac >= DLB_OS_STOLEN_NOTED)
        add(j,
            "The hypervisor gave %.0f%% of this machine's CPU time to other guests meanwhile "
            "(steal in /proc/stat). Times and parts include that, and a thread that it stopped is "
            "shown as blocked.\n",
            setting->stolen_frac * 100);
}

void dlb_gap_words(const struct dlb_gap_setting *setting, struct dlb_gap_judgement *j)
{
    say_gap(setting, j);
    say_parts(j);
    say_cures(j);
    say_bound(setting, j);
    say_shape(j);
    say_polls(j);
    say_busy(j);
    say_stolen(setting, j);
}

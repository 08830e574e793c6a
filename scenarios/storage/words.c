#include "scenarios/storage/words.h"

#include "core/base/escape.h"
#include "scenarios/judge/note.h"
#include "scenarios/storage/sizing.h"

#include <stdio.h>
#include <string.h>

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static const char *are(uint32_t n)
{
    return n == 1 ? "is" : "are";
}

/* "H100 accelerators of resnet50 on each of 4 ranks (20 in all)", as far as there are such names
 * and ranks; for n of them. */
static void name_accelerator(const struct dlb_storage_outcome *o, uint32_t n_named, char *text,
                             size_t n_text)
{
    const struct dlb_workload_opts *workload = &o->plan->cells[0].spec->workload;
    const char *name = dlb_workload_accelerators[workload->accelerator];
    uint32_t n_ranks = dlb_storage_n_ranks(o);
    char all[40] = "", ranks[80] = "";
    if (o->n > 0)
        (void)snprintf(all, sizeof(all), " (%llu in all)", (unsigned long long)o->n * n_ranks);
    if (n_ranks > 1)
        (void)snprintf(ranks, sizeof(ranks), " on each of %u ranks%s", n_ranks, all);
    bool named = workload->accelerator > 0;
    size_t n = 0;
    if (named)
        for (; name[n] && n + 1 < n_text; n++)
            text[n] = name[n] >= 'a' && name[n] <= 'z' ? (char)(name[n] - 'a' + 'A') : name[n];
    text[n] = '\0';
    (void)snprintf(text + n, n_text - n, "%saccelerator%s%s%.*s%s", named ? " " : "",
                   plural(n_named), workload->name[0] ? " of " : "", DLB_CUT(workload->name, 60),
                   ranks);
}

/* Where the bytes came from if not from the storage, as a part of a sentence. */
static const char *fed_from(const struct dlb_storage_outcome *o)
{
    const struct dlb_judged_cell *cell = dlb_storage_judged(o, o->best >= 0 ? o->best : o->beyond);
    if (!cell || !cell->shown || !(dlb_measured(cell->shown->cache.delivered_bytes) > 0))
        return "";
    switch (cell->evidence.cache) {
    case DLB_CACHE_WARM:
        return " from the page cache, not from the storage,";
    case DLB_CACHE_MIXED:
        return " in part from the page cache, not from the storage,";
    case DLB_CACHE_UNKNOWN:
        return " from the storage or the page cache (which is not known)";
    case DLB_CACHE_COLD:
        break;
    }
    return "";
}

/* The interval, as a part of a sentence, and what it comes from. */
static void say_range(const struct dlb_storage_outcome *o, char *text, size_t n_text)
{
    const struct dlb_search_step *s = &o->step;
    const struct dlb_knee *knee = &s->knee;
    text[0] = '\0';
    if (!s->done || s->capped || s->high == UINT32_MAX)
        return;
    if (s->fitted) {
        (void)snprintf(text, n_text, " (95%% interval: %u to %u, by a curve through %u runs)",
                       s->low, s->high, knee->n_values);
        return;
    }
    int n = snprintf(text, n_text, " (%u to %u by %u repetition%s", s->low, s->high,
                     o->view.search.repeats, plural(o->view.search.repeats));
    bool misfit = knee->fitted && knee->lack_of_fit_p < DLB_KNEE_LACK_P;
    (void)snprintf(text + n, n_text - (size_t)n, misfit ? "; no curve fits, p = %.2g)" : ")",
                   knee->lack_of_fit_p);
}

void dlb_storage_words(const struct dlb_storage_outcome *o, struct dlb_judgement *j)
{
    const struct dlb_search_step *s = &o->step;
    double gate = o->view.search.gate * 100;
    const char *from = fed_from(o);
    const char *each = o->plan->cells[0].spec->run.world > 1 ? " on every rank" : "";
    char what[200], range[120];
    bool none = s->capped && o->n == 0;
    name_accelerator(o, none ? 1 : o->n, what, sizeof(what));
    say_range(o, range, sizeof(range));
    if (s->cut && !o->view.stopped)
        (void)snprintf(
            j->text, sizeof(j->text),
            "When storage.max_minutes was spent, %u %s %s fed%s at %.0f%% utilisation or "
            "more%s%s%s.",
            o->n, what, o->n == 1 ? "was" : "were", from, gate, each, range,
            s->high == UINT32_MAX ? "; no larger number was tried" : "");
    else if (!o->settled)
        (void)snprintf(j->text, sizeof(j->text),
                       "Not settled: %u %s %s fed%s at %.0f%% utilisation%s when it ended.", o->n,
                       what, o->n == 1 ? "was" : "were", from, gate, each);
    else if (none)
        (void)snprintf(j->text, sizeof(j->text), "Not even one %s could be run: %s.", what, o->why);
    else if (s->capped)
        (void)snprintf(j->text, sizeof(j->text),
                       "At least %u %s %s fed%s at %.0f%% utilisation or more%s: %s.", o->n, what,
                       are(o->n), from, gate, each, o->why);
    else
        (void)snprintf(j->text, sizeof(j->text),
                       "%u %s %s fed%s at %.0f%% utilisation or more%s%s. One more: %s; %s.", o->n,
                       what, are(o->n), from, gate, each, range, dlb_bottleneck_name(o->bottleneck),
                       o->why);
}

void dlb_storage_notes(const struct dlb_storage_outcome *o, struct dlb_judgement *j)
{
    uint32_t missed, above = dlb_search_kept_above(&o->view.search, &missed);
    bool synthetic = strcmp(dlb_spec_format(o->plan->cells[0].spec)->name, "synthetic") == 0;

    char who[48] = "one accelerator";
    if (dlb_storage_n_of_all(o) > 1)
        (void)snprintf(who, sizeof(who), "each of %llu accelerators",
                       (unsigned long long)dlb_storage_n_of_all(o));
    if (!synthetic && !o->cold_proof)
        dlb_note(
            j->notes, DLB_NOTE_NOT_COLD_PROOF,
            "not cold-proof: the data set is less than %d times the memory, so that caches can "
            "hold what is read again",
            DLB_SIZING_RAM_MULTIPLE);
    if (!synthetic && o->steps_per_epoch < DLB_SIZING_STEPS)
        dlb_note(j->notes, DLB_NOTE_EPOCH_SHORT,
                 "the data set lasts %s for %llu step%s an epoch; MLPerf Storage asks for %d", who,
                 (unsigned long long)o->steps_per_epoch, plural(o->steps_per_epoch),
                 DLB_SIZING_STEPS);
    if (above > 0)
        dlb_note(j->notes, DLB_NOTE_NOT_MONOTONE,
                 "the curve is not monotone: %u accelerators kept the gate where %u missed it; the "
                 "number given is the largest below the first that misses it",
                 above, missed);
}

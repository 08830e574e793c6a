#include "core/measure/verdict_say.h"

#include <math.h>
#include <string.h>

#define MOST_SHOWN 100  /* of a gain; a bound above it says nothing */
#define LATE_SHOWN 0.01 /* of late copies */

static const char one_repetition[] = "one repetition, taken as known to 5%"; /* DLB_GAIN_OF_ONE */

/* Measured, never worked out from the shares: what else is exposed depends on what overlaps. */
void dlb_say_gain(struct words *w, const struct dlb_evidence *e)
{
    const struct dlb_gain *gain = &e->gain;
    if (gain->n == 0 || !isfinite(gain->median)) {
        say(w, "how much faster it would run with data always ready was not measured. ");
        return;
    }
    say(w, "with data always ready it would run %s faster", times(gain->median).text);
    struct number low = times(gain->low), high = times(gain->high);
    bool says_more = strcmp(low.text, high.text) != 0; /* the two figures differ as printed */
    if (gain->n == 1)
        say(w, " (%s)", one_repetition);
    else if (!isnan(gain->low) && !isnan(gain->high) && says_more)
        say(w, " (measured: %s to %s)", low.text, high.text);
    say(w, ". ");
}

void dlb_say_at_most(struct words *w, const char *before, const struct dlb_evidence *e,
                     const struct dlb_finding *f)
{
    if (f->side == DLB_GAIN_UNKNOWN)
        return;
    say(w, "%sfaster loading would gain at most %s", before, times(fmax(f->gain_high, 1)).text);
    if (e->gain.n == 1)
        say(w, " (%s)", one_repetition);
}

void dlb_say_refuted(struct words *w, const struct dlb_evidence *e, const struct dlb_finding *f)
{
    const struct dlb_gain *gain = &e->gain;
    say(w,
        "%s waited for data %s of the time, but the same step with data always ready is not "
        "clearly faster",
        device_name(e), percent(f->input_frac).text);
    if (gain->n == 1 && isfinite(gain->median))
        say(w, " (%s; %s)", times(gain->median).text, one_repetition);
    else if (isfinite(gain->median) && isfinite(gain->low) && isfinite(gain->high))
        say(w, " (%s; %s to %s)", times(gain->median).text, times(gain->low).text,
            times(gain->high).text);
}

void dlb_say_copies(struct words *w, const struct dlb_finding *f)
{
    bool in_time = f->h2d_frac >= DLB_SHARE_WARN;
    if (f->late_frac >= LATE_SHOWN)
        say(w, "Copies took another %s: they started late because their batches came late%s. ",
            percent(f->late_frac).text,
            in_time ? "" : ", so a faster link alone would gain nothing");
    if (in_time)
        say(w,
            "Copies of batches that came in time took another %s: a faster link would gain at "
            "most %s. ",
            percent(f->h2d_frac).text, times(1 / (1 - f->h2d_frac)).text);
}

static void say_lost_gain(struct words *w, const struct dlb_evidence *e,
                          const struct dlb_finding *f)
{
    say(w,
        "Noise is the reason, not a gain near %s, from which on loading is the limit: the %u "
        "repetitions differ so much that anything from less than that to more than %s is "
        "possible. ",
        times(DLB_GAIN_CLEAR).text, e->gain.n, times(DLB_GAIN_CRITICAL).text);
    if (f->input_frac >= DLB_SHARE_WARN)
        say(w,
            "The wait of %s was measured, but what disturbed the repetitions may have caused it. ",
            percent(f->input_frac).text);
    say(w, "Try: a quiet machine; this cell alone with more repetitions (`dlbench run`, "
           "run.repeats).");
}

void dlb_say_borderline(struct words *w, const struct dlb_evidence *e, const struct dlb_finding *f)
{
    say(w, "%s computed %s of the time and waited for data %s; ", device_name(e),
        percent(f->compute_frac).text, percent(f->input_frac).text);
    dlb_say_gain(w, e);
    if (f->side == DLB_GAIN_ABOVE) {
        say(w, "That is more than the wait explains, so the ceiling is faster for another reason, "
               "too. Try: a quiet machine; longer steps (larger batches).");
        return;
    }
    dlb_say_copies(w, f);
    if (f->gain_high <= MOST_SHOWN)
        say(w, "Faster loading would gain at most %s. ", times(f->gain_high).text);
    if (dlb_gain_is_lost(&e->gain)) {
        say_lost_gain(w, e, f);
        return;
    }
    say(w, "Loading is the limit if it would gain more than %s, and ", times(DLB_GAIN_CLEAR).text);
    if (e->gain.n == 1)
        say(w, "one repetition does not tell");
    else
        say(w, "%u repetitions do not tell", e->gain.n);
    say(w, " whether it would. Try: this cell alone with more repetitions (`dlbench run`, "
           "run.repeats); a quiet machine.");
}

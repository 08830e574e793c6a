/* How the verdict's sentences are put together, and those about the gain.
 *
 * Floor 1, private to core/measure. Pure functions, any thread. */
#ifndef DLB_CORE_MEASURE_VERDICT_SAY_H
#define DLB_CORE_MEASURE_VERDICT_SAY_H

#include "core/measure/verdict_terms.h"

#include <stdarg.h>
#include <stdio.h>

struct words {
    char *text;
    size_t used, cap;
};

static inline void say(struct words *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline void say(struct words *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int len = vsnprintf(w->text + w->used, w->cap - w->used, fmt, args);
    va_end(args);
    if (len > 0)
        w->used += (size_t)len < w->cap - w->used ? (size_t)len : w->cap - w->used - 1;
}

struct number {
    char text[24];
};

static inline struct number percent(double frac)
{
    struct number out;
    double value = 100.0 * frac;
    (void)snprintf(out.text, sizeof out.text, value > 0.0 && value < 9.95 ? "%.1f%%" : "%.0f%%",
                   value);
    return out;
}

static inline struct number times(double ratio)
{
    struct number out;
    if (ratio > 100.0)
        (void)snprintf(out.text, sizeof out.text, "more than 100x");
    else
        (void)snprintf(out.text, sizeof out.text,
                       ratio >= 9.95    ? "%.0fx"
                       : ratio >= 1.995 ? "%.1fx"
                                        : "%.2fx",
                       ratio);
    return out;
}

static inline const char *device_name(const struct dlb_evidence *e)
{
    return e->gpu ? "the GPU" : "the emulated accelerator";
}

/* "it would run 1.38x faster (measured: 1.36x to 1.42x). " */
void dlb_say_gain(struct words *w, const struct dlb_evidence *e);

/* "faster loading would gain at most 1.03x", or nothing where no ceiling tells; after `before`. */
void dlb_say_at_most(struct words *w, const char *before, const struct dlb_evidence *e,
                     const struct dlb_finding *f);

/* "... waited for data 14% of the time, but ...", without the full stop. */
void dlb_say_refuted(struct words *w, const struct dlb_evidence *e, const struct dlb_finding *f);

/* What exposed copies took beside a wait for data; nothing where it was little. */
void dlb_say_copies(struct words *w, const struct dlb_finding *f);

void dlb_say_borderline(struct words *w, const struct dlb_evidence *e, const struct dlb_finding *f);

#endif

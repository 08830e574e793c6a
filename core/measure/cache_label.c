#include "core/measure/cache_label.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct sentence {
    char *text;
    size_t n;
};

__attribute__((format(printf, 3, 4))) static enum dlb_cache_label
because(enum dlb_cache_label label, struct sentence why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why.text, why.n, fmt, args);
    va_end(args);
    return label;
}

static double percent(double part, double whole)
{
    return 100.0 * part / whole;
}

/* Everything delivered was fetched. */
static bool covers(double fetched, double delivered)
{
    return fetched >= (1 - DLB_CACHE_BYTES_TOLERANCE) * delivered;
}

/* Next to nothing of what was delivered was fetched. */
static bool is_spared(double fetched, double delivered)
{
    return fetched <= DLB_CACHE_BYTES_TOLERANCE * delivered + DLB_CACHE_OWN_BYTES;
}

/* What was fetched for this process, by its own account where that counts, else by the device's,
 * which other programs may swell; NaN. */
static double fetched_bytes(const struct dlb_cache_evidence *e)
{
    return e->counted && isfinite(e->process_bytes) ? e->process_bytes : e->device_bytes;
}

static enum dlb_cache_label contradiction(const struct dlb_cache_evidence *e, double share,
                                          struct sentence why)
{
    return because(DLB_CACHE_UNKNOWN, why,
                   "the counters contradict each other: the process was charged %.1f%% of what "
                   "was delivered, the device gave %.1f%%",
                   share, percent(e->device_bytes, e->delivered_bytes));
}

static enum dlb_cache_label judge_direct(const struct dlb_cache_evidence *e, double fetched,
                                         struct sentence why)
{
    double share = percent(fetched, e->delivered_bytes);
    if (!isfinite(fetched))
        return because(DLB_CACHE_UNKNOWN, why,
                       "reads went past the page cache, but what came from the device cannot be "
                       "seen");
    if (covers(fetched, e->delivered_bytes) && isfinite(e->device_bytes) &&
        !covers(e->device_bytes, e->delivered_bytes))
        return contradiction(e, share, why);
    if (covers(fetched, e->delivered_bytes))
        return because(DLB_CACHE_COLD, why,
                       "reads went past the page cache, and storage gave %.0f%% of what was "
                       "delivered",
                       share);
    return because(DLB_CACHE_MIXED, why,
                   "reads were to go past the page cache, but storage gave only %.1f%% of what was "
                   "delivered",
                   share);
}

static enum dlb_cache_label judge_empty(const struct dlb_cache_evidence *e, double fetched,
                                        struct sentence why)
{
    double resident = 100.0 * e->resident_before_frac;
    double share = percent(fetched, e->delivered_bytes);
    if (!isfinite(fetched))
        return because(DLB_CACHE_UNKNOWN, why,
                       "%.1f%% was in the page cache, but what came from the device cannot be seen",
                       resident);
    if (!covers(fetched, e->delivered_bytes))
        return because(DLB_CACHE_MIXED, why,
                       "%.1f%% was in the page cache before, but storage gave only %.1f%% of what "
                       "was delivered: the rest was delivered twice (an earlier epoch, windows "
                       "that overlap), or is not stored (sparse, compressed)",
                       resident, share);
    if (isfinite(e->device_bytes) && !covers(e->device_bytes, e->delivered_bytes))
        return contradiction(e, share, why);
    return because(DLB_CACHE_COLD, why,
                   "%.1f%% was in the page cache before, and storage gave %.0f%% of what was "
                   "delivered",
                   resident, share);
}

static enum dlb_cache_label judge_filled(const struct dlb_cache_evidence *e, double fetched,
                                         struct sentence why)
{
    double resident = 100.0 * e->resident_before_frac;
    if (!isfinite(fetched))
        return because(DLB_CACHE_UNKNOWN, why,
                       "%.1f%% was in the page cache, but what came from storage all the same "
                       "cannot be seen",
                       resident);
    if (e->resident_before_frac >= DLB_WARM_RESIDENT_MIN && is_spared(fetched, e->delivered_bytes))
        return because(DLB_CACHE_WARM, why,
                       "%.1f%% was in the page cache before, and storage gave %.1f%% of what was "
                       "delivered",
                       resident, percent(fetched, e->delivered_bytes));
    return because(DLB_CACHE_MIXED, why,
                   "%.1f%% was in the page cache before; storage gave %.1f%% of what was delivered",
                   resident, percent(fetched, e->delivered_bytes));
}

enum dlb_cache_label dlb_cache_judge(const struct dlb_cache_evidence *e, char *text, size_t n_text)
{
    struct sentence why = {text, n_text};
    double fetched = fetched_bytes(e);

    if (!(isfinite(e->delivered_bytes) && e->delivered_bytes > 0))
        return because(DLB_CACHE_UNKNOWN, why, "nothing was read from files");
    if (e->in_memory)
        return because(DLB_CACHE_WARM, why,
                       "the files lie in memory: there is no storage below them");
    if (e->direct)
        return judge_direct(e, fetched, why);
    if (e->elsewhere)
        return because(DLB_CACHE_UNKNOWN, why,
                       "the file system keeps data in a cache of its own, which cannot be looked "
                       "into");
    if (!isfinite(e->resident_before_frac))
        return because(DLB_CACHE_UNKNOWN, why,
                       "what is in the page cache is told only to those who own the files or may "
                       "write to them");
    return e->resident_before_frac <= DLB_COLD_RESIDENT_MAX ? judge_empty(e, fetched, why)
                                                            : judge_filled(e, fetched, why);
}

enum dlb_cache_label dlb_cache_over(const enum dlb_cache_label *labels, uint32_t n)
{
    enum dlb_cache_label out = n ? labels[0] : DLB_CACHE_UNKNOWN;
    for (uint32_t i = 1; i < n; i++) {
        if (labels[i] == out)
            continue;
        if (labels[i] == DLB_CACHE_UNKNOWN || out == DLB_CACHE_UNKNOWN)
            return DLB_CACHE_UNKNOWN;
        out = DLB_CACHE_MIXED;
    }
    return out;
}

enum dlb_cache_label dlb_cache_metadata(bool dropped, bool held, bool looked_up, bool remote)
{
    /* The kernel keeps the names and inodes of what is open. */
    if (dropped)
        return held ? DLB_CACHE_UNKNOWN : DLB_CACHE_COLD;
    /* A client forgets attributes after a time of its own. */
    return looked_up && !remote ? DLB_CACHE_WARM : DLB_CACHE_UNKNOWN;
}

static const char *const names[] = {[DLB_CACHE_UNKNOWN] = "unknown",
                                    [DLB_CACHE_MIXED] = "mixed",
                                    [DLB_CACHE_WARM] = "warm",
                                    [DLB_CACHE_COLD] = "cold"};

const char *dlb_cache_label_name(enum dlb_cache_label label)
{
    return (unsigned)label < sizeof names / sizeof *names ? names[label] : "?";
}

enum dlb_cache_label dlb_cache_label_of(const char *name)
{
    for (unsigned i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum dlb_cache_label)i;
    return DLB_CACHE_UNKNOWN;
}

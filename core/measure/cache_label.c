#include "core/measure/cache_label.h"

#include "core/base/units.h"

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

struct bytes {
    char text[32];
};

static struct bytes bytes(double n)
{
    struct bytes out;
    (void)dlb_bytes_text(n > 0 && n < 1e19 ? (uint64_t)n : 0, out.text, sizeof out.text);
    return out;
}

/* Whether everything delivered was fetched from storage. */
static bool covers(double fetched, double delivered)
{
    return fetched >= (1 - DLB_CACHE_BYTES_TOLERANCE) * delivered;
}

/* Whether hardly anything was fetched from storage. */
static bool is_spared(double fetched, double delivered)
{
    return fetched <= DLB_CACHE_BYTES_TOLERANCE * delivered + DLB_CACHE_OWN_BYTES;
}

/* Bytes fetched from storage: by the process's own counter where that is valid, else by the
 * device's, which includes other programs. NaN: neither is known. */
static double fetched_bytes(const struct dlb_cache_evidence *e)
{
    return e->counted && isfinite(e->process_bytes) ? e->process_bytes : e->device_bytes;
}

static enum dlb_cache_label contradiction(const struct dlb_cache_evidence *e, double fetched,
                                          struct sentence why)
{
    return because(DLB_CACHE_UNKNOWN, why,
                   "the counters contradict each other: %s were delivered, the process was charged "
                   "for %s, and the device read %s",
                   bytes(e->delivered_bytes).text, bytes(fetched).text,
                   bytes(e->device_bytes).text);
}

static enum dlb_cache_label judge_direct(const struct dlb_cache_evidence *e, double fetched,
                                         struct sentence why)
{
    struct bytes read = bytes(fetched), delivered = bytes(e->delivered_bytes);
    if (!isfinite(fetched))
        return because(DLB_CACHE_UNKNOWN, why,
                       "reads bypassed the page cache, but no counter shows what came from the "
                       "device");
    if (covers(fetched, e->delivered_bytes) && isfinite(e->device_bytes) &&
        !covers(e->device_bytes, e->delivered_bytes))
        return contradiction(e, fetched, why);
    if (covers(fetched, e->delivered_bytes))
        return because(DLB_CACHE_COLD, why,
                       "reads bypassed the page cache: %s read from storage for %s delivered",
                       read.text, delivered.text);
    return because(DLB_CACHE_MIXED, why,
                   "reads should have bypassed the page cache, but only %s were read from storage "
                   "for %s delivered",
                   read.text, delivered.text);
}

static enum dlb_cache_label judge_empty(const struct dlb_cache_evidence *e, double fetched,
                                        struct sentence why)
{
    double resident = 100.0 * e->resident_before_frac;
    struct bytes read = bytes(fetched), delivered = bytes(e->delivered_bytes);
    if (!isfinite(fetched))
        return because(DLB_CACHE_UNKNOWN, why,
                       "%.1f%% was in the page cache before, but no counter shows what came from "
                       "the device",
                       resident);
    if (!covers(fetched, e->delivered_bytes))
        return because(
            DLB_CACHE_MIXED, why,
            "%.1f%% was in the page cache before, but only %s were read from storage for "
            "%s delivered: the rest was delivered twice (an earlier epoch, windows that "
            "overlap), or is not stored (sparse, compressed)",
            resident, read.text, delivered.text);
    if (isfinite(e->device_bytes) && !covers(e->device_bytes, e->delivered_bytes))
        return contradiction(e, fetched, why);
    return because(DLB_CACHE_COLD, why,
                   "%.1f%% was in the page cache before; %s read from storage for %s delivered",
                   resident, read.text, delivered.text);
}

static enum dlb_cache_label judge_filled(const struct dlb_cache_evidence *e, double fetched,
                                         struct sentence why)
{
    double resident = 100.0 * e->resident_before_frac;
    if (!isfinite(fetched))
        return because(DLB_CACHE_UNKNOWN, why,
                       "%.1f%% was in the page cache before, but no counter shows what came from "
                       "storage",
                       resident);
    bool warm =
        e->resident_before_frac >= DLB_WARM_RESIDENT_MIN && is_spared(fetched, e->delivered_bytes);
    return because(warm ? DLB_CACHE_WARM : DLB_CACHE_MIXED, why,
                   "%.1f%% was in the page cache before; %s read from storage for %s delivered",
                   resident, bytes(fetched).text, bytes(e->delivered_bytes).text);
}

enum dlb_cache_label dlb_cache_judge(const struct dlb_cache_evidence *e, char *text, size_t n_text)
{
    struct sentence why = {text, n_text};
    double fetched = fetched_bytes(e);

    if (!isfinite(e->delivered_bytes))
        return because(DLB_CACHE_UNKNOWN, why, "how much was read from files is not known");
    if (!(e->delivered_bytes > 0))
        return because(DLB_CACHE_UNKNOWN, why, "nothing was read from files");
    if (e->in_memory)
        return because(DLB_CACHE_WARM, why,
                       "the files lie in memory: there is no storage below them");
    if (e->direct)
        return judge_direct(e, fetched, why);
    if (e->elsewhere)
        return because(
            DLB_CACHE_UNKNOWN, why,
            "the file system keeps data in a cache of its own, which cannot be inspected");
    if (!isfinite(e->resident_before_frac))
        return because(DLB_CACHE_UNKNOWN, why,
                       "the kernel says what is in the page cache only to users who own the files "
                       "or may write to them");
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
    /* Dropping caches keeps the names and inodes of open files. */
    if (dropped)
        return held ? DLB_CACHE_UNKNOWN : DLB_CACHE_COLD;
    /* A client of a remote file system forgets attributes after some time. */
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

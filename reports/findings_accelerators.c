/* Utilisation of several accelerators and latency of reads, for storage results. */
#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "reports/ranked.h"

#include <math.h>
#include <stdio.h>

static const char *percent(double frac, char *text, size_t n_text)
{
    return dlb_text_percent(DLB_PERCENT_TENTHS, frac, text, n_text);
}

static const char *duration(const json_t *object, const char *key, char *text, size_t n_text)
{
    double ns = dlb_json_number(object, key);
    if (isfinite(ns) && ns >= 0)
        (void)dlb_duration_text(ns / 1e9, text, n_text);
    else
        (void)snprintf(text, n_text, "-");
    return text;
}

static void utilisation(const json_t *cell, double n, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *au = json_object_get(cell, "au");
    char line[400], nominal[24], measured[24], v1[24], v2[24], lowest[24];

    (void)snprintf(
        line, sizeof(line),
        "%.0f accelerators: utilisation %s nominal, %s measured, %s as MLPerf Storage v1.0 counts, "
        "%s as v2.0; the lowest of them %s nominal",
        n, percent(dlb_json_number(au, "nominal"), nominal, sizeof(nominal)),
        percent(dlb_json_number(au, "measured"), measured, sizeof(measured)),
        percent(dlb_json_number(au, "mlperf_v1"), v1, sizeof(v1)),
        percent(dlb_json_number(au, "mlperf_v2"), v2, sizeof(v2)),
        percent(dlb_json_number(json_object_get(au, "lowest"), "nominal"), lowest, sizeof(lowest)));
    dlb_text_fold(out, line, 0, n_columns);
}

static void reads(const json_t *cell, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *r = json_object_get(cell, "reads");
    double count = dlb_json_number(r, "count"), per_s = dlb_json_number(r, "per_s");
    const char *of = json_string_value(json_object_get(r, "of"));
    char line[400], p50[32], p99[32], p999[32], rate[40] = "-";

    if (!(count > 0))
        return;
    if (isfinite(per_s))
        (void)dlb_count_text(round(per_s), rate, sizeof(rate));
    (void)snprintf(line, sizeof(line), "reads of %.*s: p50 %s, p99 %s, p99.9 %s; %s/s",
                   DLB_CUT(of ? of : "-", 20), duration(r, "p50_ns", p50, sizeof(p50)),
                   duration(r, "p99_ns", p99, sizeof(p99)),
                   duration(r, "p999_ns", p999, sizeof(p999)), rate);
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_findings_accelerators(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *cell = dlb_ranked_best(doc);
    double n = dlb_json_number(json_object_get(cell, "accelerators"), "count");
    if (!(n > 1))
        return;
    dlb_text_printf(out, "\n");
    utilisation(cell, n, n_columns, out);
    reads(cell, n_columns, out);
}

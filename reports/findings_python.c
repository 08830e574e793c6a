/* Of cells that PyTorch loads: where Python's time went. */
#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 24

/* What PyTorch is, and what measuring it cost. */
static void say_cost(const json_t *python, uint32_t n_columns, struct dlb_text *out)
{
    double trip_us = dlb_json_number(python, "round_trip_us");
    double stamp_ns = dlb_json_number(python, "stamp_ns"),
           frac = dlb_json_number(python, "stamps_frac");
    char line[400];

    int n = snprintf(line, sizeof(line), "Python %.*s with torch %.*s",
                     DLB_CUT(dlb_text_shown(python, "python"), 30),
                     DLB_CUT(dlb_text_shown(python, "torch"), 60));
    if (isfinite(trip_us))
        n += snprintf(line + n, sizeof(line) - (size_t)n,
                      "; a question and its answer take %.3g us a batch", trip_us);
    if (isfinite(stamp_ns) && isfinite(frac))
        (void)snprintf(line + n, sizeof(line) - (size_t)n,
                       "; time stamps took %.2g%% of the work (%.3g ns each)", 100 * frac,
                       stamp_ns);
    dlb_text_printf(out, "\n");
    dlb_text_fold(out, line, 0, n_columns);
}

/* __getitem__ and collate are the whole; what lies within __getitem__ is a part of it. */
static double work_ns(const json_t *stages)
{
    const json_t *one;
    double sum = 0;
    size_t i;

    json_array_foreach(stages, i, one) {
        const char *part = dlb_json_text(one, "part");
        if (strcmp(part, "read") == 0 || strcmp(part, "collate") == 0)
            sum += dlb_json_number(one, "sum_ns");
    }
    return sum;
}

/* Of these __getitem__ was called once for each. */
static double n_samples(const json_t *stages)
{
    const json_t *one;
    double n = 0;
    size_t i;

    json_array_foreach(stages, i, one)
        if (strcmp(dlb_json_text(one, "part"), "read") == 0)
            n = dlb_json_number(one, "count");
    return n;
}

/* The training loop's `next`, and transport, which is of both sides, have no share in the workers'
 * work. */
static void say_stage(const json_t *stage, double n, double all_ns, struct dlb_text *out)
{
    const char *name = dlb_json_text(stage, "name");
    double ns = dlb_json_number(stage, "sum_ns");
    bool apart = (strcmp(name, "next") == 0 || strcmp(name, "transport") == 0) &&
                 json_is_null(json_object_get(stage, "part"));
    size_t width = dlb_text_width(name, NAME_WIDTH);

    dlb_text_printf(out, "  ");
    dlb_text_plain(out, name, NAME_WIDTH);
    dlb_text_printf(out, "%*s  %11.4g", width < NAME_WIDTH ? (int)(NAME_WIDTH - width) : 0, "",
                    ns / n / 1e6);
    if (apart || !(all_ns > 0))
        dlb_text_printf(out, "      -\n");
    else
        dlb_text_printf(out, "  %4.0f%%\n", 100 * ns / all_ns);
}

void dlb_findings_python(const json_t *cell, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *python = json_object_get(cell, "python"),
                 *stages = json_object_get(python, "stages"), *one;
    double n = n_samples(stages), all_ns = work_ns(stages);
    size_t i;

    if (!json_is_object(python))
        return;
    say_cost(python, n_columns, out);
    if (!(n > 0))
        return;
    dlb_text_printf(out, "  %-*s  %11s  %5s\n", NAME_WIDTH, "stage", "ms a sample", "share");
    json_array_foreach(stages, i, one)
        say_stage(one, n, all_ns, out);
}

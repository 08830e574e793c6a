#include "bench/calibrate/calibrate.h"

#include "core/base/escape.h"
#include "core/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Steps that vary less than this are taken as constant. */
#define CONSTANT_FRAC 0.01
#define BUSY_RATIO 1.1 /* of mean to median, from which on the text says so */

static void put_date(char text[16])
{
    struct tm now;
    time_t seconds = time(NULL);
    text[0] = '\0';
    if (localtime_r(&seconds, &now))
        (void)strftime(text, 16, "%Y-%m-%d", &now);
}

void dlb_calibrated_from(const json_t *answer, struct dlb_calibrated *out)
{
    char date[16], torch[64] = "";
    double stdev_ms = dlb_json_number(answer, "stdev_ms");
    *out = (struct dlb_calibrated){.step_ms = dlb_json_number(answer, "mean_ms")};
    bool varies = stdev_ms > CONSTANT_FRAC * out->step_ms;
    out->step_dist = varies ? "lognormal" : "constant";
    out->step_stdev_ms = varies ? stdev_ms : 0;
    put_date(date);
    if (dlb_json_text(answer, "torch")[0])
        (void)snprintf(torch, sizeof torch, ", torch %.*s",
                       DLB_CUT(dlb_json_text(answer, "torch"), 40));
    (void)snprintf(out->step_source, sizeof out->step_source,
                   "dlbench calibrate %.*s: %.0f steps by %.*s, %.*s%s, %s",
                   DLB_CUT(dlb_json_text(answer, "target"), 500), dlb_json_number(answer, "steps"),
                   DLB_CUT(dlb_json_text(answer, "clock"), 40),
                   DLB_CUT(dlb_json_text(answer, "device"), 200), torch, date);
}

static void comment(struct dlb_text *out, const char *lead, const char *words)
{
    dlb_text_printf(out, "%s", lead);
    dlb_text_plain(out, words, 1000);
    dlb_text_printf(out, "\n");
}

/* Numbers and strings of JSON, whose control characters are escaped, are TOML's, too. */
static void put(struct dlb_text *out, const char *key, json_t *value)
{
    char *text = dlb_json_dumped(dlb_json_made(value), JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
    dlb_text_printf(out, "%s = ", key);
    dlb_text_append(out, text, strlen(text));
    dlb_text_printf(out, "\n");
    free(text);
    json_decref(value);
}

void dlb_calibrate_toml(const json_t *answer, struct dlb_text *out)
{
    struct dlb_calibrated step;
    char line[400];
    dlb_calibrated_from(answer, &step);
    comment(out, DLB_CALIBRATE_MARK, dlb_json_text(answer, "target"));
    (void)snprintf(
        line, sizeof line, "%.*s, by %.*s; torch %.*s, Python %.*s",
        DLB_CUT(dlb_json_text(answer, "device"), 200), DLB_CUT(dlb_json_text(answer, "clock"), 40),
        DLB_CUT(dlb_text_shown(answer, "torch"), 40), DLB_CUT(dlb_json_text(answer, "python"), 40));
    comment(out, "# ", line);
    (void)snprintf(
        line, sizeof line,
        "median %.4g ms, mean %.4g ms, standard deviation %.3g ms, n = %.0f after %.0f of "
        "warm-up",
        dlb_json_number(answer, "median_ms"), dlb_json_number(answer, "mean_ms"),
        dlb_json_number(answer, "stdev_ms"), dlb_json_number(answer, "steps"),
        dlb_json_number(answer, "warmup_steps"));
    comment(out, "# ", line);
    if (!dlb_json_is_true(answer, "settled")) {
        (void)snprintf(
            line, sizeof line,
            "the time ended before the mean was known to 1%%: its standard error is %.2g%%",
            100 * dlb_json_number(answer, "error_frac"));
        comment(out, "# ", line);
    }
    if (dlb_json_number(answer, "mean_ms") > BUSY_RATIO * dlb_json_number(answer, "median_ms"))
        comment(out, "# ",
                "the mean is far above the median: a few steps took much longer; the machine may "
                "have been busy, so measure again");
    dlb_text_printf(out, "[device]\n");
    put(out, "step_ms", json_real(step.step_ms));
    put(out, "step_dist", json_string(step.step_dist));
    put(out, "step_stdev_ms", json_real(step.step_stdev_ms));
    put(out, "step_source", json_string(step.step_source));
}

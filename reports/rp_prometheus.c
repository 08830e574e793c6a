/* Prometheus' text format, for the textfile collector of node_exporter: the figures of the last
 * result as gauges. All samples of a metric stand together, as the format asks. */
#include "core/base/json.h"
#include "reports/estimate.h"
#include "reports/markup.h"
#include "reports/ranked.h"
#include "reports/report.h"
#include "reports/supply.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LABEL_CAP 64 /* of a name, with the zero behind it */

static void put_label(struct dlb_text *out, const char *before, const char *name, const char *value)
{
    struct dlb_text plain = {0};
    dlb_markup_text(&plain, value, DLB_MARKUP_NONE);
    dlb_text_printf(out, "%s%s=\"", before, name);
    for (const char *at = plain.data ? plain.data : ""; *at; at++) {
        if (*at == '"' || *at == '\\')
            dlb_text_append(out, "\\", 1);
        dlb_text_append(out, at, 1);
    }
    dlb_text_printf(out, "\"");
    dlb_text_free(&plain);
}

/* A key as a name of a label: loader_num_workers. Keys of settings have a dot, so of our own
 * labels only run_name can be meant. One that cannot be such a name would spoil the whole file: it
 * has no label.
 */
static bool label_of(const char *key, char name[LABEL_CAP])
{
    size_t n = strlen(key);
    if (n >= LABEL_CAP || !islower((unsigned char)key[0]) || !strchr(key, '.'))
        return false;
    for (size_t i = 0; i <= n; i++)
        name[i] = (char)(isalnum((unsigned char)key[i]) || !key[i] ? key[i] : '_');
    return strcmp(name, "run_name") != 0;
}

/* Whether an earlier axis has the same name: a label may stand once. */
static bool is_taken(const json_t *axes, const char *key, const char *name)
{
    char other[LABEL_CAP];
    const char *its;
    json_t *ignored;
    json_object_foreach((json_t *)axes, its, ignored) {
        (void)ignored;
        if (strcmp(its, key) == 0)
            return false;
        if (label_of(its, other) && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* In full: values that are cut can be the same. */
static void put_setting(struct dlb_text *out, const char *name, const json_t *value)
{
    char text[40];
    if (json_is_real(value))
        (void)snprintf(text, sizeof(text), "%.10g", json_real_value(value));
    else
        dlb_text_value(value, text, sizeof(text));
    put_label(out, ",", name, json_is_string(value) ? json_string_value(value) : text);
}

static void put_value(struct dlb_text *out, double value)
{
    dlb_text_printf(out, "} %.10g\n", value);
}

/* Several results, and for each how many before it have its name: the collector refuses a file in
 * which two samples have the same labels. */
struct results {
    const json_t *const *docs;
    uint32_t n;
};

static uint32_t n_namesakes(const struct results *results, uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < i; k++)
        n += strcmp(dlb_json_text(results->docs[k], "run_name"),
                    dlb_json_text(results->docs[i], "run_name")) == 0;
    return n;
}

static void begin(struct dlb_text *out, const char *metric, const struct results *results,
                  uint32_t i)
{
    char number[16];
    uint32_t n = n_namesakes(results, i);
    dlb_text_printf(out, "dlbench_%s", metric);
    put_label(out, "{", "run_name", dlb_json_text(results->docs[i], "run_name"));
    put_label(out, ",", "command", dlb_json_text(results->docs[i], "command"));
    if (n > 0) {
        (void)snprintf(number, sizeof(number), "%u", n + 1);
        put_label(out, ",", "result", number);
    }
}

/* A figure of a result; NaN: not measured, no sample. */
static double timestamp(const json_t *doc)
{
    struct tm when = {.tm_isdst = 0};
    const char *text = dlb_json_text(json_object_get(doc, "environment"), "timestamp");
    if (!strptime(text, "%Y-%m-%dT%H:%M:%S%z", &when))
        return (double)NAN;
    double east_s = (double)when.tm_gmtoff; /* timegm() clears it */
    return (double)timegm(&when) - east_s;
}

static double partial(const json_t *doc)
{
    return dlb_json_is_true(doc, "partial");
}

static double noise(const json_t *doc)
{
    return dlb_json_number(doc, "noise_floor_frac");
}

/* The cells of a storage differ in their work, so that none stands for all. */
static bool is_storage(const json_t *doc)
{
    return json_is_object(json_object_get(doc, "storage"));
}

static double demand(const json_t *doc)
{
    return is_storage(doc) ? (double)NAN : dlb_supply_of(doc).needs;
}

static double delivered(const json_t *doc)
{
    return is_storage(doc) ? (double)NAN : dlb_supply_of(doc).gives;
}

static double storage_of(const json_t *doc, const char *key)
{
    return dlb_json_number(json_object_get(doc, "storage"), key);
}

static double fed(const json_t *doc)
{
    return storage_of(doc, "max_accelerators");
}

static double fed_low(const json_t *doc)
{
    return storage_of(doc, "low");
}

static double fed_high(const json_t *doc)
{
    return storage_of(doc, "high");
}

static double waits(const json_t *doc)
{
    return dlb_json_number(json_object_get(doc, "watch"), "wait_frac");
}

static double watched_rate(const json_t *doc)
{
    return dlb_json_number(json_object_get(doc, "watch"), "samples_per_s");
}

static const struct {
    const char *name, *help;
    double (*figure)(const json_t *doc);
} of_result[] = {
    {"result_timestamp_seconds", "When the result was begun, in seconds since 1970.", timestamp},
    {"result_partial", "1: something failed or was interrupted.", partial},
    {"noise_floor_ratio", "The smallest loss that the repetitions can tell.", noise},
    {"demand_samples_per_second", "What the accelerator asks for.", demand},
    {"supply_samples_per_second", "What the cell delivers whose settings are offered.", delivered},
    {"storage_accelerators", "How many accelerators the storage feeds.", fed},
    {"storage_accelerators_low", "The lower end of the interval.", fed_low},
    {"storage_accelerators_high", "The upper end of the interval.", fed_high},
    {"watch_wait_ratio", "Share of the time that a watched loop waits for data.", waits},
    {"watch_samples_per_second", "What a watched loop delivers.", watched_rate},
};

/* A figure of a cell. */
static const json_t *rate_of(const json_t *doc, const json_t *cell)
{
    return json_object_get(cell, dlb_ranked_rate(doc));
}

static double rate(const json_t *doc, const json_t *cell)
{
    return dlb_json_number(rate_of(doc, cell), "median");
}

static double rate_low(const json_t *doc, const json_t *cell)
{
    return dlb_estimate_end(rate_of(doc, cell), "low");
}

static double rate_high(const json_t *doc, const json_t *cell)
{
    return dlb_estimate_end(rate_of(doc, cell), "high");
}

static double idle(const json_t *doc, const json_t *cell)
{
    return dlb_ranked_share(doc, cell, "gpu_idle_frac");
}

static double wait_of(const json_t *doc, const json_t *cell)
{
    return dlb_ranked_share(doc, cell, "input_wait_frac");
}

static double memory(const json_t *doc, const json_t *cell)
{
    (void)doc;
    return dlb_json_number(json_object_get(cell, "memory"), "peak_pss_bytes");
}

static double skipped(const json_t *doc, const json_t *cell)
{
    (void)doc;
    return dlb_json_number(cell, "skipped_frac");
}

static const struct {
    const char *name, *help;
    double (*figure)(const json_t *doc, const json_t *cell);
} of_cell[] = {
    {"samples_per_second", "Median over the repetitions of a cell.", rate},
    {"samples_per_second_low", "The lower end of its interval.", rate_low},
    {"samples_per_second_high", "The upper end of its interval.", rate_high},
    {"gpu_idle_ratio", "Share of the time in which the accelerator does not compute.", idle},
    {"input_wait_ratio", "Share of the time in which it waits for data.", wait_of},
    {"skipped_ratio", "Share of the samples that was skipped (dataset.on_error).", skipped},
    {"peak_pss_bytes", "Memory of all processes of the cell.", memory},
};

/* bench/experiment/exports.c knows a file of ours by the head of the first metric. */
static void head(struct dlb_text *out, const char *name, const char *help)
{
    dlb_text_printf(out, "# HELP dlbench_%s %s\n# TYPE dlbench_%s gauge\n", name, help, name);
}

static void put_cells(const struct results *results, uint32_t result, size_t metric,
                      struct dlb_text *out)
{
    const json_t *doc = results->docs[result];
    const json_t *axes = json_object_get(doc, "axes"), *cell;
    const char *key;
    json_t *axis;
    char number[32], name[LABEL_CAP];
    size_t i;
    json_array_foreach(json_object_get(doc, "cells"), i, cell) {
        double value = of_cell[metric].figure(doc, cell);
        if (!isfinite(value))
            continue;
        begin(out, of_cell[metric].name, results, result);
        (void)snprintf(number, sizeof(number), "%zu", i);
        put_label(out, ",", "cell", number);
        put_label(out, ",", "pipeline", dlb_json_text(cell, "pipeline"));
        json_object_foreach((json_t *)axes, key, axis) {
            (void)axis;
            if (label_of(key, name) && !is_taken(axes, key, name))
                put_setting(out, name, json_object_get(json_object_get(cell, "config"), key));
        }
        put_value(out, value);
    }
}

static void put_verdicts(const struct results *results, struct dlb_text *out)
{
    head(out, "verdict_info", "The verdict, as labels.");
    for (uint32_t i = 0; i < results->n; i++) {
        const json_t *verdict = json_object_get(results->docs[i], "verdict");
        if (!json_is_object(verdict))
            continue;
        begin(out, "verdict_info", results, i);
        put_label(out, ",", "code", dlb_json_text(verdict, "code"));
        put_label(out, ",", "class", dlb_json_text(verdict, "class"));
        put_label(out, ",", "severity", dlb_json_text(verdict, "severity"));
        put_value(out, 1);
    }
}

static void put_rungs(const struct results *results, struct dlb_text *out)
{
    const json_t *rung;
    size_t i;
    head(out, "gap_epoch_seconds", "An epoch on a rung of the in-memory ladder.");
    for (uint32_t k = 0; k < results->n; k++)
        json_array_foreach(json_object_get(json_object_get(results->docs[k], "gap"), "rungs"), i,
                           rung) {
            double s = dlb_json_number(json_object_get(rung, "seconds"), "median");
            if (!isfinite(s))
                continue;
            begin(out, "gap_epoch_seconds", results, k);
            put_label(out, ",", "rung", dlb_json_text(rung, "rung"));
            put_value(out, s);
        }
}

static void render_all(const json_t *const *docs, uint32_t n, const struct dlb_report_opts *opts,
                       struct dlb_text *out)
{
    const struct results results = {docs, n};
    (void)opts;
    for (size_t m = 0; m < sizeof(of_result) / sizeof(of_result[0]); m++) {
        head(out, of_result[m].name, of_result[m].help);
        for (uint32_t i = 0; i < n; i++) {
            double value = of_result[m].figure(docs[i]);
            if (!isfinite(value))
                continue;
            begin(out, of_result[m].name, &results, i);
            put_value(out, value);
        }
    }
    for (size_t m = 0; m < sizeof(of_cell) / sizeof(of_cell[0]); m++) {
        head(out, of_cell[m].name, of_cell[m].help);
        for (uint32_t i = 0; i < n; i++)
            put_cells(&results, i, m, out);
    }
    put_verdicts(&results, out);
    put_rungs(&results, out);
}

static void render(const json_t *doc, const struct dlb_report_opts *opts, struct dlb_text *out)
{
    render_all(&doc, 1, opts, out);
}

const struct dlb_report dlb_rp_prometheus = {
    .name = "prometheus",
    .summary = "gauges for the textfile collector of Prometheus' node_exporter",
    .format = "prometheus",
    .render = render,
    .render_all = render_all,
};

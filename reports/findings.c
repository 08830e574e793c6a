#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "core/measure/verdict.h"
#include "reports/table.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_AXIS_COLUMNS 8

/* Ranks of columns: where the width is short, the highest rank is dropped first. Columns that
 * distinguish rows stay longest; columns that are equal in all rows go first. */
enum { ALWAYS, AXIS, IDLE, WAIT, FIRST_BATCH, READ, SAME };

/* How far a table is squeezed, apart from dropping columns. */
enum { FULL, SHORT_TITLES, NO_INTERVAL, NO_CAUSE };

static bool is_emulated(const json_t *doc)
{
    return strncmp(dlb_json_text(json_object_get(doc, "device"), "name"), "emulated", 8) == 0;
}

#define ALARM_FRAC 0.8 /* GPU-Util below which monitoring usually reports a badly used GPU */

static const json_t *best_cell(const json_t *doc)
{
    const json_t *best = json_object_get(doc, "best_cell");
    return json_is_integer(best)
               ? json_array_get(json_object_get(doc, "cells"), (size_t)json_integer_value(best))
               : NULL;
}

/* The GPU, and what nvidia-smi would have shown beside what the GPU's events show. */
static void gpu_lines(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *gpu = json_object_get(json_object_get(doc, "device"), "gpu");
    const json_t *nvml = json_object_get(gpu, "nvml"), *numa = json_object_get(gpu, "numa"),
                 *throttle = json_object_get(nvml, "throttle");
    const json_t *cell = best_cell(doc);
    double shown = dlb_json_number(nvml, "utilization_frac");
    double idle = dlb_json_number(json_object_get(cell, "gpu_idle_frac"), "median");
    double gen = dlb_json_number(nvml, "pcie_gen"), width = dlb_json_number(nvml, "pcie_width");
    char line[512];

    if (!json_is_object(gpu))
        return;
    (void)snprintf(line, sizeof(line), "gpu:    driver %.*s, CUDA %.*s",
                   DLB_CUT(dlb_text_shown(gpu, "driver"), 30),
                   DLB_CUT(dlb_text_shown(gpu, "runtime_cuda"), 10));
    if (isfinite(gen) && isfinite(width))
        (void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
                       ", PCIe gen %.0f x%.0f under load", gen, width);
    double node = dlb_json_number(numa, "node"), distance = dlb_json_number(numa, "distance");
    if (isfinite(node) && isfinite(distance))
        (void)snprintf(line + strlen(line), sizeof(line) - strlen(line),
                       ", NUMA node %.0f (distance %.0f)%s", node, distance,
                       json_is_true(json_object_get(numa, "bound")) ? ", batch memory there" : "");
    for (size_t i = 0; i < json_array_size(throttle) && i < 4; i++)
        if (json_is_string(json_array_get(throttle, i)))
            (void)snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%.*s",
                           i == 0 ? "; clocks were throttled by " : ", ",
                           DLB_CUT(json_string_value(json_array_get(throttle, i)), 40));
    dlb_text_fold(out, line, 0, n_columns);
    if (!isfinite(shown) || !isfinite(idle))
        return;
    (void)snprintf(line, sizeof(line),
                   "nvidia-smi would have shown %.0f%%, %s the usual alarm threshold of %.0f%%; by "
                   "its events the GPU computed %.1f%% of the time",
                   shown * 100, shown < ALARM_FRAC ? "under" : "above", ALARM_FRAC * 100,
                   (1 - idle) * 100);
    dlb_text_fold(out, line, 0, n_columns);
}

static void bytes_text(const json_t *object, const char *key, char *out, size_t n)
{
    double n_bytes = dlb_json_number(object, key);
    if (n_bytes >= 0 && n_bytes < 1e19)
        (void)dlb_bytes_text((uint64_t)n_bytes, out, n);
    else
        (void)snprintf(out, n, "not measured");
}

/* Where the bytes came from, with the figure of each counter. */
static void cache_lines(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    const json_t *cache = json_object_get(best_cell(doc), "cache");
    char line[1024], device[40], process[40], delivered[40];
    bool differ = false;
    size_t i;

    if (!isfinite(dlb_json_number(cache, "delivered_bytes")) ||
        dlb_json_number(cache, "delivered_bytes") <= 0)
        return;
    json_array_foreach(cells, i, cell) {
        const json_t *other = json_object_get(cell, "cache");
        differ = differ || (json_is_object(other) && !json_equal(json_object_get(other, "label"),
                                                                 json_object_get(cache, "label")));
    }
    bytes_text(cache, "device_bytes", device, sizeof(device));
    bytes_text(cache, "process_bytes", process, sizeof(process));
    bytes_text(cache, "delivered_bytes", delivered, sizeof(delivered));
    (void)snprintf(line, sizeof(line),
                   "cache:  %.*s%s (asked: %.*s): %.*s; read from the device %s, by this process "
                   "%s, delivered %s; metadata %.*s",
                   DLB_CUT(dlb_text_shown(cache, "label"), 20),
                   differ ? " for the best cell, others differ" : "",
                   DLB_CUT(dlb_text_shown(cache, "asked"), 20),
                   DLB_CUT(dlb_text_shown(cache, "why"), 400), device, process, delivered,
                   DLB_CUT(dlb_text_shown(cache, "metadata"), 20));
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_findings_head(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *device = json_object_get(doc, "device"), *data = json_object_get(doc, "dataset");
    char line[1024], samples[40], bytes[40];
    double n_bytes = dlb_json_number(data, "bytes");
    (void)snprintf(line, sizeof(line), "dlbench %.*s: %.*s%s",
                   DLB_CUT(dlb_text_shown(doc, "command"), 40),
                   DLB_CUT(dlb_text_shown(doc, "run_name"), 200),
                   json_is_true(json_object_get(doc, "interrupted")) ? " (PARTIAL: interrupted)"
                   : json_is_true(json_object_get(doc, "partial"))   ? " (PARTIAL)"
                                                                     : "");
    dlb_text_fold(out, line, 0, n_columns);
    (void)snprintf(line, sizeof(line), "data:   %.*s, %s samples, %s",
                   DLB_CUT(dlb_text_shown(data, "format"), 40),
                   dlb_count_text(dlb_json_number(data, "samples"), samples, sizeof(samples)),
                   n_bytes >= 0 && n_bytes < 1e19
                       ? dlb_bytes_text((uint64_t)n_bytes, bytes, sizeof(bytes))
                       : "-");
    dlb_text_fold(out, line, 0, n_columns);
    (void)snprintf(line, sizeof(line), "device: %.*s (%.*s)%s",
                   DLB_CUT(dlb_text_shown(device, "name"), 100),
                   DLB_CUT(dlb_text_shown(device, "why"), 200),
                   is_emulated(doc) ? "; no GPU was measured: \"GPU\" below means the emulated "
                                      "accelerator"
                                    : "");
    dlb_text_fold(out, line, 0, n_columns);
    gpu_lines(doc, n_columns, out);
    cache_lines(doc, n_columns, out);
    dlb_text_printf(out, "\n");
}

static void value_text(const json_t *value, char *out, size_t n)
{
    if (json_is_string(value))
        (void)snprintf(out, n, "%.*s", DLB_CUT(json_string_value(value), 30));
    else if (json_is_boolean(value))
        (void)snprintf(out, n, "%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_integer(value))
        (void)snprintf(out, n, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(out, n, "%.4g", json_real_value(value));
    else
        (void)snprintf(out, n, "-");
}

/* The rate that cells are compared by; results of older programs have one only. */
static const char *rate_key(const json_t *doc)
{
    const char *ranked_by = dlb_json_text(doc, "ranked_by");
    return ranked_by[0] ? ranked_by : "samples_per_s";
}

static void rate_text(const json_t *rate, bool brief, char *out, size_t n)
{
    double median = dlb_json_number(rate, "median"), low = dlb_json_number(rate, "low");
    double high = dlb_json_number(rate, "high");
    char a[24], b[24], c[24];
    if (!isfinite(median)) {
        (void)snprintf(out, n, "-");
        return;
    }
    (void)dlb_count_text(median < 100 ? median : round(median), a, sizeof(a));
    (void)dlb_count_text(low < 100 ? low : round(low), b, sizeof(b));
    (void)dlb_count_text(high < 100 ? high : round(high), c, sizeof(c));
    bool one = brief || strcmp(dlb_json_text(rate, "interval"), "none") == 0;
    (void)snprintf(out, n, one ? "%.12s" : "%.12s (%.10s-%.10s)", a, b, c);
}

static void percent_text(const json_t *cell, const char *key, char *out, size_t n)
{
    double frac = dlb_json_number(json_object_get(cell, key), "median");
    if (isfinite(frac))
        (void)snprintf(out, n, "%.1f", frac * 100);
    else
        (void)snprintf(out, n, "-");
}

static void megabytes_text(const json_t *cell, char *out, size_t n)
{
    double rate = dlb_json_number(cell, "read_bytes_per_s");
    if (isfinite(rate))
        (void)snprintf(out, n, rate < 1e8 ? "%.1f" : "%.0f", rate / 1e6);
    else
        (void)snprintf(out, n, "-");
}

static void first_batch_text(const json_t *cell, char *out, size_t n)
{
    double ns =
        dlb_json_number(json_array_get(json_object_get(cell, "epochs"), 0), "first_batch_ns");
    if (isfinite(ns) && ns >= 0)
        (void)dlb_duration_text(ns / 1e9, out, n);
    else
        (void)snprintf(out, n, "-");
}

static void verdict_text(const json_t *cell, bool brief, char *out, size_t n)
{
    const json_t *verdict = json_object_get(cell, "verdict");
    const char *cause = dlb_text_shown(verdict, "cause");
    if (brief || strcmp(cause, "none") == 0 || strcmp(cause, "-") == 0)
        (void)snprintf(out, n, "%.20s", dlb_text_shown(verdict, "class"));
    else
        (void)snprintf(out, n, "%.20s (%.14s)", dlb_text_shown(verdict, "class"), cause);
}

static const struct {
    const char *key, *title, *brief;
} usual[] = {{"loader.num_workers", "workers", "workers"},
             {"loader.pin_memory", "pin", "pin"},
             {"loader.prefetch_factor", "prefetch", "pf"},
             {"loader.persistent_workers", "persistent", "pers"}};
#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

static bool is_usual(const char *key)
{
    for (size_t i = 0; i < N_USUAL; i++)
        if (strcmp(key, usual[i].key) == 0)
            return true;
    return false;
}

static uint32_t rank_of(const json_t *axes, const char *key)
{
    return json_array_size(json_object_get(axes, key)) > 1 ? AXIS : SAME;
}

/* The last word of a key; the whole key if a column has that title already. */
static const char *title_of(const struct dlb_table *table, const char *key)
{
    const char *dot = strrchr(key, '.'), *title = dot ? dot + 1 : key;
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (strcmp(table->column[i].title, title) == 0)
            return key;
    return title;
}

/* Keys of the setting columns, the usual four first. */
static uint32_t columns(const json_t *doc, int squeeze, struct dlb_table *table, const char **keys)
{
    const json_t *axes = json_object_get(doc, "axes");
    bool brief = squeeze >= SHORT_TITLES;
    uint32_t n = 0;
    const char *key;
    json_t *axis;
    table->n_columns = 0;
    (void)dlb_table_add(table, "cell", ALWAYS, false);
    for (; n < N_USUAL; n++) {
        keys[n] = usual[n].key;
        (void)dlb_table_add(table, brief ? usual[n].brief : usual[n].title,
                            n == 0 ? ALWAYS : rank_of(axes, keys[n]), false);
    }
    json_object_foreach((json_t *)axes, key, axis) {
        (void)axis;
        if (is_usual(key) || n == N_USUAL + MAX_AXIS_COLUMNS)
            continue;
        keys[n++] = key;
        (void)dlb_table_add(table, title_of(table, key), rank_of(axes, key), false);
    }
    (void)dlb_table_add(table, "samples/s", ALWAYS, false);
    (void)dlb_table_add(table, "read MB/s", READ, false);
    (void)dlb_table_add(table, "GPU idle %", IDLE, false);
    (void)dlb_table_add(table, "input wait %", WAIT, false);
    (void)dlb_table_add(table, "first batch", FIRST_BATCH, false);
    (void)dlb_table_add(table, "verdict", ALWAYS, true);
    return n;
}

/* Marks distinguish cells, so a single cell has none. */
static bool is_marked(const json_t *doc, const char *which, const json_t *index)
{
    return json_array_size(json_object_get(doc, "cells")) > 1 && json_is_integer(index) &&
           json_equal(index, json_object_get(doc, which));
}

static void fill_row(const json_t *doc, const json_t *cell, const char *const *keys,
                     uint32_t n_keys, int squeeze, char (*row)[DLB_TABLE_CELL_CAP])
{
    const json_t *config = json_object_get(cell, "config");
    const json_t *index = json_object_get(cell, "index");
    (void)snprintf(
        row[0], sizeof(row[0]), "%s%s%lld", is_marked(doc, "recommended_cell", index) ? ">" : "",
        is_marked(doc, "best_cell", index) ? "*" : "", (long long)json_integer_value(index));
    row++;
    for (uint32_t i = 0; i < n_keys; i++)
        value_text(json_object_get(config, keys[i]), *row++, DLB_TABLE_CELL_CAP);
    rate_text(json_object_get(cell, rate_key(doc)), squeeze >= NO_INTERVAL, *row++,
              DLB_TABLE_CELL_CAP);
    megabytes_text(cell, *row++, DLB_TABLE_CELL_CAP);
    percent_text(cell, "gpu_idle_frac", *row++, DLB_TABLE_CELL_CAP);
    percent_text(cell, "input_wait_frac", *row++, DLB_TABLE_CELL_CAP);
    first_batch_text(cell, *row++, DLB_TABLE_CELL_CAP);
    verdict_text(cell, squeeze >= NO_CAUSE, *row, DLB_TABLE_CELL_CAP);
}

static bool has_status(const json_t *cell, const char *status)
{
    return strcmp(dlb_json_text(cell, "status"), status) == 0;
}

/* One line per distinct reason, with the cells it is about. */
static void reasons(const json_t *cells, const char *status, uint32_t n_columns,
                    struct dlb_text *out)
{
    const json_t *cell, *other;
    size_t i, k;
    json_array_foreach(cells, i, cell) {
        if (!has_status(cell, status))
            continue;
        const char *reason = dlb_json_text(cell, "reason");
        struct dlb_text line = {0};
        uint32_t n = 0;
        bool told = false;
        json_array_foreach(cells, k, other) {
            if (!has_status(other, status) || strcmp(dlb_json_text(other, "reason"), reason) != 0)
                continue;
            told = told || k < i;
            n++;
            dlb_text_printf(&line, n == 1 ? "%zu" : ", %zu", k);
        }
        if (!told) {
            struct dlb_text words = {0};
            dlb_text_printf(&words, "%s: ", status);
            dlb_text_plain(&words, reason, 1000);
            dlb_text_printf(&words, n == 1 ? " (cell " : " (cells ");
            dlb_text_plain(&words, line.data ? line.data : "", 400);
            dlb_text_printf(&words, ")");
            dlb_text_fold(out, words.data ? words.data : "", 0, n_columns);
            dlb_text_free(&words);
        }
        dlb_text_free(&line);
    }
}

void dlb_findings_reasons(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *cells = json_object_get(doc, "cells");
    reasons(cells, "failed", n_columns, out);
    reasons(cells, "skipped", n_columns, out);
}

/* Fills the table anew, squeezed as far as `squeeze` says. */
static void fill(const json_t *doc, int squeeze, struct dlb_table *table)
{
    const char *keys[N_USUAL + MAX_AXIS_COLUMNS];
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    size_t i;
    uint32_t n_keys = columns(doc, squeeze, table, keys);
    free(table->cell);
    table->n_rows = 0;
    table->cell = dlb_mem_array(json_array_size(cells) * table->n_columns, sizeof(*table->cell));
    json_array_foreach(cells, i, cell) {
        if (has_status(cell, "ok"))
            fill_row(doc, cell, keys, n_keys, squeeze,
                     &table->cell[(size_t)table->n_rows++ * table->n_columns]);
    }
}

/* Squeezes the table no further than is needed to keep the settings and the idle time; where both
 * do not fit, the settings alone. Returns how far. */
static int fill_to_fit(const json_t *doc, uint32_t n_columns, struct dlb_table *table)
{
    for (uint32_t rank = IDLE; rank >= AXIS; rank--)
        for (int squeeze = FULL; squeeze <= NO_CAUSE; squeeze++) {
            fill(doc, squeeze, table);
            if (dlb_table_fits(table, n_columns, rank))
                return squeeze;
        }
    return NO_CAUSE;
}

static void legend(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *best = json_object_get(doc, "best_cell");
    const json_t *recommended = json_object_get(doc, "recommended_cell");
    bool one = is_marked(doc, "best_cell", best);
    bool other = is_marked(doc, "recommended_cell", recommended);
    if (one || other)
        dlb_text_fold(out,
                      one && other ? "* best   > recommended"
                      : one        ? "* best"
                                   : "> recommended",
                      0, n_columns);
}

static void tell_left_out(uint32_t n_out, int squeeze, uint32_t n_columns, struct dlb_text *out)
{
    if (n_out == 0 && squeeze < NO_INTERVAL)
        return;
    const char *what = n_out == 0                            ? "the intervals do not fit here"
                       : n_out == 1 && squeeze < NO_INTERVAL ? "one column does not fit here"
                       : squeeze < NO_INTERVAL               ? "some columns do not fit here"
                                               : "intervals and some columns do not fit here";
    char line[120];
    (void)snprintf(line, sizeof(line), "(%s: summary.txt has %s)", what,
                   n_out == 1 && squeeze < NO_INTERVAL ? "it" : "them");
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_findings_table(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    struct dlb_table *table = dlb_mem_new(sizeof(*table));
    int squeeze = fill_to_fit(doc, n_columns, table);
    if (table->n_rows > 0) {
        uint32_t n_out = dlb_table_render(table, n_columns, out);
        legend(doc, n_columns, out);
        tell_left_out(n_out, squeeze, n_columns, out);
    }
    dlb_findings_reasons(doc, n_columns, out);
    free(table->cell);
    free(table);
}

void dlb_findings_list(const json_t *doc, const char *key, const char *title, uint32_t n_columns,
                       struct dlb_text *out)
{
    const json_t *array = json_object_get(doc, key), *entry;
    size_t i;
    if (json_array_size(array) == 0)
        return;
    dlb_text_printf(out, "\n%s\n", title);
    json_array_foreach(array, i, entry) {
        const char *words = dlb_json_text(entry, "text");
        size_t start = out->len_bytes;
        dlb_text_fold(out, words[0] ? words : "?", 4, n_columns);
        if (out->len_bytes > start + 2 && out->data[start + 2] == ' ')
            out->data[start + 2] = '-';
    }
}

static void write_recommendation(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    double floor_frac = dlb_json_number(doc, "noise_floor_frac");
    if (json_string_length(json_object_get(doc, "recommendation")) > 0) {
        dlb_text_printf(out, "\n");
        dlb_text_fold(out, dlb_json_text(doc, "recommendation"), 0, n_columns);
    }
    if (isfinite(floor_frac))
        dlb_text_printf(out, "Noise floor: a loss under %.2g%% would not show here.\n",
                        floor_frac * 100);
}

void dlb_findings_words(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *verdict = json_object_get(doc, "verdict");
    const json_t *best = json_object_get(doc, "best_cell");
    const json_t *shown =
        json_array_get(json_object_get(doc, "cells"), (size_t)json_integer_value(best));
    double lost = json_is_integer(best) ? dlb_json_number(shown, "skipped_frac") : (double)NAN;
    char title[240], which[40] = "", skipped[60] = "";
    if (json_is_integer(best) && json_array_size(json_object_get(doc, "cells")) > 1)
        (void)snprintf(which, sizeof(which), ", of the best cell, %lld",
                       (long long)json_integer_value(best));
    if (lost >= DLB_LOST_WARN)
        (void)snprintf(skipped, sizeof(skipped), ", %.3g%% of the samples skipped", 100 * lost);
    (void)snprintf(title, sizeof(title), "Verdict: %.*s (%.*s)%s%s",
                   DLB_CUT(dlb_text_shown(verdict, "class"), 40),
                   DLB_CUT(dlb_text_shown(verdict, "severity"), 40), skipped, which);
    bool too_busy = dlb_json_is_true(doc, "too_busy");
    if (too_busy)
        write_recommendation(doc, n_columns, out);
    dlb_text_printf(out, "\n");
    dlb_text_fold(out, title, 0, n_columns);
    dlb_text_fold(out, dlb_json_text(verdict, "text"), 2, n_columns);
    if (!too_busy)
        write_recommendation(doc, n_columns, out);
    dlb_findings_settings(doc, n_columns, out);
    dlb_findings_list(doc, "not_modelled", "Not modelled:", n_columns, out);
    dlb_findings_list(doc, "notes", "Notes:", n_columns, out);
}

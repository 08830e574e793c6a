#include "reports/findings.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "reports/ranked.h"
#include "reports/sheet.h"
#include "reports/title.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_emulated(const json_t *doc)
{
    return strncmp(dlb_json_text(json_object_get(doc, "device"), "name"), "emulated", 8) == 0;
}

#define ALARM_FRAC 0.8 /* GPU-Util below which monitoring usually reports a badly used GPU */

static void say_gpu(const json_t *gpu, struct dlb_text *line)
{
    const json_t *nvml = json_object_get(gpu, "nvml"), *numa = json_object_get(gpu, "numa"),
                 *throttle = json_object_get(nvml, "throttle");
    double gen = dlb_json_number(nvml, "pcie_gen"), width = dlb_json_number(nvml, "pcie_width");
    double node = dlb_json_number(numa, "node"), distance = dlb_json_number(numa, "distance");

    dlb_text_printf(line, "gpu:    driver %.*s, CUDA %.*s",
                    DLB_CUT(dlb_text_shown(gpu, "driver"), 30),
                    DLB_CUT(dlb_text_shown(gpu, "runtime_cuda"), 10));
    if (isfinite(gen) && isfinite(width))
        dlb_text_printf(line, ", PCIe gen %.6g x%.6g under load", gen, width);
    if (isfinite(node) && isfinite(distance))
        dlb_text_printf(line, ", NUMA node %.6g (distance %.6g)%s", node, distance,
                        dlb_json_is_true(numa, "bound") ? ", batch memory there" : "");
    for (size_t i = 0; i < json_array_size(throttle) && i < 4; i++)
        if (json_is_string(json_array_get(throttle, i)))
            dlb_text_printf(line, "%s%.*s", i == 0 ? "; clocks were throttled by " : ", ",
                            DLB_CUT(json_string_value(json_array_get(throttle, i)), 40));
}

/* What nvidia-smi would have shown beside what the GPU's events show. */
static void say_utilization(const json_t *doc, const json_t *gpu, struct dlb_text *line)
{
    double shown = dlb_json_number(json_object_get(gpu, "nvml"), "utilization_frac");
    double idle = dlb_json_number(json_object_get(dlb_ranked_best(doc), "gpu_idle_frac"), "median");
    char monitored[24], alarm[24], computed[24];

    if (!isfinite(shown * 100) || !isfinite(idle * 100))
        return;
    dlb_text_printf(line,
                    "nvidia-smi would have shown %s, %s the usual alarm threshold of %s; by its "
                    "events the GPU computed %s of the time",
                    dlb_text_percent(DLB_PERCENT_WHOLE, shown, monitored, sizeof(monitored)),
                    shown < ALARM_FRAC ? "under" : "above",
                    dlb_text_percent(DLB_PERCENT_WHOLE, ALARM_FRAC, alarm, sizeof(alarm)),
                    dlb_text_percent(DLB_PERCENT_TENTHS, 1 - idle, computed, sizeof(computed)));
}

static void gpu_lines(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *gpu = json_object_get(json_object_get(doc, "device"), "gpu");
    struct dlb_text line = {0};

    if (!json_is_object(gpu))
        return;
    say_gpu(gpu, &line);
    dlb_text_fold(out, line.data, 0, n_columns);
    line.len_bytes = 0;
    say_utilization(doc, gpu, &line);
    if (line.len_bytes > 0)
        dlb_text_fold(out, line.data, 0, n_columns);
    dlb_text_free(&line);
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
    const json_t *cache = json_object_get(dlb_ranked_best(doc), "cache");
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

static void step_line(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const char *source = dlb_json_text(json_object_get(doc, "device"), "step_source");
    double ms = dlb_json_number(json_object_get(doc, "config"), "device.step_ms");
    char line[1200], each[40] = "";
    if (!source[0]) /* of an earlier version */
        return;
    if (isfinite(ms) && strcmp(source, "swept") != 0)
        (void)snprintf(each, sizeof(each), "%.4g ms; ", ms);
    (void)snprintf(line, sizeof(line), "step:   %ssource: %.*s", each, DLB_CUT(source, 1000));
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_findings_head(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *device = json_object_get(doc, "device"), *data = json_object_get(doc, "dataset");
    char line[1024], samples[40], bytes[40];
    dlb_report_title(doc, dlb_text_shown(doc, "command"), n_columns, out);
    (void)snprintf(
        line, sizeof(line), "data:   %.*s, %s samples, %s",
        DLB_CUT(dlb_text_shown(data, "format"), 40),
        dlb_unit_text(DLB_UNIT_COUNT, dlb_json_number(data, "samples"), samples, sizeof(samples)),
        dlb_unit_text(DLB_UNIT_BYTES, dlb_json_number(data, "bytes"), bytes, sizeof(bytes)));
    dlb_text_fold(out, line, 0, n_columns);
    (void)snprintf(line, sizeof(line), "device: %.*s (%.*s)%s",
                   DLB_CUT(dlb_text_shown(device, "name"), 100),
                   DLB_CUT(dlb_text_shown(device, "why"), 200),
                   is_emulated(doc) ? "; no GPU was measured: \"GPU\" below means the emulated "
                                      "accelerator"
                                    : "");
    dlb_text_fold(out, line, 0, n_columns);
    step_line(doc, n_columns, out);
    gpu_lines(doc, n_columns, out);
    cache_lines(doc, n_columns, out);
    dlb_findings_nodes(doc, n_columns, out);
    dlb_text_printf(out, "\n");
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

void dlb_findings_noise(const json_t *doc, struct dlb_text *out)
{
    double floor_frac = dlb_json_number(doc, "noise_floor_frac");
    if (isfinite(floor_frac * 100))
        dlb_text_printf(out, "Noise floor: a loss under %.*g%% would not show here.\n",
                        floor_frac < 0.995 ? 2 : 3, floor_frac * 100);
}

void dlb_findings_measured(const json_t *doc, uint32_t n_columns, uint32_t n_words,
                           struct dlb_text *out)
{
    if (json_is_object(json_object_get(doc, "storage")))
        dlb_findings_storage(doc, n_columns, out);
    else
        dlb_findings_table(doc, n_columns, out);
    dlb_findings_accelerators(doc, n_words, out);
    dlb_findings_ranks(doc, n_columns, n_words, out);
    dlb_findings_nodes_table(doc, n_columns, out);
    dlb_findings_python(dlb_ranked_best(doc), n_words, out);
    dlb_findings_in_c(doc, n_words, out);
}

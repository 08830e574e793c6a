/* Several results beside each other: what somebody who chooses a machine or a storage compares. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "reports/estimate.h"
#include "reports/ranked.h"
#include "reports/sheets/figures.h"
#include "reports/supply.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_storage(const json_t *doc)
{
    return json_is_object(json_object_get(doc, "storage"));
}

static bool is_gap(const json_t *doc)
{
    return json_is_object(json_object_get(doc, "gap"));
}

/* What all of them measured. */
static const struct subject {
    const char *axis, *title;
    enum dlb_unit unit;
    bool (*is)(const json_t *doc);
} subjects[] = {
    {"accelerators that are fed", "accelerators fed", DLB_UNIT_COUNT, is_storage},
    {"time of a DataLoader that shuffles / time of slicing", "gap", DLB_UNIT_RATIO, is_gap},
    {"samples/s", "samples/s", DLB_UNIT_COUNT, NULL},
};

static const struct subject *subject_of(const json_t *const *docs, uint32_t n)
{
    const struct subject *subject = subjects;
    for (; subject->is; subject++) {
        uint32_t i = 0;
        while (i < n && subject->is(docs[i]))
            i++;
        if (i == n)
            break;
    }
    return subject;
}

static void columns(const struct subject *subject, struct dlb_sheet *out)
{
    out->chart = DLB_CHART_BARS;
    out->axis = subject->axis;
    dlb_sheet_column(out, "result", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "command", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, subject->title, DLB_ROLE_Y, subject->unit);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, subject->unit);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, subject->unit);
    dlb_sheet_column(out, "demand, samples/s", DLB_ROLE_NONE, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "GPU idle", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "verdict", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "loads with", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "data", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "device", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "host", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "CPU", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "file system", DLB_ROLE_NONE, DLB_UNIT_TEXT);
}

static double seconds_of(const json_t *gap, const char *name)
{
    const json_t *rung;
    size_t i;
    json_array_foreach(json_object_get(gap, "rungs"), i, rung) {
        if (strcmp(dlb_json_text(rung, "rung"), name) == 0)
            return dlb_json_number(json_object_get(rung, "seconds"), "median");
    }
    return (double)NAN;
}

/* As the ladder's first sentence has it. `key`: of what lies between the two, for an end of its
 * interval; NULL: the gap. */
static double gap_of(const json_t *doc, const char *key)
{
    const json_t *gap = json_object_get(doc, "gap");
    double direct = seconds_of(gap, "torch-direct");
    return key ? 1 + dlb_json_number(gap, key) / direct
               : seconds_of(gap, "torch-dataloader") / direct;
}

static void figures(const json_t *doc, const struct subject *subject, struct dlb_sheet *out)
{
    const json_t *cell = dlb_ranked_offered(doc);
    const json_t *rate = is_storage(doc) ? NULL : json_object_get(cell, dlb_ranked_rate(doc));
    const json_t *of = subject->is == is_storage ? json_object_get(doc, "storage") : rate;
    if (subject->is == is_gap) {
        dlb_sheet_number(out, gap_of(doc, NULL));
        dlb_sheet_number(out, gap_of(doc, "total_low"));
        dlb_sheet_number(out, gap_of(doc, "total_high"));
    } else {
        dlb_sheet_number(out, dlb_json_number(of, of == rate ? "median" : "max_accelerators"));
        dlb_sheet_number(out, dlb_estimate_end(of, "low"));
        dlb_sheet_number(out, dlb_estimate_end(of, "high"));
    }
    dlb_sheet_number(out, is_storage(doc) ? (double)NAN : dlb_supply_of(doc).needs);
    dlb_sheet_number(out, dlb_ranked_share(doc, cell, "gpu_idle_frac"));
}

static void data(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *set = json_object_get(doc, "dataset");
    char text[200], samples[64], bytes[64];
    (void)snprintf(
        text, sizeof(text), "%.*s, %.40s samples, %.40s",
        DLB_CUT(dlb_text_shown(set, "format"), 40),
        dlb_unit_text(DLB_UNIT_COUNT, dlb_json_number(set, "samples"), samples, sizeof(samples)),
        dlb_unit_text(DLB_UNIT_BYTES, dlb_json_number(set, "bytes"), bytes, sizeof(bytes)));
    dlb_sheet_text(out, json_is_object(set) ? text : "");
}

static void row(const json_t *doc, uint32_t number, const struct subject *subject,
                struct dlb_sheet *out)
{
    const json_t *environment = json_object_get(doc, "environment");
    char name[300];
    (void)snprintf(name, sizeof(name), "%u: %.*s", number,
                   DLB_CUT(dlb_text_shown(doc, "run_name"), 256));
    dlb_sheet_row(out, DLB_SHEET_NO_CELL);
    dlb_sheet_text(out, name);
    dlb_sheet_text(out, dlb_text_shown(doc, "command"));
    figures(doc, subject, out);
    dlb_sheet_text(out, dlb_text_shown(json_object_get(doc, "verdict"), "class"));
    dlb_sheet_text(out, dlb_text_shown(dlb_ranked_offered(doc), "pipeline"));
    data(doc, out);
    dlb_sheet_text(out, dlb_text_shown(json_object_get(doc, "device"), "name"));
    dlb_sheet_text(out, dlb_text_shown(environment, "host"));
    dlb_sheet_text(out, dlb_text_shown(json_object_get(environment, "cpu"), "model"));
    dlb_sheet_text(out, dlb_text_shown(json_object_get(environment, "filesystem"), "type"));
}

/* Rates of other work say nothing of each other. */
static void note(const json_t *const *docs, uint32_t n, struct dlb_sheet *out)
{
    bool data_differ = false, pipelines_differ = false, busy = false, mixed = false;
    bool needs_differ = false;
    for (uint32_t i = 0; i < n; i++) {
        const char *own = dlb_json_text(dlb_ranked_offered(docs[i]), "pipeline");
        data_differ =
            data_differ || strcmp(dlb_json_text(json_object_get(docs[i], "dataset"), "id"),
                                  dlb_json_text(json_object_get(docs[0], "dataset"), "id")) != 0;
        pipelines_differ = pipelines_differ ||
                           strcmp(own, dlb_json_text(dlb_ranked_offered(docs[0]), "pipeline")) != 0;
        mixed = mixed || is_storage(docs[i]) != is_storage(docs[0]);
        busy = busy || dlb_json_is_true(docs[i], "too_busy");
        needs_differ = needs_differ || !dlb_supply_is_same_need(dlb_supply_of(docs[i]).needs,
                                                                dlb_supply_of(docs[0]).needs);
    }
    if (mixed)
        dlb_text_printf(&out->note, "A storage has no rate of its own, but one for each number of "
                                    "accelerators: `dlbench report` of storages alone says how "
                                    "many each feeds. ");
    if (data_differ)
        dlb_text_printf(&out->note, "The data sets are not the same: compare rates only if the "
                                    "samples are alike. ");
    if (needs_differ && !is_storage(docs[0]))
        dlb_text_printf(&out->note, "They do not ask for the same: step times, batch sizes or "
                                    "accelerators differ. ");
    if (pipelines_differ) {
        out->chart = DLB_CHART_NONE; /* bars on one axis would compare them */
        dlb_text_printf(&out->note, "Some load with PyTorch and some with dlbench's own loaders: "
                                    "never compare one with the other. ");
    }
    if (busy)
        dlb_text_printf(&out->note, "Some were measured on a machine that was too busy. ");
    dlb_text_printf(&out->note, "Each interval is that of one result; it does not cover what "
                                "differs from day to day. ");
}

void dlb_sheet_beside(const json_t *const *docs, uint32_t n, struct dlb_sheet *out)
{
    const struct subject *subject = subject_of(docs, n);
    columns(subject, out);
    for (uint32_t i = 0; i < n; i++)
        row(docs[i], i + 1, subject, out);
    note(docs, n, out);
}

/* Several results beside each other: what somebody who chooses a machine or a storage compares. */
#include "core/base/escape.h"
#include "core/base/json.h"
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

static void columns(bool storage, struct dlb_sheet *out)
{
    out->chart = DLB_CHART_BARS;
    out->axis = storage ? "accelerators that are fed" : "samples/s";
    dlb_sheet_column(out, "result", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "command", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    if (storage)
        dlb_sheet_column(out, "accelerators fed", DLB_ROLE_Y, DLB_UNIT_COUNT);
    else
        dlb_sheet_column(out, "samples/s", DLB_ROLE_Y, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "low", DLB_ROLE_LOW, DLB_UNIT_COUNT);
    dlb_sheet_column(out, "high", DLB_ROLE_HIGH, DLB_UNIT_COUNT);
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

static void figures(const json_t *doc, bool storage, struct dlb_sheet *out)
{
    const json_t *s = json_object_get(doc, "storage"), *cell = dlb_ranked_offered(doc);
    const json_t *rate = json_object_get(cell, dlb_ranked_rate(doc));
    const json_t *of = storage ? s : is_storage(doc) ? NULL : rate;
    bool one = !storage && strcmp(dlb_json_text(rate, "interval"), "none") == 0;
    dlb_sheet_number(out, dlb_json_number(of, storage ? "max_accelerators" : "median"));
    dlb_sheet_number(out, one ? (double)NAN : dlb_json_number(of, "low"));
    dlb_sheet_number(out, one ? (double)NAN : dlb_json_number(of, "high"));
    dlb_sheet_number(out, dlb_supply_of(doc).needs);
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

static void row(const json_t *doc, uint32_t number, bool storage, struct dlb_sheet *out)
{
    const json_t *environment = json_object_get(doc, "environment");
    char name[300];
    (void)snprintf(name, sizeof(name), "%u: %.*s", number,
                   DLB_CUT(dlb_text_shown(doc, "run_name"), 256));
    dlb_sheet_row(out, DLB_SHEET_NO_CELL);
    dlb_sheet_text(out, name);
    dlb_sheet_text(out, dlb_text_shown(doc, "command"));
    figures(doc, storage, out);
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
    for (uint32_t i = 0; i < n; i++) {
        const char *own = dlb_json_text(dlb_ranked_offered(docs[i]), "pipeline");
        data_differ =
            data_differ || strcmp(dlb_json_text(json_object_get(docs[i], "dataset"), "id"),
                                  dlb_json_text(json_object_get(docs[0], "dataset"), "id")) != 0;
        pipelines_differ = pipelines_differ ||
                           strcmp(own, dlb_json_text(dlb_ranked_offered(docs[0]), "pipeline")) != 0;
        mixed = mixed || is_storage(docs[i]) != is_storage(docs[0]);
        busy = busy || dlb_json_is_true(docs[i], "too_busy");
    }
    if (mixed)
        dlb_text_printf(&out->note, "A storage has no rate of its own, but one for each number of "
                                    "accelerators: `dlbench report` of storages alone says how "
                                    "many each feeds. ");
    if (data_differ)
        dlb_text_printf(&out->note, "The data sets are not the same: compare rates only if the "
                                    "samples are alike. ");
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
    bool storage = true;
    for (uint32_t i = 0; i < n; i++)
        storage = storage && is_storage(docs[i]);
    columns(storage, out);
    for (uint32_t i = 0; i < n; i++)
        row(docs[i], i + 1, storage, out);
    note(docs, n, out);
}

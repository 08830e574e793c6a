/* What does not need a chart: where the bytes came from, the machine, the configuration. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "reports/ranked.h"
#include "reports/sheets/fills.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_CAP 200

static void cache_row(const char *what, const json_t *figures, int64_t cell, struct dlb_sheet *out)
{
    dlb_sheet_row(out, cell);
    dlb_sheet_text(out, what);
    dlb_sheet_text(out, dlb_text_shown(figures, "label"));
    dlb_sheet_number(out, dlb_json_number(figures, "resident_before_frac"));
    dlb_sheet_number(out, dlb_json_number(figures, "resident_after_frac"));
    dlb_sheet_number(out, dlb_json_number(figures, "process_bytes"));
    dlb_sheet_number(out, dlb_json_number(figures, "device_bytes"));
    dlb_sheet_number(out, dlb_json_number(figures, "delivered_bytes"));
}

void dlb_sheet_cache(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *cell = dlb_ranked_best(doc), *cache = json_object_get(cell, "cache"), *repetition;
    int64_t index = json_integer_value(json_object_get(cell, "index"));
    char what[60];
    size_t i;
    if (!json_is_object(cache))
        return;
    dlb_sheet_column(out, "repetition", DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "cache was", DLB_ROLE_NONE, DLB_UNIT_TEXT);
    dlb_sheet_column(out, "in memory before", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "after", DLB_ROLE_NONE, DLB_UNIT_FRAC);
    dlb_sheet_column(out, "fetched by the process", DLB_ROLE_NONE, DLB_UNIT_BYTES);
    dlb_sheet_column(out, "read from the device", DLB_ROLE_NONE, DLB_UNIT_BYTES);
    dlb_sheet_column(out, "delivered", DLB_ROLE_NONE, DLB_UNIT_BYTES);
    json_array_foreach(json_object_get(cache, "repetitions"), i, repetition) {
        (void)snprintf(what, sizeof(what), "%zu", i);
        cache_row(what, repetition, index, out);
    }
    if (out->n_rows == 0)
        cache_row("the one shown", cache, index, out);
    dlb_text_printf(&out->note,
                    "Of cell %lld, asked for as %.*s, metadata %.*s: ", (long long)index,
                    DLB_CUT(dlb_text_shown(cache, "asked"), 20),
                    DLB_CUT(dlb_text_shown(cache, "metadata"), 20));
    dlb_text_plain(&out->note, dlb_text_shown(cache, "why"), 1000);
    dlb_text_printf(&out->note, ". ");
}

static void fact(const char *key, const json_t *value, struct dlb_sheet *out)
{
    char *text = json_is_string(value)
                     ? dlb_mem_text(json_string_value(value))
                     : dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
    dlb_sheet_row(out, DLB_SHEET_NO_CELL);
    dlb_sheet_text(out, key);
    dlb_sheet_text(out, json_is_null(value) ? "" : text);
    free(text);
}

/* One row for each value of nested objects, their keys joined by dots. */
static void facts(const char *prefix, const json_t *object, int depth, struct dlb_sheet *out)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        char name[KEY_CAP];
        (void)snprintf(name, sizeof(name), "%.*s%s%.*s", DLB_CUT(prefix, 110), prefix[0] ? "." : "",
                       DLB_CUT(key, 80));
        if (json_is_object(value) && depth > 0)
            facts(name, value, depth - 1, out);
        else
            fact(name, value, out);
    }
}

static void columns(const char *key, const char *value, struct dlb_sheet *out)
{
    dlb_sheet_column(out, key, DLB_ROLE_LABEL, DLB_UNIT_TEXT);
    dlb_sheet_column(out, value, DLB_ROLE_NONE, DLB_UNIT_TEXT);
}

void dlb_sheet_environment(const json_t *doc, struct dlb_sheet *out)
{
    columns("what", "found", out);
    facts("dlbench", json_object_get(doc, "dlbench"), 1, out);
    facts("device", json_object_get(doc, "device"), 3, out);
    facts("dataset", json_object_get(doc, "dataset"), 1, out);
    facts("", json_object_get(doc, "environment"), 4, out);
}

void dlb_sheet_config(const json_t *doc, struct dlb_sheet *out)
{
    const json_t *config = json_object_get(doc, "config");
    columns("key", "value", out);
    facts("", config, 0, out);
}

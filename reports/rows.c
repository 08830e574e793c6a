#include "reports/rows.h"

#include "core/base/json.h"

#include <stdbool.h>
#include <string.h>

struct taker {
    void (*take)(const json_t *row, void *ctx);
    void *ctx;
};

/* Ends the row. */
static void give(const struct taker *taker, json_t *row)
{
    taker->take(row, taker->ctx);
    json_decref(row);
}

static void put(json_t *row, const char *key, const json_t *value)
{
    dlb_json_put(row, key, value ? json_incref((json_t *)value) : json_null());
}

static json_t *begin(const json_t *doc, const json_t *cell)
{
    json_t *row = dlb_json_made(json_object());
    put(row, "run_name", json_object_get(doc, "run_name"));
    put(row, "cell", cell);
    return row;
}

static bool is_rate(const char *key)
{
    static const char end[] = "samples_per_s";
    size_t n = strlen(key), n_end = sizeof(end) - 1;
    return n >= n_end && strcmp(key + n - n_end, end) == 0;
}

static size_t n_repetitions(const json_t *cell)
{
    const char *key;
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)cell, key, value) {
        size_t own = is_rate(key) ? json_array_size(json_object_get(value, "values")) : 0;
        n = own > n ? own : n;
    }
    return n;
}

static void give_cell(const json_t *doc, const json_t *cell, const struct taker *taker)
{
    const json_t *axes = json_object_get(doc, "axes"), *config = json_object_get(cell, "config");
    const char *key;
    json_t *value;
    size_t n = n_repetitions(cell);
    for (size_t i = 0; i < n; i++) {
        json_t *row = begin(doc, json_object_get(cell, "index"));
        put(row, "pipeline", json_object_get(cell, "pipeline"));
        json_object_foreach((json_t *)axes, key, value)
            put(row, key, json_object_get(config, key));
        dlb_json_put(row, "repetition", json_integer((json_int_t)i));
        json_object_foreach((json_t *)cell, key, value)
            if (is_rate(key) && json_object_size(value) > 0)
                put(row, key, json_array_get(json_object_get(value, "values"), i));
        if (json_object_get(cell, "skipped_frac"))
            put(row, "skipped_frac", json_object_get(cell, "skipped_frac"));
        give(taker, row);
    }
}

static void give_rung(const json_t *doc, const json_t *rung, const struct taker *taker)
{
    const json_t *values = json_object_get(json_object_get(rung, "seconds"), "values"), *value;
    size_t i;
    json_array_foreach(values, i, value) {
        json_t *row = begin(doc, json_object_get(rung, "rung"));
        dlb_json_put(row, "repetition", json_integer((json_int_t)i));
        put(row, "seconds", value);
        give(taker, row);
    }
}

/* An epoch's own figures; what is nested (waits, step_to_step) are stages. */
static void give_epoch(const json_t *doc, const json_t *epoch, const struct taker *taker)
{
    json_t *zero = dlb_json_made(json_integer(0)), *row = begin(doc, zero), *value;
    const char *key;
    json_decref(zero);
    put(row, "repetition", json_object_get(epoch, "number"));
    json_object_foreach((json_t *)epoch, key, value)
        if (!json_is_object(value) && !json_is_array(value))
            put(row, key, value);
    give(taker, row);
}

void dlb_rows_each(const json_t *doc, void (*take)(const json_t *row, void *ctx), void *ctx)
{
    const struct taker taker = {take, ctx};
    const json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(doc, "watch"), "epochs"), i, entry)
        give_epoch(doc, entry, &taker);
    json_array_foreach(json_object_get(doc, "cells"), i, entry)
        give_cell(doc, entry, &taker);
    json_array_foreach(json_object_get(json_object_get(doc, "gap"), "rungs"), i, entry)
        give_rung(doc, entry, &taker);
}

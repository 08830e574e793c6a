#include "reports/supply.h"

#include "core/base/json.h"
#include "reports/ranked.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

double dlb_supply_needs(const json_t *cell)
{
    const json_t *all = json_object_get(cell, "accelerators"),
                 *one = json_array_get(json_object_get(all, "each"), 0);
    double step_ms = dlb_json_number(json_object_get(cell, "config"), "device.step_ms");
    double batch = dlb_json_number(one, "samples") / dlb_json_number(one, "steps");
    double needs = dlb_json_number(all, "count") * batch * 1000 / step_ms;
    return needs > 0 && isfinite(needs) ? needs : (double)NAN;
}

static double rate_of(const json_t *doc, const json_t *cell)
{
    return dlb_json_number(json_object_get(cell, dlb_ranked_rate(doc)), "median");
}

static bool is_of(const json_t *cell, const char *pipeline)
{
    return strcmp(dlb_json_text(cell, "pipeline"), pipeline) == 0;
}

/* Of the cell that won the race among dlbench's own loaders; without that race, the fastest. */
static double hardware_rate(const json_t *doc)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    const json_t *race = json_object_get(json_object_get(doc, "recommendation_detail"), "hardware");
    double winner = dlb_json_number(race, "cell"), most = (double)NAN;
    size_t i;
    json_array_foreach(cells, i, cell) {
        if (!is_of(cell, "hardware"))
            continue;
        if ((double)i == winner)
            return rate_of(doc, cell);
        most = fmax(most, rate_of(doc, cell));
    }
    return most;
}

struct dlb_supply dlb_supply_of(const json_t *doc)
{
    const json_t *cell = dlb_ranked_offered(doc);
    const json_t *gain = json_object_get(json_object_get(cell, "verdict"), "gain");
    struct dlb_supply out = {.needs = dlb_supply_needs(cell), .gives = rate_of(doc, cell)};
    out.hardware = is_of(cell, "pytorch") ? hardware_rate(doc) : (double)NAN;
    out.ready = out.gives * dlb_json_number(gain, "median");
    return out;
}

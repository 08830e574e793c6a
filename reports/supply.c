#include "reports/supply.h"

#include "core/base/json.h"
#include "reports/ranked.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define SAME_FRAC 0.005 /* the mean size of batches differs a little */

double dlb_supply_needs(const json_t *cell)
{
    const json_t *all = json_object_get(cell, "accelerators"),
                 *one = json_array_get(json_object_get(all, "each"), 0);
    const json_t *config = json_object_get(cell, "config");
    double step_ms = dlb_json_number(config, "device.step_ms");
    double batch = dlb_json_number(one, "samples") / dlb_json_number(one, "steps");
    if (!isfinite(batch)) /* too many accelerators to tell of each */
        batch = dlb_json_number(config, "loader.batch_size");
    double needs = dlb_json_number(all, "count") * batch * 1000 / step_ms;
    return needs > 0 && isfinite(needs) ? needs : (double)NAN;
}

bool dlb_supply_is_same_need(double a, double b)
{
    return !(fabs(a - b) > SAME_FRAC * b);
}

static double rate_of(const json_t *doc, const json_t *cell)
{
    return dlb_json_number(json_object_get(cell, dlb_ranked_rate(doc)), "median");
}

static bool is_of(const json_t *cell, const char *pipeline)
{
    return strcmp(dlb_json_text(cell, "pipeline"), pipeline) == 0;
}

/* Of the cell that won the race among dlbench's own loaders; without a winner, of the fastest that
 * does the work of `offered`. */
static double hardware_rate(const json_t *doc, const json_t *offered)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    const json_t *race = json_object_get(json_object_get(doc, "recommendation_detail"), "hardware");
    double winner = dlb_json_number(race, "cell"), most = (double)NAN;
    double needs = dlb_supply_needs(offered);
    size_t i;
    json_array_foreach(cells, i, cell) {
        if (!is_of(cell, "hardware"))
            continue;
        if ((double)i == winner)
            return rate_of(doc, cell);
        if (dlb_supply_is_same_need(dlb_supply_needs(cell), needs))
            most = fmax(most, rate_of(doc, cell));
    }
    return most;
}

struct dlb_supply dlb_supply_of(const json_t *doc)
{
    const json_t *cell = dlb_ranked_offered(doc);
    const json_t *gain = json_object_get(json_object_get(cell, "verdict"), "gain");
    struct dlb_supply out = {.needs = dlb_supply_needs(cell), .gives = rate_of(doc, cell)};
    out.hardware = is_of(cell, "pytorch") ? hardware_rate(doc, cell) : (double)NAN;
    out.ready = out.gives * dlb_json_number(gain, "median");
    return out;
}

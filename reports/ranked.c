#include "reports/ranked.h"

#include "core/base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RATE_OF_WINDOW "samples_per_s"

const char *dlb_ranked_rate(const json_t *doc)
{
    const char *ranked_by = dlb_json_text(doc, "ranked_by");
    return strstr(ranked_by, RATE_OF_WINDOW) ? ranked_by : RATE_OF_WINDOW;
}

double dlb_ranked_share(const json_t *doc, const json_t *cell, const char *key)
{
    const char *rate = dlb_ranked_rate(doc);
    int n_prefix = (int)(strlen(rate) - strlen(RATE_OF_WINDOW));
    char same_time[64];
    (void)snprintf(same_time, sizeof(same_time), "%.*s%s", n_prefix, rate, key);
    return n_prefix > 0 ? dlb_json_number(cell, same_time)
                        : dlb_json_number(json_object_get(cell, key), "median");
}

static const json_t *cell_of(const json_t *doc, const char *key)
{
    const json_t *index = json_object_get(doc, key);
    return json_is_integer(index) && json_integer_value(index) >= 0
               ? json_array_get(json_object_get(doc, "cells"), (size_t)json_integer_value(index))
               : NULL;
}

const json_t *dlb_ranked_best(const json_t *doc)
{
    return cell_of(doc, "best_cell");
}

const json_t *dlb_ranked_offered(const json_t *doc)
{
    const json_t *cell = cell_of(doc, "recommended_cell");
    return cell ? cell : dlb_ranked_best(doc);
}

long long dlb_ranked_offered_number(const json_t *doc)
{
    const char *key = cell_of(doc, "recommended_cell") ? "recommended_cell" : "best_cell";
    return cell_of(doc, key) ? (long long)json_integer_value(json_object_get(doc, key)) : -1;
}

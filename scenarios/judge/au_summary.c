#include "scenarios/judge/au_summary.h"

#include "core/measure/stats.h"
#include "scenarios/spec/flat.h"

#include <stdlib.h>
#include <string.h>

static json_t *median_of(const json_t *numbers)
{
    double *values = calloc(json_array_size(numbers) + 1, sizeof(double));
    const json_t *one;
    uint32_t n = 0;
    size_t i;
    if (!values)
        return NULL;
    json_array_foreach(numbers, i, one) {
        if (json_is_number(one))
            values[n++] = json_number_value(one);
    }
    json_t *out = dlb_json_real_or_null(dlb_median(values, n));
    free(values);
    return out;
}

/* Of objects that are alike; those inside them, too. */
static json_t *medians_of(const json_t *objects)
{
    json_t *out = json_object(), *value, *one;
    const char *key;
    size_t i;
    bool ok = out != NULL;
    json_object_foreach(json_array_get(objects, 0), key, value) {
        json_t *column = json_array();
        ok = ok && column;
        json_array_foreach(objects, i, one) {
            ok = ok && json_array_append(column, json_object_get(one, key)) == 0;
        }
        ok = ok &&
             dlb_json_put(out, key, json_is_object(value) ? medians_of(column) : median_of(column));
        json_decref(column);
    }
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

json_t *dlb_au_summary(const json_t *reps, const json_t *shown, uint32_t n_blocks)
{
    json_t *all = json_array(), *of_shown = json_object_get(shown, "au");
    const json_t *doc;
    bool ok = all != NULL;
    size_t i;
    json_array_foreach(reps, i, doc) {
        json_t *au = json_object_get(doc, "au");
        if (json_is_object(au) && strcmp(dlb_json_text(doc, "status"), "ok") == 0 &&
            dlb_json_u64(doc, "block", 0) < n_blocks)
            ok = ok && json_array_append(all, au) == 0;
    }
    json_t *out = !ok                        ? NULL
                  : json_array_size(all) > 0 ? medians_of(all)
                  : json_is_object(of_shown) ? json_incref(of_shown)
                                             : json_null();
    json_decref(all);
    return out;
}

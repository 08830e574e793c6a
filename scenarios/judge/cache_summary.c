#include "scenarios/judge/cache_summary.h"

#include "scenarios/spec/flat.h"

#include <stdio.h>
#include <string.h>

#define MAX_REPS 1000 /* of run.repeats */

/* Of repetition `i`; NULL when it read nothing. */
static const json_t *cache_of(const json_t *reps, size_t i)
{
    const json_t *cache = json_object_get(json_array_get(reps, i), "cache");
    return dlb_json_number(cache, "delivered_bytes") > 0 ? cache : NULL;
}

static enum dlb_cache_label over(const json_t *reps, const char *key)
{
    enum dlb_cache_label labels[MAX_REPS];
    uint32_t n = 0;
    for (size_t i = 0; i < json_array_size(reps) && n < MAX_REPS; i++) {
        const json_t *cache = cache_of(reps, i);
        if (cache)
            labels[n++] = dlb_cache_label_of(dlb_json_text(cache, key));
    }
    return dlb_cache_over(labels, n);
}

enum dlb_cache_label dlb_cache_label_of_reps(const json_t *reps)
{
    return over(reps, "label");
}

/* The first repetition that is not what was asked; else `shown`. What was not asked for is shown.
 */
static const json_t *worst(const json_t *reps, const json_t *shown)
{
    for (size_t i = 0; i < json_array_size(reps); i++) {
        const json_t *cache = cache_of(reps, i);
        const char *asked = dlb_json_text(cache, "asked");
        if (cache && strcmp(asked, "as-is") != 0 &&
            strcmp(asked, dlb_json_text(cache, "label")) != 0)
            return cache;
    }
    return json_object_get(shown, "cache");
}

static json_t *each(const json_t *reps)
{
    static const char *const keys[] = {
        "label",         "resident_before_frac", "resident_after_frac",
        "process_bytes", "device_bytes",         "delivered_bytes"};
    json_t *out = json_array();
    bool ok = out != NULL;
    for (size_t i = 0; ok && i < json_array_size(reps); i++) {
        const json_t *cache = cache_of(reps, i);
        json_t *one = json_object();
        for (size_t k = 0; cache && k < sizeof(keys) / sizeof(keys[0]); k++)
            ok = ok && dlb_json_put(one, keys[k], json_incref(json_object_get(cache, keys[k])));
        if (cache)
            ok = ok && json_array_append(out, one) == 0;
        json_decref(one);
    }
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

json_t *dlb_cache_summary(const json_t *reps, const json_t *shown)
{
    const json_t *from = worst(reps, shown);
    if (!json_is_object(from))
        return json_null();
    enum dlb_cache_label label = dlb_cache_label_of_reps(reps);
    json_t *out = json_copy((json_t *)from);
    bool ok =
        out && dlb_json_put(out, "repetitions", each(reps)) &&
        dlb_json_put(out, "label", json_string(dlb_cache_label_name(label))) &&
        dlb_json_put(out, "metadata", json_string(dlb_cache_label_name(over(reps, "metadata"))));
    if (ok && label != dlb_cache_label_of(dlb_json_text(from, "label")))
        ok = dlb_json_put(
            out, "why",
            json_sprintf("repetitions differ; one of them: %s", dlb_json_text(from, "why")));
    if (ok)
        return out;
    json_decref(out);
    return NULL;
}

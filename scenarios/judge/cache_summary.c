#include "scenarios/judge/cache_summary.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/spec/spec.h"

#include <stdio.h>
#include <stdlib.h>

/* NULL when the repetition read nothing. */
static const struct dlb_cache_result *cache_of(const struct dlb_cell_result *rep)
{
    return dlb_measured(rep->cache.delivered_bytes) > 0 ? &rep->cache : NULL;
}

static enum dlb_cache_label label_of(const struct dlb_cache_result *cache, bool metadata)
{
    return metadata ? cache->metadata : cache->label;
}

static enum dlb_cache_label over(const struct dlb_reps *reps, bool metadata)
{
    enum dlb_cache_label *labels = dlb_mem_array(reps->n, sizeof(*labels));
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_cache_result *cache = cache_of(&reps->rep[i]);
        if (cache)
            labels[n++] = label_of(cache, metadata);
    }
    enum dlb_cache_label label = dlb_cache_over(labels, n);
    free(labels);
    return label;
}

enum dlb_cache_label dlb_cache_label_of_reps(const struct dlb_reps *reps)
{
    return over(reps, false);
}

bool dlb_cache_is_as_asked(int asked, enum dlb_cache_label label)
{
    return asked == DLB_RUN_AS_IS || (asked == DLB_RUN_WARM && label == DLB_CACHE_WARM) ||
           (asked == DLB_RUN_COLD && label == DLB_CACHE_COLD);
}

const struct dlb_cell_result *dlb_cache_shown(const struct dlb_reps *reps,
                                              const struct dlb_cell_result *shown)
{
    for (uint32_t i = 0; i < reps->n; i++) {
        const struct dlb_cache_result *cache = cache_of(&reps->rep[i]);
        if (cache && !dlb_cache_is_as_asked(cache->asked, cache->label))
            return &reps->rep[i];
    }
    return shown && shown->has_cache ? shown : NULL;
}

uint32_t dlb_cache_n_reps(const struct dlb_reps *reps)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < reps->n; i++)
        n += cache_of(&reps->rep[i]) != NULL;
    return n;
}

void dlb_cache_why(const struct dlb_reps *reps, const struct dlb_cell_result *from, char *text,
                   size_t n_text)
{
    bool differ = dlb_cache_label_of_reps(reps) != from->cache.label;
    (void)snprintf(text, n_text, "%s%s", differ ? "repetitions differ; one of them: " : "",
                   from->cache.why);
}

/* The members of `cache` that each repetition shows. */
static json_t *each(const struct dlb_reps *reps)
{
    static const char *const keys[] = {
        "label",         "resident_before_frac", "resident_after_frac",
        "process_bytes", "device_bytes",         "delivered_bytes"};
    json_t *out = dlb_json_made(json_array());
    for (uint32_t i = 0; i < reps->n; i++) {
        if (!cache_of(&reps->rep[i]))
            continue;
        json_t *all = dlb_cache_result_to_json(&reps->rep[i].cache),
               *one = dlb_json_made(json_object());
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            dlb_json_put(one, keys[k], json_incref(json_object_get(all, keys[k])));
        dlb_json_append(out, one);
        json_decref(all);
    }
    return out;
}

json_t *dlb_cache_summary(const struct dlb_reps *reps, const struct dlb_cell_result *shown)
{
    const struct dlb_cell_result *from = dlb_cache_shown(reps, shown);
    char why[sizeof(from->cache.why) + 40];
    if (!from)
        return json_null();
    json_t *out = dlb_cache_result_to_json(&from->cache);
    dlb_cache_why(reps, from, why, sizeof(why));
    dlb_json_put(out, "repetitions", each(reps));
    dlb_json_put(out, "label", json_string(dlb_cache_label_name(dlb_cache_label_of_reps(reps))));
    dlb_json_put(out, "metadata", json_string(dlb_cache_label_name(over(reps, true))));
    dlb_json_put(out, "why", dlb_json_safe_text(why));
    return out;
}

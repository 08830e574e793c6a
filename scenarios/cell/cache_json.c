#include "scenarios/cell/cache_json.h"

#include "core/base/escape.h"
#include "core/base/json_fields.h"
#include "scenarios/spec/spec.h"

#include <string.h>

static const struct dlb_json_field cache_fields[] = {
    DLB_JSON_TEXT(dlb_cache_result, "why", why),
    DLB_JSON_REAL(dlb_cache_result, "resident_before_frac", resident_before_frac),
    DLB_JSON_REAL(dlb_cache_result, "resident_after_frac", resident_after_frac),
    DLB_JSON_COUNT(dlb_cache_result, "process_bytes", process_bytes),
    DLB_JSON_COUNT(dlb_cache_result, "device_bytes", device_bytes),
    DLB_JSON_COUNT(dlb_cache_result, "delivered_bytes", delivered_bytes),
    DLB_JSON_TEXT(dlb_cache_result, "filesystem", filesystem),
    DLB_JSON_TEXT(dlb_cache_result, "device", device),
    DLB_JSON_FIELDS_END};

json_t *dlb_cache_result_to_json(const struct dlb_cache_result *cache)
{
    json_t *out = dlb_json_fields_object(cache_fields, cache),
           *limits = dlb_json_made(json_array());
    for (uint32_t i = 0; i < cache->n_limits; i++)
        dlb_json_append(limits, dlb_json_safe_text(cache->limits[i]));
    dlb_json_put(out, "asked", json_string(dlb_run_cache_names[cache->asked]));
    dlb_json_put(out, "label", json_string(dlb_cache_label_name(cache->label)));
    dlb_json_put(out, "metadata", json_string(dlb_cache_label_name(cache->metadata)));
    dlb_json_put(out, "limits", limits);
    return out;
}

void dlb_cache_result_from_json(const json_t *object, struct dlb_cache_result *cache)
{
    const json_t *limit;
    size_t i;
    dlb_json_fields_take(object, cache_fields, cache);
    for (int k = 0; dlb_run_cache_names[k]; k++)
        if (strcmp(dlb_run_cache_names[k], dlb_json_text(object, "asked")) == 0)
            cache->asked = k;
    cache->label = dlb_cache_label_of(dlb_json_text(object, "label"));
    cache->metadata = dlb_cache_label_of(dlb_json_text(object, "metadata"));
    json_array_foreach(json_object_get(object, "limits"), i, limit) {
        const char *text = json_string_value(limit);
        if (!text || cache->n_limits == DLB_CACHE_LIMITS)
            continue;
        dlb_cut_text(cache->limits[cache->n_limits], DLB_CACHE_LIMIT_BYTES, text);
        (void)dlb_unescape(cache->limits[cache->n_limits++]);
    }
}

#include "reports/reasons.h"

#include "core/base/json.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_of(const json_t *entry, const char *status)
{
    const char *own = dlb_json_text(entry, "status");
    return status ? strcmp(own, status) == 0 : strcmp(own, "ok") != 0;
}

/* The group in `by_key`, which has a group for each pair of status and reason; it is made where
 * there is none. Borrowed. */
static json_t *group_of(const json_t *entry, json_t *by_key, json_t *groups)
{
    const char *status = dlb_json_text(entry, "status"), *reason = dlb_json_text(entry, "reason");
    struct dlb_text key = {0};
    dlb_text_append(&key, status, strlen(status));
    dlb_text_append(&key, "\n", 1);
    dlb_text_append(&key, reason, strlen(reason));
    json_t *group = json_object_get(by_key, key.data);
    if (!group) {
        group = dlb_json_made(json_array());
        dlb_json_put(by_key, key.data, group);
        dlb_json_append(groups, json_incref(group));
    }
    dlb_text_free(&key);
    return group;
}

json_t *dlb_reasons_groups(const json_t *entries, const char *status)
{
    json_t *by_key = dlb_json_made(json_object()), *groups = dlb_json_made(json_array());
    const json_t *entry;
    size_t i;
    json_array_foreach(entries, i, entry) {
        if (is_of(entry, status))
            dlb_json_append(group_of(entry, by_key, groups), json_integer((json_int_t)i));
    }
    json_decref(by_key);
    return groups;
}

size_t dlb_reasons_place(const json_t *group, size_t i)
{
    return (size_t)json_integer_value(json_array_get(group, i));
}

/* How many places from i on follow one another; two are no range. */
static size_t range_from(const json_t *group, size_t i)
{
    size_t n = 1, first = dlb_reasons_place(group, i);
    while (i + n < json_array_size(group) && dlb_reasons_place(group, i + n) == first + n)
        n++;
    return n == 2 ? 1 : n;
}

void dlb_reasons_ranges(const json_t *group, size_t max, struct dlb_text *out)
{
    size_t start = out->len_bytes, n, n_range;
    for (size_t i = 0; i < json_array_size(group); i += n) {
        char range[64];
        n = range_from(group, i);
        n_range =
            (size_t)snprintf(range, sizeof(range), n > 1 ? "%s%zu-%zu" : "%s%zu", i > 0 ? ", " : "",
                             dlb_reasons_place(group, i), dlb_reasons_place(group, i + n - 1));
        if (out->len_bytes - start + n_range > max) {
            dlb_text_printf(out, " and %zu more", json_array_size(group) - i);
            return;
        }
        dlb_text_append(out, range, n_range);
    }
}

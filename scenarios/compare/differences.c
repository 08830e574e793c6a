#include "scenarios/compare/differences.h"

#include "core/base/json.h"
#include "core/measure/disturbed.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Differences that explain nothing: how often and where it was measured, not what. */
static const char *const idle_keys[] = {
    "run.repeats",           "run.seed", "sweep.", "host", "timestamp", "filesystem.free_bytes",
    "memory.available_bytes"};
/* Differences that are always there. */
static const char *const silent_keys[] = {"filesystem.free_bytes", "memory.available_bytes"};

static bool is_among(const char *const *list, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(list[i]);
        bool whole_section = list[i][len - 1] == '.';
        if (whole_section ? strncmp(list[i], key, len) == 0 : strcmp(list[i], key) == 0)
            return true;
    }
    return false;
}
#define AMONG(list, key) is_among((list), sizeof(list) / sizeof(*(list)), (key))

struct lists {
    json_t *explaining, *others;
};

static json_t *shown(const json_t *value)
{
    return value ? json_incref((json_t *)value) : json_null();
}

static bool is_same(const json_t *a, const json_t *b)
{
    bool none_a = !a || json_is_null(a), none_b = !b || json_is_null(b);
    if (none_a || none_b)
        return none_a && none_b;
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b);
}

void dlb_difference_add(json_t *list, const char *kind, const char *key, const json_t *a,
                        const json_t *b, bool may_explain)
{
    if (is_same(a, b))
        return;
    dlb_json_append(list,
                    dlb_json_made(json_pack("{ss, ss, so, so, sb}", "kind", kind, "key", key, "a",
                                            shown(a), "b", shown(b), "may_explain", may_explain)));
}

static void put(struct lists *out, const char *kind, const char *key, const json_t *a,
                const json_t *b, bool may_explain)
{
    dlb_difference_add(may_explain ? out->explaining : out->others, kind, key, a, b, may_explain);
}

/* Members of two objects, and of the objects in them. Keys get `prefix`. */
static void put_members(struct lists *out, const char *kind, const char *prefix, const json_t *a,
                        const json_t *b)
{
    const char *key;
    json_t *value;
    json_t *all = dlb_json_made(json_object());
    (void)json_object_update(all, (json_t *)a); /* fails for what is no object: then it is empty */
    (void)json_object_update_missing(all, (json_t *)b);
    json_object_foreach(all, key, value) {
        char full[160];
        const json_t *of_a = json_object_get(a, key), *of_b = json_object_get(b, key);
        (void)snprintf(full, sizeof(full), "%s%s", prefix, key);
        if (json_is_object(of_a) && json_is_object(of_b)) {
            (void)snprintf(full, sizeof(full), "%s%s.", prefix, key);
            if (strlen(prefix) == 0)
                put_members(out, kind, full, of_a, of_b);
        } else if (!AMONG(silent_keys, full)) {
            put(out, kind, full, of_a, of_b, !AMONG(idle_keys, full));
        }
    }
    json_decref(all);
}

static void put_config(struct lists *out, const struct dlb_differing *a,
                       const struct dlb_differing *b, const json_t *keys)
{
    json_t *of_a = dlb_json_made(json_copy((json_t *)a->config));
    json_t *of_b = dlb_json_made(json_copy((json_t *)b->config));
    for (size_t i = 0; i < json_array_size(keys); i++) {
        (void)json_object_del(of_a, json_string_value(json_array_get(keys, i)));
        (void)json_object_del(of_b, json_string_value(json_array_get(keys, i)));
    }
    put_members(out, "configuration", "", of_a, of_b);
    json_decref(of_a);
    json_decref(of_b);
}

static void put_some(struct lists *out, const char *kind, const char *section, const json_t *a,
                     const json_t *b, const char *const *keys)
{
    for (; *keys; keys++) {
        char full[96];
        const json_t *of_a = json_object_get(a, *keys), *of_b = json_object_get(b, *keys);
        (void)snprintf(full, sizeof(full), "%s.%s", section, *keys);
        put(out, kind, full, of_a, of_b, true);
    }
}

/* Shares of the machine that others took; a difference is listed from the share on that disturbs
 * a repetition. */
static void put_conditions(struct lists *out, const json_t *a, const json_t *b)
{
    static const struct {
        const char *key;
        double least;
    } shares[] = {{"stolen_frac", DLB_DISTURBED_STOLEN},
                  {"others_frac", DLB_DISTURBED_OTHERS},
                  {"throttled_frac", DLB_DISTURBED_THROTTLED}};
    put_some(out, "conditions", "cache", json_object_get(a, "cache"), json_object_get(b, "cache"),
             (const char *const[]){"label", "metadata", NULL});
    const json_t *of_a = json_object_get(a, "strain"), *of_b = json_object_get(b, "strain");
    for (size_t i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        char full[64];
        const char *key = shares[i].key;
        (void)snprintf(full, sizeof(full), "strain.%s", key);
        if (fabs(dlb_json_number(of_a, key) - dlb_json_number(of_b, key)) >= shares[i].least)
            put(out, "conditions", full, json_object_get(of_a, key), json_object_get(of_b, key),
                true);
    }
    const json_t *skipped_a = json_object_get(a, "skipped_frac"),
                 *skipped_b = json_object_get(b, "skipped_frac");
    if (skipped_a && skipped_b) /* results of before it was counted have none */
        put(out, "conditions", "skipped_frac", skipped_a, skipped_b, true);
}

json_t *dlb_differences(const struct dlb_differing *a, const struct dlb_differing *b,
                        const json_t *keys)
{
    static const char *const data[] = {"id", "format", "samples", "bytes", NULL};
    static const char *const device[] = {"kind", "name", NULL};
    static const char *const gpu[] = {"name", "driver", "driver_cuda", "runtime_cuda", "sms", NULL};
    static const char *const program[] = {"version", "commit", NULL};
    struct lists lists = {dlb_json_made(json_array()), dlb_json_made(json_array())};
    const json_t *of_a = json_object_get(a->doc, "device"),
                 *of_b = json_object_get(b->doc, "device");
    put_config(&lists, a, b, keys);
    put_some(&lists, "data", "dataset", json_object_get(a->doc, "dataset"),
             json_object_get(b->doc, "dataset"), data);
    put_some(&lists, "machine", "device", of_a, of_b, device);
    put_some(&lists, "machine", "device.gpu", json_object_get(of_a, "gpu"),
             json_object_get(of_b, "gpu"), gpu);
    put_members(&lists, "machine", "", json_object_get(a->doc, "environment"),
                json_object_get(b->doc, "environment"));
    put_conditions(&lists, a->cell, b->cell);
    put_some(&lists, "program", "dlbench", json_object_get(a->doc, "dlbench"),
             json_object_get(b->doc, "dlbench"), program);
    (void)json_array_extend(lists.explaining, lists.others);
    json_decref(lists.others);
    return lists.explaining;
}

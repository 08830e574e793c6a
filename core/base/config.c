#include "core/base/config.h"

#include "core/base/escape.h"
#include "core/base/config_said.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_table.h"
#include "core/base/opt_value.h"
#include "core/base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AXIS_KEY_CAP (DLB_KEY_CAP + sizeof DLB_SWEEP)

void dlb_said_drop(struct dlb_said *said)
{
    json_decref(said->values);
    json_decref(said->axes);
    json_decref(said->origins);
}

struct dlb_said dlb_said_copy(const struct dlb_said *from)
{
    return (struct dlb_said){dlb_json_made(json_copy(from->values)),
                             dlb_json_made(json_copy(from->axes)),
                             dlb_json_made(json_copy(from->origins))};
}

struct dlb_config *dlb_config_new(const struct dlb_opt_group *const *groups)
{
    struct dlb_config *cfg = dlb_mem_new(sizeof *cfg);

    cfg->groups = groups;
    cfg->said = (struct dlb_said){dlb_json_made(json_object()), dlb_json_made(json_object()),
                                  dlb_json_made(json_object())};
    return cfg;
}

void dlb_config_free(struct dlb_config *cfg)
{
    if (!cfg)
        return;
    dlb_said_drop(&cfg->said);
    free(cfg);
}

/* Of a table, each name has a key. */
static bool is_key_of(const struct dlb_opt *opt, const char *key)
{
    return opt->type == DLB_OPT_TABLE ? dlb_opt_name_in(opt, key) != NULL
                                      : strcmp(opt->key, key) == 0;
}

const struct dlb_opt *dlb_config_find(const struct dlb_config *cfg, const char *key,
                                      const struct dlb_opt_group **group)
{
    for (const struct dlb_opt_group *const *g = cfg->groups; *g; g++) {
        size_t n_section = strlen((*g)->section);
        if (strncmp(key, (*g)->section, n_section) != 0 || key[n_section] != '.')
            continue;
        for (const struct dlb_opt *opt = (*g)->opts; opt->key; opt++)
            if (is_key_of(opt, key + n_section + 1)) {
                if (group)
                    *group = *g;
                return opt;
            }
    }
    return NULL;
}

bool dlb_config_is_axis(const struct dlb_config *cfg, const char *key)
{
    return strncmp(key, DLB_SWEEP, strlen(DLB_SWEEP)) == 0 && !dlb_config_find(cfg, key, NULL);
}

/* How far `key` is from the known key, `enough` at most. A key without a section stands for the
 * known key that ends with it. */
static size_t edits_to(size_t enough, const char *key, const char *known, const struct dlb_opt *opt)
{
    const char *dot = strchr(key, '.');
    if (strcmp(dot ? dot + 1 : key, opt->key) == 0) /* right key, wrong section */
        return 1;
    return dot ? dlb_edit_distance(key, known, enough)
               : dlb_edit_distance(key, opt->key, enough) + 1;
}

/* Copies as much as there is room for, and a zero; returns where that is. */
static char *put_text(char *to, const char *end, const char *text)
{
    size_t n = strlen(text), room = (size_t)(end - to) - 1;
    n = n < room ? n : room;
    memcpy(to, text, n);
    to[n] = '\0';
    return to + n;
}

/* Finds the known key that the user probably meant, of an axis or of an option; false when none is
 * near. */
static bool nearest_key(const struct dlb_config *cfg, const char *key, char nearest[AXIS_KEY_CAP])
{
    bool axis = dlb_config_is_axis(cfg, key);
    const char *bare = axis ? key + strlen(DLB_SWEEP) : key;
    size_t best = strlen(bare) / 4 + 2;
    bool found = false;
    char known[AXIS_KEY_CAP] = DLB_SWEEP, *option = known + strlen(DLB_SWEEP);
    const char *end = known + sizeof known;

    for (const struct dlb_opt_group *const *g = cfg->groups; *g; g++) {
        char *behind = put_text(put_text(option, end, (*g)->section), end, ".");
        for (const struct dlb_opt *opt = (*g)->opts; opt->key; opt++) {
            (void)put_text(behind, end, opt->key);
            bool own = axis && strncmp(option, DLB_SWEEP, strlen(DLB_SWEEP)) == 0;
            size_t edits =
                own ? dlb_edit_distance(key, option, best) : edits_to(best, bare, option, opt);
            if (edits >= best)
                continue;
            best = edits;
            (void)snprintf(nearest, AXIS_KEY_CAP, "%s", axis && !own ? known : option);
            found = true;
        }
    }
    return found;
}

/* Whether the key is that of a table itself, or within it and no name. */
static bool is_at_table(const struct dlb_opt_group *group, const struct dlb_opt *opt,
                        const char *key)
{
    char table[DLB_KEY_CAP];
    int n = snprintf(table, sizeof table, "%s.%s", group->section, opt->key);
    return opt->type == DLB_OPT_TABLE && strncmp(key, table, (size_t)n) == 0 &&
           (key[n] == '\0' || key[n] == '.');
}

static int not_a_name(const struct dlb_opt_group *group, const struct dlb_opt *opt, const char *key,
                      const char *origin, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_CONFIG_UNKNOWN_KEY, origin, DLB_NO_OFFSET,
                    "%.*s: %s.%s is a table of names and plain values: set %s.%s.NAME, where NAME "
                    "has up to %d letters, digits and _, and no table is within it",
                    DLB_CUT(key, 80), group->section, opt->key, group->section, opt->key,
                    DLB_OPT_NAME_CAP - 1);
}

int dlb_config_unknown(const struct dlb_config *cfg, const char *key, const char *origin,
                       struct dlb_err *err)
{
    const char *bare = dlb_config_is_axis(cfg, key) ? key + strlen(DLB_SWEEP) : key;
    char nearest[AXIS_KEY_CAP];

    for (const struct dlb_opt_group *const *g = cfg->groups; *g; g++)
        if (strcmp(bare, (*g)->section) == 0)
            return dlb_fail(err, DLB_ERR_CONFIG_UNKNOWN_KEY, origin, DLB_NO_OFFSET,
                            "\"%s\" is a section: set one of its keys, such as %s.%s", bare, bare,
                            (*g)->opts->key);
    for (const struct dlb_opt_group *const *g = cfg->groups; *g; g++)
        for (const struct dlb_opt *opt = (*g)->opts; opt->key; opt++)
            if (is_at_table(*g, opt, bare))
                return not_a_name(*g, opt, bare, origin, err);
    if (nearest_key(cfg, key, nearest))
        return dlb_fail(err, DLB_ERR_CONFIG_UNKNOWN_KEY, origin, DLB_NO_OFFSET,
                        "unknown key \"%.*s\"; did you mean \"%s\"?", DLB_CUT(key, 50), nearest);
    return dlb_fail(err, DLB_ERR_CONFIG_UNKNOWN_KEY, origin, DLB_NO_OFFSET,
                    "unknown key \"%.*s\"; `dlbench help sweep` lists them all", DLB_CUT(key, 50));
}

void dlb_said_put(struct dlb_said *said, json_t *in, const char *key, json_t *value,
                  const char *full_key, const char *origin)
{
    dlb_json_put(in, key, value);
    /* kept in memory only, where a name is what its bytes are */
    dlb_json_put(said->origins, full_key, dlb_json_made(json_string_nocheck(origin)));
}

/* The table with this dotted key, of the values of its names; new reference. */
static json_t *table_of(const struct dlb_said *said, const char *key)
{
    json_t *table = dlb_json_made(json_object()), *value;
    size_t n = strlen(key);
    const char *full;

    json_object_foreach(said->values, full, value) {
        if (strncmp(full, key, n) == 0 && full[n] == '.')
            dlb_json_put(table, full + n + 1, json_incref(value));
    }
    return table;
}

int dlb_said_put_value(struct dlb_said *said, const struct dlb_opt *opt, const char *key,
                       json_t *value, const char *origin, struct dlb_err *err)
{
    char of[DLB_KEY_CAP];
    const char *dot = strrchr(key, '.');

    if (opt->type == DLB_OPT_TABLE) {
        (void)snprintf(of, sizeof of, "%.*s", (int)(dot - key), key);
        json_t *table = table_of(said, of);
        dlb_json_put(table, dot + 1, json_incref(value));
        bool fits = dlb_opt_table_fits(table);
        json_decref(table);
        if (!fits) {
            json_decref(value);
            return dlb_fail(err, DLB_ERR_CONFIG_BAD_TEXT, origin, DLB_NO_OFFSET,
                            "%s: the table %s has more than %d bytes as JSON", key, of,
                            DLB_OPT_TABLE_CAP - 1);
        }
    }
    dlb_said_put(said, said->values, key, value, key, origin);
    return DLB_OK;
}

static int put_value(struct dlb_config *cfg, struct dlb_said *said, const char *key,
                     const json_t *value, const char *origin, struct dlb_err *err)
{
    const struct dlb_opt *opt = dlb_config_find(cfg, key, NULL);
    json_t *canonical;
    int status;

    if (!opt)
        return dlb_config_unknown(cfg, key, origin, err);
    status = dlb_opt_from_json(opt, key, value, origin, &canonical, err);
    if (status == DLB_OK)
        status = dlb_said_put_value(said, opt, key, canonical, origin, err);
    return status;
}

int dlb_axis_append(json_t *axis, const char *key, json_t *canonical, const char *origin,
                    struct dlb_err *err)
{
    size_t i;
    json_t *other;

    if (json_is_array(canonical)) {
        json_decref(canonical);
        return dlb_fail(err, DLB_ERR_CONFIG_BAD_AXIS, origin, DLB_NO_OFFSET,
                        "sweep.%s has a list among its values, and lists cannot be swept", key);
    }
    json_array_foreach(axis, i, other) {
        if (!json_equal(canonical, other))
            continue;
        char *text = dlb_mem_check(json_dumps(canonical, JSON_ENCODE_ANY));
        (void)dlb_fail(err, DLB_ERR_CONFIG_BAD_AXIS, origin, DLB_NO_OFFSET,
                       "sweep.%s lists %.*s twice", key, DLB_CUT(text, 40));
        free(text);
        json_decref(canonical);
        return (int)err->status;
    }
    dlb_json_append(axis, canonical);
    return DLB_OK;
}

int dlb_axis_finish(struct dlb_said *said, const char *key, json_t *axis, const char *origin,
                    struct dlb_err *err)
{
    char full_key[AXIS_KEY_CAP];

    if (json_array_size(axis) == 0) {
        json_decref(axis);
        return dlb_fail(err, DLB_ERR_CONFIG_BAD_AXIS, origin, DLB_NO_OFFSET,
                        "sweep.%s is an empty list: name at least one value", key);
    }
    (void)snprintf(full_key, sizeof full_key, DLB_SWEEP "%s", key);
    dlb_said_put(said, said->axes, key, axis, full_key, origin);
    return DLB_OK;
}

int dlb_axis_not_a_list(const char *key, const char *origin, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_CONFIG_BAD_AXIS, origin, DLB_NO_OFFSET,
                    "sweep.%s wants a list of values, as in sweep.%s = [...]", key, key);
}

static int put_axis(struct dlb_config *cfg, struct dlb_said *said, const char *full_key,
                    const json_t *list, const char *origin, struct dlb_err *err)
{
    const char *key = full_key + strlen(DLB_SWEEP);
    const struct dlb_opt *opt = dlb_config_find(cfg, key, NULL);
    json_t *axis, *canonical, *value;
    int status = DLB_OK;
    size_t i;

    if (!opt)
        return dlb_config_unknown(cfg, full_key, origin, err);
    if (!json_is_array(list))
        return dlb_axis_not_a_list(key, origin, err);
    axis = dlb_json_made(json_array());
    json_array_foreach(list, i, value) {
        status = dlb_opt_from_json(opt, key, value, origin, &canonical, err);
        if (status == DLB_OK)
            status = dlb_axis_append(axis, key, canonical, origin, err);
        if (status != DLB_OK) {
            json_decref(axis);
            return status;
        }
    }
    return dlb_axis_finish(said, key, axis, origin, err);
}

int dlb_said_put_json(struct dlb_config *cfg, struct dlb_said *said, const char *key,
                      const json_t *value, const char *origin, struct dlb_err *err)
{
    if (dlb_config_is_axis(cfg, key))
        return put_axis(cfg, said, key, value, origin, err);
    return put_value(cfg, said, key, value, origin, err);
}

int dlb_config_set_json(struct dlb_config *cfg, const char *key, const json_t *value,
                        const char *origin, struct dlb_err *err)
{
    return dlb_said_put_json(cfg, &cfg->said, key, value, origin, err);
}

int dlb_config_set_flat(struct dlb_config *cfg, const json_t *flat, const char *origin,
                        struct dlb_err *err)
{
    const char *key;
    json_t *value;
    int rc = DLB_OK;

    json_object_foreach((json_t *)flat, key, value) {
        if (!rc && !json_is_null(value))
            rc = dlb_config_set_json(cfg, key, value, origin, err);
    }
    return rc;
}

/* `before`: what the key of an origin has before it. */
static void add_said(const struct dlb_config *cfg, const json_t *from, const char *before,
                     json_t *out)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)from, key, value) {
        char full[AXIS_KEY_CAP];
        (void)snprintf(full, sizeof full, "%s%s", before, key);
        json_t *one = dlb_json_made(json_pack("{ss, sO}", "key", full, "value", value));
        dlb_json_put(one, "origin", dlb_json_safe_text(dlb_config_origin(cfg, full)));
        dlb_json_append(out, one);
    }
}

bool dlb_config_is_set(const struct dlb_config *cfg)
{
    return json_object_size(cfg->said.values) + json_object_size(cfg->said.axes) > 0;
}

json_t *dlb_config_said(const struct dlb_config *cfg)
{
    json_t *out = dlb_json_made(json_array());

    add_said(cfg, cfg->said.values, "", out);
    add_said(cfg, cfg->said.axes, DLB_SWEEP, out);
    return out;
}

int dlb_config_restore(struct dlb_config *cfg, const json_t *said, struct dlb_err *err)
{
    const json_t *one;
    size_t i;
    int rc = DLB_OK;

    json_array_foreach(said, i, one) {
        char *origin = dlb_unescape(dlb_mem_text(dlb_json_text(one, "origin")));
        if (!rc)
            rc = dlb_config_set_json(cfg, dlb_json_text(one, "key"), json_object_get(one, "value"),
                                     origin, err);
        free(origin);
    }
    return rc;
}

bool dlb_config_has(const struct dlb_config *cfg, const char *key)
{
    return json_object_get(cfg->said.origins, key) != NULL;
}

const char *dlb_config_origin(const struct dlb_config *cfg, const char *key)
{
    const char *origin = json_string_value(json_object_get(cfg->said.origins, key));
    return origin ? origin : "default";
}

/* The value that was set for the key, or its default; new reference. */
static json_t *resolve(const struct dlb_config *cfg, const char *key, const struct dlb_opt *opt)
{
    json_t *value = json_object_get(cfg->said.values, key);
    struct dlb_err err;

    if (value)
        return json_incref(value);
    if (opt->type == DLB_OPT_TABLE)
        return table_of(&cfg->said, key);
    if (dlb_opt_from_text(opt, key, opt->def, "default", &value, &err) != DLB_OK)
        DLB_BUG(err.what); /* the table's default breaks the table's own rules */
    return value;
}

void dlb_config_fill(const struct dlb_config *cfg, const struct dlb_opt_group *group, void *out)
{
    char key[DLB_KEY_CAP];

    memset(out, 0, group->n_bytes);
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        (void)snprintf(key, sizeof key, "%s.%s", group->section, opt->key);
        json_t *value = resolve(cfg, key, opt);
        dlb_opt_store(opt, value, out);
        json_decref(value);
    }
}

json_t *dlb_config_resolved(const struct dlb_config *cfg)
{
    json_t *all = dlb_json_made(json_object());
    char key[DLB_KEY_CAP];

    for (const struct dlb_opt_group *const *g = cfg->groups; *g; g++)
        for (const struct dlb_opt *opt = (*g)->opts; opt->key; opt++) {
            (void)snprintf(key, sizeof key, "%s.%s", (*g)->section, opt->key);
            dlb_opt_put_flat(all, key, opt, resolve(cfg, key, opt));
        }
    return all;
}

const json_t *dlb_config_axes(const struct dlb_config *cfg)
{
    return cfg->said.axes;
}

void dlb_config_hash(const struct dlb_config *cfg, char hex[17])
{
    json_t *values = dlb_config_resolved(cfg);
    const json_t *const parts[] = {values, cfg->said.axes};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *text = dlb_mem_check(json_dumps(parts[i], JSON_COMPACT | JSON_SORT_KEYS));
        hash = dlb_hash64(text, strlen(text), hash);
        free(text);
    }
    json_decref(values);
    (void)snprintf(hex, 17, "%016" PRIx64, hash);
}

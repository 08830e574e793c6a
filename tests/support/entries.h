/* What dlb_toml_parse gives, put into a configuration as dlb_config_load does: for fuzzers.
 * Header-only. */
#ifndef DLB_TESTS_ENTRIES_H
#define DLB_TESTS_ENTRIES_H

#include "core/base/config.h"
#include "core/base/config_toml.h"
#include "scenarios/spec/spec.h"

/* What is accepted must resolve, and be accepted again. The defaults of all other options are the
 * same for each input. */
static inline void entries_apply(json_t *entries)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    json_t *entry, *resolved = NULL;
    struct dlb_err err;
    const char *key;
    json_t *value;
    size_t i, n_accepted = 0;

    json_array_foreach(entries, i, entry)
        n_accepted += dlb_config_set_json(cfg, json_string_value(json_object_get(entry, "key")),
                                          json_object_get(entry, "value"), "fuzz", &err) == DLB_OK;
    if (n_accepted > 0)
        resolved = dlb_config_resolved(cfg);
    json_object_foreach(resolved, key, value)
        if (dlb_config_has(cfg, key) &&
            dlb_config_set_json(cfg, key, value, "again", &err) != DLB_OK)
            DLB_BUG(err.what);
    json_decref(resolved);
    dlb_config_free(cfg);
}

/* Parses and applies. An error has a status and a line's place; it leaves no result. */
static inline void entries_parse(const char *text, size_t n_bytes)
{
    struct dlb_err err = {.status = DLB_OK};
    json_t *entries;

    int rc = dlb_toml_parse(text, n_bytes, "fuzz.toml", &entries, &err);
    if (rc == DLB_OK) {
        entries_apply(entries);
        json_decref(entries);
    } else if (rc != (int)err.status || entries || err.what[0] == '\0' || err.path[0] == '\0') {
        DLB_BUG("an error without words, or with a result");
    }
}

#endif

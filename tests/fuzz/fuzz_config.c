/* Configuration: TOML text as a file would hold it, and its lines as --set would take them. No
 * input may crash, leak or be half accepted. */
#include "core/base/config.h"
#include "core/base/config_toml.h"
#include "scenarios/spec/spec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Each entry goes where dlb_config_load puts it. What is accepted must resolve, and be accepted
 * again. */
static void apply(json_t *entries)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    json_t *entry, *resolved;
    struct dlb_err err;
    const char *key;
    json_t *value;
    size_t i;

    if (!cfg)
        abort();
    json_array_foreach(entries, i, entry)
        (void)dlb_config_set_json(cfg, json_string_value(json_object_get(entry, "key")),
                                  json_object_get(entry, "value"), "fuzz", &err);
    resolved = dlb_config_resolved(cfg);
    json_object_foreach(resolved, key, value)
        if (dlb_config_set_json(cfg, key, value, "again", &err) != DLB_OK)
            DLB_BUG(err.what);
    json_decref(resolved);
    dlb_config_free(cfg);
}

static void set_lines(const uint8_t *data, size_t n_bytes)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    char *text = malloc(n_bytes + 1), *rest = text;
    struct dlb_err err;

    if (!cfg || !text)
        abort();
    memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n"))
        (void)dlb_config_set(cfg, line, &err);
    free(text);
    dlb_config_free(cfg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    json_t *entries;
    struct dlb_err err;

    if (dlb_toml_parse((const char *)data, n_bytes, "fuzz.toml", &entries, &err) == DLB_OK) {
        apply(entries);
        json_decref(entries);
    } else if (err.status == DLB_OK || entries) {
        DLB_BUG("an error without a status, or with a result");
    }
    set_lines(data, n_bytes);
    return 0;
}

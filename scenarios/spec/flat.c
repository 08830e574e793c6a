#include "scenarios/spec/flat.h"

#include "core/host/osacct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int dlb_flat_config(const json_t *flat, const char *origin, struct dlb_config **out,
                    struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    if (!cfg)
        return dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a configuration");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)flat, key, value)
    {
        if (json_is_null(value))
            continue;
        int rc = dlb_config_set_json(cfg, key, value, origin, err);
        if (rc) {
            dlb_config_free(cfg);
            return rc;
        }
    }
    *out = cfg;
    return DLB_OK;
}

int dlb_flat_spec(const json_t *flat, const char *origin, struct dlb_spec *spec,
                  struct dlb_err *err)
{
    struct dlb_config *cfg = NULL;
    int rc = dlb_flat_config(flat, origin, &cfg, err);
    if (!rc)
        rc = dlb_spec_from_config(spec, cfg, err);
    dlb_config_free(cfg);
    return rc;
}

int dlb_flat_override(const json_t *flat, const json_t *overrides, const char *origin, json_t **out,
                      struct dlb_err *err)
{
    struct dlb_config *cfg = NULL;
    json_t *joined = json_copy((json_t *)flat);
    int rc = DLB_OK;
    if (!joined || json_object_update(joined, (json_t *)overrides))
        rc = dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a configuration");
    if (!rc)
        rc = dlb_flat_config(joined, origin, &cfg, err);
    if (!rc) {
        *out = dlb_config_resolved(cfg);
        if (!*out)
            rc = dlb_fail(err, DLB_E_NOMEM, NULL, DLB_NO_OFFSET,
                          "out of memory for a configuration");
    }
    dlb_config_free(cfg);
    json_decref(joined);
    return rc;
}

double dlb_json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

uint64_t dlb_json_u64(const json_t *object, const char *key, uint64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return otherwise;
    return (uint64_t)json_integer_value(value);
}

const char *dlb_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *dlb_json_real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *dlb_json_u64_or_null(uint64_t value)
{
    if (value == DLB_NOT_MEASURED || value > INT64_MAX)
        return json_null();
    return json_integer((json_int_t)value);
}

json_t *dlb_json_safe_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char *plain = strdup(text);
    if (!plain)
        return NULL;
    for (char *at = plain; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    string = json_string(plain);
    free(plain);
    return string;
}

bool dlb_json_put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

#include "scenarios/spec/flat.h"

int dlb_flat_config(const json_t *flat, const char *origin, struct dlb_config **out,
                    struct dlb_err *err)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    if (!cfg)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "out of memory for a configuration");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)flat, key, value) {
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
        rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for a configuration");
    if (!rc)
        rc = dlb_flat_config(joined, origin, &cfg, err);
    if (!rc) {
        *out = dlb_config_resolved(cfg);
        if (!*out)
            rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                          "out of memory for a configuration");
    }
    dlb_config_free(cfg);
    json_decref(joined);
    return rc;
}

#include "scenarios/spec/own_code.h"

#include "core/base/json.h"

#include <jansson.h>

/* As one value or as several that are swept. */
static bool is_said(const struct dlb_config *cfg, const char *key, const char *axis)
{
    return dlb_config_has(cfg, key) || dlb_config_has(cfg, axis);
}

static int imply(struct dlb_config *cfg, const char *key, const char *axis, const char *value,
                 struct dlb_err *err)
{
    if (is_said(cfg, key, axis))
        return DLB_OK;
    json_t *text = dlb_json_made(json_string(value));
    int rc = dlb_config_set_json(cfg, key, text, "python", err);
    json_decref(text);
    return rc;
}

int dlb_own_code_apply(struct dlb_config *cfg, struct dlb_err *err)
{
    if (!is_said(cfg, "python.dataset", "sweep.python.dataset") &&
        !is_said(cfg, "python.loader", "sweep.python.loader"))
        return DLB_OK;
    if (is_said(cfg, "dataset.path", "sweep.dataset.path"))
        return DLB_OK;
    int rc = imply(cfg, "dataset.format", "sweep.dataset.format", "python", err);
    return rc ? rc : imply(cfg, "loader.kind", "sweep.loader.kind", "torch", err);
}

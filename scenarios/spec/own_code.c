#include "scenarios/spec/own_code.h"

#include "core/base/json.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>
#include <stdbool.h>

static bool sweeps(const struct dlb_config *cfg, const char *key)
{
    return json_object_get(dlb_config_axes(cfg), key) != NULL;
}

/* The option that names the code; NULL: none does. An empty text names nothing. */
static const char *named_by(const struct dlb_config *cfg)
{
    struct dlb_python_opts python;

    dlb_config_fill(cfg, &dlb_python_group, &python);
    if (python.dataset[0] || sweeps(cfg, "python.dataset"))
        return "python.dataset";
    return python.loader[0] || sweeps(cfg, "python.loader") ? "python.loader" : NULL;
}

static bool has_path(const struct dlb_config *cfg)
{
    struct dlb_dataset_opts dataset;

    dlb_config_fill(cfg, &dlb_dataset_group, &dataset);
    return dataset.path[0] || sweeps(cfg, "dataset.path");
}

static int imply(struct dlb_config *cfg, const char *key, const char *value, const char *origin,
                 struct dlb_err *err)
{
    if (dlb_config_has(cfg, key) || sweeps(cfg, key))
        return DLB_OK;
    json_t *text = dlb_json_made(json_string(value));
    int rc = dlb_config_set_json(cfg, key, text, origin, err);
    json_decref(text);
    return rc;
}

int dlb_own_code_apply(struct dlb_config *cfg, struct dlb_err *err)
{
    const char *origin = named_by(cfg);
    int rc;

    if (!origin || has_path(cfg))
        return DLB_OK;
    rc = imply(cfg, "dataset.format", "python", origin, err);
    return rc ? rc : imply(cfg, "loader.kind", "torch", origin, err);
}

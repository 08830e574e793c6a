#include "scenarios/spec/own_code.h"

#include "core/base/json.h"
#include "core/base/opt_table.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

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

/* Where one of python.args was set; NULL: there are none. Borrowed. */
static const char *args_origin(const struct dlb_config *cfg)
{
    struct dlb_python_opts python;
    const char *origin = NULL, *name;
    char key[sizeof("python.args.") + DLB_OPT_NAME_CAP];
    json_t *value;

    dlb_config_fill(cfg, &dlb_python_group, &python);
    json_t *args = dlb_opt_table_load(python.args);
    json_object_foreach(args, name, value) {
        (void)snprintf(key, sizeof(key), "python.args.%s", name);
        origin = dlb_config_origin(cfg, key);
    }
    json_decref(args);
    return origin;
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

/* The loader of all cells, if an interpreter loads their batches; else NULL. */
static const struct dlb_loader *elsewhere(const struct dlb_config *cfg)
{
    struct dlb_loader_opts loader;

    dlb_config_fill(cfg, &dlb_loader_group, &loader);
    const struct dlb_loader *kind = loader.kind > 0 ? dlb_loaders[loader.kind - 1] : NULL;
    return kind && kind->elsewhere && !sweeps(cfg, "loader.kind") ? kind : NULL;
}

/* Batches that an interpreter loads never reach this process, whatever GPU it has. */
static int refuse_gpu(const struct dlb_config *cfg, struct dlb_err *err)
{
    const struct dlb_loader *kind = elsewhere(cfg);
    struct dlb_device_opts device;

    dlb_config_fill(cfg, &dlb_device_group, &device);
    if (!kind || sweeps(cfg, "device.kind") || device.kind == 0 ||
        dlb_devices[device.kind - 1]->emulated)
        return DLB_OK;
    return dlb_fail(
        err, DLB_ERR_PYTHON_NO_GPU, dlb_config_origin(cfg, "device.kind"), DLB_NO_OFFSET,
        "loader.kind = \"%s\" needs device.kind = \"emulated\": its batches stay in the "
        "interpreter",
        kind->name);
}

int dlb_own_code_apply(struct dlb_config *cfg, struct dlb_err *err)
{
    const char *origin = named_by(cfg);
    const char *args = args_origin(cfg);
    int rc;

    if (!origin && elsewhere(cfg) && args)
        return dlb_fail(err, DLB_ERR_PYTHON_ARGS, args, DLB_NO_OFFSET,
                        "python.args are for python.dataset or python.loader, and neither is "
                        "named");
    if (!origin || has_path(cfg))
        return refuse_gpu(cfg, err);
    rc = imply(cfg, "dataset.format", "python", origin, err);
    if (rc == DLB_OK)
        rc = imply(cfg, "loader.kind", "torch", origin, err);
    return rc == DLB_OK ? refuse_gpu(cfg, err) : rc;
}

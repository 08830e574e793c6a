#include "formats/generate/manifest.h"

#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "formats/codec.h"
#include "formats/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANIFEST_VERSION = 1, MANIFEST_MAX_BYTES = 256 << 20 }; /* a million shards take 100 MiB */

static void add_group(json_t *params, const struct dlb_opt_group *group, const void *values)
{
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        char key[96];
        if (opt->reads_only)
            continue;
        (void)snprintf(key, sizeof key, "%s.%s", group->section, opt->key);
        dlb_json_put(params, key, dlb_opt_load(opt, values));
    }
}

json_t *dlb_manifest_params(const struct dlb_gen *gen)
{
    json_t *params = dlb_json_made(json_pack("{s:s, s:s, s:i}", "dataset.format", gen->format->name,
                                             "dataset.codec", gen->codec->name, "generator",
                                             DLB_GENERATOR_VERSION));
    add_group(params, &dlb_generate_group, gen->opts);
    /* Samples of other codecs do not depend on them, and older manifests lack them. */
    if (strcmp(gen->codec->name, "image") != 0)
        (void)json_object_del(params, "generate.image");
    if (strcmp(gen->codec->name, "audio") != 0)
        (void)json_object_del(params, "generate.audio");
    if (gen->format->opts && gen->format_opts)
        add_group(params, gen->format->opts, gen->format_opts);
    return params;
}

int dlb_manifest_load(const char *folder, json_t **out, struct dlb_err *err)
{
    char *path = dlb_path_join(folder, DLB_MANIFEST_NAME), *text = NULL;
    size_t n_bytes = 0;
    json_error_t at;
    int rc;

    *out = NULL;
    if (!path)
        return dlb_fail_memory(err, folder, strlen(folder) + sizeof DLB_MANIFEST_NAME + 1);
    rc = dlb_read_file(path, MANIFEST_MAX_BYTES, &text, &n_bytes, err);
    if (rc != DLB_OK) {
        /* Without the folder, or with a file in its place, there is no manifest. */
        if (err->sys_errno == ENOENT || err->sys_errno == ENOTDIR)
            rc = DLB_OK;
        goto out;
    }
    json_t *manifest = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &at);
    if (!manifest ||
        json_integer_value(json_object_get(manifest, "dlbench_manifest")) != MANIFEST_VERSION ||
        !json_is_object(json_object_get(manifest, "params"))) {
        rc = dlb_fail(err, DLB_ERR_MANIFEST_DAMAGED, path, DLB_NO_OFFSET,
                      "not a manifest that this version reads%s%s: remove it to open the data "
                      "without it",
                      manifest ? "" : ": ", manifest ? "" : at.text);
        json_decref(manifest);
        goto out;
    }
    *out = manifest;
out:
    free(text);
    free(path);
    return rc;
}

int dlb_manifest_save(const char *folder, const json_t *manifest, struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(folder, DLB_MANIFEST_NAME));
    char *text = dlb_mem_check(json_dumps(manifest, JSON_INDENT(1)));

    int rc = dlb_write_file_atomic(path, text, strlen(text), err);
    free(text);
    free(path);
    return rc;
}

int dlb_manifest_same(const json_t *have, const json_t *want, const char *folder,
                      struct dlb_err *err)
{
    const char *key;
    json_t *value;

    /* jansson's iteration takes a mutable object, and does not change it. */
    json_object_foreach((json_t *)(uintptr_t)want, key, value) {
        const json_t *there = json_object_get(have, key);
        if (there && json_equal(there, value))
            continue;
        char *is = there ? json_dumps(there, JSON_ENCODE_ANY) : NULL;
        char *asked = json_dumps(value, JSON_ENCODE_ANY);
        (void)dlb_fail(err, DLB_ERR_TARGET_OTHER_DATA, folder, DLB_NO_OFFSET,
                       "holds data generated with other parameters (%s is %s there and %s here): "
                       "choose another dataset.path, or remove the folder",
                       key, is ? is : "unknown", asked ? asked : "?");
        free(is);
        free(asked);
        return DLB_E_CONFIG;
    }
    return DLB_OK;
}

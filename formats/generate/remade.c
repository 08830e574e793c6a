#include "formats/generate/remade.h"

#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "formats/codec.h"
#include "formats/format.h"

#include <stdio.h>
#include <stdlib.h>

/* A key that older manifests lack, or that makes no difference, has its default. */
static bool fill(const json_t *params, const struct dlb_opt_group *group, void *values)
{
    struct dlb_err ignored;

    for (const struct dlb_opt *opt = group->opts; opt->key; opt++) {
        char key[96];
        (void)snprintf(key, sizeof key, "%s.%s", group->section, opt->key);
        const json_t *said = json_object_get(params, key);
        json_t *value = NULL;
        int rc = said ? dlb_opt_from_json(opt, key, said, "manifest", &value, &ignored)
                      : dlb_opt_from_text(opt, key, opt->def, "manifest", &value, &ignored);
        if (rc == DLB_OK)
            dlb_opt_store(opt, value, values);
        json_decref(value);
        if (rc != DLB_OK)
            return false;
    }
    return true;
}

bool dlb_remade_from(const json_t *manifest, struct dlb_remade *out)
{
    const json_t *params = json_object_get(manifest, "params");
    const char *format = json_string_value(json_object_get(params, "dataset.format"));
    const char *codec = json_string_value(json_object_get(params, "dataset.codec"));

    *out = (struct dlb_remade){.format_opts = NULL};
    out->gen.format = format ? dlb_format_by_name(format) : NULL;
    out->gen.codec = codec ? dlb_codec_by_name(codec) : NULL;
    if (!out->gen.format || !out->gen.format->generator || !out->gen.codec ||
        out->gen.codec->missing || !json_is_integer(json_object_get(params, "generate.samples")) ||
        !fill(params, &dlb_generate_group, &out->opts))
        return false;
    const struct dlb_opt_group *group = out->gen.format->opts;
    if (group) {
        out->format_opts = dlb_mem_array(1, group->n_bytes);
        if (!fill(params, group, out->format_opts))
            return false;
    }
    out->gen.opts = &out->opts;
    out->gen.format_opts = out->format_opts;
    return true;
}

void dlb_remade_free(struct dlb_remade *remade)
{
    free(remade->format_opts);
    *remade = (struct dlb_remade){.format_opts = NULL};
}

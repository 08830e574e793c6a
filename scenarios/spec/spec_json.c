#include "scenarios/spec/spec.h"

#include "core/base/json.h"
#include "core/base/opt_table.h"
#include "core/base/opt_value.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>

json_t *dlb_spec_to_json(const struct dlb_spec *spec, bool iterable)
{
    json_t *out = dlb_json_made(json_object());
    char key[96];
    for (const struct dlb_opt_group *const *g = dlb_spec_groups(); *g; g++)
        for (const struct dlb_opt *opt = (*g)->opts; opt->key; opt++) {
            bool has = dlb_meaning_has(*g, opt, spec, iterable);
            (void)snprintf(key, sizeof(key), "%s.%s", (*g)->section, opt->key);
            if (has)
                dlb_opt_put_flat(out, key, opt, dlb_opt_load(opt, dlb_spec_section_of(spec, *g)));
            else if (opt->type != DLB_OPT_TABLE)
                dlb_json_put(out, key, json_null());
        }
    return out;
}

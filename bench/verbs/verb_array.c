/* `dlbench array`: the bytes of gap's array, for rungs that a Python interpreter runs. */
#include "bench/cli/verb.h"
#include "bench/verbs/hidden.h"
#include "core/base/json.h"
#include "scenarios/gap/rungs/array.h"

#include <string.h>
#include <unistd.h>

/* The keys that are a rung's parameters; others in the specification are for the Python script. New
 * reference. */
static json_t *own_keys(const json_t *spec)
{
    json_t *own = dlb_json_made(json_object()), *value;
    const char *key;

    json_object_foreach((json_t *)spec, key, value) {
        for (const struct dlb_opt_group *const *group = dlb_gap_groups(); *group; group++) {
            size_t n = strlen((*group)->section);
            if (strncmp(key, (*group)->section, n) == 0 && key[n] == '.')
                dlb_json_put(own, key, json_incref(value));
        }
    }
    return own;
}

static int run(const struct dlb_args *args)
{
    const char *path = NULL;
    const struct dlb_hidden_flag flags[] = {{"--spec", &path, true}, {NULL, NULL, false}};
    struct dlb_gap_params params;
    struct dlb_err err;
    json_t *spec = NULL, *own = NULL;
    int rc = dlb_hidden_flags(args, "array", flags, &err);
    if (!rc)
        rc = dlb_hidden_read(path, &spec, &err);
    if (!rc)
        own = own_keys(spec);
    if (!rc)
        rc = dlb_gap_params_flat(&params, own, path, &err);
    json_decref(own);
    json_decref(spec);
    dlb_catch_interrupts();
    if (!rc)
        rc = dlb_gap_array_write(&params, STDOUT_FILENO, &dlb_interrupted, &err);
    return rc ? dlb_print_err(&err) : DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_array = {
    .name = "array",
    .summary = "Write the bytes of gap's array: what a PyTorch rung reads",
    .usage = "dlbench array --spec FILE",
    .details = "Reads a flat JSON configuration and writes rows of float32 to stdout.",
    .flags = DLB_FLAG_HIDDEN,
    .run = run,
};

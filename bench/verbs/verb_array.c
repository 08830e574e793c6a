/* The ladder's array, for rungs that are no program of ours. */
#include "bench/cli/verb.h"
#include "bench/verbs/hidden.h"
#include "scenarios/gap/rungs/rung.h"

#include <string.h>
#include <unistd.h>

/* What belongs to a rung's parameters; the rest of the specification is the caller's. New
 * reference; NULL when memory is short. */
static json_t *own_keys(const json_t *spec)
{
    json_t *own = json_object(), *value;
    const char *key;
    bool ok = own != NULL;
    json_object_foreach((json_t *)spec, key, value) {
        for (const struct dlb_opt_group *const *group = dlb_gap_groups(); *group; group++) {
            size_t n = strlen((*group)->section);
            if (ok && strncmp(key, (*group)->section, n) == 0 && key[n] == '.')
                ok = json_object_set(own, key, value) == 0;
        }
    }
    if (ok)
        return own;
    json_decref(own);
    return NULL;
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
    if (!rc && !(own = own_keys(spec)))
        rc = dlb_fail(&err, DLB_ERR_NOMEM, path, DLB_NO_OFFSET, "out of memory for parameters");
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
    .summary = "The bytes of the ladder's array: what a PyTorch rung reads",
    .usage = "dlbench array --spec FILE",
    .details = "Reads a flat JSON configuration and writes rows of float32 to stdout.",
    .flags = DLB_FLAG_HIDDEN,
    .run = run,
};

#include "bench/cli/keys.h"

#include "bench/cli/args.h"
#include "bench/cli/help.h"
#include "bench/cli/print.h"
#include "core/base/escape.h"
#include "core/base/units.h"
#include "scenarios/spec/spec.h"

#include <stdio.h>
#include <string.h>

const struct dlb_opt *dlb_key_find(const struct dlb_opt_group *const *groups, const char *key)
{
    for (; *groups; groups++) {
        size_t n = strlen((*groups)->section);
        if (strncmp(key, (*groups)->section, n) != 0 || key[n] != '.')
            continue;
        for (const struct dlb_opt *opt = (*groups)->opts; opt->key; opt++)
            if (strcmp(opt->key, key + n + 1) == 0)
                return opt;
    }
    return NULL;
}

#define NAMES_BYTES 400 /* of all sections */

typedef void tell_group(void *ctx, const struct dlb_opt_group *group);

static bool is_of_runs(const struct dlb_opt_group *asked)
{
    for (const struct dlb_opt_group *const *group = dlb_spec_groups(); *group; group++)
        if (*group == asked)
            return true;
    return false;
}

/* Those of a run, then those that only one verb takes. */
static void each_group(tell_group *tell, void *ctx)
{
    for (const struct dlb_opt_group *const *group = dlb_spec_groups(); *group; group++)
        tell(ctx, *group);
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        for (const struct dlb_opt_group *const *group = (*verb)->groups; group && *group; group++)
            if (!is_of_runs(*group))
                tell(ctx, *group);
}

struct search {
    FILE *out;
    const char *section; /* NULL: all */
    uint32_t width, n_found;
    const char *nearest;
    size_t best; /* edits */
};

static void show(void *ctx, const struct dlb_opt_group *group)
{
    struct search *search = ctx;

    if (search->section && strcmp(group->section, search->section) != 0)
        return;
    search->n_found++;
    dlb_help_group(search->out, group, search->width);
}

static void compare(void *ctx, const struct dlb_opt_group *group)
{
    struct search *search = ctx;
    size_t edits = dlb_edit_distance(search->section, group->section, search->best);

    if (edits < search->best) {
        search->best = edits;
        search->nearest = group->section;
    }
}

static void collect(void *ctx, const struct dlb_opt_group *group)
{
    char *names = ctx;
    size_t n = strlen(names);

    if (n >= strlen(group->section) &&
        strcmp(names + n - strlen(group->section), group->section) == 0)
        return; /* a section in two groups */
    (void)snprintf(names + n, NAMES_BYTES - n, "%s%s", n ? ", " : "", group->section);
}

static int unknown(struct search *search, struct dlb_err *err)
{
    char names[NAMES_BYTES] = "";

    search->best = 3;
    each_group(compare, search);
    if (search->nearest)
        return dlb_fail(err, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, NULL, DLB_NO_OFFSET,
                        "help keys: there is no section \"%.*s\"; did you mean \"%s\"?",
                        DLB_CUT(search->section, 40), search->nearest);
    each_group(collect, names);
    return dlb_fail(err, DLB_ERR_USAGE_UNEXPECTED_ARGUMENT, NULL, DLB_NO_OFFSET,
                    "help keys: there is no section \"%.*s\"; there are %s",
                    DLB_CUT(search->section, 40), names);
}

int dlb_keys_print(FILE *out, const char *section, struct dlb_err *err)
{
    struct search search = {.out = out, .section = section, .width = dlb_print_width(out)};

    if (!section)
        dlb_print_folded(out,
                         "All keys, by section of the configuration file. On the command line: "
                         "--SECTION.KEY VALUE or --set SECTION.KEY=VALUE. `dlbench sweep` tries "
                         "every value of a list: --set 'sweep.SECTION.KEY=[A, B]'.",
                         0, 0, search.width);
    each_group(show, &search);
    return search.n_found > 0 ? DLB_OK : unknown(&search, err);
}

#include "bench/cli/verb.h"
#include "bench/experiment/measure.h"
#include "scenarios/spec/spec.h"

#include <stdio.h>
#include <string.h>

/* Axes that a later --set KEY=VALUE took away. How many. */
static uint32_t tell_pinned(const struct dlb_config *cfg)
{
    const json_t *axes = dlb_config_axes(cfg);
    uint32_t n = 0;
    char key[160];

    for (const struct dlb_opt_group *const *group = dlb_spec_groups(); *group; group++)
        for (const struct dlb_opt *opt = (*group)->opts; opt->key; opt++) {
            (void)snprintf(key, sizeof key, "sweep.%s.%s", (*group)->section, opt->key);
            const char *bare = key + strlen("sweep.");
            if (!dlb_config_has(cfg, key) || json_object_get(axes, bare))
                continue;
            (void)fprintf(stderr,
                          "dlbench: note: %s is no longer swept: %s sets one value for it, after "
                          "the list (%s)\n",
                          bare, dlb_config_origin(cfg, bare), dlb_config_origin(cfg, key));
            n++;
        }
    return n;
}

static int run(const struct dlb_args *args)
{
    struct dlb_err err;

    /* Who named axes did not ask for the usual grid. */
    if (tell_pinned(args->cfg) > 0 && json_object_size(dlb_config_axes(args->cfg)) == 0) {
        (void)dlb_fail(&err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                       "nothing is left to sweep: give one of these keys as a list, such as --set "
                       "'sweep.KEY=[A, B]', or measure the one cell with `dlbench run`");
        return dlb_print_err(&err);
    }
    return dlb_measure(args, dlb_scenario_by_name("sweep"));
}

const struct dlb_verb dlb_verb_sweep = {
    .name = "sweep",
    .summary = "Find the loader settings that feed the accelerator, and say whether it waits",
    .usage = "dlbench sweep --config FILE [--set KEY=VALUE ...] [--run-name NAME] [--results DIR] "
             "[--overwrite] [--json]",
    .details =
        "Measures every combination of the lists under [sweep]; any key can stand there. Without "
        "lists it takes "
        "loader.num_workers (0, 1, 2, 4 and so on up to the CPUs) x loader.pin_memory x "
        "loader.prefetch_factor (2, 4) x "
        "loader.persistent_workers. Combinations without meaning, as prefetch_factor with 0 "
        "workers, are listed as "
        "skipped, with the reason.\n\n"
        "The data are read once first. Then every block runs each cell once, each in a process of "
        "its own, in an order "
        "that comes from run.seed; a reference cell at the head of each block shows whether the "
        "machine drifts. There are "
        "run.repeats blocks.\n\n"
        "Best is the cell with the highest median. Recommended is the smallest one (fewest "
        "workers, then least memory) "
        "whose loss to the best, paired by block, is below 2% at the upper bound of its interval; "
        "where the repetitions "
        "cannot tell, the answer is \"not separable\". The settings are printed as DataLoader(...) "
        "arguments.\n\n"
        "Ctrl-C ends it with what is measured so far, marked partial.",
    .flags = DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_JSON,
    .run = run,
};

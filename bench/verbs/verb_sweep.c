/* `dlbench sweep`: continues in bench/experiment/experiment.c with scenarios/sweep/sc_sweep.c.
 *
 * Every option can be swept: a new key is one row in the option table of its section (loader.* in
 * loaders/loader.c; scenarios/spec/spec.c lists the tables). An option that plants time or changes
 * reading must also be reset in scenarios/plan/twin.c. dlb_plan_default_axes of
 * scenarios/plan/plan.c has the axes of a sweep that names none. */
#include "bench/cli/verb.h"
#include "bench/experiment/experiment.h"
#include "core/base/say.h"
#include "scenarios/spec/own_code.h"
#include "scenarios/spec/spec.h"

#include <stdio.h>
#include <string.h>

/* Reports axes that a later --set KEY=VALUE replaced by one value; returns how many. */
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
            dlb_say_note("%s is not swept: %s sets one value, after the list (%s)", bare,
                         dlb_config_origin(cfg, bare), dlb_config_origin(cfg, key));
            n++;
        }
    return n;
}

static int run(const struct dlb_args *args)
{
    struct dlb_err err;

    /* Without this the default grid would be swept, which the user replaced by lists. */
    if (tell_pinned(args->cfg) > 0 && json_object_size(dlb_config_axes(args->cfg)) == 0) {
        (void)dlb_fail(&err, DLB_ERR_SWEEP_NOTHING_LEFT, NULL, DLB_NO_OFFSET,
                       "nothing is left to sweep: give one of these keys as a list, such as --set "
                       "'sweep.KEY=[A, B]', or measure the one cell with `dlbench run`");
        return dlb_print_err(&err);
    }
    if (dlb_own_code_apply(args->cfg, &err))
        return dlb_print_err(&err);
    return dlb_experiment_run(args, dlb_scenario_by_name("sweep"));
}

const struct dlb_verb dlb_verb_sweep = {
    .name = "sweep",
    .summary = "Find the loader settings that feed the accelerator, and say whether it waits",
    .usage = "dlbench sweep --config FILE [--set KEY=VALUE ...] [--run-name NAME] [--results DIR] "
             "[--overwrite] [--exhaustive] [--dry-run] [--json]",
    .details =
        "Measure every combination of the lists under [sweep]. Any key can have a list. Without "
        "lists it sweeps loader.num_workers (0, 1, 2, 4 and so on up to the CPUs), "
        "loader.pin_memory, loader.prefetch_factor (2, 4) and loader.persistent_workers. "
        "Combinations that mean nothing, like prefetch_factor with 0 workers, are listed as "
        "skipped, with the reason.\n\n"
        "  dlbench sweep --config configs/quickstart.toml\n"
        "  dlbench sweep --config my.toml --set 'sweep.loader.num_workers=[4, 8, 16]'\n\n"
        "The data is read once first. Then cells run in blocks, each cell in a process of its own, "
        "in "
        "an order drawn from run.seed. A reference cell at the start of each block shows whether "
        "the "
        "machine's speed drifts. After three blocks and more, only cells that may still be the "
        "answer "
        "run on. It ends when one is certain enough, or after sweep.max_minutes (10; 0: no limit). "
        "--exhaustive runs each cell run.repeats times instead, and so does a sweep whose cells do "
        "different work.\n\n"
        "The recommended cell is the smallest one (fewest workers, then least memory) that loses "
        "less "
        "than sweep.tolerance (2%) to the best, with a probability of 98%, or else the most "
        "probable one. At the end it runs afresh, in pairs with the best of the others: its loss "
        "and the interval are of these runs. If "
        "nothing is decided, the candidates are named with their probabilities. The settings are "
        "printed as DataLoader(...) arguments.\n\n"
        "  dlbench sweep --config my.toml --set sweep.max_minutes=30 --set sweep.tolerance=0.05\n\n"
        "A repetition that other programs, other guests, a CPU quota or heat disturbed is measured "
        "again, at most three times; a rule that does not see the rate decides, and both rates are "
        "in the document. The result states its noise floor, the smallest loss that the "
        "repetitions "
        "can tell. If no cell differs by more and nothing was decided, the machine is too busy to "
        "tell, and nothing "
        "is recommended.\n\n"
        "A cell that fails costs only itself: the sweep goes on, a line on stderr says how many "
        "cells failed, and the exit code is 0 if at least one was measured, else 3 (2 for a wrong "
        "configuration). The document has status and code of each cell.\n\n"
        "--dry-run measures nothing and writes nothing: it prints the cells, the batches and "
        "memory "
        "that each takes, what would be read, and the least time. A cell that cannot work (too few "
        "batches, more memory than there is) is skipped before anything runs. If no cell can work, "
        "the sweep is refused at once.\n\n"
        "Under mpirun or srun all ranks measure each cell at the same time, each on its share of "
        "the data, and there is one result: see docs/cluster.md.\n\n"
        "Ctrl-C ends the sweep. The result then holds what was measured so far, marked partial. "
        "--resume DIR goes on with it, and with a sweep that was killed or ran out of disk; DIR is "
        "the result's folder, which has the configuration:\n\n"
        "  dlbench sweep --resume results/first",
    .flags = DLB_FLAG_RANKS | DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_RESUME | DLB_FLAG_JSON |
             DLB_FLAG_PLAN | DLB_FLAG_SWEEP | DLB_FLAG_RULES | DLB_FLAG_QUIET,
    .examples = {"dlbench sweep --config quickstart.toml",
                 "dlbench sweep --config my.toml --set 'sweep.loader.num_workers=[4, 8, 16]'",
                 "dlbench sweep --config my.toml --dry-run"},
    .keys = {"dataset.path", "dataset.format", "loader.batch_size", "loader.shuffle",
             "transform.pixels", "device.step_ms", "loader.kind", "run.max_batches",
             "sweep.max_minutes", "sweep.tolerance"},
    .run = run,
};

/* `dlbench run`: continues in bench/experiment/experiment.c with scenarios/sweep/sc_run.c. */
#include "bench/cli/print.h"
#include "bench/cli/verb.h"
#include "bench/experiment/experiment.h"
#include "scenarios/spec/own_code.h"

static int run(const struct dlb_args *args)
{
    struct dlb_err err;

    if (dlb_own_code_apply(args->cfg, &err))
        return dlb_print_err(&err);
    return dlb_experiment_run(args, dlb_scenario_by_name("run"));
}

const struct dlb_verb dlb_verb_run = {
    .name = "run",
    .summary = "Measure one configuration: its rate, what the accelerator waits for, and why",
    .usage = "dlbench run --config FILE [--set KEY=VALUE ...] [--run-name NAME] [--results DIR] "
             "[--overwrite] [--trace FILE] [--dry-run] [--json]",
    .details =
        "Load the data as the configuration says, copy every batch to the accelerator (real or "
        "emulated), run a training step of device.step_ms on it, and account for all of the "
        "time.\n\n"
        "  dlbench run --config my.toml --set loader.num_workers=8\n\n"
        "The verdict is about the accelerator's time. INPUT-BOUND: it waits for batches. "
        "H2D-BOUND: it waits for copies. COMPUTE-BOUND: it is busy. RESIDUAL-HEAVY: it is idle for "
        "other reasons. BORDERLINE: whether loading is the limit lies within the noise. "
        "HARNESS-BOUND: dlbench itself is the limit. INCOMPLETE: too much is not measured to "
        "judge.\n\n"
        "Each of run.repeats repetitions is a process of its own. With six and more the interval "
        "is the sign test's 95% interval of the median. With fewer it is the least and the largest "
        "value, and is called so.\n\n"
        "run.cache = \"cold\" drops the data from the page cache before each repetition, which "
        "needs no root. run.cache = \"warm\" reads all of it first. The result says how much of "
        "the data was in the cache, and by which figures.\n\n"
        "--dry-run measures nothing and writes nothing: it prints the batches, memory and time "
        "that "
        "the run takes. A run that cannot work is refused before anything is written.\n\n"
        "The result is RESULTS/NAME/summary.json, beside summary.txt and environment.json. With "
        "--json the same document is printed. Lists under [sweep] are ignored. --resume "
        "RESULTS/NAME "
        "goes on with a run that was cut off.\n\n"
        "Under mpirun or srun all ranks measure each cell at the same time, each on its share of "
        "the data, and there is one result: see docs/cluster.md.\n\n"
        "--trace FILE writes what each worker, the training loop and the accelerator did when, as "
        "Chrome's trace JSON: open it in https://ui.perfetto.dev. It is of the repetition whose "
        "stages the result has; report.html draws its first steps.",
    .flags = DLB_FLAG_RANKS | DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_RESUME | DLB_FLAG_JSON |
             DLB_FLAG_PLAN | DLB_FLAG_RULES | DLB_FLAG_TRACEML | DLB_FLAG_TRACE | DLB_FLAG_QUIET,
    .examples = {"dlbench run --config quickstart.toml",
                 "dlbench run --config my.toml --loader.num_workers 8 --loader.pin_memory true",
                 "dlbench run --config my.toml --run.cache cold"},
    .keys = {"dataset.path", "dataset.format", "loader.batch_size", "loader.num_workers",
             "loader.prefetch_factor", "loader.pin_memory", "loader.kind", "device.step_ms",
             "run.max_batches", "run.cache"},
    .run = run,
};

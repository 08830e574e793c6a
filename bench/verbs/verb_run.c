#include "bench/cli/verb.h"
#include "bench/experiment/measure.h"

static int run(const struct dlb_args *args)
{
    return dlb_measure(args, dlb_scenario_by_name("run"));
}

const struct dlb_verb dlb_verb_run = {
    .name = "run",
    .summary = "Measure one configuration: how fast it is, what the accelerator waits for, and why",
    .usage = "dlbench run --config FILE [--set KEY=VALUE ...] [--run-name NAME] [--results DIR] "
             "[--overwrite] [--json]",
    .details =
        "Loads the data as the configuration says, copies every batch to the accelerator (a real "
        "one, or the emulated "
        "one), runs a training step of device.step_ms on it, and accounts for all of the time. The "
        "verdict is about the "
        "accelerator's time: INPUT-BOUND when it waits for batches, H2D-BOUND when it waits for "
        "copies, COMPUTE-BOUND "
        "when it is busy, RESIDUAL-HEAVY for what is left, HARNESS-BOUND when dlbench itself is in "
        "the way.\n\n"
        "Each of run.repeats repetitions is a process of its own. From six on the interval is a "
        "95% bootstrap of the "
        "median, below that it is the least and the largest value, and is called so.\n\n"
        "run.cache = \"cold\" takes the data out of the page cache before each repetition, for "
        "which "
        "nobody needs to be root, \"warm\" reads all of them first; whatever was asked for, the "
        "result's cache says what it came to, and by which figures.\n\n"
        "The result is RESULTS/NAME/summary.json, beside summary.txt and environment.json. With "
        "--json the same document "
        "is printed, and nothing else. Lists under [sweep] are left out.",
    .flags = DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_JSON,
    .run = run,
};

#include "bench/cli/verb.h"
#include "bench/experiment/experiment.h"
#include "loaders/device/device.h"
#include "scenarios/gap/plan.h"

static int run(const struct dlb_args *args)
{
    return dlb_experiment_run(args, dlb_scenario_by_name("gap"));
}

static const struct dlb_opt_group *const groups[] = {
    &dlb_gap_group, &dlb_gap_ladder_group, &dlb_gap_python_group, &dlb_device_group, NULL};

const struct dlb_verb dlb_verb_gap = {
    .name = "gap",
    .summary = "Show where the time of an in-memory DataLoader goes, and what closes the gap",
    .usage = "dlbench gap [--samples N] [--features F] [--batch-size B] [--epochs E] [--python PY] "
             "[--config FILE] [--set KEY=VALUE ...] [--run-name NAME] [--results DIR] "
             "[--overwrite] [--json]",
    .details =
        "Measure why shuffling an array in memory with a DataLoader takes about a hundred times "
        "as long as slicing it in order. The case as published is 7,000,000 x 100 float32 in "
        "batches of 1,048,576. A ladder of rungs leads from pinned copies of slices (floor) over "
        "shuffled gathers to one sample at a time, forked workers, pin threads and PyTorch itself. "
        "All rungs read the same array, each in processes of its own, in turns:\n\n"
#define X(name, text, summary) "  " text ": " summary "\n"
#include "scenarios/gap/rungs/rungs.def"
#undef X
        "\n"
        "A step is the difference to the rung above. Two rungs that differ in one thing show what "
        "that thing costs: transport and transport-pooled the cost of fresh memory, pin-thread and "
        "transport that of the pin thread.\n\n"
        "PyTorch's rungs need an interpreter that can import torch: the one that --python or "
        "python.interpreter names, else the active environment's, python3 on the path or the "
        "system's. Without one they are shown as not measured. An interpreter that does not answer "
        "within minutes is killed, and its rungs fail.\n\n"
        "  dlbench gap --samples 2000000 --batch-size 300000\n\n"
        "A rung that fails costs only itself: a line on stderr says how many failed, and the exit "
        "code is 0 if at least one was measured.\n\n"
        "Without --samples it takes as many of the published rows as about three minutes allow "
        "here, by a short measurement, and says so; --samples 7000000 takes all. "
        "If memory is short, samples and batches shrink together, and the result says so. Ratios "
        "compare dlbench's rungs with direct, and PyTorch's with torch-direct. Ctrl-C ends the "
        "ladder. The result then holds the rungs measured so far, marked partial, and --resume DIR "
        "goes on with it.",
    .flags = DLB_FLAG_CONFIG | DLB_FLAG_RESULTS | DLB_FLAG_RESUME | DLB_FLAG_JSON | DLB_FLAG_QUIET,
    .groups = groups,
    .section = "gap",
    .examples = {"dlbench gap", "dlbench gap --samples 2000000 --batch-size 300000",
                 "dlbench gap --python ~/venv/bin/python3"},
    .keys = {"gap.samples", "gap.features", "gap.batch_size", "gap.epochs", "gap.workers",
             "gap.pages", "gap.repeats", "gap.python", "device.step_ms"},
    .run = run,
};

#include "scenarios/judge/not_modelled.h"

#include "scenarios/judge/judge.h"
#include "scenarios/judge/notes.h"
#include "scenarios/plan/plan.h"
#include "scenarios/spec/flat.h"

#include <string.h>

static bool is_text(const json_t *config, const char *key, const char *text)
{
    return strcmp(dlb_json_text(config, key), text) == 0;
}

static bool say_device(const struct dlb_judged_cell *cell, const json_t *config, json_t *list)
{
    const char *device = dlb_json_text(json_object_get(cell->shown, "device"), "name");
    bool emulated = strncmp(device, "emulated", 8) == 0, ok = true;
    if (emulated)
        ok = dlb_note(
            list, "the GPU: %s is a timeline with a step time and copy rates, no GPU was measured",
            device);
    if (emulated && is_text(config, "transform.where", "gpu"))
        ok = ok &&
             dlb_note(list,
                      "what transform.where = \"gpu\" costs the GPU: its share of each step is "
                      "the bytes that it reads and writes at the rate of the accelerator's memory "
                      "(its datasheet), the least that it can take");
    return ok;
}

/* What moves batches ahead of the training loop here, and who does it there. */
static bool say_copies(const struct dlb_judged_cell *cell, const json_t *config, json_t *list)
{
    unsigned long long ahead = (unsigned long long)dlb_json_u64(config, "device.prefetch", 0);
    bool ok = true;
    if (cell->n_workers > 0 && json_is_true(json_object_get(config, "loader.pin_memory")) &&
        is_text(config, "loader.pin_mode", "direct"))
        ok = dlb_note(list,
                      "PyTorch's pin thread, which copies every batch once more: workers write "
                      "straight into page-locked memory here; loader.pin_mode = \"thread\" has "
                      "it");
    if (ahead > 0)
        ok = ok &&
             dlb_note(
                 list,
                 "copies ahead of the step are not DataLoader's: device.prefetch = %llu is for the "
                 "training loop to do, with .to(device, non_blocking=True) of the next batch%s on "
                 "a CUDA stream of its own, and wait_stream before use",
                 ahead, ahead > 1 ? "es" : "");
    return ok;
}

static bool say_workers(const struct dlb_judged_cell *cell, const json_t *config, json_t *list)
{
    uint64_t n_epochs = dlb_json_u64(config, "run.epochs", 1);
    bool processes = is_text(config, "loader.kind", "processes"), ok = true;
    if (cell->n_workers == 0)
        return true;
    if (processes)
        ok = dlb_note(list, "%s",
                      is_text(config, "loader.transport", "fresh")
                          ? "handing memory from process to process: batches come in fresh "
                            "shared memory, as in PyTorch, but the system calls that make it "
                            "and send its descriptor are left out"
                          : "fresh shared memory for each batch: slots are mapped once and "
                            "reused; loader.transport = \"fresh\" has PyTorch's page faults");
    else
        ok = dlb_note(list,
                      "worker processes: these workers are threads, so fork, transport between "
                      "processes and its page faults are free here; loader.kind = \"processes\" "
                      "has them");
    if (n_epochs < DLB_PERSISTENT_MIN_EPOCHS)
        ok = ok && dlb_note(list,
                            "persistent_workers: not measured with run.epochs = %llu; True keeps "
                            "workers from being started anew each epoch",
                            (unsigned long long)n_epochs);
    else if (!processes)
        ok = ok &&
             dlb_note(list, "persistent_workers: threads start so fast that it looks free; True "
                            "is recommended because there is more than one epoch");
    return ok;
}

static bool say_order(const json_t *config, bool iterable, json_t *list)
{
    bool shuffle = json_is_true(json_object_get(config, "loader.shuffle")), ok = true;
    unsigned long long n_ranks = (unsigned long long)dlb_pytorch_ranks(config);
    if (iterable && shuffle)
        ok = dlb_note(
            list,
            "shuffle of iterable data is the data set's own, as in "
            "WebDataset(...).shuffle(%lld): DataLoader takes no shuffle=True for it",
            (long long)json_integer_value(json_object_get(config, "loader.shuffle_buffer")));
    if (iterable && n_ranks > 1)
        ok = ok &&
             dlb_note(list,
                      "the division of iterable data among %llu ranks is the data set's own, as "
                      "in WebDataset(..., nodesplitter=split_by_node): DataLoader takes no "
                      "sampler for it",
                      n_ranks);
    if (!iterable && shuffle && n_ranks > 1)
        ok = ok &&
             dlb_note(list, "sampler.set_epoch(epoch) is for the training loop to call: without "
                            "it every epoch has the first one's order");
    return ok;
}

bool dlb_not_modelled_fill(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    int64_t at = j->recommended >= 0 ? j->recommended : j->best;
    if (at < 0)
        return true;
    const struct dlb_judged_cell *cell = &j->cells[at];
    const json_t *config = plan->cells[at].config;
    json_t *list = j->not_modelled;
    bool ok =
        say_device(cell, config, list) &&
        dlb_note(list, "the Python interpreter: its cost per sample comes on top, in every worker");
    if (is_text(config, "loader.io", "io_uring"))
        ok = ok && dlb_note(list, "asynchronous reads are the data set's own, in its __getitems__: "
                                  "DataLoader asks for one sample after the other");
    return ok && say_workers(cell, config, list) && say_copies(cell, config, list) &&
           say_order(config, plan->cells[at].iterable, list);
}

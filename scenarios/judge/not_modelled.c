#include "scenarios/judge/not_modelled.h"

#include "formats/codec.h"
#include "scenarios/judge/note.h"
#include "scenarios/spec/meaning.h"

#include <string.h>

static void say_device(const struct dlb_judged_cell *cell, const struct dlb_spec *spec,
                       json_t *list)
{
    const char *device = cell->shown ? cell->shown->device.name : "";
    if (strncmp(device, "emulated", 8) != 0)
        return;
    dlb_note(list, DLB_NOTE_NO_GPU,
             "the GPU: %s is a timeline with a step time and copy rates, and no GPU was measured",
             device);
    if (spec->transform.where == DLB_WHERE_GPU)
        dlb_note(
            list, DLB_NOTE_NO_GPU_AUGMENT_COST,
            "what transform.where = \"gpu\" costs the GPU: its share of each step is the bytes "
            "that it reads and writes at the rate of the accelerator's memory (its datasheet), "
            "the least that it can take");
}

static void say_decode(const struct dlb_plan *plan, const struct dlb_spec *spec, json_t *list)
{
    const char *kind = plan->host.undecoded;
    if (kind && kind[0] && dlb_codecs[spec->dataset.codec]->identity)
        dlb_note(
            list, DLB_NOTE_NO_DECODE,
            "decoding: the samples are %s, and dataset.codec = \"raw\" delivers their bytes as "
            "they are stored; what a training spends on decoding them comes on top",
            kind);
}

/* What moves batches ahead of the training loop here, and who does it there. */
static void say_copies(const struct dlb_judged_cell *cell, const struct dlb_spec *spec,
                       json_t *list)
{
    if (dlb_spec_is_torch(spec) && spec->loader.pin_memory)
        dlb_note(list, DLB_NOTE_PIN_MEMORY_UNMEASURED,
                 "pin_memory=True: PyTorch's cells do not pin, because their accelerator is "
                 "emulated, so it was not measured");
    else if (cell->n_workers > 0 && spec->loader.pin_memory &&
             spec->loader.pin_mode == DLB_PIN_DIRECT)
        dlb_note(list, DLB_NOTE_NO_PIN_THREAD,
                 "PyTorch's pin thread, which copies every batch once more: workers write straight "
                 "to page-locked memory here; loader.pin_mode = \"thread\" includes it");
    if (spec->device.prefetch > 0)
        dlb_note(
            list, DLB_NOTE_COPIES_AHEAD,
            "copies ahead of the step, which DataLoader does not do: device.prefetch = %lld is "
            "for the training loop, with .to(device, non_blocking=True) of the next batch%s on "
            "a CUDA stream of its own, and wait_stream before use",
            (long long)spec->device.prefetch, spec->device.prefetch > 1 ? "es" : "");
}

static void say_epochs(const struct dlb_spec *spec, json_t *list)
{
    if (spec->run.epochs < DLB_EPOCHS_WITH_BORDERS)
        dlb_note(list, DLB_NOTE_NO_PERSISTENT_WORKERS,
                 "persistent_workers: not measured with run.epochs = %lld; True keeps workers from "
                 "being started again each epoch",
                 (long long)spec->run.epochs);
    else if (!dlb_spec_forks(spec) && !dlb_spec_is_torch(spec))
        dlb_note(
            list, DLB_NOTE_NO_PERSISTENT_WORKERS,
            "persistent_workers: threads start so fast that it looks free; True is recommended "
            "because there is more than one epoch");
}

static void say_workers(const struct dlb_judged_cell *cell, const struct dlb_spec *spec,
                        json_t *list)
{
    if (cell->n_workers == 0)
        return;
    if (!dlb_spec_forks(spec))
        dlb_note(
            list, DLB_NOTE_NO_WORKER_PROCESSES,
            "worker processes: these workers are threads, so fork, transport between processes "
            "and its page faults cost nothing here; loader.kind = \"processes\" includes them");
    else if (spec->loader.transport == DLB_TRANSPORT_FRESH)
        dlb_note(
            list, DLB_NOTE_NO_TRANSPORT,
            "handing memory from process to process: batches come in fresh shared memory, as in "
            "PyTorch, but without the system calls that make it and send its descriptor");
    else
        dlb_note(list, DLB_NOTE_NO_TRANSPORT,
                 "fresh shared memory for each batch: slots are mapped once and reused; "
                 "loader.transport = \"fresh\" includes PyTorch's page faults");
    say_epochs(spec, list);
}

static void say_order(const struct dlb_spec *spec, bool iterable, json_t *list)
{
    bool shuffle = spec->loader.shuffle;
    unsigned long long n_ranks = (unsigned long long)dlb_spec_ranks(spec);
    if (iterable && shuffle)
        dlb_note(list, DLB_NOTE_SHUFFLE_OF_DATA_SET,
                 "the shuffle of iterable data, which is the data set's own, as in "
                 "WebDataset(...).shuffle(%lld): DataLoader takes no shuffle=True for it",
                 (long long)spec->loader.shuffle_buffer);
    if (iterable && n_ranks > 1)
        dlb_note(
            list, DLB_NOTE_RANKS_OF_DATA_SET,
            "the division of iterable data among %llu ranks, which is the data set's own, as "
            "in WebDataset(..., nodesplitter=split_by_node): DataLoader takes no sampler for it",
            n_ranks);
    if (!iterable && shuffle && n_ranks > 1)
        dlb_note(list, DLB_NOTE_SET_EPOCH,
                 "sampler.set_epoch(epoch), which the training loop calls: without it every epoch "
                 "has the first one's order");
}

/* PyTorch's cells have run, and another race has the answer. */
static void say_cut(const struct dlb_plan *plan, const struct dlb_judgement *j, json_t *list)
{
    unsigned n = 0;
    for (uint32_t i = plan->n_grid; i < plan->n_cells; i++)
        n += j->cells[i].n_values;
    if (n == 0)
        dlb_note(list, DLB_NOTE_PYTORCH_NOT_MEASURED,
                 "PyTorch's own DataLoader, which was not measured: its race came to no result");
    else if (plan->race->race.n_looked == 0)
        dlb_note(list, DLB_NOTE_PYTORCH_NOT_MEASURED,
                 "PyTorch's own DataLoader, whose cells are not compared: their race was cut off "
                 "after %u run%s",
                 n, n == 1 ? "" : "s");
    else
        dlb_note(list, DLB_NOTE_PYTORCH_NOT_MEASURED,
                 "PyTorch's own DataLoader, whose cells are not compared: none of them can be "
                 "judged after %u runs",
                 n);
}

/* What this program's own loaders say nothing of. */
static void say_pytorch(const struct dlb_plan *plan, const struct dlb_judgement *j, json_t *list)
{
    dlb_note(list, DLB_NOTE_NO_INTERPRETER,
             "the Python interpreter: its cost per sample comes on top, in every worker");
    if (plan->hardware)
        say_cut(plan, j, list);
    else if (plan->torch.why[0])
        dlb_note(list, DLB_NOTE_PYTORCH_NOT_MEASURED,
                 "PyTorch's own DataLoader, which was not measured: %s", plan->torch.why);
}

void dlb_not_modelled_fill(const struct dlb_plan *plan, struct dlb_judgement *j)
{
    int64_t at = j->recommended >= 0 ? j->recommended : j->best;
    if (at < 0)
        return;
    const struct dlb_judged_cell *cell = &j->cells[at];
    const struct dlb_spec *spec = plan->cells[at].spec;
    json_t *list = j->not_modelled;
    say_device(cell, spec, list);
    say_decode(plan, spec, list);
    bool torch = dlb_spec_is_torch(spec); /* workers and their cost are PyTorch's own */
    if (!torch)
        say_pytorch(plan, j, list);
    if (spec->loader.io != DLB_READ_SYNC)
        dlb_note(
            list, DLB_NOTE_NO_GETITEMS,
            "asynchronous reads, which are the data set's own, in its __getitems__: DataLoader "
            "asks for one sample after the other");
    if (!torch)
        say_workers(cell, spec, list);
    else if (cell->n_workers > 0)
        say_epochs(spec, list);
    say_copies(cell, spec, list);
    say_order(spec, plan->cells[at].iterable, list);
}

#include "scenarios/judge/python.h"

#include "core/base/json.h"
#include "scenarios/judge/note.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define STAMPS_NOTED 0.02
#define STAMPS_ALL 0.5 /* the estimate says no more: what a stamp takes was measured beforehand */
#define GARBAGE_NOTED 0.02
#define COMPUTES 0.5 /* a __getitem__ that does so for less of its time waits for the most part */

double dlb_python_asked(const json_t *python)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(python, "stages"), i, one) {
        if (strcmp(dlb_json_text(one, "part"), "read") == 0) /* all of __getitem__ */
            return dlb_json_number(one, "count");
    }
    return (double)NAN;
}

/* How many bytes of a transform's name are its class's: without the number that parts it from
 * others of that class (loaders/torch/dlbench_account.py). */
static size_t class_length(const char *name)
{
    size_t n = strlen(name), digits = n;
    while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
        digits--;
    return digits > 0 && digits < n && name[digits - 1] == ' ' ? digits - 1 : n;
}

/* All transforms of this one's class. */
static double class_ns(const json_t *stages, const char *name, uint32_t *n_same)
{
    size_t length = class_length(name), i;
    const json_t *one;
    double ns = 0;

    *n_same = 0;
    json_array_foreach(stages, i, one) {
        const char *other = dlb_json_text(one, "name");
        if (strcmp(dlb_json_text(one, "part"), "transform") != 0 || class_length(other) != length ||
            strncmp(other, name, length) != 0)
            continue;
        ns += dlb_json_number(one, "sum_ns");
        ++*n_same;
    }
    return ns;
}

void dlb_evidence_of_python(const struct dlb_spec *spec, const json_t *python,
                            struct dlb_evidence *e)
{
    const json_t *stages = json_object_get(python, "stages"), *one;
    double n = dlb_python_asked(python), most_ns = 0, sum_ns = 0;
    uint32_t n_same;
    size_t i;

    e->torch = dlb_spec_is_torch(spec);
    e->own_code = spec->python.dataset[0] || spec->python.loader[0];
    json_array_foreach(stages, i, one) {
        const char *part = dlb_json_text(one, "part");
        const char *name = dlb_json_text(one, "name");
        double ns = class_ns(stages, name, &n_same);
        if (strcmp(part, "transform") != 0 || !(ns > most_ns))
            continue;
        most_ns = ns;
        e->transform = name; /* the first of its class has no number */
        e->n_transforms = n_same;
        e->own_computing = strcmp(name, "own computing") == 0;
    }
    for (int stage = DLB_WS_READ; stage <= DLB_WS_COLLATE; stage++)
        sum_ns += e->worker_stage_ns[stage];
    json_array_foreach(stages, i, one) {
        const json_t *part = json_object_get(one, "part");
        if (json_is_null(part) && strcmp(dlb_json_text(one, "name"), "transport") == 0)
            e->transport_ns = n > 0 ? dlb_json_number(one, "sum_ns") / n : 0;
    }
    e->waits = dlb_json_number(python, "computing_frac") < COMPUTES;
    e->transform_ns = n > 0 ? most_ns / n : 0;
    e->sample_ns = n > 0 ? sum_ns / n : 0;
}

/* Of map-style data whose whole epochs one process read. drop_last leaves some out, others in each
 * epoch. */
static void note_once(const struct dlb_spec *spec, const struct dlb_cell_result *shown,
                      uint32_t number, json_t *notes)
{
    const json_t *once = json_object_get(shown->python, "once");
    const struct dlb_loop_result *loop = &shown->loop;
    if (!json_is_object(once) || dlb_spec_ranks(spec) > 1 || loop->n_epochs == 0)
        return;
    uint64_t more = dlb_json_u64(once, "more", 0), fewer = dlb_json_u64(once, "fewer", 0);
    uint64_t dropped = spec->loader.drop_last ? (uint64_t)spec->loader.batch_size - 1 : 0;
    if (more == 0 && fewer <= dropped * dlb_json_u64(once, "epochs", 0))
        return;
    dlb_note(notes, DLB_NOTE_PYTHON_NOT_ONCE,
             "cell %u: the workers were asked for %" PRIu64
             " samples more often than once an epoch and for %" PRIu64
             " less often: the sampler repeats or leaves out",
             number, more, fewer);
}

/* What drop_last leaves out of iterable data by itself: a batch less one sample of each worker. */
static uint64_t left_out(const struct dlb_spec *spec)
{
    uint64_t n_workers = spec->loader.num_workers > 0 ? (uint64_t)spec->loader.num_workers : 1;
    return spec->loader.drop_last ? n_workers * ((uint64_t)spec->loader.batch_size - 1) : 0;
}

/* Whether an epoch's samples are known by their count alone: of iterable data, and of a loader of
 * the user's own. Of data that Python alone reads, the interpreter knows which they are. */
static bool is_counted(const struct dlb_plan_cell *planned, const json_t *python)
{
    return planned->iterable || planned->spec->python.loader[0] ||
           json_is_true(json_object_get(python, "iterable_dataset"));
}

/* Samples of iterable data are counted, and not known by a number. */
static void note_length(const struct dlb_spec *spec, const struct dlb_cell_result *shown,
                        uint32_t number, json_t *notes)
{
    uint64_t said = (uint64_t)spec->python.shape.samples; /* of data that only Python can read */
    for (uint32_t i = 0; i < shown->loop.n_epochs; i++) {
        const struct dlb_epoch *epoch = &shown->loop.epoch[i];
        uint64_t expected = said > 0 ? said : epoch->n_expected;
        bool more = epoch->n_samples > expected;
        bool fewer = epoch->ended && epoch->n_samples + left_out(spec) < expected;
        if (!more && !fewer)
            continue;
        dlb_note(notes, DLB_NOTE_PYTHON_EPOCH_DIFFERS,
                 "cell %u: epoch %u delivered %" PRIu64 " samples, and the data set has %" PRIu64
                 "%s",
                 number, i, epoch->n_samples, expected,
                 more ? ": each worker may read all of it (nothing splits it by worker), or it "
                        "repeats by design, as webdataset does with resampled = True"
                      : "");
        return;
    }
}

/* Of the time in which samples were loaded and collated: NaN if it is not known. */
static double garbage_frac(const json_t *python)
{
    double garbage_ns = 0, work_ns = 0;
    const json_t *one;
    size_t i;
    json_array_foreach(json_object_get(python, "stages"), i, one) {
        const char *part = dlb_json_text(one, "part");
        double ns = dlb_json_number(one, "sum_ns");
        if (strcmp(part, "read") == 0 || strcmp(part, "collate") == 0)
            work_ns += ns;
        else if (!part[0] && strcmp(dlb_json_text(one, "name"), "gc") == 0)
            garbage_ns = ns;
    }
    return garbage_ns / work_ns;
}

void dlb_note_python(const struct dlb_plan_cell *planned, const struct dlb_judged_cell *cell,
                     uint32_t number, json_t *notes)
{
    const struct dlb_cell_result *shown = cell->shown;
    if (!json_is_object(shown->python))
        return;
    double stamps = dlb_json_number(shown->python, "stamps_frac");
    double garbage = garbage_frac(shown->python);
    if (shown->status == DLB_REP_CANCELLED && shown->code == DLB_ERR_PYTHON_SILENT)
        dlb_note(notes, DLB_NOTE_PYTHON_SILENT,
                 "cell %u: %s: its figures are of what came before, and one sample may be stuck",
                 number, shown->reason);
    note_once(planned->spec, shown, number, notes);
    if (is_counted(planned, shown->python))
        note_length(planned->spec, shown, number, notes);
    if (stamps > STAMPS_NOTED)
        dlb_note(notes, DLB_NOTE_PYTHON_STAMPS_COST,
                 "cell %u: time stamps took %s%.1f%% of the workers' work: cheap samples make it "
                 "much, and so does a busy machine; python.stamps = false measures without them, "
                 "and without causes",
                 number, stamps < STAMPS_ALL ? "" : "more than ", 100 * fmin(stamps, STAMPS_ALL));
    if (garbage > GARBAGE_NOTED)
        dlb_note(notes, DLB_NOTE_PYTHON_GARBAGE,
                 "cell %u: Python collected garbage for %.1f%% of the time that loading took: "
                 "gc.freeze() behind your imports, before the loop, spares it the objects that "
                 "they made",
                 number, 100 * garbage);
}

#include "scenarios/plan/plan.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "core/base/rng.h"
#include "scenarios/spec/meaning.h"
#include "scenarios/spec/rounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a ceiling is measured if its copies are hidden: longer if its steps differ, because they
 * need a mean. Where copies take longer, loaders/pool/ld_resident.c ends it. */
#define CEILING_NS 5e8
#define CEILING_SPREAD_NS 2e9
#define CEILING_MIN_STEPS 3
#define CEILING_MAX_STEPS 20000
#define CEILING_WARMUP 2
/* These keep uses of the seed apart from others. */
#define STREAM_ORDER UINT64_C(0x0de2)
#define STREAM_BLOCK UINT64_C(0xb10c)

const char *dlb_plan_sampler_for(const struct dlb_plan_torch *torch,
                                 const struct dlb_opt_group *group, const struct dlb_opt *opt,
                                 const struct dlb_spec *spec)
{
    const char *dataset = spec->python.dataset;
    bool shuffle = strcmp(opt->key, "shuffle") == 0;
    bool batches = strcmp(opt->key, "batch_size") == 0 || strcmp(opt->key, "drop_last") == 0;
    if (group != &dlb_loader_group || !dlb_spec_is_torch(spec) || spec->python.loader[0] ||
        !dataset[0] || strcmp(dataset, torch->dataset) != 0)
        return NULL;
    if (torch->batch_sampler && (shuffle || batches))
        return "batch_sampler";
    return torch->sampler && shuffle ? "sampler" : NULL;
}

/* Skips a cell if an axis makes no difference in it, unless the cell has the first value of that
 * axis. */
static void skip_duplicates(const struct dlb_plan_torch *torch, const struct dlb_axes *axes,
                            const size_t *place, struct dlb_plan_cell *cell)
{
    for (uint32_t i = 0; i < axes->n && !cell->skipped; i++) {
        const struct dlb_axis *axis = &axes->axis[i];
        const char *name = dlb_plan_sampler_for(torch, axis->group, axis->opt, cell->spec);
        if (place[i] > 0 && name) {
            cell->skipped = true;
            (void)snprintf(
                cell->reason, sizeof(cell->reason),
                "%s makes no difference with the %s beside python.dataset, which decides "
                "in its place",
                axis->opt->key, name);
            continue;
        }
        if (place[i] == 0 || dlb_meaning_shows(axis->group, axis->opt, cell->spec, cell->iterable))
            continue;
        cell->skipped = true;
        dlb_meaning_why_not(axis->group, axis->opt, cell->spec, cell->iterable, cell->reason,
                            sizeof(cell->reason));
    }
}

/* Most formats can be read in one way only. If a format offers both, dataset.access decides. */
static bool is_iterable(const struct dlb_plan_input *in, const struct dlb_spec *spec)
{
    const struct dlb_format *format = dlb_formats[spec->dataset.format];
    const struct dlb_reader *reader = format->reader; /* none in a build that lacks the format */
    bool streams = reader && reader->shard_open, indexed = reader && reader->read;
    int access = spec->dataset.access;

    if (streams != indexed)
        return streams;
    if (access == DLB_ACCESS_AUTO && format->access)
        access = format->access[0];
    return access == DLB_ACCESS_AUTO ? in->iterable : access == DLB_ACCESS_STREAM;
}

/* The base configuration with one value of each axis. */
static int make_spec(const struct dlb_plan_input *in, const struct dlb_axes *axes,
                     const size_t *place, struct dlb_spec *spec, struct dlb_err *err)
{
    if (axes->n == 0)
        return dlb_spec_from_config(spec, in->cfg, err);
    json_t *flat = dlb_json_made(dlb_config_resolved(in->cfg));
    for (uint32_t i = 0; i < axes->n; i++)
        dlb_json_put(flat, axes->axis[i].key,
                     json_incref(json_array_get(axes->axis[i].values, place[i])));
    int rc = dlb_spec_from_json(spec, flat, "sweep", err);
    json_decref(flat);
    return rc;
}

int dlb_plan_check_cell(struct dlb_spec *spec, bool iterable, struct dlb_err *err)
{
    const struct dlb_format *format = dlb_spec_format(spec);
    if (!dlb_loader_choose(&spec->loader, err))
        return (int)err->status;
    int rc = dlb_loader_check_reads(&spec->loader, format, spec->dataset.access, iterable, err);
    return rc ? rc
              : dlb_codec_check_where(dlb_codecs[spec->dataset.codec], format, &spec->transform,
                                      err);
}

static int plan_cell(const struct dlb_plan_input *in, const struct dlb_axes *axes, size_t number,
                     struct dlb_plan_cell *cell, struct dlb_err *err)
{
    size_t *place = dlb_mem_array(axes->n, sizeof(*place));
    for (uint32_t i = axes->n; i-- > 0; number /= json_array_size(axes->axis[i].values))
        place[i] = number % json_array_size(axes->axis[i].values);
    cell->spec = dlb_mem_new(sizeof(*cell->spec));
    cell->warm = -1;
    cell->code = DLB_N_CODES;
    int rc = make_spec(in, axes, place, cell->spec, err);
    if (!rc) {
        cell->iterable = is_iterable(in, cell->spec);
        rc = dlb_plan_check_cell(cell->spec, cell->iterable, err);
    }
    if (rc == DLB_E_CONFIG && axes->n > 0) {
        cell->skipped = true;
        cell->code = err->code;
        (void)snprintf(cell->reason, sizeof(cell->reason), "%s", err->what);
        rc = DLB_OK;
    } else if (!rc) {
        skip_duplicates(&in->torch, axes, place, cell);
        dlb_meaning_settle(cell->spec, cell->iterable);
    }
    free(place);
    return rc;
}

int dlb_plan_cells(const struct dlb_plan_input *in, struct dlb_axes *axes, struct dlb_plan *plan,
                   struct dlb_err *err)
{
    size_t n = 1;
    plan->axes = *axes;
    *axes = (struct dlb_axes){0};
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        n *= json_array_size(plan->axes.axis[i].values);
        if (n == 0 || n > DLB_MAX_CELLS)
            return dlb_fail(err, DLB_ERR_SWEEP_SIZE, NULL, DLB_NO_OFFSET,
                            "the sweep has %s cells (the product of its lists), and %d are the "
                            "most: sweep fewer values",
                            n ? "too many" : "no", DLB_MAX_CELLS);
    }
    plan->step_assumed = !dlb_config_has(in->cfg, "device.step_ms") &&
                         !dlb_axes_find(&plan->axes, &dlb_device_group, "step_ms");
    plan->io_depth_said = dlb_config_has(in->cfg, "loader.io_depth") ||
                          dlb_axes_find(&plan->axes, &dlb_loader_group, "io_depth") != NULL;
    plan->cells = dlb_mem_array(n, sizeof(*plan->cells));
    plan->n_cells = plan->n_grid = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        int rc = plan_cell(in, &plan->axes, i, &plan->cells[i], err);
        if (rc)
            return rc;
    }
    return DLB_OK;
}

/* How many steps make a ceiling of this device setting. */
static int64_t ceiling_steps(const struct dlb_device_opts *device)
{
    double step_ns = device->step_ms * 1e6, steps = CEILING_MAX_STEPS;
    if (step_ns > 0)
        steps = floor((device->step_dist == DLB_STEP_CONSTANT ? CEILING_NS : CEILING_SPREAD_NS) /
                      step_ns);
    return (int64_t)fmin(fmax(steps, CEILING_MIN_STEPS), CEILING_MAX_STEPS);
}

/* Of how a cell loads, what the ceiling's batches, slots and copies depend on; no planted times.
 * A shuffled order makes its few batches a sample of the data set. */
static void ceiling_loader(const struct dlb_loader_opts *cell, bool forks, bool iterable,
                           struct dlb_loader_opts *out)
{
    bool fresh = cell->transport == DLB_TRANSPORT_FRESH && !cell->pin_memory;
    out->batch_size = cell->batch_size;
    out->drop_last = cell->drop_last;
    out->pin_memory = cell->pin_memory;
    out->shuffle = !iterable;
    if (!fresh && !forks)
        return;
    out->num_workers = 1; /* it has none: this says what its slots are like */
    out->kind = forks ? cell->kind : 0;
    out->transport = fresh ? cell->transport : out->transport;
}

/* The cell with batches that are always ready. Options that do not matter have their defaults, so
 * that equal ceilings are equal specs. */
static void make_ceiling(const struct dlb_plan_cell *cell, struct dlb_spec *out)
{
    const struct dlb_spec *spec = cell->spec;
    struct dlb_spec plain;
    dlb_spec_defaults_of_format(&plain, spec->dataset.format);
    *out = *spec;
    out->loader = plain.loader;
    out->run = plain.run;
    ceiling_loader(&spec->loader, dlb_spec_forks(spec), cell->iterable, &out->loader);
    if (dlb_spec_is_torch(spec)) { /* the same interpreter, with a batch that it keeps */
        out->loader.kind = spec->loader.kind;
        out->loader.num_workers = spec->loader.num_workers > 0; /* one puts it into shared memory */
        out->loader.prefetch_factor = 1;
    }
    out->run.max_batches = ceiling_steps(&spec->device);
    out->run.warmup_batches = CEILING_WARMUP;
    out->run.epochs = out->run.max_batches + CEILING_WARMUP + 1; /* of one batch at least */
    out->run.seed = spec->run.seed;
    out->run.rank = spec->run.rank;
    out->run.world = spec->run.world;
    out->run.checksum = spec->run.checksum;
    dlb_meaning_settle(out, cell->iterable);
}

void dlb_plan_add_ceilings(struct dlb_plan *plan, uint32_t first)
{
    plan->ceilings = dlb_mem_grow(plan->ceilings, (size_t)plan->n_ceilings + plan->n_cells - first,
                                  sizeof(*plan->ceilings));
    for (uint32_t i = first; i < plan->n_cells; i++) {
        struct dlb_plan_cell *cell = &plan->cells[i];
        if (cell->skipped)
            continue;
        struct dlb_spec *ceiling = &plan->ceilings[plan->n_ceilings];
        make_ceiling(cell, ceiling);
        cell->ceiling = 0;
        while (!dlb_spec_equal(&plan->ceilings[cell->ceiling], ceiling))
            cell->ceiling++;
        plan->n_ceilings += cell->ceiling == plan->n_ceilings;
    }
    plan->n_resident = plan->n_ceilings;
}

void dlb_plan_ceilings(struct dlb_plan *plan)
{
    dlb_plan_add_ceilings(plan, 0);
}

bool dlb_plan_is_torch(const struct dlb_plan *plan, uint32_t cell)
{
    return plan->cells[cell].spec && dlb_spec_is_torch(plan->cells[cell].spec);
}

const struct dlb_plan_race *dlb_plan_deciding(const struct dlb_plan *plan)
{
    bool known = plan->race && plan->race->race.n_looked > 0 && plan->race->race.leader >= 0;
    return plan->hardware && !known ? plan->hardware : plan->race;
}

const struct dlb_plan_race *dlb_plan_race_of(const struct dlb_plan *plan, uint32_t cell)
{
    return plan->hardware && cell < plan->n_grid ? plan->hardware : plan->race;
}

uint32_t dlb_plan_race_blocks(const struct dlb_plan *plan, const struct dlb_plan_race *race)
{
    return race == plan->hardware ? race->race.n_blocks : plan->n_blocks - race->first_block;
}

int64_t dlb_plan_block_seed(int64_t seed, uint32_t block)
{
    struct dlb_rng rng = dlb_rng_seed((uint64_t)seed, block, STREAM_BLOCK);
    return block == 0 ? seed : (int64_t)(dlb_rng_u64(&rng) >> 1);
}

double dlb_plan_batches(const struct dlb_spec *spec, uint64_t n_samples)
{
    bool made = strcmp(dlb_spec_format(spec)->name, "synthetic") == 0;
    double each =
        dlb_spec_epoch_batches(spec, false, made ? (uint64_t)spec->generate.samples : n_samples);
    double n = (double)spec->accelerators.count;
    return fmin(each * n * (double)spec->run.epochs, dlb_spec_wanted(spec) * n); /* if known */
}

static void shuffle(struct dlb_task *tasks, uint32_t n, struct dlb_rng rng)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)dlb_rng_below(&rng, i);
        struct dlb_task kept = tasks[i - 1];
        tasks[i - 1] = tasks[j];
        tasks[j] = kept;
    }
}

void dlb_plan_add_task(struct dlb_plan *plan, struct dlb_task task)
{
    bool is_cell =
        task.kind == DLB_TASK_CELL || task.kind == DLB_TASK_REFERENCE || task.kind == DLB_TASK_IN_C;
    const struct dlb_plan_cell *cell = is_cell ? &plan->cells[task.index] : NULL;
    plan->tasks = dlb_mem_grow(plan->tasks, plan->n_tasks + 2, sizeof(*plan->tasks));
    if (cell && cell->warm_when == DLB_WARM_EACH && cell->warm >= 0)
        plan->tasks[plan->n_tasks++] = (struct dlb_task){.kind = DLB_TASK_WARM,
                                                         .index = (uint32_t)cell->warm,
                                                         .block = task.block,
                                                         .for_next = true};
    plan->tasks[plan->n_tasks++] = task;
}

/* The warm passes that cells share at this time. */
static void add_warms(struct dlb_plan *plan, enum dlb_warm_when when, uint32_t block)
{
    for (uint32_t w = 0; w < plan->n_warms; w++) {
        bool wanted = false;
        for (uint32_t i = 0; i < plan->n_cells; i++)
            wanted = wanted || (plan->cells[i].warm == w && plan->cells[i].warm_when == when);
        if (wanted)
            dlb_plan_add_task(plan,
                              (struct dlb_task){.kind = DLB_TASK_WARM, .index = w, .block = block});
    }
}

void dlb_plan_add_block_warms(struct dlb_plan *plan, uint32_t block)
{
    add_warms(plan, DLB_WARM_BLOCK, block);
}

void dlb_plan_insert_warms(struct dlb_plan *plan, uint32_t at)
{
    uint32_t n = plan->n_tasks, block = plan->tasks[at].block;
    add_warms(plan, DLB_WARM_ONCE, block);
    for (uint32_t i = n; i < plan->n_tasks; i++)
        plan->tasks[i].rewarms = true;
    dlb_plan_move_tasks(plan, n, at);
}

static void add_reference(struct dlb_plan *plan, uint32_t block)
{
    dlb_plan_add_task(plan, (struct dlb_task){.kind = DLB_TASK_REFERENCE,
                                              .index = (uint32_t)plan->reference,
                                              .block = block});
}

void dlb_plan_move_tasks(struct dlb_plan *plan, uint32_t n, uint32_t to)
{
    uint32_t n_added = plan->n_tasks - n;
    struct dlb_task *added = dlb_mem_array(n_added, sizeof(*added));
    memcpy(added, plan->tasks + n, n_added * sizeof(*added));
    memmove(plan->tasks + to + n_added, plan->tasks + to, (n - to) * sizeof(*added));
    memcpy(plan->tasks + to, added, n_added * sizeof(*added));
    free(added);
}

static bool is_ceiling_of_any(const struct dlb_plan *plan, uint32_t ceiling, const bool *cells)
{
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (cells[i] && plan->cells[i].ceiling == ceiling)
            return true;
    return false;
}

void dlb_plan_add_block(struct dlb_plan *plan, uint32_t b, const bool *cells, bool alone)
{
    struct dlb_task *block =
        dlb_mem_array((size_t)plan->n_cells + plan->n_ceilings, sizeof(*block));
    uint32_t n = 0;
    if (b == 0)
        add_warms(plan, DLB_WARM_ONCE, 0);
    dlb_plan_add_block_warms(plan, b);
    if (plan->reference >= 0 && !alone)
        add_reference(plan, b);
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (!plan->cells[i].skipped && (!cells || cells[i]))
            block[n++] = (struct dlb_task){.kind = DLB_TASK_CELL, .index = i, .block = b};
    for (uint32_t i = 0; i < plan->n_ceilings && !alone; i++)
        if (!cells || is_ceiling_of_any(plan, i, cells))
            block[n++] = (struct dlb_task){.kind = DLB_TASK_CEILING, .index = i, .block = b};
    shuffle(block, n, dlb_rng_seed(plan->seed, b, STREAM_ORDER));
    for (uint32_t i = 0; i < n; i++)
        dlb_plan_add_task(plan, block[i]);
    free(block);
}

void dlb_plan_tasks(struct dlb_plan *plan)
{
    for (uint32_t b = 0; b < plan->n_blocks; b++)
        dlb_plan_add_block(plan, b, NULL, false);
    if (plan->reference < 0)
        return;
    dlb_plan_add_block_warms(plan, plan->n_blocks);
    add_reference(plan, plan->n_blocks);
}

void dlb_plan_default_axes(uint32_t n_cpus, struct dlb_axes *axes)
{
    json_t *workers = dlb_json_made(json_pack("[i]", 0));
    uint32_t last = 0;
    for (uint32_t n = 1; n <= n_cpus; n *= 2) {
        dlb_json_append(workers, json_integer(n));
        last = n;
    }
    if (last < n_cpus)
        dlb_json_append(workers, json_integer(n_cpus));
    dlb_axes_add(axes, &dlb_loader_group, "num_workers", workers);
    dlb_axes_add(axes, &dlb_loader_group, "pin_memory", dlb_json_made(json_pack("[bb]", 0, 1)));
    dlb_axes_add(axes, &dlb_loader_group, "prefetch_factor",
                 dlb_json_made(json_pack("[ii]", 2, 4)));
    dlb_axes_add(axes, &dlb_loader_group, "persistent_workers",
                 dlb_json_made(json_pack("[bb]", 0, 1)));
}

static void free_race(struct dlb_plan_race *held)
{
    if (!held)
        return;
    dlb_race_free(&held->race);
    free(held->rank);
    free(held->levels);
    free(held);
}

void dlb_plan_free(struct dlb_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        free(plan->cells[i].spec);
        json_decref(plan->cells[i].other.config);
        json_decref(plan->cells[i].other.first);
    }
    free(plan->cells);
    free(plan->ceilings);
    free(plan->warms);
    free(plan->tasks);
    free(plan->base);
    free(plan->in_c.spec);
    free_race(plan->race);
    free_race(plan->hardware);
    dlb_axes_free(&plan->axes);
    memset(plan, 0, sizeof(*plan));
}

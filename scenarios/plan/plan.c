#include "scenarios/plan/plan.h"

#include "core/base/rng.h"
#include "scenarios/spec/flat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CEILING_NS                                                                                 \
    5e8 /* a ceiling of equal steps is steady after this long, or after CEILING_MIN_STEPS */
#define CEILING_SPREAD_NS 2e9 /* steps that differ need a mean */
#define CEILING_MIN_STEPS 3
#define CEILING_AHEAD                                                                              \
    2 /* steps queued ahead, so that a late wake-up of the host costs the device nothing */
#define CEILING_MAX_STEPS 20000
#define STREAM_ORDER UINT64_C(0x0de2) /* keeps this use of the seed apart from others */

static int no_memory(struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory for the plan");
}

/* A key that says nothing under some settings of others. */
struct rule {
    const char *key;
    bool (*applies)(const struct dlb_spec *spec, bool iterable);
    bool meaningless; /* the cell echoes null; else it only cannot make a difference worth a cell */
    const char *reason;
};

static bool has_workers(const struct dlb_spec *spec, bool iterable)
{
    (void)iterable;
    return spec->loader.num_workers > 0;
}

static bool has_borders(const struct dlb_spec *spec, bool iterable)
{
    (void)iterable;
    return spec->run.epochs >= DLB_PERSISTENT_MIN_EPOCHS;
}

static bool pins(const struct dlb_spec *spec, bool iterable)
{
    (void)iterable;
    return spec->loader.pin_memory;
}

static bool buffers(const struct dlb_spec *spec, bool iterable)
{
    return iterable && spec->loader.shuffle;
}

static bool spreads(const struct dlb_spec *spec, bool iterable)
{
    (void)iterable;
    return spec->device.step_dist != DLB_STEP_CONSTANT;
}

static bool has_stored_bytes(const struct dlb_spec *spec, bool iterable)
{
    (void)iterable;
    return !dlb_formats[spec->dataset.format]->synthetic;
}

static bool reads_many(const struct dlb_spec *spec, bool iterable)
{
    (void)iterable;
    return spec->loader.io == DLB_READ_URING;
}

static bool runs_cold(const struct dlb_spec *spec, bool iterable)
{
    return has_stored_bytes(spec, iterable) && spec->run.cache == DLB_RUN_COLD;
}

static bool are_many(const struct dlb_spec *spec, bool iterable)
{
    (void)iterable;
    return spec->accelerators.count > 1;
}

static const struct rule rules[] = {
    {"dataset.codec", has_stored_bytes, true,
     "a codec has no meaning with formats synthetic and memory: they store nothing to decode"},
    {"dataset.access", has_stored_bytes, true,
     "access has no meaning with formats synthetic and memory: they read nothing"},
    {"loader.prefetch_factor", has_workers, true,
     "prefetch_factor has no meaning with 0 workers: nobody loads ahead"},
    {"loader.persistent_workers", has_workers, true,
     "persistent_workers has no meaning with 0 workers"},
    {"loader.persistent_workers", has_borders, false,
     "persistent_workers shows from 3 epochs on: run.epochs is smaller"},
    {"loader.order", has_workers, true, "order has no meaning with 0 workers: nobody overtakes"},
    {"loader.timeout_s", has_workers, true,
     "timeout_s has no meaning with 0 workers: the training loop itself reads"},
    {"loader.transport", has_workers, true,
     "transport has no meaning with 0 workers: batches stay where they are made"},
    {"loader.io_depth", reads_many, true,
     "io_depth has no meaning with loader.io = \"sync\": there is one read at a time"},
    {"loader.direct", has_stored_bytes, true,
     "direct has no meaning with the synthetic format: it reads nothing"},
    {"run.cache", has_stored_bytes, true,
     "cache has no meaning with formats synthetic and memory: they read nothing"},
    {"run.drop_caches", runs_cold, true, "drop_caches is done before cold runs only"},
    {"loader.pin_mode", pins, true, "pin_mode has no meaning without pin_memory"},
    {"loader.shuffle_buffer", buffers, false,
     "shuffle_buffer is used by shuffled iterable data only"},
    {"loader.shuffle_buffer_bytes", buffers, false,
     "shuffle_buffer_bytes is used by shuffled iterable data only"},
    {"accelerators.barrier", are_many, true, "barrier has no meaning with one accelerator"},
    {"accelerators.shared_workers", are_many, true,
     "shared_workers has no meaning with one accelerator"},
    {"device.step_stdev_ms", spreads, false,
     "step_stdev_ms is used by normal and lognormal steps only"},
};
#define N_RULES (sizeof(rules) / sizeof(rules[0]))

/* Marks what has no meaning with null, and skips the cell when a key without effect is not at its
 * axis's first value. */
static bool apply_rules(const json_t *axes, const struct dlb_spec *spec, struct dlb_plan_cell *cell)
{
    bool ok = true;
    for (size_t i = 0; i < N_RULES; i++) {
        const struct rule *rule = &rules[i];
        if (rule->applies(spec, cell->iterable))
            continue;
        const json_t *axis = json_object_get(axes, rule->key);
        if (!cell->skipped && json_array_size(axis) > 1 &&
            !json_equal(json_array_get(axis, 0), json_object_get(cell->config, rule->key))) {
            cell->skipped = true;
            (void)snprintf(cell->reason, sizeof(cell->reason), "%s", rule->reason);
        }
    }
    for (size_t i = 0; i < N_RULES && !cell->skipped; i++)
        if (rules[i].meaningless && !rules[i].applies(spec, cell->iterable) &&
            json_object_get(cell->config, rules[i].key))
            ok = ok && dlb_json_put(cell->config, rules[i].key, json_null());
    return ok;
}

/* Most formats can be read in one way only; of one that knows both, the access says. */
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

static int plan_cell(const struct dlb_plan_input *in, const json_t *base, const json_t *axes,
                     size_t number, struct dlb_plan_cell *cell, struct dlb_err *err)
{
    const char *key;
    json_t *axis;
    size_t stride = 1;
    json_object_foreach((json_t *)axes, key, axis)
        stride *= json_array_size(axis);
    cell->config = json_copy((json_t *)base);
    if (!cell->config)
        return no_memory(err);
    json_object_foreach((json_t *)axes, key, axis) {
        size_t n = json_array_size(axis);
        stride /= n;
        if (json_object_set(cell->config, key, json_array_get(axis, number / stride % n)))
            return no_memory(err);
    }
    struct dlb_spec *spec = malloc(sizeof(*spec));
    if (!spec)
        return no_memory(err);
    int rc = dlb_flat_spec(cell->config, "sweep", spec, err);
    if (!rc && !dlb_loader_choose(&spec->loader, err))
        rc = (int)err->status;
    if (!rc)
        rc = dlb_loader_check_reads(&spec->loader, dlb_formats[spec->dataset.format],
                                    spec->dataset.access, is_iterable(in, spec), err);
    if (!rc)
        rc = dlb_codec_check_where(dlb_codecs[spec->dataset.codec],
                                   dlb_formats[spec->dataset.format], &spec->transform, err);
    if (rc == DLB_E_CONFIG && json_object_size(axes) > 0) {
        cell->skipped = true;
        (void)snprintf(cell->reason, sizeof(cell->reason), "%s", err->what);
        rc = DLB_OK;
    } else if (!rc) {
        cell->iterable = is_iterable(in, spec);
        if (!apply_rules(axes, spec, cell))
            rc = no_memory(err);
    }
    free(spec);
    return rc;
}

int dlb_plan_cells(const struct dlb_plan_input *in, const json_t *axes, struct dlb_plan *plan,
                   struct dlb_err *err)
{
    const char *key;
    json_t *axis;
    size_t n = 1;
    json_object_foreach((json_t *)axes, key, axis) {
        n *= json_array_size(axis);
        if (n == 0 || n > DLB_MAX_CELLS)
            return dlb_fail(err, DLB_ERR_CONFIG, NULL, DLB_NO_OFFSET,
                            "the sweep has %s cells: its axes multiply; %d are the most",
                            n ? "too many" : "no", DLB_MAX_CELLS);
    }
    json_t *base = dlb_config_resolved(in->cfg);
    plan->step_assumed =
        !dlb_config_has(in->cfg, "device.step_ms") && !json_object_get(axes, "device.step_ms");
    plan->axes = json_deep_copy(axes);
    plan->io_depth_said = dlb_config_has(in->cfg, "loader.io_depth") ||
                          json_object_get(axes, "loader.io_depth") != NULL;
    plan->cells = calloc(n, sizeof(*plan->cells));
    plan->n_cells = plan->cells ? (uint32_t)n : 0;
    int rc = base && plan->axes && plan->cells ? DLB_OK : no_memory(err);
    for (size_t i = 0; i < plan->n_cells && !rc; i++)
        rc = plan_cell(in, base, axes, i, &plan->cells[i], err);
    json_decref(base);
    return rc;
}

/* How many steps make a ceiling of this device setting. */
static json_int_t ceiling_steps(const json_t *config)
{
    double step_ns = dlb_json_number(config, "device.step_ms") * 1e6;
    bool spread = strcmp(dlb_json_text(config, "device.step_dist"), "constant") != 0;
    double steps = step_ns > 0 ? floor((spread ? CEILING_SPREAD_NS : CEILING_NS) / step_ns)
                               : CEILING_MAX_STEPS;
    if (steps > CEILING_MAX_STEPS)
        steps = CEILING_MAX_STEPS;
    return (json_int_t)(steps < CEILING_MIN_STEPS ? CEILING_MIN_STEPS : steps);
}

/* The same step with nothing to load and next to nothing to copy: one byte a batch, which is always
 * there. What the device does for transform.where = "gpu" is left out too: it is input work. */
static json_t *ceiling_overrides(const json_t *config)
{
    json_int_t steps = ceiling_steps(config);
    return json_pack("{ss, ss, sI, sI, ss, sI, sI, sb, sb, sb, sb, ss, ss, sf, sf, sf, sf, sf, ss, "
                     "sI, sI, sI, sI, "
                     "sb, sI, sI}",
                     "dataset.format", "synthetic", "dataset.codec", "raw", "generate.samples",
                     steps + 4, "generate.sample_bytes", (json_int_t)1, "loader.kind", "auto",
                     "loader.batch_size", (json_int_t)1, "loader.num_workers", (json_int_t)0,
                     "loader.shuffle", 0, "loader.pin_memory", 1, "loader.persistent_workers", 0,
                     "loader.drop_last", 0, "loader.order", "in-order", "loader.transport",
                     "pooled", "loader.timeout_s", 0.0, "loader.sample_sleep_us", 0.0,
                     "loader.sample_spin_us", 0.0, "loader.worker_init_ms", 0.0,
                     "loader.worker_init_mb", 0.0, "loader.bind", "none", "device.prefetch",
                     (json_int_t)CEILING_AHEAD, "run.epochs", (json_int_t)1, "run.max_batches",
                     steps, "run.warmup_batches", (json_int_t)1, "run.checksum", 0, "run.rank",
                     (json_int_t)0, "run.world", (json_int_t)1);
}

/* Everything that a ceiling does not depend on is left out, so that equal ceilings compare equal.
 */
static int ceiling_of(const json_t *config, json_t **out, struct dlb_err *err)
{
    json_t *overrides = ceiling_overrides(config);
    int rc = overrides ? dlb_flat_override(config, overrides, "ceiling", out, err) : no_memory(err);
    if (!rc) {
        const char *key;
        json_t *value;
        void *next;
        json_object_foreach_safe(*out, next, key, value) {
            if (strncmp(key, "device.", 7) != 0 && strcmp(key, "run.seed") != 0 &&
                !json_object_get(overrides, key))
                (void)json_object_del(*out, key);
        }
    }
    json_decref(overrides);
    return rc;
}

int dlb_plan_ceilings(struct dlb_plan *plan, struct dlb_err *err)
{
    plan->ceilings = calloc(plan->n_cells ? plan->n_cells : 1, sizeof(*plan->ceilings));
    if (!plan->ceilings)
        return no_memory(err);
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        struct dlb_plan_cell *cell = &plan->cells[i];
        json_t *config = NULL;
        if (cell->skipped)
            continue;
        int rc = ceiling_of(cell->config, &config, err);
        if (rc)
            return rc;
        uint32_t at = 0;
        while (at < plan->n_ceilings && !json_equal(plan->ceilings[at], config))
            at++;
        cell->ceiling = at;
        if (at < plan->n_ceilings)
            json_decref(config);
        else
            plan->ceilings[plan->n_ceilings++] = config;
    }
    return DLB_OK;
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

/* Adds a task, behind the warm pass that goes with it. */
static void add_task(struct dlb_plan *plan, struct dlb_task task)
{
    bool is_cell = task.kind == DLB_TASK_CELL || task.kind == DLB_TASK_REFERENCE;
    const struct dlb_plan_cell *cell = is_cell ? &plan->cells[task.index] : NULL;
    if (cell && cell->warm_each && cell->warm >= 0)
        plan->tasks[plan->n_tasks++] = (struct dlb_task){.kind = DLB_TASK_WARM,
                                                         .index = (uint32_t)cell->warm,
                                                         .block = task.block,
                                                         .for_next = true};
    plan->tasks[plan->n_tasks++] = task;
}

/* The warm passes of cells that share one. */
static void add_shared_warms(struct dlb_plan *plan)
{
    for (uint32_t w = 0; w < plan->n_warms; w++) {
        bool shared = false;
        for (uint32_t i = 0; i < plan->n_cells; i++)
            shared = shared || (plan->cells[i].warm == w && !plan->cells[i].warm_each);
        if (shared)
            add_task(plan, (struct dlb_task){.kind = DLB_TASK_WARM, .index = w});
    }
}

int dlb_plan_tasks(struct dlb_plan *plan, struct dlb_err *err)
{
    size_t per_block = (size_t)plan->n_cells + plan->n_ceilings + 1, n_most = per_block + 1;
    struct dlb_task *block = calloc(per_block, sizeof(*block));
    /* Every cell and every reference may have a warm pass of its own. */
    plan->tasks = calloc((2 * n_most) * (plan->n_blocks + 1) + plan->n_warms, sizeof(*plan->tasks));
    if (!block || !plan->tasks) {
        free(block);
        return no_memory(err);
    }
    add_shared_warms(plan);
    struct dlb_task reference = {.kind = DLB_TASK_REFERENCE, .index = (uint32_t)plan->reference};
    for (uint32_t b = 0; b < plan->n_blocks; b++, reference.block = b) {
        uint32_t n = 0;
        if (plan->reference >= 0)
            add_task(plan, reference);
        for (uint32_t i = 0; i < plan->n_cells; i++)
            if (!plan->cells[i].skipped)
                block[n++] = (struct dlb_task){.kind = DLB_TASK_CELL, .index = i, .block = b};
        for (uint32_t i = 0; i < plan->n_ceilings; i++)
            block[n++] = (struct dlb_task){.kind = DLB_TASK_CEILING, .index = i, .block = b};
        shuffle(block, n, dlb_rng_seed(plan->seed, b, STREAM_ORDER));
        for (uint32_t i = 0; i < n; i++)
            add_task(plan, block[i]);
    }
    if (plan->reference >= 0)
        add_task(plan, reference);
    free(block);
    return DLB_OK;
}

json_t *dlb_plan_default_axes(uint32_t n_cpus)
{
    json_t *workers = json_pack("[i]", 0);
    uint32_t last = 0;
    for (uint32_t n = 1; workers && n <= n_cpus; n *= 2) {
        (void)json_array_append_new(workers, json_integer(n));
        last = n;
    }
    if (workers && last < n_cpus)
        (void)json_array_append_new(workers, json_integer(n_cpus));
    return json_pack("{so, s[bb], s[ii], s[bb]}", "loader.num_workers", workers,
                     "loader.pin_memory", 0, 1, "loader.prefetch_factor", 2, 4,
                     "loader.persistent_workers", 0, 1);
}

void dlb_plan_free(struct dlb_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        json_decref(plan->cells[i].config);
        json_decref(plan->cells[i].first);
    }
    for (uint32_t i = 0; i < plan->n_ceilings; i++)
        json_decref(plan->ceilings[i]);
    free(plan->cells);
    free((void *)plan->ceilings);
    free(plan->tasks);
    for (uint32_t i = 0; i < plan->n_warms; i++)
        json_decref(plan->warms[i]);
    free((void *)plan->warms);
    json_decref(plan->axes);
    json_decref(plan->base);
    memset(plan, 0, sizeof(*plan));
}

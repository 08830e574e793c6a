#include "scenarios/sweep/confirm.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_value.h"
#include "scenarios/plan/plan.h"
#include "scenarios/plan/preflight.h"
#include "scenarios/spec/meaning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

struct chosen {
    int64_t *out;
    uint32_t n;
};

static void take(struct chosen *chosen, int64_t n_workers)
{
    if (chosen->n == DLB_CONFIRM_WORKERS || n_workers > DLB_CONFIRM_WORKERS_MAX)
        return;
    for (uint32_t i = 0; i < chosen->n; i++)
        if (chosen->out[i] == n_workers)
            return;
    chosen->out[chosen->n++] = n_workers;
}

/* The listed numbers above the answer, rising. Owned by the caller. */
static int64_t *above(int64_t answer, const json_t *listed, uint32_t *n)
{
    int64_t *out = dlb_mem_array(json_array_size(listed) + 1, sizeof(*out));
    *n = 0;
    for (size_t i = 0; i < json_array_size(listed); i++) {
        int64_t value = json_integer_value(json_array_get(listed, i));
        if (value > answer)
            out[(*n)++] = value;
    }
    qsort(out, *n, sizeof(*out), compare);
    return out;
}

uint32_t dlb_confirm_workers(int64_t answer, int64_t n_cpus, const json_t *listed,
                             int64_t out[DLB_CONFIRM_WORKERS])
{
    int64_t unit = answer > 0 ? 2 * answer : 1;
    /* The first are the most telling: PyTorch's workers do less each than those of the answer. */
    const int64_t others[] = {2 * unit, 4 * unit, 0, 8 * unit, 1, 16 * unit};
    struct chosen chosen = {.out = out};
    uint32_t n_more;
    int64_t *more = above(answer, listed, &n_more);
    take(&chosen, answer);
    take(&chosen, unit);
    take(&chosen, n_cpus);
    if (n_more > 0)
        take(&chosen, more[n_more - 1]);
    take(&chosen, answer / 2);
    if (n_more > 0)
        take(&chosen, more[n_more / 2]);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (others[i] <= n_cpus || others[i] < answer)
            take(&chosen, others[i]);
    for (uint32_t i = 0; i < n_more; i++)
        take(&chosen, more[i]);
    free(more);
    qsort(out, chosen.n, sizeof(*out), compare);
    return chosen.n;
}

/* The cell's settings, as far as PyTorch has them. What means nothing in that cell (the
 * interpreter; prefetch_factor without workers) is as it was configured. */
static struct dlb_spec torch_spec(const struct dlb_plan *plan, const struct dlb_plan_cell *cell,
                                  int64_t n_workers)
{
    struct dlb_spec out = *cell->spec;
    dlb_meaning_fill(&out, &plan->torch.configured, cell->iterable);
    dlb_spec_make_torch(&out);
    out.loader.num_workers = n_workers;
    dlb_meaning_settle(&out, cell->iterable);
    return out;
}

static bool is_there(const struct dlb_plan *plan, const struct dlb_spec *spec)
{
    for (uint32_t i = plan->n_grid; i < plan->n_cells; i++)
        if (dlb_spec_equal(plan->cells[i].spec, spec))
            return true;
    return false;
}

static void add(struct dlb_plan *plan, uint32_t answer, struct dlb_spec *spec)
{
    struct dlb_err err;
    if (plan->n_cells - plan->n_grid == DLB_CONFIRM_CELLS || is_there(plan, spec))
        return;
    plan->cells = dlb_mem_grow(plan->cells, (size_t)plan->n_cells + 1, sizeof(*plan->cells));
    const struct dlb_plan_cell *like = &plan->cells[answer]; /* it reads the same data */
    struct dlb_plan_cell *cell = &plan->cells[plan->n_cells++];
    *cell = (struct dlb_plan_cell){.spec = dlb_mem_new(sizeof(*spec)),
                                   .iterable = like->iterable,
                                   .code = DLB_N_CODES,
                                   .ceiling = UINT32_MAX,
                                   .warm = like->warm,
                                   .warm_when = like->warm_when};
    *cell->spec = *spec;
    if (dlb_plan_check_cell(cell->spec, cell->iterable, &err) == DLB_OK)
        return;
    cell->skipped = true;
    cell->code = err.code;
    (void)snprintf(cell->reason, sizeof(cell->reason), "%s", err.what);
}

/* num_workers, which the cells differ in anyhow, and kind. */
static bool is_own(const struct dlb_axis *axis)
{
    return axis->group == &dlb_loader_group &&
           (strcmp(axis->opt->key, "num_workers") == 0 || strcmp(axis->opt->key, "kind") == 0);
}

/* Whether PyTorch's cells can be compared over the axis, beside num_workers. */
static bool is_compared(const struct dlb_plan *plan, const struct dlb_axis *axis,
                        const struct dlb_spec *spec, bool iterable)
{
    return !is_own(axis) && json_array_size(axis->values) > 1 &&
           dlb_meaning_shows(axis->group, axis->opt, spec, iterable) &&
           !dlb_axis_is_other_work(axis, spec) &&
           !dlb_plan_sampler_for(&plan->torch, axis->group, axis->opt, spec);
}

/* Whether the axis is a setting of PyTorch's that says how it loads, and not what, and has several
 * values. Not pin_memory: these cells do not pin, and what the link makes of it is measured by the
 * cells before. */
static bool has_default(const struct dlb_axis *axis, const struct dlb_spec *spec, bool iterable)
{
    bool pytorchs = axis->group == &dlb_loader_group || axis->group == &dlb_python_group;
    return pytorchs && !is_own(axis) && json_array_size(axis->values) > 1 &&
           axis->opt->work == DLB_WORK_SAME && !axis->opt->stays &&
           axis->opt->shows_with != DLB_NEEDS_OWN_COPIES &&
           dlb_meaning_has(axis->group, axis->opt, spec, iterable);
}

/* PyTorch's cells around a cell of the grid. */
struct around {
    int64_t workers[DLB_CONFIRM_WORKERS];
    uint32_t n;
    struct dlb_spec spec; /* beside which other keys are compared: with workers, as these need some
                           */
    bool iterable;
};

/* Whether there is room for a cell with another value of the axis. */
static bool is_raced(const struct dlb_plan *plan, const struct around *around, uint32_t at)
{
    uint32_t n = around->n;
    if (!is_compared(plan, &plan->axes.axis[at], &around->spec, around->iterable))
        return false;
    for (uint32_t i = 0; i < at; i++)
        n += is_compared(plan, &plan->axes.axis[i], &around->spec, around->iterable);
    return n < DLB_CONFIRM_CELLS;
}

/* What is swept and not raced is as PyTorch has it by itself. */
static void leave_rest(const struct dlb_plan *plan, const struct around *around,
                       struct dlb_spec *spec)
{
    for (uint32_t i = 0; i < plan->axes.n; i++) {
        const struct dlb_axis *axis = &plan->axes.axis[i];
        struct dlb_err err;
        json_t *usual = NULL;
        if (is_raced(plan, around, i) || !has_default(axis, &around->spec, around->iterable))
            continue;
        if (dlb_opt_from_text(axis->opt, axis->key, axis->opt->def, "", &usual, &err))
            DLB_BUG(err.what); /* the table's own default */
        dlb_axis_store(axis, usual, spec);
        json_decref(usual);
    }
    dlb_meaning_settle(spec, around->iterable);
}

/* The settings with the first value of the axis that differs from theirs. */
static void add_other(struct dlb_plan *plan, uint32_t answer, const struct dlb_axis *axis,
                      const struct dlb_spec *settings)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    json_t *own = dlb_axis_load(axis, settings);
    bool found = false;
    *spec = *settings;
    for (size_t i = 0; i < json_array_size(axis->values) && !found; i++) {
        json_t *value = json_array_get(axis->values, i);
        found = !json_equal(own, value);
        if (found)
            dlb_axis_store(axis, value, spec);
    }
    dlb_meaning_settle(spec, plan->cells[answer].iterable);
    if (found)
        add(plan, answer, spec);
    json_decref(own);
    free(spec);
}

static uint32_t workers_of(const struct dlb_plan *plan, const struct dlb_spec *answer,
                           uint32_t n_cpus, int64_t out[DLB_CONFIRM_WORKERS])
{
    uint32_t n_loaders = dlb_spec_loaders(answer);
    const struct dlb_axis *axis = dlb_axes_find(&plan->axes, &dlb_loader_group, "num_workers");
    return dlb_confirm_workers(answer->loader.num_workers,
                               n_loaders < n_cpus ? n_cpus / n_loaders : 1,
                               axis ? axis->values : NULL, out);
}

static void look_around(const struct dlb_plan *plan, const struct dlb_plan_cell *answer,
                        uint32_t n_cpus, struct around *out)
{
    int64_t own = answer->spec->loader.num_workers;
    out->n = workers_of(plan, answer->spec, n_cpus, out->workers);
    out->iterable = answer->iterable;
    out->spec = torch_spec(plan, answer, own > 0 ? own : out->workers[out->n - 1]);
}

static void add_cells(struct dlb_plan *plan, uint32_t answer, const struct around *around)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    for (uint32_t i = 0; i < around->n; i++) {
        *spec = torch_spec(plan, &plan->cells[answer], around->workers[i]);
        leave_rest(plan, around, spec);
        add(plan, answer, spec);
    }
    *spec = around->spec;
    leave_rest(plan, around, spec);
    for (uint32_t i = 0; i < plan->axes.n; i++)
        if (is_raced(plan, around, i))
            add_other(plan, answer, &plan->axes.axis[i], spec);
    free(spec);
}

uint32_t dlb_confirm_add(struct dlb_plan *plan, uint32_t answer, uint32_t n_cpus)
{
    struct around *around = dlb_mem_new(sizeof(*around));
    uint32_t n_runs = 0;
    look_around(plan, &plan->cells[answer], n_cpus, around);
    add_cells(plan, answer, around);
    free(around);
    struct dlb_err ignored; /* of a plan without axes */
    (void)dlb_preflight(plan, &ignored);
    dlb_plan_add_ceilings(plan, plan->n_grid);
    for (uint32_t i = plan->n_grid; i < plan->n_cells; i++)
        n_runs += !plan->cells[i].skipped;
    return n_runs;
}

static void add_key(json_t *keys, const char *key)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (strcmp(json_string_value(json_array_get(keys, i)), key) == 0)
            return;
    dlb_json_append(keys, dlb_json_made(json_string(key)));
}

uint32_t dlb_confirm_foretell(const struct dlb_plan *plan, uint32_t n_cpus, json_t *keys)
{
    struct around *around = dlb_mem_new(sizeof(*around));
    uint32_t most = 0;
    add_key(keys, "loader.num_workers");
    for (uint32_t i = 0; i < plan->n_grid; i++) {
        if (plan->cells[i].skipped)
            continue;
        look_around(plan, &plan->cells[i], n_cpus, around);
        uint32_t n = around->n;
        for (uint32_t k = 0; k < plan->axes.n; k++) {
            if (!is_raced(plan, around, k))
                continue;
            add_key(keys, plan->axes.axis[k].key);
            n++;
        }
        most = n > most ? n : most;
    }
    free(around);
    return most;
}

#include "scenarios/gap/plan.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/gap/torch/torch_rung.h"
#include "scenarios/plan/plan.h"

#include <stdio.h>

#define FIELD(field) .offset = offsetof(struct dlb_gap_opts, field)
static const struct dlb_opt opts[] = {
    {.key = "repeats",
     .type = DLB_OPT_INT,
     FIELD(repeats),
     .min = 1,
     .max = 1000,
     .def = "2",
     .unit = "processes",
     .help = "Repetitions of each rung, each in a fresh process; from 6 on, intervals are 95%"},
    {.key = "python",
     .type = DLB_OPT_STRING,
     FIELD(python),
     .def = "",
     .help = "The interpreter of the PyTorch rungs; \"\": python.interpreter, else the first that "
             "can import torch, of the active environment's (VIRTUAL_ENV, CONDA_PREFIX), python3 "
             "on the path, and /usr/bin/python3"},
    DLB_OPT_END};

static const struct dlb_opt python_opts[] = {
    {.key = "interpreter",
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_gap_python_opts, interpreter),
     .def = "",
     .help = "As for PyTorch's cells; gap.python goes before it"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_gap_ladder_group = {.section = "gap",
                                                   .title = "How the ladder is measured",
                                                   .opts = opts,
                                                   .n_bytes = sizeof(struct dlb_gap_opts)};

const struct dlb_opt_group dlb_gap_python_group = {.section = "python",
                                                   .title =
                                                       "The interpreter that PyTorch's cells have",
                                                   .opts = python_opts,
                                                   .n_bytes = sizeof(struct dlb_gap_python_opts)};

/* The one place that fills a planned cell. Steals `config` and `first`, which may be NULL. */
static struct dlb_plan_cell *add_cell(struct dlb_plan *plan, const char *name,
                                      const struct dlb_plan_program *program, json_t *config,
                                      json_t *first)
{
    struct dlb_plan_cell *cell = &plan->cells[plan->n_cells++];
    cell->ceiling = UINT32_MAX;
    cell->warm = -1;
    cell->other =
        (struct dlb_plan_other){.name = name, .program = program, .config = config, .first = first};
    return cell;
}

static void plan_c(const struct dlb_gap_plan_input *in, const char *name, struct dlb_plan *out)
{
    static const char *const lead[] = {"dlbench", "rung", NULL};
    static const struct dlb_plan_program program = {.lead = lead};
    json_t *config = dlb_json_made(json_copy((json_t *)in->flat));
    dlb_json_put(config, "rung", dlb_json_safe_text(name));
    (void)add_cell(out, name, &program, config, NULL);
}

/* The first repetition also checks the content. */
static void plan_torch(const struct dlb_gap_plan_input *in, const char *name, struct dlb_plan *out)
{
    struct dlb_gap_torch_spec spec = {
        .flat = in->flat, .params = in->params, .device = in->device, .exe = in->exe, .name = name};
    json_t *config = dlb_gap_torch_spec_json(&spec);
    spec.check = true;
    struct dlb_plan_cell *cell =
        add_cell(out, name, &in->python->program, config, dlb_gap_torch_spec_json(&spec));
    cell->skipped = !in->python->found;
    dlb_cut_text(cell->reason, sizeof(cell->reason), in->python->reason);
}

static size_t count(const char *const *names)
{
    size_t n = 0;
    while (names[n])
        n++;
    return n;
}

void dlb_gap_plan(const struct dlb_gap_plan_input *in, struct dlb_plan *out)
{
    size_t n_rungs = count(dlb_gap_rung_names) + count(dlb_gap_torch_names);
    *out = (struct dlb_plan){.n_blocks = (uint32_t)in->repeats,
                             .reference = -1,
                             .seed = (uint64_t)in->params->seed,
                             .cells = dlb_mem_array(n_rungs, sizeof(*out->cells))};
    for (const char *const *name = dlb_gap_rung_names; *name; name++)
        plan_c(in, *name, out);
    for (const char *const *name = dlb_gap_torch_names; *name; name++)
        plan_torch(in, *name, out);
    dlb_plan_tasks(out);
}

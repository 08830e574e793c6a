#include "scenarios/spec/workload.h"

#include "core/base/escape.h"
#include "core/base/units.h"
#include "loaders/device/device.h"
#include "scenarios/spec/embedded.h"

#include <stdio.h>
#include <string.h>

const char *const dlb_workload_accelerators[] = {"none", "a100",  "h100", "h200",
                                                 "b200", "mi355", NULL};
static const char *const baselines[] = {"none", "fio", NULL};

static const struct dlb_opt workload_opts[] = {
    {.key = "name",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_workload_opts, name),
     .def = "",
     .help = "What the workload is called in results"},
    {.key = "source",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_STRING,
     .offset = offsetof(struct dlb_workload_opts, source),
     .def = "",
     .help = "Where its sizes and step times come from"},
    {.key = "gate",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_FLOAT,
     .offset = offsetof(struct dlb_workload_opts, gate),
     .min = 0,
     .max = 1,
     .def = "0.9",
     .help = "Utilisation below which accelerators count as not fed"},
    {.key = "accelerator",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_workload_opts, accelerator),
     .def = "none",
     .choices = dlb_workload_accelerators,
     .help = "Whose step times are taken, from workload.step_ms"},
    DLB_OPT_END};
const struct dlb_opt_group dlb_workload_group = {"workload", "A training, as storage sees it",
                                                 workload_opts, sizeof(struct dlb_workload_opts)};

#define STEP(name)                                                                                 \
    {                                                                                              \
        .key = #name, .work = DLB_WORK_SAME, .type = DLB_OPT_FLOAT,                                \
        .offset = offsetof(struct dlb_workload_steps, name), .min = 0, .max = 600000, .def = "0",  \
        .unit = "ms", .help = "A step on that accelerator; 0: not known"                           \
    }
static const struct dlb_opt step_opts[] = {STEP(a100), STEP(h100),  STEP(h200),
                                           STEP(b200), STEP(mi355), DLB_OPT_END};
const struct dlb_opt_group dlb_workload_steps_group = {
    "workload.step_ms", "How long the workload's step takes", step_opts,
    sizeof(struct dlb_workload_steps)};

static const struct dlb_opt storage_opts[] = {
    {.key = "max_accelerators",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     .offset = offsetof(struct dlb_storage_opts, max_accelerators),
     .min = 1,
     .max = 1024,
     .def = "256",
     .unit = "accelerators",
     .help = "Where the search ends, though all are still fed"},
    {.key = "max_minutes",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_FLOAT,
     .offset = offsetof(struct dlb_storage_opts, max_minutes),
     .min = 0,
     .max = 100000,
     .def = "0",
     .unit = "minutes",
     .help = "After these the search ends with the interval that it has; 0: when it is settled"},
    {.key = "allow_small",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_BOOL,
     .offset = offsetof(struct dlb_storage_opts, allow_small),
     .def = "false",
     .help = "Measure data of less than 5 times the memory, or of less than 500 steps an epoch; "
             "the result then says that it is not cold-proof"},
    {.key = "baseline",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_CHOICE,
     .offset = offsetof(struct dlb_storage_opts, baseline),
     .def = "none",
     .choices = baselines,
     .help = "A program that reads the same files in the same way, in turns"},
    DLB_OPT_END};
const struct dlb_opt_group dlb_storage_group = {"storage", "What `dlbench storage` looks for",
                                                storage_opts, sizeof(struct dlb_storage_opts)};

static bool is_file(const char *name)
{
    size_t len = strlen(name);
    return strchr(name, '/') || (len > 5 && strcmp(name + len - 5, ".toml") == 0);
}

/* "a, b and c". */
static void join(char *text, size_t n_text, const char *name, bool last)
{
    size_t len = strlen(text);
    (void)snprintf(text + len, n_text - len, "%s%s", len == 0 ? "" : last ? " and " : ", ", name);
}

int dlb_workload_load(struct dlb_config *cfg, const char *name, struct dlb_err *err)
{
    const char *nearest = NULL;
    size_t best = 4;
    char all[160] = "";

    if (is_file(name))
        return dlb_config_load(cfg, name, err);
    for (const struct dlb_embedded *text = dlb_workload_texts; text->name; text++) {
        size_t edits = dlb_edit_distance(name, text->name, best);
        if (edits == 0) {
            char origin[96];
            (void)snprintf(origin, sizeof origin, "workload %s", name);
            return dlb_config_load_text(cfg, text->bytes, text->n_bytes, origin, err);
        }
        if (edits < best) {
            best = edits;
            nearest = text->name;
        }
        join(all, sizeof all, text->name, !text[1].name);
    }
    if (nearest)
        return dlb_fail(err, DLB_ERR_WORKLOAD_UNKNOWN, "--workload", DLB_NO_OFFSET,
                        "there is no workload \"%.*s\"; did you mean \"%s\"?", DLB_CUT(name, 40),
                        nearest);
    return dlb_fail(err, DLB_ERR_WORKLOAD_UNKNOWN, "--workload", DLB_NO_OFFSET,
                    "no workload \"%.*s\"; there are %.100s, or give a .toml file",
                    DLB_CUT(name, 20), all);
}

/* The accelerators that have a step time in the workload; empty: none. */
static void known_accelerators(const struct dlb_workload_steps *steps, char *text, size_t n_text)
{
    uint32_t n = 0, told = 0;
    text[0] = '\0';
    for (int pass = 0; pass < 2; pass++)
        for (const struct dlb_opt *opt = step_opts; opt->key; opt++) {
            const double *ms = (const void *)((const char *)steps + opt->offset);
            if (*ms > 0 && pass == 0)
                n++;
            else if (*ms > 0)
                join(text, n_text, opt->key, ++told == n);
        }
}

static int set(struct dlb_config *cfg, const char *key, json_t *value, const char *origin,
               struct dlb_err *err)
{
    int rc = value ? dlb_config_set_json(cfg, key, value, origin, err)
                   : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory");
    json_decref(value);
    return rc;
}

static bool has_profile(const char *name)
{
    for (const struct dlb_device_profile *p = dlb_device_profiles; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

int dlb_workload_apply(struct dlb_config *cfg, struct dlb_err *err)
{
    struct dlb_workload_opts workload;
    struct dlb_workload_steps steps;
    char known[120], key[48];
    int rc = DLB_OK;

    dlb_config_fill(cfg, &dlb_workload_group, &workload);
    dlb_config_fill(cfg, &dlb_workload_steps_group, &steps);
    bool said = dlb_config_has(cfg, "device.step_ms");
    const char *name = dlb_workload_accelerators[workload.accelerator];
    known_accelerators(&steps, known, sizeof known);
    if (!said && !known[0])
        return dlb_fail(err, DLB_ERR_WORKLOAD_STEP_UNKNOWN, NULL, DLB_NO_OFFSET,
                        "%s: a workload says how long the step of an accelerator takes "
                        "([workload.step_ms]); or set device.step_ms",
                        workload.name[0] ? "the workload has no step times"
                                         : "--workload is missing");
    if (workload.accelerator == 0)
        return said ? DLB_OK
                    : dlb_fail(err, DLB_ERR_WORKLOAD_NO_ACCELERATOR, NULL, DLB_NO_OFFSET,
                               "--accelerator is missing: the workload knows %s; or set "
                               "device.step_ms",
                               known);
    const struct dlb_opt *opt = &step_opts[workload.accelerator - 1];
    double ms = *(const double *)(const void *)((const char *)&steps + opt->offset);
    if (!said && !(ms > 0))
        return dlb_fail(err, DLB_ERR_WORKLOAD_STEP_UNKNOWN,
                        dlb_config_origin(cfg, "workload.accelerator"), DLB_NO_OFFSET,
                        "the workload has no step time of %s; it knows %s; or set device.step_ms",
                        name, known);
    (void)snprintf(key, sizeof key, "workload.step_ms.%s", name);
    if (!said)
        rc = set(cfg, "device.step_ms", json_real(ms), dlb_config_origin(cfg, key), err);
    if (!rc && has_profile(name) && !dlb_config_has(cfg, "device.profile"))
        rc = set(cfg, "device.profile", json_string(name), dlb_config_origin(cfg, key), err);
    return rc;
}

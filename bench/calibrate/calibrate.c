#include "bench/calibrate/calibrate.h"

#include "core/base/embedded.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/process.h"
#include "core/base/remove.h"
#include "scenarios/run/child.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct dlb_embedded dlb_calibrate_scripts[]; /* the first one is run */

#define FIELD(field) .offset = offsetof(struct dlb_calibrate_opts, field)
static const struct dlb_opt calibrate_opts[] = {
    {.key = "python",
     .type = DLB_OPT_STRING,
     FIELD(python),
     .def = "",
     .help = "FILE.py:FUNCTION or package.module:FUNCTION; it returns a function that does one "
             "training step"},
    {.key = "interpreter",
     .type = DLB_OPT_STRING,
     FIELD(interpreter),
     .def = "",
     .help = "The Python that runs it; \"\": the active environment's (VIRTUAL_ENV, "
             "CONDA_PREFIX), python3 on the path, or /usr/bin/python3"},
    {.key = "seconds",
     .type = DLB_OPT_FLOAT,
     FIELD(seconds),
     .min = 0,
     .max = 86400,
     .def = "60",
     .unit = "s",
     .help = "The longest that steps are measured; warm-up takes a thirtieth of it in addition"},
    {.key = "timeout_s",
     .type = DLB_OPT_INT,
     FIELD(timeout_s),
     .min = 1,
     .max = 86400,
     .def = "120",
     .unit = "s",
     .help = "How long an import or a step may take before the interpreter is killed"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_calibrate_group = {.section = "calibrate",
                                                  .title = "The step to measure",
                                                  .opts = calibrate_opts,
                                                  .n_bytes = sizeof(struct dlb_calibrate_opts)};

static int find(const char *given, char path[PATH_MAX], struct dlb_err *err)
{
    if (given[0] && dlb_find_program(given, path))
        return DLB_OK;
    for (uint32_t i = 0; !given[0] && i < DLB_N_PYTHON_PLACES; i++)
        if (dlb_find_python(i, path))
            return DLB_OK;
    return dlb_fail(err, DLB_ERR_PYTHON_NOT_FOUND, given, DLB_NO_OFFSET,
                    given[0] ? "--interpreter: there is no such program, or it may not be run"
                             : "this machine has no python3; --interpreter names one");
}

/* A crash or a hang is told as a child's; the user knows only of the step. */
static int fail_child(const struct dlb_cell_result *result, const char *target, struct dlb_err *err)
{
    enum dlb_code code = result->code;
    if (result->status == DLB_REP_CANCELLED || code == DLB_ERR_CANCELLED)
        code = DLB_ERR_CANCELLED;
    else if (code != DLB_ERR_PROGRAM_HANGS && code != DLB_ERR_NOMEM)
        code = DLB_ERR_STEP_CRASHED;
    return dlb_fail(err, code, target, DLB_NO_OFFSET, "%s",
                    code == DLB_ERR_CANCELLED ? "interrupted" : result->reason);
}

static int fail_answer(const struct dlb_cell_result *result, const char *target,
                       struct dlb_err *err)
{
    enum dlb_code code = dlb_code_by_name(dlb_json_text(result->document, "code"));
    if (code != DLB_ERR_STEP_NOT_FOUND && code != DLB_ERR_STEP_NOT_CALLABLE)
        code = DLB_ERR_STEP_RAISED;
    return dlb_fail(err, code, target, DLB_NO_OFFSET, "%s", result->reason);
}

static bool is_answer(const json_t *answer)
{
    return dlb_json_number(answer, "mean_ms") >= 0 && dlb_json_number(answer, "median_ms") >= 0 &&
           dlb_json_number(answer, "stdev_ms") >= 0 && dlb_json_number(answer, "steps") > 0;
}

static void tick(void *ctx, const struct dlb_pulse *pulse)
{
    const struct dlb_calibrate *how = ctx;
    how->tick(how->ctx, atomic_load(&pulse->n_batches));
}

static int ask(const struct dlb_calibrate *how, const char *interpreter, const char *folder,
               json_t **out, struct dlb_err *err)
{
    const char *target = how->opts->python;
    struct dlb_calibrate told = *how;
    struct dlb_cell_result result;
    char *script = dlb_mem_check(dlb_path_join(folder, dlb_calibrate_scripts[0].name));
    int rc = dlb_embedded_write(dlb_calibrate_scripts, folder, err);
    if (rc)
        goto out;
    const char *const words[] = {interpreter, "-B", script, NULL};
    json_t *spec = dlb_json_made(
        json_pack("{ss, sf}", "target", how->opts->python, "seconds", how->opts->seconds));
    struct dlb_child child = {.exe = interpreter,
                              .program = interpreter,
                              .lead = words,
                              .config = spec,
                              .scratch = folder,
                              .stall_ns = (uint64_t)how->opts->timeout_s * DLB_NS_PER_S,
                              .cancel = how->cancel,
                              .tick = tick,
                              .ctx = &told};
    rc = dlb_child_run(&child, true, &result, err);
    json_decref(spec);
    if (rc)
        goto out;
    if (!result.document || result.status == DLB_REP_CANCELLED)
        rc = fail_child(&result, target, err);
    else if (result.status != DLB_REP_OK || !is_answer(result.document))
        rc = fail_answer(&result, target, err);
    else
        *out = json_incref(result.document);
    dlb_cell_result_free(&result);
out:
    free(script);
    return rc;
}

int dlb_calibrate_measure(const struct dlb_calibrate *how, json_t **out, struct dlb_err *err)
{
    char interpreter[PATH_MAX], folder[PATH_MAX];
    const char *tmp = getenv("TMPDIR");
    int rc = find(how->opts->interpreter, interpreter, err);
    if (rc)
        return rc;
    int n =
        snprintf(folder, sizeof folder, "%s/dlbench-calibrate-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (n < 0 || n >= PATH_MAX - 32)
        return dlb_fail(err, DLB_ERR_PATH_TOO_LONG, tmp, DLB_NO_OFFSET, "TMPDIR is too long");
    if (!mkdtemp(folder))
        return dlb_fail_errno(err, folder, DLB_NO_OFFSET, "cannot make a temporary folder");
    rc = ask(how, interpreter, folder, out, err);
    dlb_remove_tree(AT_FDCWD, folder);
    if (!rc) {
        dlb_json_put(*out, "target", dlb_json_safe_text(how->opts->python));
        dlb_json_put(*out, "interpreter", dlb_json_safe_text(interpreter));
    }
    return rc;
}

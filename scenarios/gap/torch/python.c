#include "scenarios/gap/torch/python.h"

#include "core/base/escape.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "scenarios/gap/rungs/rung_result.h"
#include "scenarios/run/child.h"
#include "scenarios/spec/embedded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOW_TO "To enable it: pip install torch, or apt install python3-torch"

static int write_scripts(struct dlb_gap_python *python, const char *folder, struct dlb_err *err)
{
    int n = snprintf(python->script, PATH_MAX, "%s/%s", folder, dlb_gap_scripts[0].name);
    if (n < 0 || n >= PATH_MAX)
        return dlb_fail(err, DLB_ERR_SCRATCH_PATH_TOO_LONG, folder, DLB_NO_OFFSET,
                        "a path of more than %d bytes", PATH_MAX - 1);
    return dlb_embedded_write(dlb_gap_scripts, folder, err);
}

void dlb_gap_python_close(struct dlb_gap_python *python)
{
    char *name = strrchr(python->script, '/');
    for (const struct dlb_embedded *script = dlb_gap_scripts; name && script->name; script++) {
        (void)snprintf(name + 1, sizeof(python->script) - (size_t)(name + 1 - python->script), "%s",
                       script->name);
        (void)unlink(python->script);
    }
    json_decref(python->tried);
    memset(python, 0, sizeof(*python));
}

static bool was_tried(const json_t *tried, const char *path)
{
    for (size_t i = 0; i < json_array_size(tried); i++)
        if (strcmp(dlb_json_text(json_array_get(tried, i), "python"), path) == 0)
            return true;
    return false;
}

static void set_words(struct dlb_gap_python *python)
{
    python->words[0] = python->path; /* an interpreter finds its libraries by this */
    python->words[1] = "-B";         /* no compiled files beside the scripts */
    python->words[2] = python->script;
    python->program = (struct dlb_plan_program){python->path, python->words};
}

static void add_words(char *text, size_t n_text, const char *words)
{
    size_t len = strlen(text);
    (void)snprintf(text + len, n_text - len, "%s%s", len ? "; " : "", words);
}

/* The answer of an interpreter that was asked for torch. */
static void note_answer(struct dlb_gap_python *python, const struct dlb_cell_result *result)
{
    struct dlb_rung_result answer;
    char words[640];
    json_t *doc =
        result->document ? json_incref(result->document) : dlb_cell_result_to_json(result);
    dlb_rung_result_from_json(doc, &answer);
    python->found = answer.status == DLB_RUNG_OK;
    /* Where it wrote no document, dlb_child_run names it. */
    (void)snprintf(words, sizeof(words), "%.*s%s%.*s",
                   DLB_CUT(result->document ? python->path : "", 300), result->document ? ": " : "",
                   DLB_CUT(answer.reason, 320));
    if (python->found) {
        dlb_json_take_text(doc, "torch", python->torch, sizeof(python->torch));
        python->n_threads = (uint32_t)dlb_json_u64(doc, "threads", 0);
        python->row_s = dlb_json_number(doc, "row_s");
        python->import_s = dlb_json_number(doc, "import_s");
    } else {
        add_words(python->reason, sizeof(python->reason), words);
    }
    if (answer.status == DLB_RUNG_FAILED) {
        enum dlb_gap_python_failure failure =
            answer.code == DLB_ERR_PROGRAM_HANGS ? DLB_GAP_PYTHON_HUNG : DLB_GAP_PYTHON_CRASHED;
        python->failure = failure > python->failure ? failure : python->failure;
        add_words(python->passed, sizeof(python->passed), words);
    }
    dlb_json_append(python->tried,
                    dlb_json_made(json_pack(
                        "{so, so, so, so}", "python", dlb_json_safe_text(python->path), "status",
                        dlb_json_safe_text(dlb_json_text(doc, "status")), "reason",
                        answer.reason[0] ? dlb_json_safe_text(answer.reason) : json_null(), "torch",
                        python->found ? dlb_json_safe_text(python->torch) : json_null())));
    dlb_rung_result_free(&answer);
    json_decref(doc);
}

static int ask(struct dlb_gap_python *python, int64_t n_features, const char *folder,
               uint32_t limit_s, const atomic_bool *cancel, struct dlb_err *err)
{
    json_t *spec = dlb_json_made(
        json_pack("{ss, sI}", "rung", "probe", "gap.features", (json_int_t)n_features));
    struct dlb_cell_result result;
    set_words(python);
    struct dlb_child child = {.exe = python->path,
                              .program = python->path,
                              .lead = python->words,
                              .config = spec,
                              .scratch = folder,
                              .stall_ns = limit_s * DLB_NS_PER_S,
                              .cancel = cancel};
    int rc = dlb_child_run(&child, true, &result, err);
    json_decref(spec);
    if (rc)
        return rc;
    note_answer(python, &result);
    dlb_cell_result_free(&result);
    return DLB_OK;
}

/* Why there is none, and what to do. */
static void say_none(struct dlb_gap_python *python, bool given)
{
    const char *what = HOW_TO;
    size_t len = strlen(python->reason);
    if (python->failure != DLB_GAP_PYTHON_ANSWERED)
        what = "--python names another interpreter";
    else if (given)
        what = "Install torch for it, or name another interpreter by --python";
    (void)snprintf(python->reason + len, sizeof(python->reason) - len, "%s. %s",
                   len ? "" : "this machine has no python3", what);
}

/* What users name is what they want measured: then nothing else is tried. */
int dlb_gap_python_find(struct dlb_gap_python *out, const char *given, int64_t n_features,
                        const char *folder, uint32_t limit_s, const atomic_bool *cancel,
                        struct dlb_err *err)
{
    uint32_t n_places = given[0] ? 1 : DLB_N_PYTHON_PLACES;
    *out = (struct dlb_gap_python){
        .row_s = (double)NAN, .import_s = (double)NAN, .tried = dlb_json_made(json_array())};
    int rc = write_scripts(out, folder, err);
    for (uint32_t i = 0; i < n_places && !rc && !out->found && !(cancel && atomic_load(cancel));
         i++) {
        bool there = given[0] ? dlb_find_program(given, out->path) : dlb_find_python(i, out->path);
        if (!there && given[0])
            rc = dlb_fail(
                err, DLB_ERR_PYTHON_NOT_FOUND, given, DLB_NO_OFFSET,
                "--python or python.interpreter: there is no such program, or it may not be "
                "run");
        else if (there && !was_tried(out->tried, out->path))
            rc = ask(out, n_features, folder, limit_s, cancel, err);
    }
    if (rc) {
        dlb_gap_python_close(out);
        return rc;
    }
    if (out->found)
        out->reason[0] = '\0';
    else if (cancel && atomic_load(cancel))
        (void)snprintf(out->reason, sizeof(out->reason), "interrupted");
    else
        say_none(out, given[0]);
    return DLB_OK;
}

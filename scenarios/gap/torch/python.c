#include "scenarios/gap/torch/python.h"

#include "core/base/clock.h"
#include "core/base/io.h"
#include "scenarios/run/child.h"
#include "scenarios/spec/embedded.h"
#include "scenarios/spec/flat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_NS (120 * DLB_NS_PER_S) /* importing torch from a cold disk takes a minute */
#define SYSTEM "/usr/bin/python3"
#define HOW_TO "pip install torch, or apt install python3-torch, enables it"

static int join(char out[PATH_MAX], const char *folder, const char *name, struct dlb_err *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    if (n < 0 || n >= PATH_MAX)
        return dlb_fail(err, DLB_ERR_CONFIG, folder, DLB_NO_OFFSET, "path is too long");
    return DLB_OK;
}

static int write_scripts(struct dlb_gap_python *python, const char *folder, struct dlb_err *err)
{
    char path[PATH_MAX];
    int rc = join(python->script, folder, dlb_gap_scripts[0].name, err);
    for (const struct dlb_embedded *script = dlb_gap_scripts; !rc && script->name; script++) {
        rc = join(path, folder, script->name, err);
        if (!rc)
            rc = dlb_write_file_atomic(path, script->bytes, script->n_bytes, err);
    }
    return rc;
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

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* As execvp would look for it. */
static bool look_up(const char *name, char out[PATH_MAX])
{
    const char *at = getenv("PATH");
    if (strchr(name, '/')) {
        (void)snprintf(out, PATH_MAX, "%s", name);
        return is_program(out);
    }
    while (at && *at) {
        size_t n = strcspn(at, ":");
        if (n > 0 && snprintf(out, PATH_MAX, "%.*s/%s", (int)n, at, name) < PATH_MAX &&
            is_program(out))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

static bool was_tried(const json_t *tried, const char *path)
{
    const json_t *one;
    size_t i;
    json_array_foreach(tried, i, one)
        if (strcmp(dlb_json_text(one, "python"), path) == 0)
            return true;
    return false;
}

static void set_words(struct dlb_gap_python *python)
{
    python->words[0] = python->path; /* what an interpreter finds its libraries by */
    python->words[1] = "-B";         /* leaves no compiled files beside the script */
    python->words[2] = python->script;
    python->program = (struct dlb_plan_program){python->path, python->words};
}

static int ask(struct dlb_gap_python *python, const char *folder, const atomic_bool *cancel,
               struct dlb_err *err)
{
    json_t *spec = json_pack("{ss}", "rung", "probe"), *doc = NULL;
    if (!spec)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory");
    set_words(python);
    struct dlb_child child = {.exe = python->path,
                              .lead = python->words,
                              .config = spec,
                              .scratch = folder,
                              .stall_ns = PROBE_NS,
                              .cancel = cancel};
    int rc = dlb_child_run(&child, &doc, err);
    json_decref(spec);
    if (rc)
        return rc;
    const char *status = dlb_json_text(doc, "status"), *reason = dlb_json_text(doc, "reason");
    python->found = strcmp(status, "ok") == 0;
    python->crashed = python->crashed || strcmp(status, "failed") == 0;
    if (python->found) {
        (void)snprintf(python->torch, sizeof(python->torch), "%s", dlb_json_text(doc, "torch"));
        python->n_threads = (uint32_t)dlb_json_u64(doc, "threads", 0);
    }
    size_t len = strlen(python->reason);
    if (!python->found)
        (void)snprintf(python->reason + len, sizeof(python->reason) - len, "%s%.60s: %.200s",
                       len ? "; " : "", python->path, reason);
    rc = json_array_append_new(
        python->tried, json_pack("{so, so, so, so}", "python", dlb_json_safe_text(python->path),
                                 "status", dlb_json_safe_text(status), "reason",
                                 reason[0] ? dlb_json_safe_text(reason) : json_null(), "torch",
                                 python->found ? dlb_json_safe_text(python->torch) : json_null()));
    json_decref(doc);
    return rc ? dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory") : DLB_OK;
}

int dlb_gap_python_find(struct dlb_gap_python *out, const char *given, const char *folder,
                        const atomic_bool *cancel, struct dlb_err *err)
{
    const char *const names[] = {given, "python3", SYSTEM};
    *out = (struct dlb_gap_python){.tried = json_array()};
    int rc = out->tried ? write_scripts(out, folder, err)
                        : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !rc && !out->found; i++) {
        if (!names[i][0] || (cancel && atomic_load(cancel)))
            continue;
        if (!look_up(names[i], out->path)) {
            if (i == 0)
                rc = dlb_fail(err, DLB_ERR_CONFIG, given, DLB_NO_OFFSET,
                              "--python: is no program that can be run");
            continue;
        }
        if (!was_tried(out->tried, out->path))
            rc = ask(out, folder, cancel, err);
    }
    if (rc) {
        dlb_gap_python_close(out);
        return rc;
    }
    size_t len = strlen(out->reason);
    if (out->found)
        out->reason[0] = '\0';
    else if (cancel && atomic_load(cancel))
        (void)snprintf(out->reason, sizeof(out->reason), "interrupted");
    else
        (void)snprintf(out->reason + len, sizeof(out->reason) - len, "%s. %s",
                       len ? "" : "there is no python3 here",
                       out->crashed ? "--python names another" : HOW_TO);
    return DLB_OK;
}

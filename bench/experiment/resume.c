#include "bench/experiment/resume.h"

#include "bench/cli/version.h"
#include "core/base/escape.h"
#include "core/base/hash.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "loaders/device/device.h"
#include "loaders/python.h"
#include "scenarios/run/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "/proc/self/exe"
#define VALUE_SHOWN 60 /* bytes */

/* The parts of the first record that have to be the same, in the order in which they are compared.
 */
static const struct part {
    const char *key;
    enum dlb_code code;
} parts[] = {
    {"program", DLB_ERR_RESUME_OTHER_PROGRAM}, {"machine", DLB_ERR_RESUME_OTHER_MACHINE},
    {"modules", DLB_ERR_RESUME_OTHER_PROGRAM}, {"data", DLB_ERR_RESUME_OTHER_DATA},
    {"settings", DLB_ERR_RESUME_OTHER_CONFIG}, {"axes", DLB_ERR_RESUME_OTHER_CONFIG},
    {"cells", DLB_ERR_RESUME_OTHER_MACHINE},
};

/* Of a file's content; null: it cannot be read. New reference. */
static json_t *hash_of_file(const char *path)
{
    uint64_t hash = 0;
    return dlb_hash_file(path, &hash) ? dlb_json_hex(hash) : json_null();
}

/* Version, commit, and what tells builds of the same commit apart. */
static json_t *program_json(void)
{
    return dlb_json_made(json_pack("{ss, ss, so}", "version", DLB_VERSION, "commit", DLB_COMMIT,
                                   "xxh64", hash_of_file(PROGRAM)));
}

/* The user's own files of Python, "train.py:make"; a module that Python finds by its name is not
 * looked for. */
static json_t *modules_json(const struct dlb_python_opts *python)
{
    const char *const said[] = {python->dataset, python->loader, python->count};
    json_t *out = dlb_json_made(json_object());
    for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
        char path[DLB_OPT_STRING_CAP];
        const char *colon = strrchr(said[i], ':');
        if (!colon || colon - said[i] < 3 || memcmp(colon - 3, ".py", 3) != 0)
            continue;
        (void)snprintf(path, sizeof(path), "%.*s", (int)(colon - said[i]), said[i]);
        char *name = dlb_escaped(path, DLB_ESCAPE_CONTROLS);
        dlb_json_put(out, name, hash_of_file(path));
        free(name);
    }
    return out;
}

static json_t *machine_json(const struct dlb_resume_run *run)
{
    char why[160];
    struct dlb_err ignored;
    const struct dlb_device *device =
        dlb_device_choose(&run->subject->spec.device, NULL, why, &ignored);
    json_t *cpu = json_object_get(json_object_get(run->environment, "cpu"), "model");
    return dlb_json_made(json_pack("{sO?, sI, ss, sb}", "cpu", cpu, "cpus", (json_int_t)run->n_cpus,
                                   "device", device ? device->name : "none", "pytorch",
                                   run->subject->torch.there));
}

static json_t *data_json(const struct dlb_shape *shape)
{
    return dlb_json_made(json_pack("{sI, sI, so}", "samples", (json_int_t)shape->n_samples, "bytes",
                                   (json_int_t)shape->total_bytes, "id", dlb_json_hex(shape->id)));
}

/* What each cell's process is given, as a hash; null: it is skipped. */
static json_t *cells_json(const struct dlb_plan *plan)
{
    json_t *out = dlb_json_made(json_object());
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_task task = {.kind = DLB_TASK_CELL, .index = i};
        char name[32];
        (void)snprintf(name, sizeof(name), "cell %u", i);
        dlb_json_put(out, name,
                     plan->cells[i].skipped ? json_null()
                                            : dlb_json_hex(dlb_task_hash(plan, &task)));
    }
    return out;
}

/* New reference. */
static json_t *head_of(const struct dlb_resume *resume, const struct dlb_resume_run *run)
{
    json_t *head = dlb_json_made(json_pack("{ss, ss, sb, sI}", "is", "run", "command",
                                           run->scenario->name, "replaces", run->folder->replaces,
                                           "ranks", (json_int_t)resume->n_ranks));
    json_t *host = dlb_json_made(
        json_pack("{so, so}", "available_bytes", dlb_json_u64_or_null(run->host.available_bytes),
                  "memcpy_bytes_per_s", dlb_json_real_or_null(run->host.memcpy_bytes_per_s)));
    dlb_json_put(head, "arguments", dlb_json_safe_text(run->arguments));
    dlb_json_put(head, "program", program_json());
    dlb_json_put(head, "modules", modules_json(&run->subject->spec.python));
    dlb_json_put(head, "machine", machine_json(run));
    dlb_json_put(head, "data", data_json(&run->subject->shape));
    dlb_json_put(head, "asked", json_incref(resume->asked));
    if (resume->asked_b)
        dlb_json_put(head, "asked_b", json_incref(resume->asked_b));
    dlb_json_put(head, "settings", dlb_json_made(dlb_config_resolved(run->cfg)));
    dlb_json_put(head, "axes", dlb_json_made(json_deep_copy(dlb_config_axes(run->cfg))));
    dlb_json_put(head, "host", host);
    dlb_json_put(head, "cells", cells_json(run->plan));
    return head;
}

static const char *shown(const json_t *value, char text[VALUE_SHOWN + 1])
{
    char *all = value ? dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    dlb_cut_text(text, VALUE_SHOWN + 1, all ? all : "not there");
    free(all);
    return text;
}

/* Whether a part of the run is another one; then *err names the first three differences. */
static bool differs(const json_t *then, const json_t *now, const struct part *part,
                    const char *path, struct dlb_err *err)
{
    char text[400] = "", a[VALUE_SHOWN + 1], b[VALUE_SHOWN + 1];
    const json_t *both[] = {then, now};
    uint32_t n = 0;
    for (int i = 0; i < 2; i++) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)both[i], key, value) {
            const json_t *other = json_object_get(both[1 - i], key);
            if ((i == 1 && other) || (other && json_equal(value, (json_t *)other)))
                continue;
            size_t at = strlen(text);
            if (n++ < 3)
                (void)snprintf(text + at, sizeof(text) - at, "%s%s %s was %s, now %s",
                               at ? "; " : "", part->key, key, shown(json_object_get(then, key), a),
                               shown(json_object_get(now, key), b));
        }
    }
    if (n > 3) {
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof(text) - at, "; and %u more", n - 3);
    }
    if (n > 0)
        (void)dlb_fail(err, part->code, path, DLB_NO_OFFSET, "cannot go on: %s", text);
    return n > 0;
}

void dlb_resume_remember(struct dlb_resume *resume, const struct dlb_config *cfg,
                         const struct dlb_config *cfg_b)
{
    resume->asked = dlb_config_said(cfg);
    resume->asked_b = cfg_b ? dlb_config_said(cfg_b) : NULL;
}

/* The keys and values of what was asked for. New reference. */
static json_t *values_of(const json_t *asked)
{
    json_t *out = dlb_json_made(json_object());
    const json_t *one;
    size_t i;
    json_array_foreach(asked, i, one) {
        dlb_json_put(out, dlb_json_text(one, "key"), json_incref(json_object_get(one, "value")));
    }
    return out;
}

/* Whether the user gave what the journal has under `key`; `part` is for messages. */
static int check_config(const struct dlb_resume *resume, const char *key,
                        const struct dlb_config *cfg, const char *part, struct dlb_err *err)
{
    const struct part of = {part, DLB_ERR_RESUME_OTHER_CONFIG};
    json_t *said = dlb_config_said(cfg), *now = values_of(said),
           *then = values_of(json_object_get(resume->head, key));
    bool other = differs(then, now, &of, resume->journal.path, err);
    json_decref(said);
    json_decref(then);
    json_decref(now);
    return other ? dlb_failed(err) : DLB_OK;
}

/* The configuration is the journal's. One that the user gave, too, has to be the same. */
static int take_config(const struct dlb_resume *resume, struct dlb_config *cfg,
                       const struct dlb_config *cfg_b, struct dlb_err *err)
{
    int rc = dlb_config_is_set(cfg)
                 ? check_config(resume, "asked", cfg, "setting", err)
                 : dlb_config_restore(cfg, json_object_get(resume->head, "asked"), err);
    return rc || !cfg_b ? rc : check_config(resume, "asked_b", cfg_b, "setting of B,", err);
}

/* Each rank measures its share of the data, so that one rank's figures are no repetition of all. */
static int check_ranks(const struct dlb_resume *resume, struct dlb_err *err)
{
    uint64_t then = dlb_json_u64(resume->head, "ranks", 0);
    if (then == resume->n_ranks)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_RANKS_SETTINGS, resume->journal.path, DLB_NO_OFFSET,
                    "the run began on %llu ranks of a launcher, now there are %u (0: no launcher): "
                    "start as many",
                    (unsigned long long)then, resume->n_ranks);
}

/* Whether it is what dlb_config_said makes. */
static bool is_said(const json_t *asked)
{
    const json_t *one;
    size_t i;
    bool is = json_is_array(asked);
    json_array_foreach(asked, i, one) {
        is = is && json_is_string(json_object_get(one, "key")) && json_object_get(one, "value");
    }
    return is;
}

static int check_asked(const struct dlb_resume *resume, struct dlb_err *err)
{
    const json_t *b = json_object_get(resume->head, "asked_b");
    if (is_said(json_object_get(resume->head, "asked")) && (!b || is_said(b)))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_JOURNAL_DAMAGED, resume->journal.path, 0,
                    "the journal's first record does not hold the run's configuration");
}

static int check_head(struct dlb_resume *resume, const char *command, struct dlb_err *err)
{
    const char *wrote = dlb_json_text(resume->head, "command");
    if (strcmp(dlb_json_text(resume->head, "is"), "run") != 0)
        return dlb_fail(err, DLB_ERR_JOURNAL_DAMAGED, resume->journal.path, 0,
                        "the journal does not begin with what the run is");
    if (strcmp(wrote, command) != 0)
        return dlb_fail(err, DLB_ERR_RESUME_OTHER_CONFIG, resume->journal.path, DLB_NO_OFFSET,
                        "it is the journal of `dlbench %.*s`, not of %s", DLB_CUT(wrote, 20),
                        command);
    json_t *now = program_json();
    bool other = differs(json_object_get(resume->head, parts[0].key), now, &parts[0],
                         resume->journal.path, err);
    json_decref(now);
    int rc = other ? dlb_failed(err) : check_ranks(resume, err);
    return rc ? rc : check_asked(resume, err);
}

int dlb_resume_open(struct dlb_resume *resume, struct dlb_result_folder *folder,
                    const char *command, struct dlb_config *cfg, const struct dlb_config *cfg_b,
                    struct dlb_err *err)
{
    char path[PATH_MAX];
    json_t *records = NULL;
    int rc = dlb_result_journal(folder, path, err);
    if (rc)
        return rc;
    rc = dlb_journal_open(&resume->journal, path, &records, err);
    resume->open = true;
    if (rc)
        return rc;
    resume->head = json_incref(json_array_get(records, 0));
    rc = check_head(resume, command, err);
    if (!rc)
        rc = dlb_kept_open(&resume->kept, &resume->journal, records, err);
    if (!rc)
        rc = take_config(resume, cfg, cfg_b, err);
    folder->replaces = folder->replaces && dlb_json_is_true(resume->head, "replaces");
    json_decref(records);
    return rc;
}

struct dlb_resume_host dlb_resume_host(const struct dlb_resume *resume,
                                       const struct dlb_resume_host *now)
{
    const json_t *host = json_object_get(resume->head, "host");
    if (!resume->head)
        return *now;
    return (struct dlb_resume_host){
        .available_bytes = dlb_json_u64(host, "available_bytes", DLB_NOT_MEASURED),
        .memcpy_bytes_per_s = dlb_json_number(host, "memcpy_bytes_per_s")};
}

const json_t *dlb_resume_settings(const struct dlb_resume *resume)
{
    return json_object_get(resume->head, "settings");
}

const char *dlb_resume_arguments(const struct dlb_resume *resume, const char *now)
{
    return resume->head ? dlb_json_text(resume->head, "arguments") : now;
}

int dlb_resume_check(const struct dlb_resume *resume, const struct dlb_resume_run *run,
                     struct dlb_err *err)
{
    if (!resume->head)
        return DLB_OK;
    json_t *now = head_of(resume, run);
    bool other = false;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !other; i++)
        other = differs(json_object_get(resume->head, parts[i].key),
                        json_object_get(now, parts[i].key), &parts[i], resume->journal.path, err);
    json_decref(now);
    return other ? dlb_failed(err) : DLB_OK;
}

int dlb_resume_begin(struct dlb_resume *resume, const struct dlb_resume_run *run,
                     struct dlb_err *err)
{
    char path[PATH_MAX];
    if (resume->head)
        return DLB_OK;
    int rc = dlb_result_journal(run->folder, path, err);
    if (rc)
        return rc;
    json_t *head = head_of(resume, run);
    rc = dlb_journal_create(&resume->journal, path, head, err);
    resume->open = true;
    json_decref(head);
    dlb_kept_begin(&resume->kept, &resume->journal);
    return rc;
}

void dlb_resume_close(struct dlb_resume *resume)
{
    if (resume->open)
        dlb_journal_close(&resume->journal);
    dlb_kept_close(&resume->kept);
    json_decref(resume->head);
    json_decref(resume->asked);
    json_decref(resume->asked_b);
}

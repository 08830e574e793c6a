#include "bench/experiment/measure.h"

#include "bench/cli/libraries.h"
#include "bench/cli/version.h"
#include "bench/experiment/result.h"
#include "bench/experiment/watch.h"
#include "core/base/apart.h"
#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/host/environment.h"
#include "core/host/membw.h"
#include "core/host/osacct.h"
#include "formats/dataset.h"
#include "scenarios/judge/summary.h"
#include "scenarios/run/runner.h"
#include "scenarios/spec/flat.h"
#include "scenarios/spec/spec.h"
#include "scenarios/storage/fio.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LONG_S 1800 /* that somebody would want to know of before */

struct measure {
    const struct dlb_args *args;
    const struct dlb_scenario *scenario;
    struct dlb_spec spec;   /* of the first cell: what data set and device there are */
    struct dlb_shape shape; /* of that data set */
    uint64_t min_shard_samples, stored_bytes;
    uint32_t n_cpus;
    struct dlb_plan plan;
    struct dlb_results results;
    struct dlb_result_folder folder;
    json_t *environment;
    struct dlb_watch watch;
};

/* The base configuration with the first value of every axis: an axis may be the data set itself. */
static int first_spec(struct measure *m, bool axes, struct dlb_err *err)
{
    json_t *base = dlb_config_resolved(m->args->cfg), *first = json_object();
    const char *key;
    json_t *axis;
    int rc = DLB_OK;
    if (base && first && axes)
        json_object_foreach((json_t *)dlb_config_axes(m->args->cfg), key, axis)
            (void)json_object_set(first, key, json_array_get(axis, 0));
    json_t *flat = NULL;
    if (!base || !first)
        rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory");
    if (!rc && json_object_size(first) == 0)
        rc = dlb_spec_from_config(&m->spec, m->args->cfg, err);
    else if (!rc)
        rc = dlb_flat_override(base, first, "sweep", &flat, err);
    if (!rc && flat)
        rc = dlb_flat_spec(flat, "sweep", &m->spec, err);
    json_decref(flat);
    json_decref(first);
    json_decref(base);
    return rc;
}

/* What the data set's files take on the storage: compressed, with holes, with what frames them. */
static uint64_t stored_bytes(const struct dlb_dataset *dataset)
{
    char path[PATH_MAX];
    struct stat st;
    uint64_t sum = 0, n = dataset->format->reader->files
                              ? dataset->format->reader->files(dataset->state, UINT64_MAX, path,
                                                               sizeof(path))
                              : 0;
    for (uint64_t i = 0; i < n; i++) {
        (void)dataset->format->reader->files(dataset->state, i, path, sizeof(path));
        if (stat(path, &st) != 0)
            continue;
        /* Blocks are of 512 bytes, whatever the file system's are (stat(2)). */
        uint64_t long_bytes = (uint64_t)st.st_size, held_bytes = (uint64_t)st.st_blocks * 512;
        sum += held_bytes < long_bytes ? held_bytes : long_bytes;
    }
    return sum;
}

static int open_data(void *ctx, struct dlb_err *err)
{
    struct measure *m = ctx;
    struct dlb_dataset dataset;
    int rc = dlb_dataset_open(&dataset, &m->spec.dataset, &m->spec.transform, &m->spec.generate,
                              dlb_spec_format_opts(&m->spec), err);
    if (rc)
        return rc;
    m->shape = dataset.shape;
    m->min_shard_samples = dataset.shape.iterable ? UINT64_MAX : 0;
    for (uint32_t i = 0; dataset.shape.iterable && i < dataset.shape.n_shards; i++) {
        uint64_t n = dataset.format->reader->shard_samples(dataset.state, i);
        m->min_shard_samples = n < m->min_shard_samples ? n : m->min_shard_samples;
    }
    m->stored_bytes = m->scenario->next ? stored_bytes(&dataset) : 0;
    if (m->spec.storage.baseline == DLB_BASELINE_FIO) { /* it is known to be able to, or not */
        char *files = NULL;
        rc = dlb_fio_files(&m->spec, &dataset, &files, err);
        free(files);
    }
    dlb_dataset_close(&dataset);
    return rc;
}

static bool pass_shape(void *ctx, struct dlb_pipe *pipe)
{
    struct measure *m = ctx;
    return dlb_pass(pipe, &m->shape, sizeof(m->shape)) &&
           dlb_pass(pipe, &m->min_shard_samples, sizeof(m->min_shard_samples)) &&
           dlb_pass(pipe, &m->stored_bytes, sizeof(m->stored_bytes));
}

static void say_waiting(void *ctx)
{
    struct measure *m = ctx;
    char text[DLB_OPT_STRING_CAP + 32];
    (void)snprintf(text, sizeof(text), "opening %s (Ctrl-C ends it)", m->spec.dataset.path);
    dlb_progress_update(&m->watch.progress, (double)NAN, text);
}

/* In a process of its own: storage that does not answer must not keep this one from answering. */
static int look_at_data(struct measure *m, struct dlb_err *err)
{
    char who[48];
    (void)snprintf(who, sizeof(who), "format %s", dlb_formats[m->spec.dataset.format]->name);
    struct dlb_apart how = {.path = m->spec.dataset.path,
                            .who = who,
                            .work = open_data,
                            .pass = pass_shape,
                            .ctx = m,
                            .cancel = &dlb_interrupted,
                            .waiting = say_waiting};
    return dlb_apart(&how, err);
}

static int describe_host(struct measure *m, struct dlb_err *err)
{
    bool on_disk = !dlb_formats[m->spec.dataset.format]->synthetic && m->spec.dataset.path[0];
    m->environment = dlb_environment(on_disk ? m->spec.dataset.path : NULL);
    if (!m->environment || !dlb_libraries_add(m->environment))
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "out of memory for the description of the host");
    return DLB_OK;
}

/* What is left out of a cell because it has no meaning there, though it was said. */
static void tell_left_out(const struct measure *m)
{
    const char *key;
    json_t *value;
    bool grows = m->scenario->next != NULL; /* further cells may have a use for it */
    if (m->plan.n_cells != 1)
        return;
    if (!grows)
        json_object_foreach(m->plan.cells[0].config, key, value)
            if (json_is_null(value) && dlb_config_has(m->args->cfg, key))
                (void)fprintf(
                    stderr,
                    "dlbench: note: %s (%s) has no meaning with these settings and is left "
                    "out\n",
                    key, dlb_config_origin(m->args->cfg, key));
    if (grows && dlb_config_has(m->args->cfg, "accelerators.count"))
        (void)fprintf(stderr,
                      "dlbench: note: accelerators.count (%s) is what %s looks for, and is left "
                      "out; storage.max_accelerators ends the search\n",
                      dlb_config_origin(m->args->cfg, "accelerators.count"), m->scenario->name);
    if (json_object_size(dlb_config_axes(m->args->cfg)) > 0 &&
        strcmp(m->scenario->name, "sweep") != 0)
        (void)fprintf(stderr, "dlbench: note: %s sweeps nothing; the sweep.* lists are left out\n",
                      m->scenario->name);
}

/* Whoever judges the machine wants to know more of it; that takes a moment. */
static struct dlb_plan_host host_of(const struct measure *m)
{
    bool judges = m->scenario->next != NULL;
    return (struct dlb_plan_host){
        .n_samples = m->shape.n_samples,
        .n_bytes = m->shape.total_bytes,
        .stored_bytes = m->stored_bytes,
        .min_shard_samples = m->min_shard_samples,
        .n_shards = m->shape.iterable ? m->shape.n_shards : 0,
        .ram_bytes = dlb_os_ram_bytes(),
        .memcpy_bytes_per_s = judges ? dlb_memory_bytes_per_s(m->n_cpus) : (double)NAN,
    };
}

static int prepare(struct measure *m, struct dlb_err *err)
{
    bool sweeps = strcmp(m->scenario->name, "sweep") == 0;
    int rc = first_spec(m, sweeps, err);
    if (!rc)
        rc = dlb_result_open(m->args, m->scenario->name, &m->folder, err);
    if (rc)
        return rc;
    dlb_progress_begin(&m->watch.progress, m->scenario->name);
    dlb_progress_update(&m->watch.progress, 0.0, "looking at the data");
    dlb_catch_interrupts();
    rc = look_at_data(m, err);
    if (!rc)
        rc = describe_host(m, err);
    if (!rc) {
        m->n_cpus = dlb_os_n_cpus(&(double){0});
        struct dlb_plan_input in = {.cfg = m->args->cfg,
                                    .n_cpus = m->n_cpus,
                                    .iterable = m->shape.iterable,
                                    .host = host_of(m)};
        rc = m->scenario->plan(&in, &m->plan, err);
    }
    if (!rc)
        rc = dlb_results_init(&m->results, &m->plan, err);
    return rc;
}

/* A process of whatever kind that was lost, or a cell that was judged wrong. */
static bool any_failed(const struct measure *m, const struct dlb_judgement *j)
{
    if (dlb_results_n_failed(&m->results) > 0)
        return true;
    for (uint32_t i = 0; i < m->plan.n_cells; i++)
        if (j->cells[i].status == DLB_CELL_FAILED)
            return true;
    return false;
}

static int build(const struct measure *m, bool unfinished, struct dlb_judgement *judgement,
                 json_t **doc, struct dlb_err *err)
{
    int rc = m->scenario->judge(&m->plan, &m->results, m->n_cpus, judgement, err);
    if (rc)
        return rc;
    struct dlb_summary in = {
        .command = m->scenario->name,
        .run_name = m->folder.name,
        .version = DLB_VERSION,
        .commit = DLB_COMMIT,
        .environment = m->environment,
        .shape = &m->shape,
        .spec = &m->spec,
        .cfg = m->args->cfg,
        .plan = &m->plan,
        .results = &m->results,
        .judgement = judgement,
        .partial = unfinished || m->results.interrupted || any_failed(m, judgement),
    };
    *doc = dlb_summary_build(&in, err);
    if (*doc)
        return DLB_OK;
    dlb_judgement_free(judgement, &m->plan);
    return (int)err->status;
}

/* After each block: what there is survives whatever happens to this process. */
static void save(void *ctx)
{
    struct measure *m = ctx;
    struct dlb_judgement judgement;
    struct dlb_err ignored;
    json_t *doc = NULL;
    if (m->folder.replaces || build(m, true, &judgement, &doc, &ignored))
        return;
    dlb_result_save(&m->folder, doc);
    json_decref(doc);
    dlb_judgement_free(&judgement, &m->plan);
}

/* Before hours go by: what a shorter measurement would take away. */
static void tell_long(struct measure *m)
{
    double least_s = m->scenario->next ? 0 : dlb_runner_least_s(&m->plan, m->shape.n_samples);
    char least[40], tasks[40];
    bool whole = m->spec.run.max_batches == 0;
    bool sweeps = json_object_size(m->plan.axes) > 0;
    if (least_s < LONG_S)
        return;
    dlb_progress_note(&m->watch.progress,
                      "dlbench: note: this takes %s at least (%s runs, steps alone); to make it "
                      "less, %s run.repeats%s",
                      dlb_duration_text(least_s, least, sizeof least),
                      dlb_count_text((double)m->plan.n_tasks, tasks, sizeof tasks),
                      whole ? "set run.max_batches (0 is whole epochs) or lower"
                            : "lower run.max_batches or",
                      sweeps ? ", or sweep fewer settings" : "");
}

static int execute(struct measure *m, struct dlb_err *err)
{
    m->watch.plan = &m->plan;
    m->watch.start_ns = dlb_now_ns();
    m->watch.grows = m->scenario->next != NULL;
    m->watch.save = save;
    m->watch.ctx = m;
    struct dlb_runner runner = {
        .scratch = m->folder.scratch,
        .n_samples = m->shape.n_samples,
        .cancel = &dlb_interrupted,
        .event = dlb_watch_event,
        .ctx = &m->watch,
        .scenario = m->scenario,
    };
    int rc = dlb_result_begin(&m->folder, m->environment, err);
    if (rc)
        return rc;
    tell_long(m);
    return dlb_runner_execute(&runner, &m->plan, &m->results, err);
}

/* Says what did not go well, and picks the exit code. */
static int conclude(const struct measure *m, const struct dlb_judgement *j)
{
    uint32_t n_ok = 0, n_failed = 0;
    int64_t first = -1;
    for (uint32_t i = 0; i < m->plan.n_cells; i++) {
        n_ok += j->cells[i].status == DLB_CELL_OK;
        n_failed += j->cells[i].status == DLB_CELL_FAILED;
        if (j->cells[i].status == DLB_CELL_FAILED && first < 0)
            first = i;
    }
    if (first >= 0 && n_ok == 0) {
        const struct dlb_judged_cell *cell = &j->cells[first];
        (void)fprintf(stderr, "dlbench: %s: %s\n",
                      n_failed > 1 ? "every cell failed, the first with" : "the run failed",
                      cell->reason);
        if (m->results.interrupted)
            return DLB_EXIT_INTERRUPTED;
        return cell->error == DLB_E_CONFIG || cell->error == DLB_E_MISSING ? DLB_EXIT_USAGE
                                                                           : DLB_EXIT_FAILED;
    }
    if (first >= 0)
        (void)fprintf(stderr,
                      "dlbench: partial: %u of %u cells failed, the first (cell %lld): %s\n",
                      n_failed, m->plan.n_cells, (long long)first, j->cells[first].reason);
    if (m->results.interrupted) {
        dlb_result_say_interrupted(&m->folder);
        return DLB_EXIT_INTERRUPTED;
    }
    uint32_t n_lost = dlb_results_n_failed(&m->results);
    if (n_lost > 0 && n_failed == 0)
        (void)fprintf(stderr,
                      "dlbench: partial: %u process%s beside the cells' own failed; the notes of "
                      "the result say which\n",
                      n_lost, n_lost == 1 ? "" : "es");
    if (j->storage && json_is_false(json_object_get(j->storage, "settled")))
        return DLB_EXIT_FAILED; /* there is no answer */
    /* A run is small enough to be repeated as a whole; a sweep lives with what it has. */
    return n_lost > 0 && m->plan.n_cells == 1 && strcmp(m->scenario->name, "run") == 0
               ? DLB_EXIT_FAILED
               : DLB_EXIT_OK;
}

static int report(struct measure *m, int ran, struct dlb_err *err)
{
    struct dlb_judgement judgement;
    struct dlb_err late;
    json_t *doc = NULL;
    if (ran)
        (void)dlb_print_err(err);
    int rc = build(m, ran != DLB_OK, &judgement, &doc, &late);
    if (rc)
        return dlb_print_err(&late);
    bool any_ok = false;
    for (uint32_t i = 0; i < m->plan.n_cells; i++)
        any_ok = any_ok || judgement.cells[i].status == DLB_CELL_OK;
    enum dlb_result_part part = !any_ok                         ? DLB_RESULT_NOTHING
                                : ran || m->results.interrupted ? DLB_RESULT_PART
                                                                : DLB_RESULT_WHOLE;
    int written = dlb_result_finish(&m->folder, m->environment, doc, part, &late);
    bool told = ran && written && err->sys_errno != 0 && err->sys_errno == late.sys_errno;
    int code = written && !told ? dlb_print_err(&late) : DLB_EXIT_OK;
    if (written == DLB_E_CANCELLED) /* what was there is kept: why is concluded below */
        code = DLB_EXIT_OK;
    rc = dlb_result_print(doc, written ? NULL : m->folder.written, m->args->json, &late);
    if (rc)
        code = dlb_print_err(&late);
    (void)fflush(stdout);
    int concluded = conclude(m, &judgement);
    json_decref(doc);
    dlb_judgement_free(&judgement, &m->plan);
    return ran ? DLB_EXIT_FAILED : code ? code : concluded;
}

int dlb_measure(const struct dlb_args *args, const struct dlb_scenario *scenario)
{
    struct measure *m = calloc(1, sizeof(*m));
    struct dlb_err err;
    int code;
    if (!m) {
        (void)dlb_fail(&err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "%s: out of memory",
                       scenario->name);
        return dlb_print_err(&err);
    }
    m->args = args;
    m->scenario = scenario;
    if (prepare(m, &err)) {
        code = dlb_print_err(&err);
    } else {
        tell_left_out(m);
        int ran = execute(m, &err);
        dlb_progress_end(&m->watch.progress, NULL);
        code = report(m, ran, &err);
    }
    if (m->folder.path[0])
        dlb_result_close(&m->folder);
    dlb_results_free(&m->results);
    dlb_plan_free(&m->plan);
    json_decref(m->environment);
    free(m);
    return code;
}

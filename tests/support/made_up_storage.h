/* The scenario `storage` without a process: its plan grows over made-up results, and is judged.
 * Header-only. */
#ifndef DLB_TESTS_MADE_UP_STORAGE_H
#define DLB_TESTS_MADE_UP_STORAGE_H

#include "scenarios/scenario.h"
#include "scenarios/spec/flat.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A storage that gives `bytes_per_s`, to accelerators of 10 steps a second of 10 samples of 1 MB.
 */
struct storage {
    double bytes_per_s;
    uint32_t fails_from; /* accelerators; 0: never */
    enum dlb_status failure;
    const char *cache; /* label */
    double fio_bytes_per_s;
    bool twins_fail;          /* no ceiling of the harness */
    double twins_bytes_per_s; /* that ceiling; 0: none near */
    double turns_slow;        /* repetitions in turns with fio are so much slower; 0: not */
    double one_slow;          /* of three accelerators, the same; 0: not */
    double stolen;            /* of the workers' reading, by a hypervisor; 0: not */
};
#define STEP_BYTES 1e7
#define STEP_S 0.1

static inline json_t *cache_of(const char *label, double n_bytes)
{
    return json_pack("{ss, ss, ss, sn, sn, sn, sn, sf}", "asked", "as-is", "label", label, "why",
                     "made up", "resident_before_frac", "resident_after_frac", "process_bytes",
                     "device_bytes", "delivered_bytes", n_bytes);
}

static inline json_t *measured(const struct storage *s, double n, double step_s)
{
    double au = fmin(1, s->bytes_per_s / (n * STEP_BYTES / STEP_S));
    double steps = 100 * n, window_ns = 100 * step_s * 1e9 / au;
    double read_ns = au < 1 ? 1e9 * n : 1e8;
    return json_pack(
        "{ss, s{sf}, sf, sf, sf, sf, sf, sf, sf, sf, sf, sf, sf, sf, s{s{sf}}, s{sf, sf, sf, sf}, "
        "so, s{si}, sf, sf, s[]}",
        "status", "ok", "au", "nominal", au, "window_ns", window_ns, "n_steps", steps, "n_samples",
        steps * 10, "n_bytes", steps * STEP_BYTES, "busy_ns", au * window_ns, "idle_input_ns",
        (1 - au) * window_ns, "idle_copy_ns", 0.0, "idle_other_ns", 0.0, "io_bytes",
        steps * STEP_BYTES, "worker_samples", steps * 10, "worker_cpu_ns", 1e7, "runqueue_ns", 0.0,
        "worker_stages", "read", "sum_ns", 100 * read_ns, "reads", "count", steps * 10, "p50_ns",
        1e6, "p99_ns", 1e7, "p999_ns", 2e7, "cache", cache_of(s->cache, steps * STEP_BYTES),
        "accelerators", "count", (int)n, "machine_busy_frac", 0.1, "machine_stolen_ns",
        s->stolen * 100 * read_ns, "epochs");
}

static inline json_t *document(const struct storage *s, const struct dlb_plan *plan,
                               const struct dlb_task *task)
{
    const json_t *config = task->kind == DLB_TASK_CEILING ? plan->ceilings[task->index]
                                                          : plan->cells[task->index].config;
    double n = dlb_json_number(config, "accelerators.count");
    struct storage fast = {.bytes_per_s = s->twins_bytes_per_s > 0 ? s->twins_bytes_per_s : 1e12,
                           .cache = "unknown"};
    if (task->kind == DLB_TASK_BASELINE)
        return json_pack("{ss, ss, sf, sf, sf, sf}", "status", "ok", "command", "fio",
                         "bytes_per_s", s->fio_bytes_per_s, "iops", 1.0, "p50_ns", 1.0, "p99_ns",
                         2.0);
    if (task->kind == DLB_TASK_CEILING && s->twins_fail)
        return json_pack("{ss, ss, si}", "status", "failed", "reason", "made up", "error",
                         (int)DLB_E_WORKER);
    if (task->kind == DLB_TASK_CEILING)
        return measured(&fast, n,
                        dlb_json_number(config, "device.step_ms") > 0 ? STEP_S : STEP_S / 50);
    if (s->fails_from && n >= s->fails_from)
        return json_pack("{ss, ss, si}", "status", "failed", "reason", "made up", "error",
                         (int)s->failure);
    struct storage slow = *s;
    if (s->turns_slow > 0 && task->block >= plan->n_blocks)
        slow.bytes_per_s /= s->turns_slow;
    if (s->one_slow > 0 && n == 3)
        slow.bytes_per_s /= s->one_slow;
    return measured(&slow, n, STEP_S);
}

struct outcome {
    struct dlb_config *cfg;
    struct dlb_plan plan;
    struct dlb_results results;
    struct dlb_judgement judgement;
    const json_t *storage;
};

static inline int plan(struct outcome *o, const char *const *more, const struct dlb_plan_host *host,
                       struct dlb_err *err)
{
    static const char *const said[] = {
        "dataset.format=files", "dataset.codec=raw",     "dataset.path=/none",
        "loader.batch_size=10", "loader.num_workers=4",  "loader.pin_memory=true",
        "device.step_ms=100",   "device.kind=emulated",  "run.max_batches=20",
        "run.repeats=2",        "workload.name=made-up", NULL};
    memset(o, 0, sizeof(*o));
    o->cfg = dlb_config_new(dlb_spec_groups());
    assert_non_null(o->cfg);
    for (const char *const *one = said; *one; one++)
        assert_int_equal(dlb_config_set(o->cfg, *one, err), DLB_OK);
    for (; more && *more; more++)
        assert_int_equal(dlb_config_set(o->cfg, *more, err), DLB_OK);
    struct dlb_plan_input in = {.cfg = o->cfg, .n_cpus = 8, .host = *host};
    return dlb_scenario_by_name("storage")->plan(&in, &o->plan, err);
}

static struct dlb_plan_host large = {.n_samples = 1000000,
                                     .n_bytes = UINT64_C(1000000000000),
                                     .stored_bytes = UINT64_C(1000000000000),
                                     .ram_bytes = UINT64_C(100000000000),
                                     .memcpy_bytes_per_s = 1e11};

/* Runs what is planned, as the runner does: a cell that failed is not run again. */
static inline void execute(struct outcome *o, const struct storage *s, const char *const *more)
{
    const struct dlb_scenario *scenario = dlb_scenario_by_name("storage");
    struct dlb_err err;
    uint32_t n_run = 0;
    assert_int_equal(plan(o, more, &large, &err), DLB_OK);
    assert_int_equal(dlb_results_init(&o->results, &o->plan, &err), DLB_OK);
    while (n_run < o->plan.n_tasks) {
        assert_true(n_run < 200);
        for (; n_run < o->plan.n_tasks; n_run++) {
            const struct dlb_task *task = &o->plan.tasks[n_run];
            json_t *doc = document(s, &o->plan, task);
            assert_non_null(doc);
            (void)json_object_set_new(doc, "block", json_integer(task->block));
            (void)json_array_append_new(task->kind == DLB_TASK_BASELINE ? o->results.baseline
                                        : task->kind == DLB_TASK_CEILING
                                            ? o->results.ceilings[task->index]
                                            : o->results.cells[task->index],
                                        doc);
        }
        assert_int_equal(scenario->next(&o->plan, &o->results, &err), DLB_OK);
        assert_int_equal(dlb_results_grow(&o->results, &o->plan, &err), DLB_OK);
    }
    assert_int_equal(scenario->judge(&o->plan, &o->results, 8, &o->judgement, &err), DLB_OK);
    o->storage = o->judgement.storage;
    assert_non_null(o->storage);
}

static inline void release(struct outcome *o)
{
    dlb_judgement_free(&o->judgement, &o->plan);
    dlb_results_free(&o->results);
    dlb_plan_free(&o->plan);
    dlb_config_free(o->cfg);
}

#endif

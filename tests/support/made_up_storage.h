/* The scenario `storage` without a process: its plan grows over made-up results, and is judged.
 * Header-only. */
#ifndef DLB_TESTS_MADE_UP_STORAGE_H
#define DLB_TESTS_MADE_UP_STORAGE_H

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "scenarios/scenario.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A storage that gives `bytes_per_s`, to accelerators of 10 steps a second of 10 samples of 1 MB.
 */
struct storage {
    double bytes_per_s;
    uint32_t fails_from; /* accelerators; 0: never */
    enum dlb_code failure;
    enum dlb_cache_label cache;
    double fio_bytes_per_s;
    bool twins_fail;          /* no ceiling of the harness */
    double twins_bytes_per_s; /* that ceiling; 0: none near */
    double turns_slow;        /* repetitions in turns with fio are so much slower; 0: not */
    double one_slow;          /* of three accelerators, the same; 0: not */
    double run_s;             /* that each run takes */
    double stolen;            /* of the workers' reading, by a hypervisor; 0: not */
    bool reads_unknown;       /* as of a loader that does not see what is read */
    uint32_t n_ranks;         /* that read at the same time; 0: one */
    double last_frac;         /* the last rank is given so much of its share; 0: all */
    bool in_turns;            /* in each repetition another rank is the last one */
    double rank_noise;        /* a rank's share differs by this factor in each repetition */
    uint64_t repetition;      /* of any: what that noise is drawn by */
    bool fails_later;         /* not in the first repetition of a number */
};
#define STEP_BYTES 1e7
#define STEP_S 0.1

/* The part of the merged result that tells what each rank got; *mean: of their utilisations. */
static inline json_t *made_up_ranks(const struct storage *s, uint32_t n_of_rank, double *mean)
{
    json_t *each = dlb_json_made(json_array());
    double share = s->bytes_per_s / s->n_ranks / (n_of_rank * STEP_BYTES / STEP_S);
    struct dlb_rng rng = dlb_rng_seed(s->repetition, n_of_rank, s->n_ranks);
    uint32_t last = s->in_turns ? (uint32_t)(s->repetition % s->n_ranks) : s->n_ranks - 1;
    *mean = 0;
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        bool slow = s->last_frac > 0 && i == last;
        double noise = exp(s->rank_noise * dlb_rng_normal(&rng));
        double au = fmin(1, noise * (slow ? share * s->last_frac : share));
        dlb_json_append(each, dlb_json_made(json_pack("{sf}", "utilisation", au)));
        *mean += au / s->n_ranks;
    }
    return dlb_json_made(json_pack("{so}", "ranks", each));
}

/* n accelerators on each rank, each of which took 100 steps. */
static inline struct dlb_cell_result measured(const struct storage *s, uint32_t n_of_rank,
                                              double step_s)
{
    uint32_t n = n_of_rank * (s->n_ranks > 0 ? s->n_ranks : 1);
    double au = fmin(1, s->bytes_per_s / (n * STEP_BYTES / STEP_S));
    json_t *ranks = s->n_ranks > 1 ? made_up_ranks(s, n_of_rank, &au) : NULL;
    double window_ns = 100 * step_s * 1e9 / au, read_ns = au < 1 ? 1e9 * n : 1e8;
    uint64_t n_steps = 100 * (uint64_t)n, n_bytes = n_steps * (uint64_t)STEP_BYTES;
    struct dlb_cell_result out;
    struct dlb_share *total = &out.loop.total;
    struct dlb_workers_result *workers = &out.workers;
    dlb_cell_result_init(&out);
    out.has_loop = out.has_workers = out.has_cache = true;
    total->au.nominal = au;
    total->window_ns = (uint64_t)window_ns;
    total->n_steps = n_steps;
    total->n_samples = n_steps * 10;
    total->n_bytes = n_bytes;
    total->busy_ns = (uint64_t)(au * window_ns);
    total->idle_input_ns = (uint64_t)((1 - au) * window_ns);
    total->idle_copy_ns = total->idle_other_ns = 0;
    out.loop.n_accelerators = n;
    out.ranks = ranks;
    out.loop.machine_busy_frac = 0.1;
    out.loop.machine_stolen_ns = s->stolen * 100 * read_ns;
    workers->io_bytes = s->reads_unknown ? DLB_NOT_MEASURED : n_bytes;
    workers->n_samples = workers->reads.count = n_steps * 10;
    workers->cpu_ns = 10000000;
    workers->runqueue_ns = 0;
    workers->stage[DLB_WS_READ].count = workers->n_samples;
    workers->stage[DLB_WS_READ].sum_ns = (uint64_t)(100 * read_ns);
    workers->reads.p50_ns = 1000000;
    workers->reads.p99_ns = 10000000;
    workers->reads.p999_ns = 20000000;
    out.cache.label = s->cache;
    (void)snprintf(out.cache.why, sizeof(out.cache.why), "made up");
    out.cache.delivered_bytes = workers->io_bytes;
    return out;
}

static inline struct dlb_cell_result failed(enum dlb_code code)
{
    struct dlb_cell_result out;
    struct dlb_err err;
    dlb_cell_result_init(&out);
    (void)dlb_fail(&err, code, NULL, DLB_NO_OFFSET, "made up");
    dlb_cell_result_fail(&out, &err);
    return out;
}

static inline struct dlb_cell_result read_by_fio(const struct storage *s)
{
    struct dlb_cell_result out;
    dlb_cell_result_init(&out);
    out.has_baseline = true;
    out.baseline = (struct dlb_baseline_result){.command = dlb_mem_text("fio"),
                                                .bytes_per_s = s->fio_bytes_per_s,
                                                .iops = 1,
                                                .p50_ns = 1,
                                                .p99_ns = 2,
                                                .p999_ns = (double)NAN};
    return out;
}

static inline struct dlb_cell_result result_of(const struct storage *s, const struct dlb_plan *plan,
                                               const struct dlb_task *task)
{
    const struct dlb_spec *spec = task->kind == DLB_TASK_CEILING ? &plan->ceilings[task->index]
                                                                 : plan->cells[task->index].spec;
    uint32_t n = (uint32_t)spec->accelerators.count;
    struct storage fast = {.bytes_per_s = s->twins_bytes_per_s > 0 ? s->twins_bytes_per_s : 1e12,
                           .n_ranks = s->n_ranks};
    if (task->kind == DLB_TASK_BASELINE)
        return read_by_fio(s);
    if (task->kind == DLB_TASK_CEILING && s->twins_fail)
        return failed(DLB_ERR_WORKER);
    if (task->kind == DLB_TASK_CEILING)
        return measured(&fast, n, spec->device.step_ms > 0 ? STEP_S : STEP_S / 50);
    if (s->fails_from && n >= s->fails_from && (!s->fails_later || task->block > 0))
        return failed(s->failure);
    struct storage slow = *s;
    slow.repetition = s->repetition + task->block;
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
    dlb_results_init(&o->results, &o->plan);
    while (n_run < o->plan.n_tasks) {
        assert_true(n_run < 200);
        for (; n_run < o->plan.n_tasks; n_run++) {
            const struct dlb_task *task = &o->plan.tasks[n_run];
            struct dlb_cell_result one = result_of(s, &o->plan, task);
            one.block = task->block;
            o->results.elapsed_s += s->run_s;
            dlb_reps_add(task->kind == DLB_TASK_BASELINE  ? &o->results.baseline
                         : task->kind == DLB_TASK_CEILING ? &o->results.ceilings[task->index]
                                                          : &o->results.cells[task->index],
                         &one);
        }
        assert_int_equal(scenario->next(&o->plan, &o->results, &err), DLB_OK);
        dlb_results_grow(&o->results, &o->plan);
    }
    scenario->judge(&o->plan, &o->results, 8, &o->judgement);
    o->storage = o->judgement.storage;
    assert_non_null(o->storage);
}

/* The bottleneck is of that name (dlb_bottleneck_code), and its sentence has these figures; they
 * may be NULL. */
static inline void assert_bottleneck(const struct outcome *o, const char *code, const char *figures)
{
    const char *text = dlb_json_text(o->storage, "bottleneck_text");
    if (strcmp(dlb_json_text(o->storage, "code"), code) != 0 || (figures && !strstr(text, figures)))
        fail_msg("%s instead of %s, \"%s\": %s", dlb_json_text(o->storage, "code"), code,
                 figures ? figures : "", text);
}

static inline void release(struct outcome *o)
{
    dlb_judgement_free(&o->judgement);
    dlb_results_free(&o->results);
    dlb_plan_free(&o->plan);
    dlb_config_free(o->cfg);
}

#endif

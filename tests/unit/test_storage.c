/* The scenario `storage` without a process: its plan grows over made-up results, and is judged. */
#include "scenarios/flat.h"
#include "scenarios/scenario.h"
#include "scenarios/spec.h"

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
    bool twins_fail;   /* no ceiling of the harness */
    double turns_slow; /* repetitions in turns with fio are so much slower; 0: not */
    double one_slow;   /* of three accelerators, the same; 0: not */
};
#define STEP_BYTES 1e7
#define STEP_S 0.1

static json_t *cache_of(const char *label, double n_bytes)
{
    return json_pack("{ss, ss, ss, sn, sn, sn, sn, sf}", "asked", "as-is", "label", label, "why",
                     "made up", "resident_before_frac", "resident_after_frac", "process_bytes",
                     "device_bytes", "delivered_bytes", n_bytes);
}

static json_t *measured(const struct storage *s, double n, double step_s)
{
    double au = fmin(1, s->bytes_per_s / (n * STEP_BYTES / STEP_S));
    double steps = 100 * n, window_ns = 100 * step_s * 1e9 / au;
    double read_ns = au < 1 ? 1e9 * n : 1e8;
    return json_pack(
        "{ss, s{sf}, sf, sf, sf, sf, sf, sf, sf, sf, sf, sf, sf, sf, s{s{sf}}, s{sf, sf, sf, sf}, "
        "so, s{si}, sf, s[]}",
        "status", "ok", "au", "nominal", au, "window_ns", window_ns, "n_steps", steps, "n_samples",
        steps * 10, "n_bytes", steps * STEP_BYTES, "busy_ns", au * window_ns, "idle_input_ns",
        (1 - au) * window_ns, "idle_copy_ns", 0.0, "idle_other_ns", 0.0, "io_bytes",
        steps * STEP_BYTES, "worker_samples", steps * 10, "worker_cpu_ns", 1e7, "runqueue_ns", 0.0,
        "worker_stages", "read", "sum_ns", 100 * read_ns, "reads", "count", steps * 10, "p50_ns",
        1e6, "p99_ns", 1e7, "p999_ns", 2e7, "cache", cache_of(s->cache, steps * STEP_BYTES),
        "accelerators", "count", (int)n, "machine_busy_frac", 0.1, "epochs");
}

static json_t *document(const struct storage *s, const struct dlb_plan *plan,
                        const struct dlb_task *task)
{
    const json_t *config = task->kind == DLB_TASK_CEILING ? plan->ceilings[task->index]
                                                          : plan->cells[task->index].config;
    double n = dlb_json_number(config, "accelerators.count");
    struct storage fast = {.bytes_per_s = 1e12, .cache = "unknown"};
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

static int plan(struct outcome *o, const char *const *more, const struct dlb_plan_host *host,
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
static void execute(struct outcome *o, const struct storage *s, const char *const *more)
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

static void release(struct outcome *o)
{
    dlb_judgement_free(&o->judgement, &o->plan);
    dlb_results_free(&o->results);
    dlb_plan_free(&o->plan);
    dlb_config_free(o->cfg);
}

static void test_bandwidth(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 11.5 * 0.9 * STEP_BYTES / STEP_S, .cache = "cold"};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 11);
    assert_int_equal(dlb_json_u64(o.storage, "low", 99), 11);
    assert_int_equal(dlb_json_u64(o.storage, "high", 99), 11);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "storage-bandwidth");
    assert_true(json_is_true(json_object_get(o.storage, "settled")));
    assert_true(json_is_false(json_object_get(o.storage, "capped")));
    assert_true(json_is_true(json_object_get(json_object_get(o.storage, "data"), "cold_proof")));
    /* The most that was seen is what the storage gives: 11.5 at the gate, of 11. */
    assert_true(fabs(dlb_json_number(o.storage, "headroom_frac") - 11.5 / 11 + 1) < 1e-6);
    /* Sorted, with the border in it, each repeated. */
    const json_t *curve = json_object_get(o.storage, "curve"), *point;
    uint64_t last = 0;
    size_t i;
    bool border[2] = {false, false};
    json_array_foreach(curve, i, point)
    {
        uint64_t n = dlb_json_u64(point, "accelerators", 0);
        assert_true(n > last);
        last = n;
        for (uint64_t k = 0; k < 2; k++)
            border[k] |= n == 11 + k && dlb_json_u64(point, "repeats", 0) == 2;
    }
    assert_true(border[0] && border[1]);
    assert_true(o.judgement.best >= 0 && o.judgement.best == o.judgement.recommended);
    assert_int_equal(dlb_json_u64(o.plan.cells[o.judgement.best].config, "accelerators.count", 0),
                     11);
    assert_non_null(strstr(o.judgement.text, "storage-bandwidth"));
    /* The twins are of the cell beyond, as often as it. */
    assert_int_equal(o.plan.n_ceilings, 2);
    assert_int_equal(json_array_size(o.results.ceilings[0]), 2);
    assert_int_equal(json_array_size(o.results.ceilings[1]), 2);
    assert_int_equal(dlb_json_u64(json_object_get(o.storage, "harness"), "accelerators", 0), 12);
    release(&o);
}

/* Three are given less than four: what three were given is not all that there is. */
static void test_no_bandwidth_below_what_more_were_given(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 3.3 * STEP_BYTES / STEP_S, .cache = "cold", .one_slow = 1.25};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 2);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "unknown");
    assert_non_null(strstr(dlb_json_text(o.storage, "bottleneck_text"), "1.25 times"));
    release(&o);
    s.one_slow = 0;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 3);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "storage-bandwidth");
    release(&o);
}

static void test_not_even_one(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 0.5 * STEP_BYTES / STEP_S, .cache = "cold"};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 0);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "storage-bandwidth");
    assert_int_equal(json_array_size(json_object_get(o.storage, "curve")), 2);
    assert_int_equal(o.judgement.best, -1);
    release(&o);
}

/* The one that misses the gate is not compared with itself. */
static void test_one_cell_tells_nothing(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 0.5 * STEP_BYTES / STEP_S, .cache = "cold"};
    struct outcome o;
    execute(&o, &s, (const char *[]){"storage.max_accelerators=1", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 0);
    assert_int_equal(json_array_size(json_object_get(o.storage, "curve")), 1);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "unknown");
    release(&o);
    s.bytes_per_s *= 10;
    execute(&o, &s, (const char *[]){"storage.max_accelerators=1", NULL});
    assert_non_null(strstr(o.judgement.text, "At least 1 accelerator of made-up is fed at"));
    release(&o);
}

static void test_no_blame_without_the_harness_s_ceiling(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 3.5 * STEP_BYTES / STEP_S, .cache = "cold", .twins_fail = true};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "unknown");
    assert_non_null(strstr(dlb_json_text(o.storage, "bottleneck_text"), "ceiling"));
    release(&o);
}

/* 40 shards of 25,000 samples: an accelerator has at least as many as go round, and each of its 4
 * workers makes batches of 10 of its own. */
static void test_shards_end_it(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = "cold"};
    struct outcome o;
    large.n_shards = 40;
    large.min_shard_samples = 25000;
    /* 10,100 steps take 5 of them; samples there would be for 9. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=64", "run.max_batches=9199",
                             "run.warmup_batches=900", "loader.drop_last=true", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 8);
    assert_true(json_is_true(json_object_get(o.storage, "settled")));
    assert_non_null(strstr(o.judgement.text, "At least 8"));
    assert_non_null(strstr(o.judgement.text, "no shards for more"));
    release(&o);
    /* One pool reads them all for whoever is next. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=16", "run.max_batches=2000",
                             "accelerators.shared_workers=true", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 16);
    release(&o);
    /* Read again, if allowed, but by nobody who has none. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=64", "run.max_batches=9199",
                             "storage.allow_small=true", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 40);
    release(&o);
    large.n_shards = 0;
    large.min_shard_samples = 0;
}

static void test_a_warm_cache_is_not_the_storage(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 3.5 * STEP_BYTES / STEP_S, .cache = "warm"};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "cpu");
    assert_non_null(strstr(dlb_json_text(o.storage, "bottleneck_text"), "page cache"));
    release(&o);
    /* The answer itself says so, however it ended. */
    const struct {
        const char *label, *says;
    } fed[] = {{"warm", "are fed from the page cache, not from the storage, at 90%"},
               {"mixed", "are fed in part from the page cache, not from the storage, at 90%"},
               {"unknown", "are fed from the storage or the page cache (which is not known) at"},
               {"cold", "are fed at 90%"}};
    for (size_t i = 0; i < sizeof(fed) / sizeof(fed[0]); i++)
        for (int capped = 0; capped < 2; capped++) {
            s.cache = fed[i].label;
            execute(&o, &s, capped ? (const char *[]){"storage.max_accelerators=2", NULL} : NULL);
            assert_true((strstr(o.judgement.text, "At least 2 ") != NULL) == (capped == 1));
            assert_non_null(strstr(o.judgement.text, fed[i].says));
            release(&o);
        }
}

static void test_ends_where_it_is_told(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = "cold"};
    struct outcome o;
    execute(&o, &s, (const char *[]){"storage.max_accelerators=6", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 6);
    assert_true(json_is_true(json_object_get(o.storage, "capped")));
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "none");
    assert_true(json_is_null(json_object_get(o.storage, "headroom_frac")));
    release(&o);
    /* 1,000,000 samples are enough for 4: 10 x (20,000 + 40 of warm-up + 1) each. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=1024", "run.max_batches=20000", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 4);
    assert_non_null(strstr(dlb_json_text(o.storage, "bottleneck_text"), "samples"));
    release(&o);
}

static void test_want_of_memory_ends_it(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 1e15, .cache = "cold", .fails_from = 6, .failure = DLB_E_NOMEM};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 5);
    assert_true(json_is_true(json_object_get(o.storage, "settled")));
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "none");
    assert_non_null(strstr(dlb_json_text(o.storage, "bottleneck_text"), "made up"));
    /* Not the storage's number. */
    assert_true(json_is_true(json_object_get(o.storage, "capped")));
    assert_non_null(strstr(o.judgement.text, "At least 5"));
    assert_non_null(strstr(o.judgement.text, "memory ends the search"));
    assert_int_equal(dlb_json_u64(o.storage, "high", 99), 5);
    assert_int_equal(dlb_json_u64(json_object_get(o.storage, "harness"), "accelerators", 0), 5);
    release(&o);
}

static void test_any_other_failure_is_no_answer(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = "cold", .fails_from = 6, .failure = DLB_E_IO};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 4);
    assert_true(json_is_false(json_object_get(o.storage, "settled")));
    assert_true(json_is_null(json_object_get(o.storage, "low")));
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "unknown");
    release(&o);
}

static void test_baseline_in_turns(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 2.5 * STEP_BYTES / STEP_S,
                        .cache = "cold",
                        .fio_bytes_per_s = 5 * STEP_BYTES / STEP_S,
                        .turns_slow = 2};
    struct outcome o;
    execute(&o, &s, (const char *[]){"storage.baseline=fio", NULL});
    const json_t *baseline = json_object_get(o.storage, "baseline");
    assert_int_equal(dlb_json_u64(baseline, "accelerators", 0),
                     dlb_json_u64(o.storage, "max_accelerators", 0) + 1);
    assert_true(fabs(dlb_json_number(json_object_get(baseline, "share"), "median") - 0.25) < 1e-6);
    /* They count for the share alone. */
    const json_t *point;
    size_t k;
    json_array_foreach(json_object_get(o.storage, "curve"), k, point)
        assert_true(dlb_json_number(point, "au_high") - dlb_json_number(point, "au_low") < 1e-9 &&
                    dlb_json_u64(point, "repeats", 9) <= 2);
    /* One after the other. */
    uint32_t n = o.plan.n_tasks;
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(o.plan.tasks[n - 4 + i].kind, i % 2 ? DLB_TASK_CELL : DLB_TASK_BASELINE);
    release(&o);
}

/* What has no meaning for one accelerator comes back with the second. */
static void test_one_pool_for_all(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = "cold"};
    struct outcome o;
    execute(
        &o, &s,
        (const char *[]){"storage.max_accelerators=2", "accelerators.shared_workers=true", NULL});
    assert_true(
        json_is_null(json_object_get(o.plan.cells[0].config, "accelerators.shared_workers")));
    assert_true(
        json_is_true(json_object_get(o.plan.cells[1].config, "accelerators.shared_workers")));
    release(&o);
}

static void refused(const struct dlb_plan_host *host, const char *const *more, const char *why)
{
    struct outcome o;
    struct dlb_err err;
    assert_int_equal(plan(&o, more, host, &err), DLB_E_CONFIG);
    assert_non_null(strstr(err.what, why));
    assert_non_null(strstr(err.what, "storage.allow_small=true"));
    dlb_config_free(o.cfg);
}

static void test_small_data(void **state)
{
    (void)state;
    struct dlb_plan_host host = large;
    struct outcome o;
    struct dlb_err err;
    host.stored_bytes = 4 * host.ram_bytes; /* of ten times as much: they compress */
    refused(&host, NULL, "4.0 times the memory");
    host = large;
    host.n_samples = 4999;
    refused(&host, NULL, "499 steps an epoch");
    host.n_samples = 5010;
    refused(&host, (const char *[]){"run.max_batches=600", NULL}, "not enough samples");
    /* Where it is allowed, epochs follow each other: 501 batches, of 641 that are needed. */
    assert_int_equal(plan(&o,
                          (const char *[]){"run.max_batches=600", "storage.allow_small=true", NULL},
                          &host, &err),
                     DLB_OK);
    assert_int_equal(dlb_json_u64(o.plan.cells[0].config, "run.epochs", 0), 2);
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
}

/* What would end the search behind the first number is known before it. */
static void test_nothing_is_tried_that_cannot_be(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 0.3 * STEP_BYTES / STEP_S, .cache = "cold"};
    struct dlb_plan_host host = large, was = large;
    const char *const small[] = {"storage.allow_small=true", "loader.drop_last=true", NULL};
    struct outcome o;
    struct dlb_err err;
    /* A full batch for one, none for a second: not even one is fed, and that is an answer. */
    large.n_samples = 19;
    execute(&o, &s, small);
    large = was;
    assert_int_equal(o.plan.n_cells, 1);
    assert_true(json_is_true(json_object_get(o.storage, "settled")));
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 0);
    release(&o);
    host.n_samples = 9;
    assert_int_equal(plan(&o, small, &host, &err), DLB_E_CONFIG);
    assert_non_null(strstr(err.what, "not enough samples for a full batch of 10"));
    dlb_config_free(o.cfg);
    /* Without drop_last each has the one batch that it can have, as often as it takes. */
    assert_int_equal(plan(&o, (const char *[]){"storage.allow_small=true", NULL}, &host, &err),
                     DLB_OK);
    const json_t *config = o.plan.cells[0].config;
    assert_int_equal(dlb_json_u64(config, "run.epochs", 0),
                     20 + dlb_json_u64(config, "run.warmup_batches", 0) + 1);
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
    /* A second accelerator needs pinned memory; a single one does not. */
    const char *pageable[] = {"loader.pin_memory=false", NULL, NULL};
    assert_int_equal(plan(&o, pageable, &large, &err), DLB_E_CONFIG);
    assert_non_null(strstr(err.what, "loader.pin_memory = true"));
    dlb_config_free(o.cfg);
    pageable[1] = "storage.max_accelerators=1";
    assert_int_equal(plan(&o, pageable, &large, &err), DLB_OK);
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_no_bandwidth_below_what_more_were_given),
        cmocka_unit_test(test_not_even_one),
        cmocka_unit_test(test_one_cell_tells_nothing),
        cmocka_unit_test(test_no_blame_without_the_harness_s_ceiling),
        cmocka_unit_test(test_shards_end_it),
        cmocka_unit_test(test_a_warm_cache_is_not_the_storage),
        cmocka_unit_test(test_ends_where_it_is_told),
        cmocka_unit_test(test_want_of_memory_ends_it),
        cmocka_unit_test(test_any_other_failure_is_no_answer),
        cmocka_unit_test(test_baseline_in_turns),
        cmocka_unit_test(test_one_pool_for_all),
        cmocka_unit_test(test_small_data),
        cmocka_unit_test(test_nothing_is_tried_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The search for the number of accelerators that a storage feeds. */
#include "scenarios/spec/rounds.h"
#include "tests/support/made_up_storage.h"

static void test_bandwidth(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 11.5 * 0.9 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 11);
    assert_int_equal(dlb_json_u64(o.storage, "low", 99), 11);
    assert_int_equal(dlb_json_u64(o.storage, "high", 99), 11);
    assert_string_equal(dlb_json_text(o.storage, "bottleneck"), "storage-bandwidth");
    assert_bottleneck(&o, "STORAGE_BANDWIDTH", NULL);
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
    json_array_foreach(curve, i, point) {
        uint64_t n = dlb_json_u64(point, "accelerators", 0);
        assert_true(n > last);
        last = n;
        for (uint64_t k = 0; k < 2; k++)
            border[k] |= n == 11 + k && dlb_json_u64(point, "repeats", 0) == 2;
    }
    assert_true(border[0] && border[1]);
    assert_true(o.judgement.best >= 0 && o.judgement.best == o.judgement.recommended);
    assert_int_equal(o.plan.cells[o.judgement.best].spec->accelerators.count, 11);
    assert_non_null(strstr(o.judgement.text, "storage-bandwidth"));
    /* The twins are of the cell beyond, as often as it. */
    assert_int_equal(o.plan.n_ceilings, 2);
    assert_int_equal(o.results.ceilings[0].n, 2);
    assert_int_equal(o.results.ceilings[1].n, 2);
    assert_int_equal(dlb_json_u64(json_object_get(o.storage, "harness"), "accelerators", 0), 12);
    release(&o);
}

/* A sharp knee without noise: the curve's, its interval is one number. */
static void test_the_fit_is_told(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 11.5 * 0.9 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD};
    struct outcome o;
    execute(&o, &s, NULL);
    const json_t *n = json_object_get(o.storage, "n"), *fit = json_object_get(o.storage, "fit");
    assert_int_equal(dlb_json_u64(n, "low", 99), 11);
    assert_int_equal(dlb_json_u64(n, "high", 99), 11);
    assert_string_equal(dlb_json_text(n, "by"), "curve");
    assert_true(json_is_true(json_object_get(fit, "used")));
    assert_true(json_is_null(json_object_get(fit, "sharpness")));
    assert_true(fabs(dlb_json_number(fit, "at") - 11.5) < 0.01);
    assert_true(dlb_json_number(fit, "lack_of_fit_p") > 0.01);
    assert_string_equal(dlb_json_text(o.storage, "stopped"), "decided");
    release(&o);
}

/* When the minutes are spent the search ends with what is not excluded, and nothing is blamed. */
static void test_max_minutes(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 11.5 * 0.9 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD, .run_s = 60};
    struct outcome o;
    static const struct {
        const char *minutes;
        uint64_t n_runs, best, high;
    } cases[] = {{"storage.max_minutes=2.5", 3, 4, 99}, {"storage.max_minutes=6", 6, 8, 11}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        execute(&o, &s, (const char *[]){cases[i].minutes, NULL});
        assert_int_equal(o.plan.n_tasks, cases[i].n_runs);
        assert_string_equal(dlb_json_text(o.storage, "stopped"), "budget");
        assert_true(json_is_false(json_object_get(o.storage, "settled")));
        assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), cases[i].best);
        assert_int_equal(dlb_json_u64(o.storage, "low", 99), cases[i].best);
        assert_int_equal(dlb_json_u64(o.storage, "high", 99), cases[i].high);
        assert_bottleneck(&o, "UNKNOWN_BOTTLENECK", "storage.max_minutes");
        assert_false(o.judgement.no_answer);
        assert_non_null(strstr(o.judgement.text, "storage.max_minutes"));
        release(&o);
    }
    execute(&o, &s, (const char *[]){"storage.max_minutes=1000", NULL});
    assert_string_equal(dlb_json_text(o.storage, "stopped"), "decided");
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 11);
    release(&o);
}

/* The estimate before the search: from one accelerator that is too many to the most. */
static void test_number_of_runs(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 11.5 * 0.9 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD};
    struct outcome o;
    uint32_t least, most;
    execute(&o, &s, NULL);
    dlb_scenario_by_name("storage")->n_runs(&o.plan, &least, &most);
    assert_int_equal(least, 2 * 2 + 2 * 2);
    assert_in_range(o.plan.n_tasks, least, most);
    release(&o);
}

static void test_not_even_one(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 0.5 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 0);
    assert_bottleneck(&o, "STORAGE_BANDWIDTH", NULL);
    assert_int_equal(json_array_size(json_object_get(o.storage, "curve")), 2);
    assert_int_equal(o.judgement.best, -1);
    release(&o);
}

/* What is pasted is of N accelerators, though more load faster; nothing where none is fed, or where
 * the harness was the limit. */
static void test_settings_to_paste(void **state)
{
    (void)state;
    const double one = STEP_BYTES / STEP_S;
    struct storage s = {.bytes_per_s = 1.5 * 0.9 * one, .cache = DLB_CACHE_COLD};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 1);
    assert_non_null(strstr(o.judgement.pytorch, "num_workers=4"));
    assert_null(strstr(o.judgement.pytorch, "DistributedSampler"));
    assert_true(json_array_size(o.judgement.not_modelled) > 0);
    release(&o);

    s.bytes_per_s = 0.5 * one;
    execute(&o, &s, NULL);
    assert_int_equal(o.judgement.recommended, -1);
    assert_string_equal(o.judgement.pytorch, "");
    assert_int_equal(json_array_size(o.judgement.not_modelled), 0);
    release(&o);

    s.bytes_per_s = 1e12;
    for (int harness = 0; harness < 2; harness++) {
        s.twins_bytes_per_s = harness ? one : 0;
        execute(&o, &s, (const char *[]){"storage.max_accelerators=2", NULL});
        assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 2);
        enum dlb_verdict_class klass = o.judgement.cells[o.judgement.best].verdict.klass;
        assert_true((klass == DLB_V_HARNESS_BOUND) == harness);
        assert_int_equal(o.judgement.recommended, harness ? -1 : o.judgement.best);
        if (harness)
            assert_string_equal(o.judgement.pytorch, "");
        else
            assert_non_null(strstr(o.judgement.pytorch, "DistributedSampler"));
        release(&o);
    }
}

/* 40 shards of 25,000 samples: an accelerator has at least as many as go round, and each of its 4
 * workers makes batches of 10 of its own. */
static void test_shards_end_it(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = DLB_CACHE_COLD};
    struct outcome o;
    large.n_shards = 40;
    large.min_shard_samples = 25000;
    /* 10,100 steps take 5 of them; samples there would be for 9. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=64", "run.max_batches=9199",
                             "run.warmup_batches=900", "loader.drop_last=true", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 8);
    assert_true(json_is_true(json_object_get(o.storage, "settled")));
    assert_bottleneck(&o, "NO_BOTTLENECK", "shards");
    assert_non_null(strstr(o.judgement.text, " 8 "));
    release(&o);
    /* With shared workers one pool reads all shards, so their number is no limit. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=16", "run.max_batches=2000",
                             "accelerators.shared_workers=true", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 16);
    release(&o);
    /* storage.allow_small: shards may be read again, but each accelerator still needs one. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=64", "run.max_batches=9199",
                             "storage.allow_small=true", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 40);
    release(&o);
    large.n_shards = 0;
    large.min_shard_samples = 0;
}

static void test_ends_where_it_is_told(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = DLB_CACHE_COLD};
    struct outcome o;
    execute(&o, &s, (const char *[]){"storage.max_accelerators=6", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 6);
    assert_true(json_is_true(json_object_get(o.storage, "capped")));
    assert_bottleneck(&o, "NO_BOTTLENECK", "storage.max_accelerators");
    assert_true(json_is_null(json_object_get(o.storage, "headroom_frac")));
    release(&o);
    /* 1,000,000 samples are enough for 4: 10 x (20,000 + 40 of warm-up + 1) each. */
    execute(&o, &s,
            (const char *[]){"storage.max_accelerators=1024", "run.max_batches=20000", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 4);
    assert_bottleneck(&o, "NO_BOTTLENECK", "samples");
    release(&o);
}

static void test_want_of_memory_ends_it(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 1e15, .cache = DLB_CACHE_COLD, .fails_from = 6, .failure = DLB_ERR_NOMEM};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 5);
    assert_true(json_is_true(json_object_get(o.storage, "settled")));
    assert_bottleneck(&o, "NO_BOTTLENECK", "made up");
    /* Not the storage's number. */
    assert_true(json_is_true(json_object_get(o.storage, "capped")));
    assert_int_equal(dlb_json_u64(o.storage, "low", 99), 5);
    assert_true(json_is_null(json_object_get(o.storage, "high")));
    assert_true(json_is_null(json_object_get(json_object_get(o.storage, "n"), "high")));
    assert_int_equal(dlb_json_u64(json_object_get(o.storage, "harness"), "accelerators", 0), 5);
    release(&o);
}

static void test_any_other_failure_is_no_answer(void **state)
{
    (void)state;
    struct storage s = {
        .bytes_per_s = 1e15, .cache = DLB_CACHE_COLD, .fails_from = 6, .failure = DLB_ERR_IO};
    struct outcome o;
    execute(&o, &s, NULL);
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 4);
    assert_true(json_is_false(json_object_get(o.storage, "settled")));
    assert_true(json_is_null(json_object_get(o.storage, "low")));
    assert_bottleneck(&o, "UNKNOWN_BOTTLENECK", NULL);
    release(&o);
}

static void test_baseline_in_turns(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 2.5 * STEP_BYTES / STEP_S,
                        .cache = DLB_CACHE_COLD,
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

/* The accelerators are counted all the same; rates of reading are null. */
static void test_reads_may_be_unknown(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 2.5 * STEP_BYTES / STEP_S,
                        .cache = DLB_CACHE_UNKNOWN,
                        .fio_bytes_per_s = 5 * STEP_BYTES / STEP_S,
                        .reads_unknown = true};
    struct outcome o;
    execute(&o, &s, (const char *[]){"storage.baseline=fio", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 0), 2);
    assert_bottleneck(&o, "UNKNOWN_BOTTLENECK", NULL);
    assert_true(json_is_null(json_object_get(o.storage, "bytes_per_s")));
    const json_t *baseline = json_object_get(o.storage, "baseline"), *point;
    assert_true(json_is_null(json_object_get(baseline, "pipeline_bytes_per_s")));
    assert_true(isnan(dlb_json_number(json_object_get(baseline, "share"), "median")));
    assert_true(dlb_json_number(baseline, "bytes_per_s") == s.fio_bytes_per_s);
    size_t k;
    json_array_foreach(json_object_get(o.storage, "curve"), k, point)
        assert_true(json_is_null(json_object_get(point, "bytes_per_s")));
    release(&o);
}

/* What has no meaning for one accelerator comes back with the second. */
static void test_one_pool_for_all(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = DLB_CACHE_COLD};
    struct outcome o;
    execute(
        &o, &s,
        (const char *[]){"storage.max_accelerators=2", "accelerators.shared_workers=true", NULL});
    assert_false(o.plan.cells[0].spec->accelerators.shared_workers);
    assert_true(o.plan.cells[1].spec->accelerators.shared_workers);
    release(&o);
}

static void refused(const struct dlb_plan_host *host, const char *const *more, enum dlb_code code,
                    const char *figures)
{
    struct outcome o;
    struct dlb_err err;
    assert_int_equal(plan(&o, more, host, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.what, figures));
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
    refused(&host, NULL, DLB_ERR_STORAGE_DATA_TOO_SMALL, "4.0 times");
    host = large;
    host.n_samples = 4999;
    refused(&host, NULL, DLB_ERR_STORAGE_TOO_FEW_STEPS, "499 steps");
    host.n_samples = 5010;
    refused(&host, (const char *[]){"run.max_batches=600", NULL}, DLB_ERR_STORAGE_TOO_FEW_SAMPLES,
            "samples");
    /* Where it is allowed, epochs follow each other: 501 batches, of 641 that are needed. */
    assert_int_equal(plan(&o,
                          (const char *[]){"run.max_batches=600", "storage.allow_small=true", NULL},
                          &host, &err),
                     DLB_OK);
    assert_int_equal(o.plan.cells[0].spec->run.epochs, 2);
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
}

/* What would end the search behind the first number is known before it. */
static void test_nothing_is_tried_that_cannot_be(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 0.3 * STEP_BYTES / STEP_S, .cache = DLB_CACHE_COLD};
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
    assert_int_equal(err.code, DLB_ERR_STORAGE_TOO_FEW_SAMPLES);
    assert_non_null(strstr(err.what, "batch of 10"));
    dlb_config_free(o.cfg);
    /* Without drop_last each has the one batch that it can have, as often as it takes. */
    assert_int_equal(plan(&o, (const char *[]){"storage.allow_small=true", NULL}, &host, &err),
                     DLB_OK);
    const struct dlb_spec *first = o.plan.cells[0].spec;
    assert_int_equal(first->run.epochs, (int64_t)dlb_spec_wanted(first));
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
    /* A second accelerator needs pinned memory; a single one does not. */
    const char *pageable[] = {"loader.pin_memory=false", NULL, NULL};
    assert_int_equal(plan(&o, pageable, &large, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_ACCELERATORS_NEED_PINNING);
    assert_non_null(strstr(err.what, "loader.pin_memory"));
    dlb_config_free(o.cfg);
    pageable[1] = "storage.max_accelerators=1";
    assert_int_equal(plan(&o, pageable, &large, &err), DLB_OK);
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
    /* Its thread has no CPU time for a loop of each of them. */
    const char *busy[] = {"device.host_busy_frac=0.2", NULL, NULL};
    assert_int_equal(plan(&o, busy, &large, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_HOST_PART_OF_ONE);
    dlb_config_free(o.cfg);
    busy[1] = "storage.max_accelerators=1";
    assert_int_equal(plan(&o, busy, &large, &err), DLB_OK);
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_the_fit_is_told),
        cmocka_unit_test(test_max_minutes),
        cmocka_unit_test(test_number_of_runs),
        cmocka_unit_test(test_not_even_one),
        cmocka_unit_test(test_settings_to_paste),
        cmocka_unit_test(test_shards_end_it),
        cmocka_unit_test(test_ends_where_it_is_told),
        cmocka_unit_test(test_want_of_memory_ends_it),
        cmocka_unit_test(test_any_other_failure_is_no_answer),
        cmocka_unit_test(test_baseline_in_turns),
        cmocka_unit_test(test_reads_may_be_unknown),
        cmocka_unit_test(test_one_pool_for_all),
        cmocka_unit_test(test_small_data),
        cmocka_unit_test(test_nothing_is_tried_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

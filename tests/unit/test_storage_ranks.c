/* `storage` over ranks: each has the same number of accelerators, and a share of the data set. */
#include "scenarios/spec/rounds.h"
#include "scenarios/storage/view.h"
#include "tests/support/made_up_storage.h"

/* DLB_N_CODES: it is planned. */
static enum dlb_code refusal(const struct dlb_plan_host *host, const char *const *more)
{
    struct outcome o;
    struct dlb_err err;
    bool is_planned = plan(&o, more, host, &err) == DLB_OK;
    if (is_planned)
        dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
    return is_planned ? DLB_N_CODES : err.code;
}

/* 1000 samples are 250 batches of one for each of four ranks: 501 are wanted, of three epochs. */
static void test_epochs_last(void **state)
{
    (void)state;
    struct dlb_plan_host host = large;
    struct outcome o;
    struct dlb_err err;
    const char *const said[] = {"run.world=4",           "storage.allow_small=true",
                                "loader.batch_size=1",   "run.max_batches=400",
                                "run.warmup_batches=99", NULL};
    host.n_samples = 1000;
    assert_int_equal(plan(&o, said, &host, &err), DLB_OK);
    assert_true(dlb_storage_steps_per_epoch(&o.plan, 1) == 250);
    assert_true(dlb_storage_steps_per_epoch(&o.plan, 2) == 125);
    assert_true(dlb_spec_wanted(o.plan.cells[0].spec) == 501);
    assert_int_equal(o.plan.cells[0].spec->run.epochs, 3);
    assert_int_equal(dlb_storage_data_limit(&o.plan, NULL), 250);
    dlb_plan_free(&o.plan);
    dlb_config_free(o.cfg);
}

/* 500 steps an epoch, of each rank's accelerator. */
static void test_too_few_steps(void **state)
{
    (void)state;
    struct dlb_plan_host host = large;
    const char *const four[] = {"run.world=4", NULL};
    host.n_samples = 19999;
    assert_int_equal(refusal(&host, four), DLB_ERR_STORAGE_TOO_FEW_STEPS);
    assert_int_equal(refusal(&host, NULL), DLB_N_CODES);
    host.n_samples = 20000;
    assert_int_equal(refusal(&host, four), DLB_N_CODES);
    /* A full batch for one rank, none for a second. */
    host.n_samples = 19;
    assert_int_equal(refusal(&host, (const char *[]){"run.world=2", "storage.allow_small=true",
                                                     "loader.drop_last=true", NULL}),
                     DLB_ERR_STORAGE_TOO_FEW_SAMPLES);
}

/* No sample is read twice: 1,000,000 are enough for 4 times 10 x (20,000 + 40 of warm-up + 1), two
 * on each of two ranks. */
static void test_samples_end_it(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 1e15, .cache = DLB_CACHE_COLD, .n_ranks = 2};
    struct outcome o;
    execute(&o, &s,
            (const char *[]){"run.world=2", "storage.max_accelerators=1024",
                             "run.max_batches=20000", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 2);
    assert_bottleneck(&o, "NO_BOTTLENECK", "samples");
    assert_int_equal(dlb_json_u64(json_object_get(o.storage, "data"), "steps_per_epoch", 0), 25000);
    release(&o);
}

/* Loaders of all ranks share the shards, pools of shared workers, too. */
static void test_shards_end_it(void **state)
{
    (void)state;
    struct dlb_plan_host host = large;
    struct outcome o;
    struct dlb_err err;
    static const struct {
        const char *shared, *world;
        uint32_t n_shards, limit;
        double steps; /* of one accelerator on each rank; a shard has 2,500 batches */
    } cases[] = {
        {"accelerators.shared_workers=false", "run.world=1", 40, 40, 100000},
        {"accelerators.shared_workers=false", "run.world=4", 40, 10, 25000},
        {"accelerators.shared_workers=false", "run.world=4", 43, 10, 25000},
        {"accelerators.shared_workers=true", "run.world=1", 40, 100000, 100000},
        {"accelerators.shared_workers=true", "run.world=4", 40, 25000, 25000},
        {"accelerators.shared_workers=true", "run.world=4", 4, 2500, 2500},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const said[] = {cases[i].shared, cases[i].world, "storage.allow_small=true",
                                    "loader.drop_last=true", NULL};
        host.n_shards = cases[i].n_shards;
        host.min_shard_samples = 25000;
        assert_int_equal(plan(&o, said, &host, &err), DLB_OK);
        assert_int_equal(dlb_storage_data_limit(&o.plan, NULL), cases[i].limit);
        assert_true(dlb_storage_steps_per_epoch(&o.plan, 1) == cases[i].steps);
        dlb_plan_free(&o.plan);
        dlb_config_free(o.cfg);
    }
    host.n_shards = 3; /* none for the fourth */
    for (int shared = 0; shared < 2; shared++)
        assert_int_equal(
            refusal(&host, (const char *[]){cases[shared ? 3 : 0].shared, "run.world=4",
                                            "storage.allow_small=true", NULL}),
            DLB_ERR_STORAGE_TOO_FEW_SAMPLES);
}

static bool is_noted(const struct outcome *o, const char *code)
{
    const json_t *note;
    size_t i;
    json_array_foreach(o->judgement.notes, i, note) {
        if (strcmp(dlb_json_text(note, "code"), code) == 0)
            return true;
    }
    return false;
}

/* What is noted of the data set is of all ranks' accelerators: 2 on each of 2 ranks. */
static void test_notes(void **state)
{
    (void)state;
    struct dlb_plan_host was = large;
    struct storage s = {.bytes_per_s = 1e15, .cache = DLB_CACHE_COLD};
    struct outcome o;
    large.n_samples = 15000; /* 750 steps for each of 2 accelerators, 375 for each of 4 */
    for (uint32_t world = 1; world <= 2; world++) {
        s.n_ranks = world;
        execute(&o, &s,
                (const char *[]){world == 1 ? "run.world=1" : "run.world=2",
                                 "storage.max_accelerators=2", NULL});
        assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 2);
        assert_int_equal(is_noted(&o, "EPOCH_SHORT"), world == 2);
        release(&o);
    }
    large = was;
}

/* The storage of four ranks gives four times as much, and the same share is left of it. */
static void test_headroom(void **state)
{
    (void)state;
    for (uint32_t n_ranks = 1; n_ranks <= 4; n_ranks += 3) {
        struct storage s = {.bytes_per_s = n_ranks * 11.5 * 0.9 * STEP_BYTES / STEP_S,
                            .cache = DLB_CACHE_COLD,
                            .n_ranks = n_ranks};
        struct outcome o;
        execute(&o, &s, (const char *[]){n_ranks == 1 ? "run.world=1" : "run.world=4", NULL});
        assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 11);
        assert_int_equal(dlb_json_u64(o.storage, "max_accelerators_all_ranks", 99), 11 * n_ranks);
        assert_true(fabs(dlb_json_number(o.storage, "headroom_frac") - 11.5 / 11 + 1) < 1e-6);
        assert_int_equal(strstr(o.judgement.text, "4 ranks") != NULL, n_ranks == 4);
        release(&o);
    }
}

/* Each of 8 ranks would feed 11, but the last one gets half of its share: all wait for it. */
static void test_slow_rank(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct storage s = {.bytes_per_s = 8 * 11.5 * 0.9 * STEP_BYTES / STEP_S,
                            .cache = DLB_CACHE_COLD,
                            .n_ranks = 8,
                            .last_frac = slow ? 0.5 : 1};
        struct outcome o;
        execute(&o, &s, (const char *[]){"run.world=8", NULL});
        assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), slow ? 5 : 11);
        assert_non_null(strstr(o.judgement.text, "every rank"));
        release(&o);
    }
}

/* Ranks whose shares differ by chance: 8 of them would be fed 40 each; of the lowest of each
 * repetition 38 are. One that gets half of its share decides as without noise. */
static void test_noisy_ranks(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        bool slow = i % 2;
        struct storage s = {.bytes_per_s = 8 * 40.5 * 0.9 * STEP_BYTES / STEP_S,
                            .cache = DLB_CACHE_COLD,
                            .n_ranks = 8,
                            .rank_noise = 0.03,
                            .repetition = UINT64_C(1000) * i,
                            .last_frac = slow ? 0.5 : 1};
        struct outcome o;
        execute(&o, &s, (const char *[]){"run.world=8", "run.repeats=3", NULL});
        uint64_t n = dlb_json_u64(o.storage, "max_accelerators", 99), wanted = slow ? 20 : 40;
        assert_in_range(n, wanted - 1, wanted + 1);
        assert_true(dlb_json_u64(o.storage, "low", 99) <= wanted);
        assert_true(dlb_json_u64(o.storage, "high", 0) >= wanted);
        release(&o);
    }
}

/* As test_slow_rank, but another rank in each repetition: never is every rank fed more. */
static void test_slow_in_turns(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 8 * 11.5 * 0.9 * STEP_BYTES / STEP_S,
                        .cache = DLB_CACHE_COLD,
                        .n_ranks = 8,
                        .last_frac = 0.5,
                        .in_turns = true};
    struct outcome o;
    execute(&o, &s, (const char *[]){"run.world=8", "run.repeats=3", NULL});
    assert_int_equal(dlb_json_u64(o.storage, "max_accelerators", 99), 5);
    release(&o);
}

/* One accelerator misses the gate, and then there is no memory for it. */
static void test_not_even_one(void **state)
{
    (void)state;
    struct storage s = {.bytes_per_s = 4 * 0.5 * STEP_BYTES / STEP_S,
                        .cache = DLB_CACHE_COLD,
                        .n_ranks = 4,
                        .fails_from = 1,
                        .fails_later = true,
                        .failure = DLB_ERR_NOMEM};
    struct outcome o;
    execute(&o, &s, (const char *[]){"run.world=4", "workload.accelerator=h100", NULL});
    assert_non_null(strstr(o.judgement.text, "one H100 accelerator of"));
    assert_non_null(strstr(o.judgement.text, "each of 4 ranks"));
    assert_null(strstr(o.judgement.text, "in all"));
    release(&o);
    s.fails_from = 0;
    execute(&o, &s, (const char *[]){"run.world=4", NULL});
    assert_non_null(strstr(o.judgement.text, "each of 4 ranks"));
    assert_null(strstr(o.judgement.text, "in all"));
    release(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_epochs_last),    cmocka_unit_test(test_too_few_steps),
        cmocka_unit_test(test_samples_end_it), cmocka_unit_test(test_shards_end_it),
        cmocka_unit_test(test_notes),          cmocka_unit_test(test_headroom),
        cmocka_unit_test(test_slow_rank),      cmocka_unit_test(test_noisy_ranks),
        cmocka_unit_test(test_slow_in_turns),  cmocka_unit_test(test_not_even_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

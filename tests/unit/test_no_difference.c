/* Settings that make no difference: which are said to, and what is left out of what is pasted. */
#include "scenarios/judge/raced.h"
#include "scenarios/sweep/race.h"

#include "core/base/rng.h"
#include "tests/support/judged.h"

#define MAX_CELLS 12
#define EXHAUSTIVE "sweep.exhaustive=true"
#define RACE "sweep.exhaustive=false"

static bool has(const json_t *list, const char *key)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), key) == 0)
            return true;
    return false;
}

/* Plants what the cells' rates truly are, 1e5 of them a unit, until the plan has ended. */
static void open_planted(struct judged *t, const char *const *settings, const double *truth)
{
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    struct dlb_err err;
    uint32_t n_run = 0, n_tasks;
    open_judged(t, settings);
    assert_true(t->plan.n_cells <= MAX_CELLS);
    do {
        n_tasks = t->plan.n_tasks;
        for (; n_run < n_tasks; n_run++) {
            const struct dlb_task *task = &t->plan.tasks[n_run];
            if (task->kind != DLB_TASK_CELL)
                continue;
            double rate = 1e5 * truth[task->index] * exp(0.002 * dlb_rng_normal(&rng));
            put(&t->results.cells[task->index], rep(rate, 0.5, task->block, 1000 + task->index));
        }
        if (t->plan.grows)
            assert_int_equal(dlb_scenario_by_name("sweep")->next(&t->plan, &t->results, &err),
                             DLB_OK);
    } while (t->plan.n_tasks > n_tasks);
    judge(t);
}

/* Two numbers of workers, of which the smaller loses half, with what else is swept. */
#define WORKERS "run.repeats=6", "sweep.loader.num_workers=[1, 2]"

static void test_what_makes_none_is_left_out(void **state)
{
    (void)state;
    static const char *const how[] = {EXHAUSTIVE, RACE};
    for (int i = 0; i < 2; i++) {
        struct judged t;
        const char *const settings[] = {how[i], WORKERS, "sweep.loader.pin_memory=[false, true]",
                                        "sweep.loader.prefetch_factor=[2, 4]", NULL};
        /* prefetch_factor = 2 loses a fifth */
        open_planted(&t, settings, (const double[]){.4, .5, .4, .5, .8, 1, .8, 1});
        assert_int_equal(t.j.recommended, 5);
        assert_int_equal(json_array_size(t.j.no_difference), 1);
        assert_true(has(t.j.no_difference, "loader.pin_memory"));
        assert_int_equal(json_array_size(t.j.left_out), 0);
        assert_non_null(strstr(t.j.pytorch, "num_workers=2, pin_memory=True, prefetch_factor=4, "));
        assert_non_null(strstr(t.j.pytorch, ")  # pin_memory: "));
        assert_non_null(strstr(t.j.text, " pin_memory"));
        json_t *detail = dlb_raced_detail_json(&t.plan, &t.j);
        assert_true(json_equal(json_object_get(detail, "no_difference"), t.j.no_difference));
        assert_true(json_equal(json_object_get(detail, "left_out"), t.j.left_out));
        assert_int_equal(json_is_null(json_object_get(detail, "stopped")), i == 0);
        json_decref(detail);
        close_judged(&t);
    }
}

/* PyTorch's default was not measured: the key stays. */
static void test_an_unmeasured_default_is_not_left_to(void **state)
{
    (void)state;
    struct judged t;
    const char *const settings[] = {EXHAUSTIVE, WORKERS, "sweep.loader.prefetch_factor=[4, 8]",
                                    NULL};
    open_planted(&t, settings, (const double[]){.5, .5, 1, 1});
    assert_true(has(t.j.no_difference, "loader.prefetch_factor"));
    assert_int_equal(json_array_size(t.j.left_out), 0);
    assert_non_null(strstr(t.j.pytorch, "prefetch_factor=4"));
    close_judged(&t);
}

/* The smaller of two numbers of workers is enough, and is set, as is what decides which samples the
 * training gets. */
static void test_what_is_never_left_out(void **state)
{
    (void)state;
    struct judged t;
    const char *const settings[] = {EXHAUSTIVE,
                                    "run.repeats=6",
                                    "sweep.loader.num_workers=[0, 1]",
                                    "sweep.loader.shuffle=[true, false]",
                                    "sweep.loader.drop_last=[true, false]",
                                    NULL};
    open_planted(&t, settings, (const double[]){1, 1, 1, 1, 1, 1, 1, 1});
    assert_int_equal(t.j.recommended, 0);
    assert_int_equal(json_array_size(t.j.no_difference), 3);
    assert_int_equal(json_array_size(t.j.left_out), 0);
    assert_non_null(strstr(t.j.pytorch, "num_workers=0"));
    assert_non_null(strstr(t.j.pytorch, "shuffle=True, drop_last=True"));
    close_judged(&t);
}

/* Of two keys whose default is another value, together they were not compared with it. */
static void test_one_value_is_changed_at_most(void **state)
{
    (void)state;
    struct judged t;
    for (int pinned = 0; pinned < 2; pinned++) { /* the value that is pasted is True */
        const char *pin = pinned ? "sweep.loader.pin_memory=[true, false]"
                                 : "sweep.loader.pin_memory=[false, true]";
        const char *const settings[] = {EXHAUSTIVE, WORKERS, pin,
                                        "sweep.loader.order=[\"any\", \"in-order\"]", NULL};
        open_planted(&t, settings, (const double[]){.5, .5, .5, .5, 1, 1, 1, 1});
        assert_int_equal(t.j.recommended, 4);
        assert_int_equal(json_array_size(t.j.no_difference), 2);
        assert_int_equal(json_array_size(t.j.left_out), pinned);
        assert_non_null(strstr(t.j.pytorch, "pin_memory=True"));
        assert_int_equal(strstr(t.j.pytorch, "in_order=False") == NULL, pinned);
        close_judged(&t);
    }
}

/* Threads start in no time; PyTorch's workers are processes. */
static void test_persistent_workers(void **state)
{
    (void)state;
    static const char *const kinds[] = {"loader.kind=threads", "loader.kind=processes"};
    for (int i = 0; i < 2; i++) {
        struct judged t;
        const char *axis = "sweep.loader.persistent_workers=[false, true]";
        const char *const settings[] = {EXHAUSTIVE, WORKERS, "run.epochs=3", axis, kinds[i], NULL};
        open_planted(&t, settings, (const double[]){.5, .5, 1, 1});
        assert_true(has(t.j.no_difference, "loader.persistent_workers"));
        assert_int_equal(json_array_size(t.j.left_out), i);
        assert_int_equal(strstr(t.j.pytorch, "persistent_workers") == NULL, i);
        close_judged(&t);
    }
}

/* Every value must be measured and judged, and more than twice. */
static void test_what_was_not_measured_is_not_known(void **state)
{
    (void)state;
    struct judged t;
    const char *const settings[] = {EXHAUSTIVE, WORKERS, "sweep.loader.pin_memory=[false, true]",
                                    NULL};
    open_planted(&t, settings, (const double[]){.5, .5, 1, 1});
    assert_int_equal(json_array_size(t.j.no_difference), 1);
    dlb_judgement_free(&t.j);
    for (uint32_t i = 0; i < 4; i++) /* as if the sweep had been interrupted */
        t.results.cells[i].n = 2;
    judge(&t);
    assert_int_equal(json_array_size(t.j.no_difference), 0);
    assert_non_null(strstr(t.j.pytorch, "pin_memory=False"));
    dlb_judgement_free(&t.j);
    for (uint32_t i = 0; i < 4; i++)
        t.results.cells[i].n = 6;
    put(&t.results.cells[3], lost(6));
    judge(&t);
    assert_int_equal(json_array_size(t.j.no_difference), 0);
    close_judged(&t);

    /* With 0 workers prefetch_factor has no meaning, so num_workers has no value 0 with 4. */
    const char *const some[] = {EXHAUSTIVE, "run.repeats=6", "sweep.loader.num_workers=[0, 1]",
                                "sweep.loader.prefetch_factor=[2, 4]", NULL};
    open_planted(&t, some, (const double[]){.5, 0, .5, 1});
    assert_int_equal(t.j.recommended, 3);
    assert_int_equal(json_array_size(t.j.no_difference), 0);
    close_judged(&t);
}

/* Rates of other work are not compared, nor are those of a sweep that has not ended. */
static void test_what_is_not_compared(void **state)
{
    (void)state;
    struct judged t;
    const char *const settings[] = {EXHAUSTIVE, "run.repeats=6", "sweep.loader.batch_size=[8, 16]",
                                    "device.step_ms=2", NULL};
    open_planted(&t, settings, (const double[]){1, 1});
    assert_int_equal(json_array_size(t.j.no_difference), 0);
    close_judged(&t);
    const char *const raced[] = {RACE, WORKERS, "sweep.loader.pin_memory=[false, true]", NULL};
    open_planted(&t, raced, (const double[]){.5, .5, 1, 1});
    assert_true(has(t.j.no_difference, "loader.pin_memory"));
    dlb_judgement_free(&t.j);
    t.plan.race->race.stopped = DLB_RACE_GOES_ON;
    judge(&t);
    assert_int_equal(json_array_size(t.j.no_difference), 0);
    close_judged(&t);
}

/* What is left out is PyTorch's default: these names and values are its documentation's. */
static void test_defaults_are_pytorchs(void **state)
{
    (void)state;
    static const struct {
        const char *key, *def;
    } known[] = {{"prefetch_factor", "2"},
                 {"pin_memory", "false"},
                 {"persistent_workers", "false"},
                 {"timeout_s", "0"},
                 {"order", "in-order"}};
    uint32_t n = 0;
    for (const struct dlb_opt *opt = dlb_loader_group.opts; opt->key; opt++)
        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
            if (strcmp(opt->key, known[i].key) == 0) {
                assert_string_equal(opt->def, known[i].def);
                n++;
            }
    assert_int_equal(n, sizeof(known) / sizeof(*known));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_makes_none_is_left_out),
        cmocka_unit_test(test_an_unmeasured_default_is_not_left_to),
        cmocka_unit_test(test_what_is_never_left_out),
        cmocka_unit_test(test_one_value_is_changed_at_most),
        cmocka_unit_test(test_persistent_workers),
        cmocka_unit_test(test_what_was_not_measured_is_not_known),
        cmocka_unit_test(test_what_is_not_compared),
        cmocka_unit_test(test_defaults_are_pytorchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which repetitions are measured again, where in the plan, and what becomes of the first ones. */
#include "scenarios/run/again.h"

#include "scenarios/run/trace_path.h"
#include "tests/support/folder.h"
#include "tests/support/judged.h"

static const struct dlb_strain stolen = {.n_ticks = 1000, .stolen_frac = 0.1};

static struct dlb_cell_result run_of(double rate, uint32_t block, bool disturbed, uint32_t again)
{
    struct dlb_cell_result out = rep(rate, 0.5, block, 1000);
    if (disturbed)
        out.loop.strain = stolen;
    out.again = again;
    return out;
}

static const struct dlb_again_of every = {NULL, NULL};

static bool no_ceiling(void *ctx, const struct dlb_task *task)
{
    (void)ctx;
    return task->kind != DLB_TASK_CEILING;
}

static const char *const settings[] = {"sweep.loader.num_workers=[0, 1, 2]", "run.repeats=3", NULL};

/* The last task of a block. */
static uint32_t end_of(const struct dlb_plan *plan, uint32_t block)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < plan->n_tasks; i++)
        if (plan->tasks[i].block == block && plan->tasks[i].kind == DLB_TASK_CELL)
            at = i;
    while (at + 1 < plan->n_tasks && plan->tasks[at + 1].block == block)
        at++;
    return at;
}

static void test_only_what_was_disturbed(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    for (uint32_t c = 0; c < 3; c++)
        put(&t.results.cells[c], run_of(100, 0, c == 1, 0));
    put(&t.results.ceilings[0], run_of(100, 0, true, 0));
    uint32_t at = end_of(&t.plan, 0), n = t.plan.n_tasks;
    struct dlb_task next = t.plan.tasks[at + 1];
    assert_int_equal(dlb_again_add(&t.plan, &t.results, &every, at), 2);
    assert_int_equal(t.plan.n_tasks, n + 2);
    const struct dlb_task *added = &t.plan.tasks[at + 1];
    assert_int_equal(added[0].kind, DLB_TASK_CELL);
    assert_int_equal(added[0].index, 1);
    assert_int_equal(added[0].block, 0);
    assert_int_equal(added[0].again, 1);
    assert_int_equal(added[1].kind, DLB_TASK_CEILING);
    assert_memory_equal(&added[2], &next, sizeof(next)); /* the rest of the plan follows */
    close_judged(&t);
}

/* What the runner would drop is not added: it would be added for ever. */
static void test_nothing_that_is_dropped(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    put(&t.results.cells[1], run_of(100, 0, true, 0));
    put(&t.results.ceilings[0], run_of(100, 0, true, 0));
    const struct dlb_again_of of = {no_ceiling, NULL};
    uint32_t at = end_of(&t.plan, 0);
    assert_int_equal(dlb_again_add(&t.plan, &t.results, &of, at), 1);
    assert_int_equal(t.plan.tasks[at + 1].kind, DLB_TASK_CELL);
    close_judged(&t);
}

static void test_three_times_at_most(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    struct dlb_cell_result result = run_of(100, 0, true, 0);
    dlb_reps_add(&t.results.cells[0], &result);
    for (uint32_t again = 1; again <= DLB_AGAIN_MAX; again++) {
        assert_int_equal(dlb_again_add(&t.plan, &t.results, &every, end_of(&t.plan, 0)), 1);
        result = run_of(100 + again, 0, true, again);
        dlb_reps_replace(&t.results.cells[0], &result);
    }
    assert_int_equal(dlb_again_add(&t.plan, &t.results, &every, end_of(&t.plan, 0)), 0);
    assert_int_equal(t.results.cells[0].n, 1);
    assert_int_equal(t.results.cells[0].n_passed, 3);
    assert_true(dlb_cell_result_samples_per_s(&t.results.cells[0].rep[0]) == 103);
    close_judged(&t);
}

static void test_a_quiet_one_ends_it(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    struct dlb_cell_result result = run_of(100, 0, true, 0);
    dlb_reps_add(&t.results.cells[0], &result);
    result = run_of(200, 0, false, 1);
    dlb_reps_replace(&t.results.cells[0], &result);
    assert_int_equal(dlb_again_add(&t.plan, &t.results, &every, end_of(&t.plan, 0)), 0);
    assert_true(dlb_cell_result_samples_per_s(&t.results.cells[0].rep[0]) == 200);
    close_judged(&t);
}

/* On a machine that is always disturbed, each repetition is measured once. */
static void test_steady_disturbance_ends_it(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t again = 0; again <= DLB_AGAIN_MAX; again++) {
            struct dlb_cell_result result = run_of(100, 0, true, again);
            if (again == 0)
                dlb_reps_add(&t.results.cells[c], &result);
            else
                dlb_reps_replace(&t.results.cells[c], &result);
        }
    put(&t.results.cells[0], run_of(100, 1, true, 0));
    assert_int_equal(dlb_again_add(&t.plan, &t.results, &every, end_of(&t.plan, 1)), 0);
    close_judged(&t);
}

/* A repetition that had a warm pass of its own, as beside cold cells, gets one again. */
static void test_warm_again(void **state)
{
    (void)state;
    struct judged t;
    open_judged(
        &t, (const char *const[]){"sweep.run.cache=[\"cold\", \"warm\"]", "dataset.path=/d", NULL});
    put(&t.results.cells[1], run_of(100, 0, true, 0));
    uint32_t at = end_of(&t.plan, 0);
    assert_int_equal(dlb_again_add(&t.plan, &t.results, &every, at), 1);
    assert_int_equal(t.plan.tasks[at + 1].kind, DLB_TASK_WARM);
    assert_true(t.plan.tasks[at + 1].for_next);
    assert_int_equal(t.plan.tasks[at + 2].kind, DLB_TASK_CELL);
    assert_int_equal(t.plan.tasks[at + 2].index, 1);
    close_judged(&t);
}

/* An interrupted run takes nothing's place; one that failed fails its cell, as any. */
static void test_what_does_not_stand(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    struct dlb_cell_result result = run_of(100, 0, true, 0);
    dlb_reps_add(&t.results.cells[0], &result);
    result = run_of(50, 0, false, 1);
    result.status = DLB_REP_CANCELLED;
    dlb_reps_replace(&t.results.cells[0], &result);
    assert_true(dlb_cell_result_samples_per_s(&t.results.cells[0].rep[0]) == 100);
    result = lost(0);
    dlb_reps_replace(&t.results.cells[0], &result);
    judge(&t);
    assert_int_equal(t.j.cells[0].status, DLB_CELL_FAILED);
    close_judged(&t);
}

/* One value for each block is judged; the rest is published. */
static void test_judged_and_published(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    for (uint32_t b = 0; b < 3; b++)
        for (uint32_t c = 0; c < 3; c++)
            put(&t.results.cells[c],
                run_of(c == 0 && b == 1 ? 600 : 1000 + 500 * c + b, b, c == 0 && b == 1, 0));
    struct dlb_cell_result result = run_of(1001, 1, false, 1);
    dlb_reps_replace(&t.results.cells[0], &result);
    judge(&t);
    assert_int_equal(t.j.cells[0].n_values, 3);
    assert_true(t.j.cells[0].rate.low == 1000 && t.j.cells[0].rate.high == 1002);
    assert_true(t.j.noise_floor_frac < 0.01);
    assert_false(t.j.too_busy);
    size_t n;
    assert_non_null(noted(t.j.notes, "DISTURBED", &n));
    assert_int_equal(n, 1);
    close_judged(&t);
}

/* Repetitions that differ by more than the cells do: nothing is recommended, nothing to paste. */
static void test_too_busy_to_tell(void **state)
{
    (void)state;
    static const double rates[3][3] = {{700, 1300, 1000}, {1290, 1010, 710}, {1020, 690, 1310}};
    for (int busy = 0; busy < 2; busy++) {
        struct judged t;
        open_judged(&t, settings);
        for (uint32_t b = 0; b < 3; b++)
            for (uint32_t c = 0; c < 3; c++)
                put(&t.results.cells[c], run_of(busy ? rates[c][b] : 1000 + b + c, b, false, 0));
        judge(&t);
        assert_int_equal(t.j.too_busy, busy);
        assert_int_equal(t.j.pytorch[0] == '\0', busy);
        assert_true(!busy || (t.j.recommended < 0 && !t.j.separable && t.j.n_set == 0));
        assert_true(busy ? t.j.noise_floor_frac > 0.3 : t.j.noise_floor_frac < 0.02);
        close_judged(&t);
    }
}

/* One cell is far behind, the others are within the noise of the best: which is better does not
 * show, and what would be pasted may lose more than the verdict warns of. */
static void test_too_busy_to_tell_the_best(void **state)
{
    (void)state;
    static const double rates[3][3] = {{700, 1300, 1000}, {1290, 1010, 710}, {102, 69, 131}};
    for (int busy = 0; busy < 2; busy++) {
        struct judged t;
        open_judged(&t, settings);
        for (uint32_t b = 0; b < 3; b++)
            for (uint32_t c = 0; c < 3; c++)
                put(&t.results.cells[c],
                    run_of(busy ? rates[c][b] : (c == 2 ? 100 : 1000 + b + c), b, false, 0));
        judge(&t);
        assert_int_equal(t.j.too_busy, busy);
        assert_int_equal(t.j.pytorch[0] == '\0', busy);
        assert_int_equal(t.j.recommended < 0, busy);
        close_judged(&t);
    }
}

static void leave_timeline(uint32_t block, uint32_t again)
{
    char path[PATH_MAX];
    struct dlb_err err;
    assert_int_equal(dlb_trace_path(folder, block, again, path, &err), DLB_OK);
    folder_write(strrchr(path, '/') + 1, "x", 1);
}

/* A run keeps the timelines that its result may show, and no other. */
static void test_timelines(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, settings);
    struct dlb_reps *reps = &t.results.cells[0];
    put(reps, run_of(100, 0, true, 0));
    leave_timeline(0, 0);
    dlb_trace_drop(folder, reps, 0, 0);
    assert_true(folder_has("trace-0-0"));
    struct dlb_cell_result result = run_of(200, 0, false, 1);
    dlb_reps_replace(reps, &result);
    leave_timeline(0, 1);
    dlb_trace_drop(folder, reps, 0, 1);
    assert_false(folder_has("trace-0-0"));
    assert_true(folder_has("trace-0-1"));
    struct dlb_cell_result failed = run_of(100, 1, false, 0);
    failed.status = DLB_REP_FAILED;
    put(reps, failed);
    leave_timeline(1, 0);
    dlb_trace_drop(folder, reps, 1, 0);
    assert_false(folder_has("trace-1-0"));
    assert_true(folder_has("trace-0-1"));
    close_judged(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_was_disturbed),
        cmocka_unit_test(test_nothing_that_is_dropped),
        cmocka_unit_test(test_three_times_at_most),
        cmocka_unit_test(test_a_quiet_one_ends_it),
        cmocka_unit_test(test_steady_disturbance_ends_it),
        cmocka_unit_test(test_warm_again),
        cmocka_unit_test(test_what_does_not_stand),
        cmocka_unit_test(test_judged_and_published),
        cmocka_unit_test(test_too_busy_to_tell),
        cmocka_unit_test(test_too_busy_to_tell_the_best),
        cmocka_unit_test_setup_teardown(test_timelines, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

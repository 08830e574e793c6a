/* What a plan does to the page cache: which data are read beforehand, and when. */
#include "tests/support/planned.h"

#include <stdint.h>
#include <string.h>

static void test_warm_pass(void **state)
{
    (void)state;
    const char *const files[] = {"dataset.format=files", "dataset.codec=jpeg", "run.epochs=5",
                                 "run.max_batches=3", NULL};
    const char *const null[] = {"dataset.format=synthetic", "dataset.codec=raw", NULL};
    struct dlb_plan plan = planned("sweep", files);
    assert_int_equal(plan.n_warms, 1);
    assert_string_equal(dlb_codecs[plan.warms[0].dataset.codec]->name, "raw");
    assert_int_equal(plan.warms[0].run.max_batches, 0);
    assert_int_equal(plan.warms[0].run.epochs, 1);
    dlb_plan_free(&plan);
    plan = planned("sweep", null);
    assert_int_equal(plan.n_warms, 0);
    dlb_plan_free(&plan);
    plan = planned("run", files);
    assert_int_equal(plan.n_warms, 0);
    dlb_plan_free(&plan);
}

/* What reads past the page cache finds nothing there. */
static void test_direct_is_not_warmed(void **state)
{
    (void)state;
    const char *const some[] = {"dataset.codec=raw", "sweep.loader.direct=[true, false]", NULL};
    const char *const all[] = {"dataset.codec=raw", "dataset.access=direct", NULL};
    struct dlb_plan plan = planned("sweep", some);
    assert_int_equal(plan.n_warms, 1);
    assert_false(plan.warms[0].loader.direct);
    assert_int_equal(plan.warms[0].loader.io, DLB_READ_SYNC);
    dlb_plan_free(&plan);
    plan = planned("sweep", all);
    assert_int_equal(plan.n_warms, 0);
    dlb_plan_free(&plan);
}

/* Where warm and cold cells take turns, each warm one needs a pass of its own. */
static void test_warm_cells_are_warmed_each_time(void **state)
{
    (void)state;
    const char *const both[] = {"dataset.codec=raw", "run.repeats=3",
                                "sweep.run.cache=[\"warm\", \"cold\"]", NULL};
    const char *const cold[] = {"dataset.codec=raw", "run.cache=cold", NULL};
    const char *const direct[] = {"dataset.codec=raw", "run.cache=warm", "loader.direct=true",
                                  NULL};
    uint32_t n_warm = 0;
    struct dlb_plan plan = planned("sweep", both);
    assert_int_equal(plan.n_warms, 1);
    assert_int_equal(plan.warms[0].run.cache, DLB_RUN_AS_IS);
    for (uint32_t i = 0; i < plan.n_tasks; i++) {
        const struct dlb_task *task = &plan.tasks[i];
        bool is_warm_cell =
            (task->kind == DLB_TASK_CELL || task->kind == DLB_TASK_REFERENCE) && task->index == 0;
        if (task->kind == DLB_TASK_WARM) {
            assert_true(task->for_next);
            n_warm++;
        }
        if (is_warm_cell) {
            assert_int_equal(plan.tasks[i - 1].kind, DLB_TASK_WARM);
            assert_int_equal(plan.tasks[i - 1].block, task->block);
        }
    }
    assert_int_equal(n_warm,
                     3 + 4); /* cell and reference in each block, the reference at the end */
    dlb_plan_free(&plan);

    plan = planned("sweep", cold);
    assert_int_equal(plan.n_warms, 0);
    dlb_plan_free(&plan);
    plan = planned("run", direct);
    assert_int_equal(plan.n_warms, 0);
    dlb_plan_free(&plan);
}

/* All cells of a block find what one pass left, and so does the reference after the last block. */
static void test_warm_data_are_read_before_each_block(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.codec=raw", "run.repeats=3", "run.cache=warm",
                                    "sweep.loader.num_workers=[1, 2, 4]", NULL};
    for (int sweeps = 0; sweeps < 2; sweeps++) {
        struct dlb_plan plan = planned(sweeps ? "sweep" : "run", settings);
        uint32_t n_warm = 0, n_blocks = sweeps ? 4 : 3;
        assert_int_equal(plan.n_warms, 1);
        for (uint32_t i = 0; i < plan.n_tasks; i++) {
            const struct dlb_task *task = &plan.tasks[i];
            bool begins = i == 0 || task->block != plan.tasks[i - 1].block;
            assert_int_equal(task->kind == DLB_TASK_WARM, begins);
            assert_false(task->for_next);
            n_warm += begins;
        }
        assert_int_equal(n_warm, n_blocks);
        dlb_plan_free(&plan);
    }
}

static void test_caches_are_dropped_before_cold_runs(void **state)
{
    (void)state;
    const char *const both[] = {"dataset.codec=raw", "run.drop_caches=true",
                                "sweep.run.cache=[\"warm\", \"cold\"]", NULL};
    struct dlb_plan plan = planned("sweep", both);
    assert_true(echoes_null(&plan, 0, "run.drop_caches"));
    assert_true(plan.cells[1].spec->run.drop_caches);
    assert_false(plan.cells[0].spec->run.drop_caches || plan.warms[0].run.drop_caches);
    dlb_plan_free(&plan);
}

/* Each data set on a disk is read once, whatever else is swept; each cell knows its own kind. */
static void test_every_data_set_is_warmed(void **state)
{
    (void)state;
    const char *const paths[] = {"dataset.path=base",
                                 "dataset.codec=raw",
                                 "loader.shuffle=true",
                                 "sweep.dataset.path=[\"a\", \"b\"]",
                                 "sweep.loader.batch_size=[8, 16]",
                                 NULL};
    struct dlb_plan plan = planned("sweep", paths);
    assert_int_equal(plan.n_warms, 2);
    assert_string_equal(plan.warms[0].dataset.path, "a");
    assert_string_equal(plan.warms[1].dataset.path, "b");
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(plan.tasks[i].kind, DLB_TASK_WARM);
        assert_int_equal(plan.tasks[i].index, i);
    }
    assert_int_equal(plan.tasks[2].kind, DLB_TASK_REFERENCE);
    dlb_plan_free(&plan);

    if (dlb_format_by_name("webdataset")->missing)
        return; /* its cells are skipped then, for that reason */
    const char *const formats[] = {
        "dataset.codec=raw", "loader.shuffle=true",
        "sweep.dataset.format=[\"files\", \"webdataset\", \"synthetic\"]",
        "sweep.loader.shuffle_buffer=[100, 1000]", NULL};
    plan = planned("sweep", formats);
    assert_int_equal(plan.n_warms, 2);
    static const bool skipped[] = {false, true, false, false, false, true};
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(plan.cells[i].skipped, skipped[i]);
        assert_int_equal(plan.cells[i].iterable, i / 2 == 1);
    }
    dlb_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_pass),
        cmocka_unit_test(test_direct_is_not_warmed),
        cmocka_unit_test(test_warm_cells_are_warmed_each_time),
        cmocka_unit_test(test_warm_data_are_read_before_each_block),
        cmocka_unit_test(test_caches_are_dropped_before_cold_runs),
        cmocka_unit_test(test_every_data_set_is_warmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

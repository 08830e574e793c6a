/* From a configuration to cells, ceilings and an order of execution. */
#include "loaders/uring.h"
#include "tests/support/planned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t count_run(const struct dlb_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_cells; i++)
        n += !plan->cells[i].skipped;
    return n;
}

static void test_default_grid(void **state)
{
    (void)state;
    const char *const settings[] = {"run.epochs=3", NULL};
    struct dlb_plan plan = planned("sweep", settings);
    assert_int_equal(plan.n_cells, 4 * 2 * 2 * 2); /* workers 0, 1, 2, 4 on four CPUs */
    assert_int_equal(count_run(&plan), 2 + 3 * 8);
    for (uint32_t i = 0; i < plan.n_cells; i++) {
        const struct dlb_plan_cell *cell = &plan.cells[i];
        bool zero = cell->spec->loader.num_workers == 0;
        assert_true(zero || !cell->skipped);
        if (cell->skipped) {
            assert_non_null(strstr(cell->reason, "loader.num_workers = 0"));
        } else {
            assert_int_equal(zero, echoes_null(&plan, i, "loader.prefetch_factor"));
            assert_int_equal(zero, echoes_null(&plan, i, "loader.persistent_workers"));
        }
    }
    dlb_plan_free(&plan);
}

static void test_persistent_needs_three_epochs(void **state)
{
    (void)state;
    const char *const settings[] = {"run.epochs=2", "loader.num_workers=2",
                                    "sweep.loader.persistent_workers=[true, false]", NULL};
    struct dlb_plan plan = planned("sweep", settings);
    assert_int_equal(plan.n_cells, 2);
    assert_false(plan.cells[0].skipped); /* the first of what cannot be told apart */
    assert_true(plan.cells[1].skipped);
    assert_non_null(strstr(plan.cells[1].reason, "3 run.epochs"));
    assert_true(plan.cells[0].spec->loader.persistent_workers);
    dlb_plan_free(&plan);
}

static void test_any_key_can_be_swept(void **state)
{
    (void)state;
    const char *const settings[] = {"sweep.loader.batch_size=[8, 16, 32]",
                                    "sweep.device.step_ms=[1, 2]",
                                    "sweep.dataset.codec=[\"raw\", \"jpeg\"]", NULL};
    struct dlb_plan plan = planned("sweep", settings);
    assert_int_equal(plan.n_cells, 12);
    assert_int_equal(count_run(&plan), 12);
    assert_int_equal(plan.cells[0].spec->loader.batch_size, 8);
    assert_int_equal(plan.cells[11].spec->loader.batch_size, 32);
    assert_string_equal(dlb_codecs[plan.cells[0].spec->dataset.codec]->name, "raw");
    assert_string_equal(dlb_codecs[plan.cells[1].spec->dataset.codec]->name, "jpeg");
    assert_int_equal(plan.n_ceilings, 12); /* each is another batch, step or content */
    dlb_plan_free(&plan);
}

static void test_what_loaders_refuse_is_skipped(void **state)
{
    (void)state;
    const char *const settings[] = {"loader.kind=threads", "sweep.loader.num_workers=[0, 2]", NULL};
    struct dlb_plan plan = planned("sweep", settings);
    assert_true(plan.cells[0].skipped);
    assert_true(plan.cells[0].reason[0] != '\0');
    assert_false(plan.cells[1].skipped);
    dlb_plan_free(&plan);
}

static void test_nothing_to_run_is_an_error(void **state)
{
    (void)state;
    struct dlb_plan plan;
    struct dlb_err err;
    const char *const settings[] = {"loader.kind=threads", "sweep.loader.num_workers=[0]", NULL};
    struct dlb_config *cfg = config_of(settings);
    assert_int_equal(plan_of("sweep", cfg, &plan, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_SWEEP_ALL_SKIPPED);
    dlb_config_free(cfg);
}

static void test_too_many_cells(void **state)
{
    (void)state;
    struct dlb_plan plan;
    struct dlb_err err;
    char list[2][4096] = {"sweep.loader.batch_size=[1", "sweep.run.seed=[0"};
    for (int i = 2; i <= 100; i++)
        for (int k = 0; k < 2; k++)
            (void)snprintf(list[k] + strlen(list[k]), sizeof(list[k]) - strlen(list[k]), ",%d", i);
    (void)strcat(list[0], "]");
    (void)strcat(list[1], "]");
    const char *const settings[] = {list[0], list[1], NULL};
    struct dlb_config *cfg = config_of(settings);
    assert_int_equal(plan_of("sweep", cfg, &plan, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_SWEEP_SIZE);
    dlb_config_free(cfg);
}

static bool same_order(const struct dlb_plan *a, const struct dlb_plan *b)
{
    bool same = a->n_tasks == b->n_tasks;
    for (uint32_t i = 0; same && i < a->n_tasks; i++)
        same = a->tasks[i].kind == b->tasks[i].kind && a->tasks[i].index == b->tasks[i].index &&
               a->tasks[i].block == b->tasks[i].block &&
               a->tasks[i].for_next == b->tasks[i].for_next;
    return same;
}

static void test_blocks_hold_everything_once_in_their_own_order(void **state)
{
    (void)state;
    const char *const settings[] = {"run.repeats=4", "run.seed=5",
                                    "sweep.loader.num_workers=[0,1,2,3,4,5,6,7]", NULL};
    struct dlb_plan plan = planned("sweep", settings);
    uint32_t at = 0, order[4][9], n_equal = 0;
    assert_int_equal(plan.tasks[at++].kind, DLB_TASK_WARM);
    for (uint32_t block = 0; block < 4; block++) {
        uint32_t seen = 0;
        assert_int_equal(plan.tasks[at].kind, DLB_TASK_REFERENCE);
        assert_int_equal(plan.tasks[at++].index, plan.reference);
        for (uint32_t i = 0; i < 9; i++, at++) {
            const struct dlb_task *task = &plan.tasks[at];
            uint32_t bit = task->kind == DLB_TASK_CEILING ? 8 : task->index;
            assert_int_equal(task->block, block);
            assert_false(seen & (1u << bit));
            seen |= 1u << bit;
            order[block][i] = bit;
        }
        assert_int_equal(seen, 0x1ff);
    }
    assert_int_equal(plan.tasks[at++].kind, DLB_TASK_REFERENCE);
    assert_int_equal(plan.n_tasks, at);
    for (uint32_t block = 1; block < 4; block++)
        n_equal += memcmp(order[0], order[block], sizeof(order[0])) == 0;
    assert_true(n_equal < 3);
    dlb_plan_free(&plan);
}

static void test_order_comes_from_the_seed(void **state)
{
    (void)state;
    const char *const five[] = {"run.seed=5", "sweep.loader.num_workers=[0,1,2,3,4,5,6,7]", NULL};
    const char *const six[] = {"run.seed=6", "sweep.loader.num_workers=[0,1,2,3,4,5,6,7]", NULL};
    struct dlb_plan a = planned("sweep", five), b = planned("sweep", five);
    struct dlb_plan c = planned("sweep", six);
    assert_true(same_order(&a, &b));
    assert_false(same_order(&a, &c));
    dlb_plan_free(&a);
    dlb_plan_free(&b);
    dlb_plan_free(&c);
}

/* All that the device sees is the cell's; what loading costs is left out. */
static void test_ceiling_is_the_cell_with_batches_ready(void **state)
{
    (void)state;
    const char *const settings[] = {"device.step_ms=1000",
                                    "device.prefetch=1",
                                    "device.copy_us=20",
                                    "loader.sample_sleep_us=500",
                                    "loader.num_workers=2",
                                    "loader.pin_memory=true",
                                    "loader.batch_size=7",
                                    "loader.drop_last=true",
                                    "run.world=3",
                                    "run.cache=cold",
                                    "dataset.format=files",
                                    "dataset.codec=raw",
                                    "dataset.path=/somewhere",
                                    NULL};
    struct dlb_plan plan = planned("run", settings);
    assert_int_equal(plan.n_ceilings, 1);
    assert_int_equal(plan.n_resident, 1);
    const struct dlb_spec *ceiling = &plan.ceilings[0], *cell = plan.cells[0].spec;
    assert_true(dlb_spec_section_equal(&dlb_dataset_group, ceiling, cell));
    assert_true(dlb_spec_section_equal(&dlb_device_group, ceiling, cell));
    assert_int_equal(ceiling->loader.batch_size, 7);
    assert_true(ceiling->loader.pin_memory && ceiling->loader.drop_last);
    assert_int_equal(ceiling->run.world, 3);
    assert_true(ceiling->loader.sample_sleep_us == 0);
    assert_int_equal(ceiling->run.cache, DLB_RUN_AS_IS);
    assert_int_equal(ceiling->run.max_batches, 3);
    assert_true(ceiling->run.epochs >= 3);
    /* Its process is given the same. */
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    struct dlb_err err;
    json_t *flat = dlb_spec_to_json(ceiling, false);
    assert_int_equal(dlb_spec_from_json(spec, flat, "test", &err), DLB_OK);
    assert_true(dlb_spec_equal(spec, ceiling));
    json_decref(flat);
    free(spec);
    dlb_plan_free(&plan);
}

/* Code that does not survive a fork has no worker of another kind. */
static void test_ceilings_of_pytorch_start_workers_as_their_cells_do(void **state)
{
    (void)state;
    static const struct {
        const char *workers;
        uint32_t n_ceilings;
    } rows[] = {{"loader.num_workers=2", 2}, {"loader.num_workers=0", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {
            "loader.kind=torch",     "dataset.codec=raw",
            rows[i].workers,         "sweep.python.start_method=[\"fork\", \"spawn\"]",
            "sweep.exhaustive=true", NULL};
        struct dlb_plan plan = planned("sweep", settings);
        assert_int_equal(plan.n_ceilings, rows[i].n_ceilings);
        for (uint32_t c = 0; c < plan.n_cells; c++)
            if (!plan.cells[c].skipped)
                assert_int_equal(plan.ceilings[plan.cells[c].ceiling].python.start_method,
                                 plan.cells[c].spec->python.start_method);
        dlb_plan_free(&plan);
    }
}

/* Cells that differ in how they load share a ceiling. */
static void test_ceilings_are_shared(void **state)
{
    (void)state;
    static const struct {
        const char *axis;
        uint32_t n_cells, n_ceilings;
    } rows[] = {
        {"sweep.loader.num_workers=[0, 1, 2, 4]", 4, 1},
        {"sweep.loader.prefetch_factor=[1, 2, 4]", 3, 1},
        {"sweep.loader.sample_sleep_us=[0, 100]", 2, 1},
        {"sweep.loader.order=[\"in-order\", \"any\"]", 2, 1},
        {"sweep.run.cache=[\"warm\", \"cold\"]", 2, 1},
        {"sweep.loader.kind=[\"threads\", \"processes\"]", 2, 2}, /* memory of two kinds */
        {"sweep.loader.transport=[\"pooled\", \"fresh\"]", 2, 2},
        {"sweep.loader.pin_memory=[true, false]", 2, 2},
        {"sweep.loader.batch_size=[8, 16]", 2, 2},
        {"sweep.loader.drop_last=[true, false]", 2, 2},
        {"sweep.device.prefetch=[0, 1, 2]", 3, 3},
        {"sweep.device.copy_us=[0, 10]", 2, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const settings[] = {"loader.num_workers=2", "dataset.codec=raw", rows[i].axis,
                                        NULL};
        struct dlb_plan plan = planned("sweep", settings);
        if (plan.n_ceilings != rows[i].n_ceilings)
            fail_msg("%s: %u ceilings", rows[i].axis, plan.n_ceilings);
        assert_int_equal(count_run(&plan), rows[i].n_cells);
        assert_int_equal(plan.n_resident, plan.n_ceilings);
        dlb_plan_free(&plan);
    }
}

static void test_streams_are_not_read_many_at_once(void **state)
{
    (void)state;
    if (dlb_uring_missing() || dlb_format_by_name("webdataset")->missing)
        skip();
    const char *const formats[] = {"dataset.codec=raw",
                                   "sweep.dataset.format=[\"files\", \"webdataset\"]",
                                   "sweep.loader.io=[\"sync\", \"io_uring\"]", NULL};
    struct dlb_plan plan = planned("sweep", formats);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(plan.cells[i].skipped, i == 3);
    assert_non_null(strstr(plan.cells[3].reason, "loader.io"));
    assert_true(echoes_null(&plan, 0, "loader.io_depth"));
    assert_false(echoes_null(&plan, 1, "loader.io_depth"));
    assert_int_equal(plan.cells[1].spec->loader.io_depth, 32);
    dlb_plan_free(&plan);
}

/* An option of a format's own section has a meaning with that format alone: with others, the cell
 * at the axis's first value stands for all. */
static void test_options_of_another_format_are_skipped(void **state)
{
    (void)state;
    const char *const formats[] = {"dataset.codec=raw",
                                   "sweep.dataset.format=[\"memory\", \"synthetic\"]",
                                   "sweep.memory.columns=[100, 200]", NULL};
    const char *const none[] = {"dataset.codec=raw", "dataset.format=files",
                                "sweep.memory.columns=[100, 200, 300]", NULL};
    struct dlb_plan plan = planned("sweep", formats);
    assert_int_equal(plan.n_cells, 4);
    for (uint32_t i = 0; i < 4; i++) {
        json_t *columns = echo_of(&plan, i, "memory.columns");
        assert_int_equal(plan.cells[i].skipped, i == 3);
        if (i < 2)
            assert_int_equal(json_integer_value(columns), i == 0 ? 100 : 200);
        else
            assert_true(json_is_null(columns));
        json_decref(columns);
    }
    assert_non_null(strstr(plan.cells[3].reason, "dataset.format"));
    assert_non_null(strstr(plan.cells[3].reason, "columns"));
    /* What has no meaning makes no difference: these ask for the same. */
    assert_true(dlb_spec_equal(plan.cells[2].spec, plan.cells[3].spec));
    assert_false(dlb_spec_equal(plan.cells[0].spec, plan.cells[1].spec));
    dlb_plan_free(&plan);

    plan = planned("sweep", none);
    assert_int_equal(count_run(&plan), 1);
    assert_false(plan.cells[0].skipped);
    assert_true(echoes_null(&plan, 0, "memory.columns"));
    dlb_plan_free(&plan);
}

/* A value that reaches the process of a cell is the swept one. */
static void test_a_format_s_own_value_reaches_its_cell(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.codec=raw", "dataset.format=memory",
                                    "sweep.memory.columns=[100, 200]", NULL};
    struct dlb_plan plan = planned("sweep", settings);
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    struct dlb_err err;
    for (uint32_t i = 0; i < 2; i++) {
        json_t *flat = dlb_spec_to_json(plan.cells[i].spec, false);
        assert_int_equal(dlb_spec_from_json(spec, flat, "test", &err), DLB_OK);
        assert_true(dlb_spec_equal(spec, plan.cells[i].spec));
        assert_false(dlb_spec_equal(spec, plan.cells[1 - i].spec));
        json_decref(flat);
    }
    free(spec);
    dlb_plan_free(&plan);
}

static void test_what_is_no_cells_cannot_be_swept(void **state)
{
    (void)state;
    struct dlb_plan plan;
    struct dlb_err err;
    const char *const settings[] = {"sweep.run.repeats=[1, 2]", NULL};
    const char *const seeds[] = {"sweep.run.seed=[1, 2]", NULL};
    struct dlb_config *cfg = config_of(settings);
    assert_int_equal(plan_of("sweep", cfg, &plan, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_SWEEP_OF_REPEATS);
    assert_non_null(strstr(err.what, "sweep.run.repeats"));
    dlb_config_free(cfg);
    plan = planned("sweep", seeds); /* each cell has its own */
    assert_int_equal(plan.cells[1].spec->run.seed, 2);
    dlb_plan_free(&plan);
}

static void test_run_is_one_cell(void **state)
{
    (void)state;
    const char *const settings[] = {"loader.num_workers=0", "sweep.loader.batch_size=[1, 2]",
                                    "run.repeats=2", NULL};
    struct dlb_plan plan = planned("run", settings);
    assert_int_equal(plan.n_cells, 1);
    assert_int_equal(plan.n_tasks, 4); /* cell and ceiling, twice */
    assert_int_equal(plan.reference, -1);
    assert_true(echoes_null(&plan, 0, "loader.prefetch_factor"));
    dlb_plan_free(&plan);
}

static int plan_file(const char *toml, const char *const *settings, struct dlb_plan *plan,
                     struct dlb_err *err)
{
    char path[] = "/tmp/dlb_plan_XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, toml, strlen(toml)), strlen(toml));
    (void)close(fd);
    const char *const none[] = {NULL};
    struct dlb_config *cfg = config_of(none);
    assert_int_equal(dlb_config_load(cfg, path, err), DLB_OK);
    (void)unlink(path);
    for (; *settings; settings++)
        assert_int_equal(dlb_config_set(cfg, *settings, err), DLB_OK);
    int rc = plan_of("run", cfg, plan, err);
    dlb_config_free(cfg);
    return rc;
}

/* DataLoader raises on these; a file that says one, overridden in the other, is no contradiction.
 */
static void test_zero_workers_contradictions(void **state)
{
    (void)state;
    struct dlb_plan plan;
    struct dlb_err err;
    const char *const none[] = {NULL}, *const zero[] = {"loader.num_workers=0", NULL};
    assert_int_equal(
        plan_file("[loader]\nnum_workers = 0\nprefetch_factor = 4\n", none, &plan, &err),
        DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKERS_CONTRADICTION);
    assert_non_null(strstr(err.what, "num_workers"));
    assert_int_equal(
        plan_file("[loader]\nnum_workers = 0\npersistent_workers = true\n", none, &plan, &err),
        DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKERS_CONTRADICTION);
    assert_int_equal(
        plan_file("[loader]\nnum_workers = 0\npersistent_workers = false\n", none, &plan, &err),
        DLB_OK);
    dlb_plan_free(&plan);
    assert_int_equal(
        plan_file("[loader]\nnum_workers = 2\nprefetch_factor = 4\n", zero, &plan, &err), DLB_OK);
    assert_true(echoes_null(&plan, 0, "loader.prefetch_factor"));
    dlb_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_grid),
        cmocka_unit_test(test_persistent_needs_three_epochs),
        cmocka_unit_test(test_any_key_can_be_swept),
        cmocka_unit_test(test_what_loaders_refuse_is_skipped),
        cmocka_unit_test(test_nothing_to_run_is_an_error),
        cmocka_unit_test(test_too_many_cells),
        cmocka_unit_test(test_blocks_hold_everything_once_in_their_own_order),
        cmocka_unit_test(test_order_comes_from_the_seed),
        cmocka_unit_test(test_ceiling_is_the_cell_with_batches_ready),
        cmocka_unit_test(test_ceilings_of_pytorch_start_workers_as_their_cells_do),
        cmocka_unit_test(test_ceilings_are_shared),
        cmocka_unit_test(test_streams_are_not_read_many_at_once),
        cmocka_unit_test(test_options_of_another_format_are_skipped),
        cmocka_unit_test(test_a_format_s_own_value_reaches_its_cell),
        cmocka_unit_test(test_what_is_no_cells_cannot_be_swept),
        cmocka_unit_test(test_run_is_one_cell),
        cmocka_unit_test(test_zero_workers_contradictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

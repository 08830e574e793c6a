/* PyTorch's own cells after the race: which there are, whose answer it is, and in what time. */
#include "scenarios/sweep/confirm.h"

#include "core/base/rng.h"
#include "scenarios/judge/raced.h"
#include "scenarios/plan/plan.h"
#include "scenarios/sweep/race.h"

#include "tests/support/judged.h"

#define CELL_S 1.0
#define MAX_CELLS 24

static void workers_are(int64_t answer, int64_t n_cpus, json_t *listed, const int64_t *wanted,
                        uint32_t n)
{
    int64_t found[DLB_CONFIRM_WORKERS];
    assert_int_equal(dlb_confirm_workers(answer, n_cpus, listed, found), n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(found[i], wanted[i]);
    json_decref(listed);
}

#define ARE(...)                                                                                   \
    (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

static void chooses_workers(void **state)
{
    (void)state;
    workers_are(2, 2, NULL, ARE(0, 1, 2, 4));
    workers_are(0, 1, NULL, ARE(0, 1));
    workers_are(0, 8, NULL, ARE(0, 1, 2, 4, 8));
    workers_are(2, 16, NULL, ARE(0, 1, 2, 4, 8, 16));
    workers_are(1, 64, NULL, ARE(0, 1, 2, 4, 8, 64));
    workers_are(12, 8, NULL, ARE(0, 1, 6, 8, 12, 24)); /* more workers than CPUs were asked for */
    workers_are(400, 8, NULL, ARE(0, 1, 8, 200, 400)); /* 800 are too many for any loader */
}

/* Numbers that the user listed are raced above the answer, whatever the CPUs are. */
static void chooses_listed_workers(void **state)
{
    (void)state;
    workers_are(2, 2, json_pack("[iiiii]", 0, 2, 4, 8, 16), ARE(0, 1, 2, 4, 8, 16));
    workers_are(2, 2, json_pack("[iiii]", 0, 1, 2, 4), ARE(0, 1, 2, 4));
    workers_are(2, 2, json_pack("[iii]", 64, 2, 0), ARE(0, 1, 2, 4, 64));
    workers_are(16, 2, json_pack("[iiiii]", 0, 2, 4, 8, 16), ARE(0, 1, 2, 8, 16, 32));
    workers_are(2, 2, json_pack("[iiiiiii]", 2, 3, 4, 5, 6, 7, 8), ARE(0, 1, 2, 4, 6, 8));
    workers_are(0, 2, json_pack("[iii]", 0, 3, 6), ARE(0, 1, 2, 3, 6));
    workers_are(2, 16, json_pack("[iii]", 0, 2, 20), ARE(1, 2, 4, 8, 16, 20));
}

struct held {
    struct judged t;
    double hardware[MAX_CELLS], torch[MAX_CELLS]; /* samples/s, by num_workers */
    bool torch_fails;
    double less_with_4;         /* share that PyTorch loses with prefetch_factor = 4 */
    uint32_t n_run, stop_after; /* tasks */
    double first_s;             /* what the first race took */
    struct dlb_rng rng;
};

static void open_held(struct held *h, const char *const *settings, bool there)
{
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    *h = (struct held){.stop_after = UINT32_MAX, .rng = dlb_rng_seed(3, 5, 7)};
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err))
            fail_msg("%s: %s", *settings, err.what);
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 4, .torch = {.there = there}};
    if (dlb_spec_from_config(&in.torch.configured, cfg, &err))
        fail_msg("%s", err.what);
    if (dlb_scenario_by_name("sweep")->plan(&in, &h->t.plan, &err))
        fail_msg("%s", err.what);
    dlb_results_init(&h->t.results, &h->t.plan);
    dlb_config_free(cfg);
    for (uint32_t w = 0; w < MAX_CELLS; w++)
        h->hardware[w] = h->torch[w] = 1000;
}

static struct dlb_cell_result measured(struct held *h, const struct dlb_task *task)
{
    const struct dlb_spec *spec = h->t.plan.cells[task->index].spec;
    bool torch = dlb_spec_is_torch(spec);
    if (torch && h->torch_fails)
        return lost(task->block);
    double rate = (torch ? h->torch : h->hardware)[spec->loader.num_workers];
    if (torch && spec->loader.prefetch_factor == 4)
        rate *= 1 - h->less_with_4;
    return rep(rate * exp(0.004 * dlb_rng_normal(&h->rng)), 0.5, task->block, 1000);
}

static void run_block(struct held *h)
{
    struct dlb_results *results = &h->t.results;
    dlb_results_grow(results, &h->t.plan);
    for (; h->n_run < h->t.plan.n_tasks && h->n_run < h->stop_after; h->n_run++) {
        const struct dlb_task *task = &h->t.plan.tasks[h->n_run];
        if (task->kind == DLB_TASK_CEILING)
            put(&results->ceilings[task->index], rep(1e6, 1, task->block, 0));
        else if (task->kind == DLB_TASK_REFERENCE)
            put(&results->reference, measured(h, task));
        else if (task->kind == DLB_TASK_CELL)
            put(&results->cells[task->index], measured(h, task));
        else if (task->kind == DLB_TASK_IN_C)
            put(&results->in_c, rep(1000, 0.5, task->block, 1000));
        results->elapsed_s += CELL_S;
        results->run_s[task->kind] += CELL_S;
    }
}

static void run_all(struct held *h)
{
    struct dlb_err err;
    uint32_t n;
    do {
        run_block(h);
        n = h->t.plan.n_tasks;
        if (h->n_run == h->stop_after) {
            h->t.results.interrupted = true;
            break;
        }
        bool first = !h->t.plan.hardware;
        assert_int_equal(dlb_scenario_by_name("sweep")->next(&h->t.plan, &h->t.results, &err),
                         DLB_OK);
        if (first && h->t.plan.hardware)
            h->first_s = h->t.results.elapsed_s;
    } while (h->t.plan.n_tasks > n);
    dlb_results_grow(&h->t.results, &h->t.plan);
    judge(&h->t);
}

static const char *const grid[] = {"sweep.loader.num_workers=[0, 1, 2, 4]",
                                   "loader.pin_memory=true", "sweep.loader.prefetch_factor=[2, 4]",
                                   "sweep.max_minutes=0", NULL};

/* Hardware is best with 4 workers, PyTorch with 1. */
static void plant(struct held *h)
{
    static const double hardware[] = {500, 700, 900, 0, 1300};
    static const double torch[] = {700, 900, 600, 0, 500, 0, 0, 0, 400};
    memcpy(h->hardware, hardware, sizeof(hardware));
    memcpy(h->torch, torch, sizeof(torch));
}

static void answer_is_pytorchs(void **state)
{
    (void)state;
    struct held h;
    open_held(&h, grid, true);
    plant(&h);
    run_all(&h);
    const struct dlb_plan *plan = &h.t.plan;
    assert_int_equal(plan->n_grid, 8);
    assert_in_range(plan->n_cells - plan->n_grid, 2, DLB_CONFIRM_CELLS);
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        assert_int_equal(dlb_plan_is_torch(plan, i), i >= plan->n_grid);
        assert_int_equal(h.t.j.cells[i].aside, i < plan->n_grid);
        if (h.t.j.cells[i].rival)
            assert_true(i >= plan->n_grid);
    }
    assert_int_equal(plan->hardware->race.stopped, DLB_RACE_DECIDED);
    assert_int_equal(plan->cells[plan->hardware->race.recommended].spec->loader.num_workers, 4);
    assert_true(h.t.j.recommended >= plan->n_grid);
    assert_int_equal(plan->cells[h.t.j.recommended].spec->loader.num_workers, 1);
    assert_int_equal(plan->in_c.cell, h.t.j.recommended);
    assert_int_equal(h.t.results.in_c.n, 3);
    assert_non_null(strstr(h.t.j.pytorch, "num_workers=1,"));
    assert_noted(h.t.j.not_modelled, "PIN_MEMORY_UNMEASURED", NULL);
    assert_null(noted(h.t.j.not_modelled, "NO_INTERPRETER", NULL));
    json_t *detail = dlb_raced_detail_json(plan, &h.t.j), *first;
    assert_int_equal(dlb_json_u64(detail, "cell", 99), h.t.j.recommended);
    assert_non_null(first = json_object_get(detail, "hardware"));
    assert_int_equal(dlb_json_u64(first, "cell", 99), plan->hardware->race.recommended);
    assert_int_equal(dlb_json_u64(first, "blocks", 0) + dlb_json_u64(detail, "blocks", 0),
                     plan->n_blocks);
    assert_string_equal(json_string_value(json_array_get(json_object_get(detail, "unmeasured"), 0)),
                        "loader.pin_memory");
    json_decref(detail);
    close_judged(&h.t);
}

/* Another prefetch_factor runs beside the answer's, at its num_workers. */
static void other_keys_are_compared(void **state)
{
    (void)state;
    struct held h;
    uint32_t n_other = 0;
    open_held(&h, grid, true);
    plant(&h);
    run_all(&h);
    const struct dlb_plan *plan = &h.t.plan;
    const struct dlb_spec *answer = plan->cells[plan->hardware->race.recommended].spec;
    for (uint32_t i = plan->n_grid; i < plan->n_cells; i++) {
        const struct dlb_loader_opts *loader = &plan->cells[i].spec->loader;
        if (loader->num_workers > 0 && loader->prefetch_factor != answer->loader.prefetch_factor) {
            assert_int_equal(loader->num_workers, answer->loader.num_workers);
            n_other++;
        }
    }
    assert_int_equal(n_other, 1);
    close_judged(&h.t);
}

static bool lists(const json_t *keys, const char *key)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (strcmp(json_string_value(json_array_get(keys, i)), key) == 0)
            return true;
    return false;
}

/* PyTorch is best with the hardware's number of workers, where another prefetch_factor is measured:
 * what makes no difference there is left to PyTorch's default. Where the other value is slower, it
 * stays. */
static void keys_without_effect_are_left_out(void **state)
{
    static const double most[] = {500, 700, 1300, 0, 900};
    (void)state;
    for (int slower = 0; slower < 2; slower++) {
        struct held h;
        open_held(&h, grid, true);
        memcpy(h.hardware, most, sizeof(most));
        memcpy(h.torch, most, sizeof(most));
        h.less_with_4 = slower ? 0.2 : 0;
        run_all(&h);
        const struct dlb_plan *plan = &h.t.plan;
        assert_true(h.t.j.recommended >= plan->n_grid);
        assert_int_equal(plan->cells[h.t.j.recommended].spec->loader.num_workers, 2);
        assert_int_equal(lists(h.t.j.no_difference, "loader.prefetch_factor"), !slower);
        assert_int_equal(lists(h.t.j.left_out, "loader.prefetch_factor"), !slower);
        assert_int_equal(strstr(h.t.j.pytorch, "prefetch_factor") != NULL, slower);
        assert_false(lists(h.t.j.no_difference, "loader.num_workers"));
        assert_false(lists(h.t.j.unmeasured, "loader.prefetch_factor"));
        close_judged(&h.t);
    }
}

/* For a third key there is no room among 8 cells: it is as PyTorch has it by itself, whatever the
 * first race found, and named. One that was not swept is as configured. */
static void unraced_keys_are_pytorchs(void **state)
{
    static const char *const settings[] = {"sweep.loader.num_workers=[2, 8, 16]",
                                           "sweep.loader.prefetch_factor=[2, 4]",
                                           "sweep.loader.persistent_workers=[false, true]",
                                           "sweep.loader.order=[\"any\", \"in-order\"]",
                                           "sweep.loader.pin_memory=[true, false]",
                                           "python.threads=3",
                                           "run.epochs=3",
                                           "sweep.max_minutes=0",
                                           NULL};
    static const double best[] = {500, 700, 1300, 0, 900, 0, 0, 0, 900};
    (void)state;
    struct held h;
    open_held(&h, settings, true);
    memcpy(h.hardware, best, sizeof(best));
    memcpy(h.torch, best, sizeof(best));
    h.torch[16] = 900;
    h.less_with_4 = 0.2;
    run_all(&h);
    const struct dlb_plan *plan = &h.t.plan;
    const struct dlb_spec *answer = plan->cells[plan->hardware->race.recommended].spec;
    assert_int_equal(answer->loader.num_workers, 2);
    assert_int_equal(answer->loader.order, DLB_ORDER_ANY);
    assert_int_equal(plan->n_cells - plan->n_grid, DLB_CONFIRM_CELLS);
    for (uint32_t i = plan->n_grid; i < plan->n_cells; i++) {
        const struct dlb_spec *spec = plan->cells[i].spec;
        assert_int_equal(spec->loader.order, DLB_ORDER_IN_ORDER);
        assert_int_equal(spec->loader.pin_memory, answer->loader.pin_memory);
        assert_int_equal(spec->python.threads, 3);
    }
    assert_true(h.t.j.recommended >= plan->n_grid);
    assert_null(strstr(h.t.j.pytorch, "in_order"));
    assert_true(lists(h.t.j.unmeasured, "loader.order"));
    assert_true(lists(h.t.j.unmeasured, "loader.pin_memory"));
    assert_false(lists(h.t.j.unmeasured, "loader.prefetch_factor"));
    assert_false(lists(h.t.j.unmeasured, "loader.persistent_workers"));
    json_t *keys = json_array();
    assert_int_equal(dlb_confirm_foretell(plan, 4, keys), DLB_CONFIRM_CELLS);
    assert_true(lists(keys, "loader.prefetch_factor"));
    json_decref(keys);
    close_judged(&h.t);
}

/* Of three values two are raced, and the third is named. */
static void unraced_values_are_named(void **state)
{
    static const char *const settings[] = {
        "sweep.loader.num_workers=[0, 1, 2, 4]",
        "sweep.python.start_method=[\"fork\", \"spawn\", \"forkserver\"]", "sweep.max_minutes=0",
        NULL};
    (void)state;
    struct held h;
    open_held(&h, settings, true);
    h.t.plan.torch.configured.python.start_method = DLB_START_FORK; /* the first listed */
    plant(&h);
    run_all(&h);
    json_t *detail = dlb_raced_detail_json(&h.t.plan, &h.t.j);
    json_t *values = json_object_get(detail, "unmeasured_values");
    json_t *wanted = json_pack("{s[s]}", "python.start_method", "forkserver");
    assert_true(json_equal(values, wanted));
    assert_false(lists(h.t.j.unmeasured, "python.start_method"));
    json_decref(wanted);
    json_decref(detail);
    close_judged(&h.t);
}

/* To other loaders the user's code means nothing, and their cells do not have it; without workers,
 * prefetch_factor means nothing, and the fastest C cell here has none. */
static void pytorchs_cells_are_as_configured(void **state)
{
    static const char *const settings[] = {"sweep.loader.num_workers=[0, 1, 2]",
                                           "loader.prefetch_factor=4",
                                           "python.dataset=train.py:make",
                                           "python.threads=3",
                                           "sweep.max_minutes=0",
                                           NULL};
    (void)state;
    struct held h;
    uint32_t n_with_workers = 0;
    open_held(&h, settings, true);
    h.hardware[0] = 2000;
    run_all(&h);
    const struct dlb_plan *plan = &h.t.plan;
    assert_int_equal(plan->hardware->race.recommended, 0);
    assert_true(plan->n_cells > plan->n_grid);
    for (uint32_t i = 0; i < plan->n_cells; i++) {
        const struct dlb_spec *spec = plan->cells[i].spec;
        assert_string_equal(spec->python.dataset, i < plan->n_grid ? "" : "train.py:make");
        assert_int_equal(spec->python.threads, i < plan->n_grid ? 0 : 3);
        if (spec->loader.num_workers > 0)
            assert_int_equal(spec->loader.prefetch_factor, 4);
        n_with_workers += i >= plan->n_grid && spec->loader.num_workers > 0;
    }
    assert_true(n_with_workers > 0);
    close_judged(&h.t);
}

static void ceilings_are_apart(void **state)
{
    (void)state;
    struct held h;
    open_held(&h, grid, true);
    run_all(&h);
    const struct dlb_plan *plan = &h.t.plan;
    for (uint32_t i = 0; i < plan->n_cells; i++)
        if (!plan->cells[i].skipped)
            assert_int_equal(dlb_spec_is_torch(&plan->ceilings[plan->cells[i].ceiling]),
                             dlb_plan_is_torch(plan, i));
    close_judged(&h.t);
}

static void time_is_shared(void **state)
{
    static const char *const settings[] = {"sweep.loader.num_workers=[0, 1, 2, 3, 4]",
                                           "sweep.loader.prefetch_factor=[2, 4]",
                                           "sweep.max_minutes=5", "sweep.tolerance=0.002", NULL};
    (void)state;
    struct held h;
    open_held(&h, settings, true);
    assert_float_equal(h.t.plan.race->max_s, 120, 1e-6);
    assert_float_equal(h.t.plan.race->cut_s, 120, 1e-6);
    run_all(&h);
    assert_int_equal(h.t.plan.hardware->race.stopped, DLB_RACE_BUDGET);
    assert_true(h.first_s <= 120);
    assert_float_equal(h.t.plan.race->max_s, 300, 1e-6);
    assert_true(h.t.results.elapsed_s > 120 && h.t.results.elapsed_s <= 315);
    close_judged(&h.t);

    open_held(&h, settings, false);
    assert_float_equal(h.t.plan.race->max_s, 300, 1e-6);
    close_judged(&h.t);
}

/* Before PyTorch's cells have been looked at, and where all fail, the first race has the answer. */
static void first_answer_stands(void **state)
{
    (void)state;
    struct held h;
    open_held(&h, grid, true);
    plant(&h);
    h.torch_fails = true;
    run_all(&h);
    assert_int_equal(h.t.j.recommended, h.t.plan.hardware->race.recommended);
    assert_noted(h.t.j.not_modelled, "PYTORCH_NOT_MEASURED", NULL);
    close_judged(&h.t);

    open_held(&h, grid, true);
    plant(&h);
    run_block(&h);
    while (!h.t.plan.hardware) {
        struct dlb_err err;
        run_block(&h);
        assert_int_equal(dlb_scenario_by_name("sweep")->next(&h.t.plan, &h.t.results, &err),
                         DLB_OK);
    }
    uint32_t n_cells = 0; /* stops within the first block of PyTorch's cells, behind two of them */
    for (h.stop_after = h.n_run; n_cells < 2; h.stop_after++)
        n_cells += h.t.plan.tasks[h.stop_after].kind == DLB_TASK_CELL;
    run_all(&h);
    assert_noted(h.t.j.not_modelled, "PYTORCH_NOT_MEASURED", "after 2 runs");
    assert_true(h.t.plan.n_cells > h.t.plan.n_grid);
    assert_int_equal(h.t.j.recommended, h.t.plan.hardware->race.recommended);
    assert_non_null(strstr(h.t.j.pytorch, "num_workers=4,"));
    json_t *detail = dlb_raced_detail_json(&h.t.plan, &h.t.j);
    assert_string_equal(dlb_json_text(detail, "stopped"), "decided");
    assert_true(json_is_null(json_object_get(detail, "hardware")));
    json_decref(detail);
    close_judged(&h.t);
}

/* Of cells that are PyTorch's already there is one race. */
static void own_cells_race_once(void **state)
{
    static const char *const torch[] = {"loader.kind=torch", "sweep.loader.num_workers=[0, 1, 2]",
                                        "sweep.max_minutes=0", NULL};
    static const char *const both[] = {"sweep.loader.kind=[\"threads\", \"torch\"]",
                                       "loader.num_workers=1", "run.repeats=3", NULL};
    (void)state;
    struct held h;
    open_held(&h, torch, false);
    run_all(&h);
    assert_null(h.t.plan.hardware);
    assert_int_equal(h.t.plan.n_cells, 3);
    assert_true(h.t.j.recommended >= 0);
    close_judged(&h.t);

    open_held(&h, both, true);
    assert_null(h.t.plan.race);
    assert_false(h.t.plan.torch.there);
    h.hardware[1] = 2000;
    run_block(&h);
    judge(&h.t);
    assert_int_equal(h.t.j.best, 0);
    assert_false(h.t.j.cells[1].rival);
    close_judged(&h.t);
}

static void no_race_no_confirmation(void **state)
{
    (void)state;
    struct dlb_err err;
    struct dlb_plan plan;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    assert_int_equal(dlb_config_set(cfg, "sweep.exhaustive=true", &err), DLB_OK);
    assert_int_equal(dlb_config_set(cfg, "sweep.confirm=torch", &err), DLB_OK);
    assert_int_equal(dlb_config_set(cfg, "sweep.loader.num_workers=[0, 1]", &err), DLB_OK);
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 4, .torch = {.there = true}};
    assert_int_equal(dlb_scenario_by_name("sweep")->plan(&in, &plan, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_SWEEP_CONFIRM);
    dlb_config_free(cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_workers),
        cmocka_unit_test(chooses_listed_workers),
        cmocka_unit_test(answer_is_pytorchs),
        cmocka_unit_test(other_keys_are_compared),
        cmocka_unit_test(unraced_keys_are_pytorchs),
        cmocka_unit_test(unraced_values_are_named),
        cmocka_unit_test(pytorchs_cells_are_as_configured),
        cmocka_unit_test(ceilings_are_apart),
        cmocka_unit_test(time_is_shared),
        cmocka_unit_test(first_answer_stands),
        cmocka_unit_test(own_cells_race_once),
        cmocka_unit_test(no_race_no_confirmation),
        cmocka_unit_test(keys_without_effect_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

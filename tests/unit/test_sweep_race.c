/* A sweep as a race: its plan grows over planted repetitions, and is judged. */
#include "scenarios/sweep/race.h"

#include "bench/experiment/watch.h"
#include "core/base/rng.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/candidates.h"
#include "scenarios/judge/raced.h"

#include "tests/support/judged.h"

#define N 4
#define CELL_S 1.0
#define CEILING_S 0.5
#define WARM_S 2.0

static const char *const four[] = {"sweep.exhaustive=false",
                                   "sweep.loader.num_workers=[1, 2, 3, 4]", NULL};

struct raced {
    struct judged t;
    double truth[N], scatter;
    double later;   /* ln of by what the machine is faster from the fourth block on */
    uint32_t n_run; /* tasks */
    struct dlb_rng rng;
};

static void open_raced(struct raced *r, const char *const *settings, const double *truth,
                       double scatter)
{
    *r = (struct raced){.scatter = scatter, .rng = dlb_rng_seed(3, 5, 7)};
    memcpy(r->truth, truth, sizeof(r->truth));
    open_judged(&r->t, settings);
    assert_non_null(r->t.plan.race);
}

static struct dlb_cell_result measured(struct raced *r, uint32_t cell, uint32_t block)
{
    double drift = 0.02 * sin(block) + (block > 2 ? r->later : 0);
    return rep(r->truth[cell] * exp(drift + r->scatter * dlb_rng_normal(&r->rng)), 0.5, block,
               1000);
}

/* The tasks that the plan has gained. */
static void run_block(struct raced *r)
{
    struct dlb_results *results = &r->t.results;
    for (; r->n_run < r->t.plan.n_tasks; r->n_run++) {
        const struct dlb_task *task = &r->t.plan.tasks[r->n_run];
        double s = task->kind == DLB_TASK_CEILING ? CEILING_S
                   : task->kind == DLB_TASK_WARM  ? WARM_S
                                                  : CELL_S;
        if (task->kind == DLB_TASK_WARM)
            put(&results->warm, measured(r, 0, task->block));
        else if (task->kind == DLB_TASK_CEILING)
            put(&results->ceilings[task->index], rep(1e6, 1, task->block, 0));
        else if (task->kind == DLB_TASK_REFERENCE)
            put(&results->reference, measured(r, task->index, task->block));
        else
            put(&results->cells[task->index], measured(r, task->index, task->block));
        results->elapsed_s += s;
        results->run_s[task->kind] += s;
    }
}

static bool next(struct raced *r)
{
    struct dlb_err err;
    uint32_t n = r->t.plan.n_tasks;
    assert_int_equal(dlb_scenario_by_name("sweep")->next(&r->t.plan, &r->t.results, &err), DLB_OK);
    return r->t.plan.n_tasks > n;
}

static void run_all(struct raced *r)
{
    do
        run_block(r);
    while (next(r));
    judge(&r->t);
}

static const struct dlb_race *race_of(const struct raced *r)
{
    return &r->t.plan.race->race;
}

static void stopped(const struct raced *r, const char *why)
{
    json_t *detail = dlb_raced_detail_json(&r->t.plan, &r->t.j);
    assert_string_equal(dlb_json_text(detail, "stopped"), why);
    assert_int_equal(dlb_json_u64(detail, "blocks", 0), r->t.plan.n_blocks);
    bool decided = strcmp(why, "decided") == 0;
    assert_int_equal(decided, r->t.j.recommended >= 0);
    assert_int_equal(decided, r->t.j.separable);
    bool looked = race_of(r)->n_looked > 0; /* else nothing is known of any cell */
    assert_int_equal(decided || !looked, r->t.j.n_set == 0);
    static const char *const known[] = {"cell", "probability", "loss_frac", "loss_level"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(decided, !json_is_null(json_object_get(detail, known[i])));
    if (decided) {
        assert_int_equal(dlb_json_u64(detail, "cell", 99), r->t.j.recommended);
        assert_true(dlb_json_number(detail, "loss_level") == race_of(r)->loss_level);
    }
    json_decref(detail);
}

static void state_is(const struct raced *r, uint32_t cell, const char *state)
{
    json_t *one = dlb_raced_cell_json(&r->t.plan, cell);
    assert_string_equal(dlb_json_text(one, "state"), state);
    json_decref(one);
}

static void test_of_equal_cells_the_smallest(void **state)
{
    (void)state;
    struct raced r;
    open_raced(&r, four, (const double[N]){1e5, 1e5, 1e5, 1e5}, 0.003);
    run_all(&r);
    assert_int_equal(r.t.j.recommended, 0);
    assert_non_null(strstr(r.t.j.pytorch, "num_workers=1,"));
    assert_false(r.t.j.too_busy);
    assert_true(r.t.j.noise_floor_frac == race_of(&r)->noise_floor_frac);
    stopped(&r, "decided");
    state_is(&r, 0, "finalist");
    close_judged(&r.t);
}

static void test_what_is_worse_runs_no_more(void **state)
{
    (void)state;
    struct raced r;
    open_raced(&r, four, (const double[N]){7e4, 1e5, 1e5, 1e5}, 0.003);
    run_all(&r);
    assert_int_equal(r.t.j.recommended, 1);
    stopped(&r, "decided");
    state_is(&r, 0, "dropped");
    assert_int_equal(r.t.results.cells[0].n, 3);
    assert_true(r.t.results.cells[1].n > 6);
    double loss = race_of(&r)->cells[0].loss_frac.median;
    assert_true(loss > 0.29 && loss < 0.31);
    assert_true(dlb_judged_loss(&r.t.j.cells[0], &r.t.j.cells[r.t.j.best]) == loss);
    close_judged(&r.t);
}

/* A cell that ran in the fast blocks alone looks better than one that ran in all. */
static void test_medians_of_other_blocks(void **state)
{
    (void)state;
    static const double later[] = {0, -0.15};
    for (size_t i = 0; i < 2; i++) {
        struct raced r;
        open_raced(&r, four, (const double[N]){9.4e4, 1e5, 1e5, 1e5}, 0.003);
        r.later = later[i];
        run_all(&r);
        state_is(&r, 0, "dropped");
        const struct dlb_judged_cell *cells = r.t.j.cells;
        assert_int_equal(cells[0].rate.median > cells[r.t.j.best].rate.median * 1.02, i == 1);
        if (i == 1)
            assert_noted(r.t.j.notes, "RACE_BLOCKS", "the 3 that both");
        else
            assert_null(noted(r.t.j.notes, "RACE_BLOCKS", NULL));
        close_judged(&r.t);
    }
}

/* Each block: the reference, the cells of the race, and the ceilings of these alone. */
static void test_blocks_hold_what_races(void **state)
{
    (void)state;
    const char *const settings[] = {"sweep.exhaustive=false",
                                    "sweep.loader.pin_memory=[false, true]",
                                    "sweep.loader.num_workers=[1, 2]", NULL};
    struct raced r;
    open_raced(&r, settings, (const double[N]){5e4, 5e4, 1e5, 1e5}, 0.003);
    assert_int_equal(r.t.plan.n_ceilings, 2);
    run_all(&r);
    stopped(&r, "decided");
    uint32_t n[DLB_N_TASK_KINDS] = {0}, last = r.t.plan.n_blocks - 1;
    for (uint32_t i = 0; i < r.t.plan.n_tasks; i++) {
        const struct dlb_task *task = &r.t.plan.tasks[i];
        assert_true(i == 0 || task->block >= task[-1].block);
        assert_true(task->block == 0 || task[-1].block == task->block ||
                    task->kind == DLB_TASK_REFERENCE || task->block >= race_of(&r)->fresh_from);
        if (task->block != last)
            continue;
        n[task->kind]++;
        assert_true(task->kind != DLB_TASK_CELL || task->index >= 2);
        assert_true(task->kind != DLB_TASK_CEILING || task->index == 1);
    }
    assert_int_equal(n[DLB_TASK_REFERENCE], 0); /* the last phase: two cells alone */
    assert_int_equal(n[DLB_TASK_CELL], 2);
    assert_int_equal(n[DLB_TASK_CEILING], 0);
    close_judged(&r.t);
}

static void test_what_fails_is_out(void **state)
{
    (void)state;
    struct raced r;
    open_raced(&r, four, (const double[N]){1e5, 1e5, 1e5, 1e5}, 0.003);
    run_block(&r);
    dlb_reps_free(&r.t.results.cells[0]);
    put(&r.t.results.cells[0], lost(0));
    assert_true(next(&r));
    state_is(&r, 0, "failed");
    for (uint32_t i = r.n_run; i < r.t.plan.n_tasks; i++)
        assert_true(r.t.plan.tasks[i].kind != DLB_TASK_CELL || r.t.plan.tasks[i].index != 0);
    run_all(&r);
    assert_int_equal(r.t.results.cells[0].n, 1);
    assert_int_equal(r.t.j.recommended, 1);
    stopped(&r, "decided");
    close_judged(&r.t);
}

/* A consumer that loses a twentieth of its time to nothing that is known: the harness's fault. */
static void test_what_is_not_judged_is_out(void **state)
{
    (void)state;
    struct raced r;
    open_raced(&r, four, (const double[N]){1e5, 1e5, 1e5, 1e5}, 0.003);
    for (uint32_t b = 0; b < DLB_SWEEP_RACE_JUDGED; b++) {
        state_is(&r, 0, "racing");
        run_block(&r);
        rep_of(&r.t, 0, b)->loop.total.unaccounted_ns = 50000000;
        assert_true(next(&r));
    }
    state_is(&r, 0, "failed");
    run_all(&r);
    assert_verdict(&r.t, 0, "HARNESS_BOUND");
    assert_int_equal(r.t.results.cells[0].n, DLB_SWEEP_RACE_JUDGED);
    assert_int_equal(r.t.j.recommended, 1);
    close_judged(&r.t);
}

static void test_no_cell_is_left(void **state)
{
    (void)state;
    struct raced r;
    open_raced(&r, four, (const double[N]){1e5, 1e5, 1e5, 1e5}, 0.003);
    run_block(&r);
    for (uint32_t i = 0; i < N; i++) {
        dlb_reps_free(&r.t.results.cells[i]);
        put(&r.t.results.cells[i], lost(0));
    }
    assert_false(next(&r));
    judge(&r.t);
    json_t *detail = dlb_raced_detail_json(&r.t.plan, &r.t.j);
    assert_true(json_is_null(json_object_get(detail, "stopped")));
    assert_int_equal(r.t.j.best, -1);
    assert_int_equal(r.t.j.n_set, 0);
    json_decref(detail);
    close_judged(&r.t);
}

static void test_time_is_spent(void **state)
{
    (void)state;
    const char *const settings[] = {"sweep.exhaustive=false", "sweep.max_minutes=1",
                                    "sweep.loader.num_workers=[1, 2, 3, 4]", NULL};
    struct raced r;
    open_raced(&r, settings, (const double[N]){9.5e4, 1e5, 1e5, 1.02e5}, 0.06);
    run_all(&r);
    stopped(&r, "budget");
    assert_true(r.t.results.elapsed_s > 30 && r.t.results.elapsed_s <= 75);
    const struct dlb_race_cell *cells = race_of(&r)->cells;
    for (uint32_t i = 0; i < r.t.j.n_set; i++) {
        assert_true(cells[r.t.j.set[i]].probability >= DLB_CANDIDATE_MIN);
        assert_true(i == 0 ||
                    cells[r.t.j.set[i]].probability <= cells[r.t.j.set[i - 1]].probability);
    }
    assert_true(race_of(&r)->blocks_more > 0);
    double best = race_of(&r)->cells[r.t.j.best].loss_frac.median;
    for (uint32_t i = 0; i < N; i++)
        assert_true(best <= cells[i].loss_frac.median);
    close_judged(&r.t);
}

/* One block tells nothing of noise: no loss, no probability, no answer. */
static void test_time_for_one_block(void **state)
{
    (void)state;
    const char *const settings[] = {"sweep.exhaustive=false", "sweep.max_minutes=0.1",
                                    "sweep.loader.num_workers=[1, 2, 3, 4]", NULL};
    struct raced r;
    open_raced(&r, settings, (const double[N]){5e4, 1e5, 1e5, 1e5}, 0.003);
    run_all(&r);
    stopped(&r, "budget");
    assert_int_equal(r.t.plan.n_blocks, 1);
    assert_true(r.t.j.pytorch[0] == '\0'); /* nothing to paste */
    json_t *one = dlb_raced_cell_json(&r.t.plan, 0);
    assert_true(json_is_null(json_object_get(one, "loss_frac")));
    assert_true(json_is_null(json_object_get(one, "probability")));
    json_decref(one);
    close_judged(&r.t);
}

static void test_interrupted(void **state)
{
    (void)state;
    struct raced r;
    open_raced(&r, four, (const double[N]){5e4, 1e5, 1e5, 1e5}, 0.003);
    run_block(&r);
    assert_true(next(&r));
    r.t.results.interrupted = true;
    judge(&r.t);
    stopped(&r, "interrupted");
    close_judged(&r.t);
}

/* The last block tells what a block takes, and what each of its runs. */
static void test_budget(void **state)
{
    (void)state;
    const char *const settings[] = {"sweep.exhaustive=false", "sweep.max_minutes=1",
                                    "sweep.loader.num_workers=[1, 2, 3, 4]", NULL};
    struct raced r;
    open_raced(&r, settings, (const double[N]){1e5, 1e5, 1e5, 1e5}, 0.003);
    run_block(&r); /* a warm pass, which is not made again, the reference, 4 cells, a ceiling */
    assert_true(r.t.results.elapsed_s == 7.5);
    struct dlb_race_budget budget = dlb_sweep_race_budget(&r.t.plan, &r.t.results);
    assert_true(budget.left == 52.5 && budget.run == 1 && budget.block == 1.5);
    assert_true(next(&r));
    run_block(&r);
    budget = dlb_sweep_race_budget(&r.t.plan, &r.t.results);
    assert_true(budget.left == 47 && budget.run == 1 && budget.block == 1.5);
    /* Of 10 s of cells 2 were measured again, all in one block: a run takes 1.25 of the first ones.
     */
    r.t.results.run_s[DLB_TASK_CELL] += 2;
    r.t.results.again_s += 2;
    r.t.results.elapsed_s += 2;
    budget = dlb_sweep_race_budget(&r.t.plan, &r.t.results);
    assert_true(budget.left == 45 && budget.run == 1.25 && budget.block == 1.5);
    assert_true(next(&r));
    run_block(&r);
    budget = dlb_sweep_race_budget(&r.t.plan, &r.t.results);
    assert_true(fabs(budget.run - 14 / 12.0) < 1e-9 && budget.block == 1.5);
    /* A break is spent time, and no block's. */
    r.t.results.elapsed_s += 20;
    r.t.results.unjudged_s += 20;
    budget = dlb_sweep_race_budget(&r.t.plan, &r.t.results);
    assert_true(budget.left == 19.5 && budget.block == 1.5);
    r.t.plan.race->max_s = 0;
    assert_true(isinf(dlb_sweep_race_budget(&r.t.plan, &r.t.results).left));
    close_judged(&r.t);
}

/* What the progress says is left is no less than what may come. */
static void test_time_left_is_said(void **state)
{
    (void)state;
    const char *const settings[] = {"sweep.exhaustive=false", "sweep.max_minutes=10",
                                    "sweep.loader.num_workers=[1, 2, 3, 4]", NULL};
    struct raced r;
    char text[40];
    open_raced(&r, settings, (const double[N]){1e5, 1e5, 1e5, 1e5}, 0.003);
    assert_true(r.t.plan.race->cut_s == 630);
    assert_non_null(strstr(dlb_watch_left_text(&r.t.plan, 0, text, sizeof(text)), " 11 min "));
    assert_non_null(strstr(dlb_watch_left_text(&r.t.plan, 330, text, sizeof(text)), " 5 min "));
    assert_non_null(strstr(dlb_watch_left_text(&r.t.plan, 629.5, text, sizeof(text)), " 1 s "));
    assert_string_equal(dlb_watch_left_text(&r.t.plan, 631, text, sizeof(text)), "");
    r.t.plan.race->cut_s = 0;
    assert_string_equal(dlb_watch_left_text(&r.t.plan, 1, text, sizeof(text)), "");
    close_judged(&r.t);
}

static void test_where_there_is_a_race(void **state)
{
    (void)state;
    static const struct {
        const char *settings[4];
        bool races;
    } cases[] = {
        {{"sweep.loader.num_workers=[1, 2]"}, true},
        {{"sweep.loader.num_workers=[1, 2]", "sweep.exhaustive=true"}, false},
        {{"sweep.loader.num_workers=[1]"}, false},
        {{"sweep.loader.num_workers=[0]", "sweep.loader.prefetch_factor=[2, 4]"}, false},
        {{"sweep.loader.num_workers=[1, 2]", "sweep.run.seed=[1, 2]"}, false},
        {{"sweep.loader.num_workers=[1, 2]", "sweep.run.seed=[1]"}, true},
        {{"sweep.loader.batch_size=[8, 16]", "device.step_ms=2"}, false},
        {{"sweep.loader.batch_size=[8, 16]", "device.step_ms=0"}, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *settings[6] = {"sweep.exhaustive=false"};
        struct judged t;
        for (size_t k = 0; k < 4; k++)
            settings[k + 1] = cases[i].settings[k];
        open_judged(&t, settings);
        if ((t.plan.race != NULL) != cases[i].races || t.plan.grows != cases[i].races)
            fail_msg("case %zu: %d", i, t.plan.race != NULL);
        close_judged(&t);
    }
}

static void test_ranks_and_levels(void **state)
{
    (void)state;
    struct dlb_err err;
    struct dlb_plan plan;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    static const char *const settings[] = {"dataset.codec=raw",
                                           "sweep.loader.num_workers=[2, 0, 1]",
                                           "sweep.loader.prefetch_factor=[4, 2]"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(dlb_config_set(cfg, settings[i], &err), DLB_OK);
    struct dlb_plan_input in = {
        .cfg = cfg, .n_cpus = 8, .host = {.n_samples = 100000, .max_payload_bytes = 1000}};
    assert_int_equal(dlb_scenario_by_name("sweep")->plan(&in, &plan, &err), DLB_OK);
    static const uint32_t rank[] = {4, 3, 0, 5, 2, 1}; /* cell 3 is skipped */
    static const uint32_t levels[][2] = {{0, 0}, {0, 1}, {1, 2}, {0, 0}, {2, 0}, {2, 1}};
    assert_memory_equal(plan.race->rank, rank, sizeof(rank));
    assert_memory_equal(plan.race->levels, levels, sizeof(levels));
    assert_int_equal(plan.race->race.cells[3].state, DLB_RACE_FAILED);
    json_t *skipped = dlb_raced_cell_json(&plan, 3);
    assert_true(json_is_null(skipped));
    json_decref(skipped);
    dlb_plan_free(&plan);
    dlb_config_free(cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_equal_cells_the_smallest),
        cmocka_unit_test(test_what_is_worse_runs_no_more),
        cmocka_unit_test(test_medians_of_other_blocks),
        cmocka_unit_test(test_blocks_hold_what_races),
        cmocka_unit_test(test_what_fails_is_out),
        cmocka_unit_test(test_what_is_not_judged_is_out),
        cmocka_unit_test(test_no_cell_is_left),
        cmocka_unit_test(test_time_is_spent),
        cmocka_unit_test(test_time_for_one_block),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_time_left_is_said),
        cmocka_unit_test(test_where_there_is_a_race),
        cmocka_unit_test(test_ranks_and_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a ladder shows: ratios, steps, a decomposition whose parts add up, and cures in order. */
#include "scenarios/gap/judge.h"
#include "scenarios/gap/summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/gap_bench.h"

/* A ladder of five rungs with made-up documents. */
enum { FLOOR, DIRECT, TORCH_DIRECT, LOADER, LISTS, N_RUNGS };
static const char *const names[N_RUNGS] = {"floor", "direct", "torch-direct", "torch-dataloader",
                                           "torch-batch-sampler"};

static void judge(struct bench *b)
{
    dlb_gap_judge(&b->plan, &b->results, &b->setting, &b->j);
}

static void close_bench(struct bench *b)
{
    dlb_gap_judgement_free(&b->j);
    dlb_results_free(&b->results);
    dlb_plan_free(&b->plan);
    json_decref(b->python.tried);
}

static void add(struct bench *b, uint32_t rung, const char *text)
{
    json_error_t why;
    json_t *doc = json_loads(text, 0, &why);
    if (!doc)
        fail_msg("%s", why.text);
    struct dlb_cell_result result;
    struct dlb_err err;
    assert_int_equal(dlb_cell_result_from_json(&result, doc, &err), DLB_OK);
    result.document = doc;
    dlb_reps_add(&b->results.cells[rung], &result);
}

static const char loader_doc[] =
    "{\"status\": \"ok\", \"seconds\": 10.0, \"n_samples\": 1000, \"checksum\": "
    "\"00000000000000aa\","
    " \"parts\": {\"start\": {\"seconds\": 0.1, \"minor_faults\": 0},"
    "  \"permutation\": {\"seconds\": 0.2, \"minor_faults\": 0},"
    "  \"list_and_sampler\": {\"seconds\": 0.2, \"minor_faults\": 0},"
    "  \"index\": {\"seconds\": 5.0, \"minor_faults\": 1000000},"
    "  \"free\": {\"seconds\": 0.5, \"minor_faults\": 0},"
    "  \"stack\": {\"seconds\": 3.0, \"minor_faults\": 500000},"
    "  \"rest\": {\"seconds\": 0.1, \"minor_faults\": 0},"
    "  \"copy\": {\"seconds\": 0.6, \"minor_faults\": 0},"
    "  \"step\": {\"seconds\": 0.3, \"minor_faults\": 0}},"
    " \"faults\": {\"ns\": 1000.0, \"seconds\": 1.5, \"per_batch\": 50000},"
    " \"ordered\": {\"part\": \"stack\", \"seconds_per_sample\": 0.002}}";
static const char direct_doc[] = "{\"status\": \"ok\", \"seconds\": 0.8, \"n_samples\": 1000, "
                                 "\"checksum\": \"00000000000000aa\","
                                 " \"parts\": {\"copy\": {\"seconds\": 0.5, \"minor_faults\": 0},"
                                 "  \"step\": {\"seconds\": 0.3, \"minor_faults\": 0}},"
                                 " \"faults\": {\"ns\": 1000.0, \"seconds\": 0, \"per_batch\": 0}}";
static const char lists_doc[] = "{\"status\": \"ok\", \"seconds\": 2.0, \"n_samples\": 1000}";

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) < 1e-9))
        fail_msg("%.12g is not %.12g", value, wanted);
}

static void fill(struct bench *b)
{
    add(b, FLOOR, "{\"status\": \"ok\", \"seconds\": 0.4}");
    add(b, DIRECT, "{\"status\": \"ok\", \"seconds\": 0.5}");
    add(b, DIRECT, "{\"status\": \"ok\", \"seconds\": 0.7}");
    add(b, DIRECT, "{\"status\": \"ok\", \"seconds\": 0.6}");
    add(b, TORCH_DIRECT, direct_doc);
    add(b, LOADER, loader_doc);
}

static void test_ratios_and_steps(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    fill(&b);
    judge(&b);
    const struct dlb_gap_judged *direct = dlb_gap_measured(&b.j, "direct");
    const struct dlb_gap_judged *loader = dlb_gap_measured(&b.j, "torch-dataloader");
    assert_near(direct->seconds.median, 0.6);
    assert_near(direct->seconds.low, 0.5);
    assert_near(direct->seconds.high, 0.7);
    assert_near(direct->to_floor, 1.5);
    assert_near(direct->step_seconds, 0.2);
    assert_string_equal(direct->step_from, "floor");
    assert_near(direct->shown->seconds, 0.6);
    assert_near(loader->to_direct, 12.5); /* of torch-direct, not of direct */
    assert_near(loader->to_floor, 25);
    assert_near(loader->step_seconds, 9.2);
    assert_string_equal(loader->step_from, "torch-direct");
    assert_true(isnan(dlb_gap_measured(&b.j, "torch-direct")->step_seconds));
    close_bench(&b);
}

static double known(const struct bench *b)
{
    double sum = 0;
    for (int i = 0; i < DLB_GAP_CAUSE_CLOSURE; i++)
        sum += isfinite(b->j.part[i].seconds) ? b->j.part[i].seconds : 0;
    return sum;
}

static void test_parts_add_up(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    fill(&b);
    add(&b, LISTS, lists_doc);
    judge(&b);
    const struct dlb_gap_share *part = b.j.part;
    assert_true(b.j.decomposed);
    assert_near(b.j.total_seconds, 9.2);
    assert_near(part[DLB_GAP_CAUSE_INDEXING].seconds, 5.0 + 0.5 + 0.2 - 1.0);
    assert_near(part[DLB_GAP_CAUSE_MISSES].seconds, 3.0 - 2.0);
    assert_near(part[DLB_GAP_CAUSE_STACKING].seconds, 3.0 - 0.5 - 1.0);
    assert_near(part[DLB_GAP_CAUSE_FAULTS].seconds, 1.5);
    assert_near(part[DLB_GAP_CAUSE_TRANSPORT].seconds, 0);
    assert_near(part[DLB_GAP_CAUSE_PINNING].seconds, 0);
    assert_near(part[DLB_GAP_CAUSE_COPIES].seconds, 0.1);
    assert_near(part[DLB_GAP_CAUSE_START_UP].seconds, 0.3);
    assert_near(part[DLB_GAP_CAUSE_CLOSURE].seconds, 0.1);
    assert_near(known(&b) + part[DLB_GAP_CAUSE_CLOSURE].seconds, b.j.total_seconds);
    assert_string_equal(part[DLB_GAP_CAUSE_INDEXING].removed_by, "torch-batch-sampler");
    assert_near(part[DLB_GAP_CAUSE_INDEXING].removes_seconds, 8.0);
    assert_string_equal(part[DLB_GAP_CAUSE_INDEXING].removed_with, "stacking");
    assert_string_equal(part[DLB_GAP_CAUSE_STACKING].removed_with,
                        dlb_gap_cause_names[DLB_GAP_CAUSE_INDEXING]);
    assert_non_null(strstr(b.j.text, "12.5x"));
    assert_non_null(strstr(b.j.text, "torch-batch-sampler"));
    close_bench(&b);
}

/* Stamps alone show no cause. Without the rung that removes it, or when that does not help, the
 * time is unexplained; and no more of it is shown than that rung saved. */
static void test_a_cause_must_be_removable(void **state)
{
    (void)state;
    static const struct {
        const char *lists;
        double removed; /* of the 6.2 s that items and stacking have in stamps; 0: not shown */
    } cases[] = {{NULL, 0},
                 {"{\"status\": \"ok\", \"seconds\": 11.0, \"n_samples\": 1000}", 0},
                 {"{\"status\": \"ok\", \"seconds\": 9.0, \"n_samples\": 1000}", 1.0}};
    struct bench b;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        open_bench(&b, names, N_RUNGS);
        fill(&b);
        if (cases[i].lists)
            add(&b, LISTS, cases[i].lists);
        judge(&b);
        double items = b.j.part[DLB_GAP_CAUSE_INDEXING].seconds,
               stacking = b.j.part[DLB_GAP_CAUSE_STACKING].seconds;
        assert_true(isnan(items) == (cases[i].removed == 0));
        assert_true(isnan(stacking) == (cases[i].removed == 0));
        if (cases[i].removed > 0)
            assert_near(items + stacking, cases[i].removed);
        assert_near(b.j.part[DLB_GAP_CAUSE_CLOSURE].seconds, 0.1 + 6.2 - cases[i].removed);
        assert_non_null(strstr(b.j.text, "closure"));
        close_bench(&b);
    }
}

static void test_without_torch(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    b.python.found = false;
    (void)snprintf(b.python.reason, sizeof(b.python.reason), "no torch");
    for (uint32_t i = TORCH_DIRECT; i < N_RUNGS; i++)
        b.plan.cells[i].skipped = true;
    add(&b, FLOOR, "{\"status\": \"ok\", \"seconds\": 0.4}");
    add(&b, DIRECT, "{\"status\": \"ok\", \"seconds\": 0.6}");
    judge(&b);
    assert_false(b.j.decomposed);
    for (uint32_t i = TORCH_DIRECT; i < N_RUNGS; i++) {
        assert_int_equal(b.j.rung[i].status, DLB_GAP_NOT_MEASURED);
        assert_string_equal(b.j.rung[i].reason, b.python.reason);
    }
    assert_non_null(strstr(b.j.text, b.python.reason));
    json_t *gap = dlb_gap_json(&b.setting, &b.j);
    assert_non_null(gap);
    assert_int_equal(json_array_size(json_object_get(gap, "decomposition")), 0);
    assert_int_equal(json_array_size(json_object_get(gap, "rungs")), N_RUNGS);
    json_decref(gap);
    close_bench(&b);

    open_bench(&b, names, N_RUNGS); /* a torch that crashes is a failure */
    b.python.found = false;
    b.python.failure = DLB_GAP_PYTHON_CRASHED;
    b.plan.cells[LOADER].skipped = true;
    judge(&b);
    assert_int_equal(b.j.rung[LOADER].status, DLB_GAP_FAILED);
    assert_int_equal(b.j.rung[LOADER].code, DLB_ERR_PYTHON_CRASHED);
    b.python.failure = DLB_GAP_PYTHON_HUNG; /* so is one that hangs */
    dlb_gap_judgement_free(&b.j);
    judge(&b);
    assert_int_equal(b.j.rung[LOADER].status, DLB_GAP_FAILED);
    assert_int_equal(b.j.rung[LOADER].code, DLB_ERR_PROGRAM_HANGS);
    close_bench(&b);
}

static void test_of_two_the_faster_is_shown(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    add(&b, FLOOR, "{\"status\": \"ok\", \"seconds\": 0.3}");
    add(&b, FLOOR, "{\"status\": \"ok\", \"seconds\": 0.1}");
    judge(&b);
    assert_near(b.j.rung[FLOOR].seconds.median, 0.2);
    assert_near(b.j.rung[FLOOR].shown->seconds, 0.1);
    close_bench(&b);
}

/* Two cures whose repetitions overlap have no order. */
static void test_cures_that_overlap_are_not_ranked(void **state)
{
    (void)state;
    static const char *const loader_s[] = {"10", "11"}, *const lists_s[] = {"2", "4"},
                             *const direct_s[] = {"3", "3.5"};
    struct bench b;
    for (int apart = 0; apart < 2; apart++) {
        char text[64];
        open_bench(&b, names, N_RUNGS);
        b.plan.cells[DIRECT].other.name = "torch-out-of-order";
        for (int i = 0; i < 2; i++) {
            (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %s}",
                           loader_s[i]);
            add(&b, LOADER, text);
            (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %s}",
                           apart ? "2" : lists_s[i]);
            add(&b, LISTS, text);
            (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %s}",
                           direct_s[i]);
            add(&b, DIRECT, text);
        }
        judge(&b);
        assert_int_equal(b.j.n_cures, 2);
        assert_string_equal(b.j.cure[0].rung->name, "torch-batch-sampler");
        assert_string_equal(b.j.cure[1].rung->name, "torch-out-of-order");
        assert_true(b.j.cure[0].helps && b.j.cure[1].helps);
        assert_false(b.j.cure[0].tied);
        assert_int_equal(b.j.cure[1].tied, !apart);
        close_bench(&b);
    }
}

/* A rung that does not help comes after all that do, whatever its median; it is tied to none. */
static void test_cures_that_do_not_help_come_last(void **state)
{
    (void)state;
    static const char *const cures[] = {"torch-batch-sampler", "torch-gather",
                                        "torch-out-of-order"};
    static const struct {
        const char *seconds[3][2];
        uint32_t order[3], n_help; /* into cures */
    } cases[] = {
        {{{"1", "1.01"}, {"1.1", "10.5"}, {"5.9", "6"}}, {0, 2, 1}, 2},
        {{{"5.6", "5.7"}, {"1.1", "10.5"}, {"13", "13.1"}}, {0, 1, 2}, 1},
        {{{"1", "12"}, {"13", "14"}, {"2", "13"}}, {0, 2, 1}, 0},
    };
    for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
        struct bench b;
        char text[64];
        open_bench(&b, names, N_RUNGS);
        add(&b, LOADER, "{\"status\": \"ok\", \"seconds\": 10}");
        add(&b, LOADER, "{\"status\": \"ok\", \"seconds\": 11}");
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t rung = (uint32_t[]){LISTS, DIRECT, FLOOR}[i];
            b.plan.cells[rung].other.name = cures[i];
            for (int k = 0; k < 2; k++) {
                (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %s}",
                               cases[c].seconds[i][k]);
                add(&b, rung, text);
            }
        }
        judge(&b);
        assert_int_equal(b.j.n_cures, 3);
        for (uint32_t i = 0; i < 3; i++) {
            const struct dlb_gap_cure *cure = &b.j.cure[i];
            assert_string_equal(cure->rung->name, cures[cases[c].order[i]]);
            assert_int_equal(cure->helps, i < cases[c].n_help);
            assert_false(cure->tied);
            assert_near(cure->gain, 10.5 / cure->rung->seconds.median);
            assert_non_null(strstr(b.j.text, cure->rung->name));
        }
        close_bench(&b);
    }
}

/* A loop that waits for a CPU beside workers of its own says nothing about other programs. */
static void test_busy_is_of_others(void **state)
{
    (void)state;
    static const char thread[] = "{\"wall_ns\": 100, \"runqueue_wait_ns\": 40}";
    for (int own_workers = 0; own_workers < 2; own_workers++) {
        struct bench b;
        char text[256];
        open_bench(&b, names, N_RUNGS);
        (void)snprintf(text, sizeof(text),
                       "{\"status\": \"ok\", \"seconds\": 1, \"os\": {\"threads\": [%s%s%s]}}",
                       thread, own_workers ? ", " : "", own_workers ? thread : "");
        add(&b, FLOOR, text);
        judge(&b);
        assert_near(b.j.busy_frac, own_workers ? 0 : 0.4);
        assert_int_equal(b.j.busy_rung != NULL, !own_workers);
        assert_int_equal(strstr(b.j.text, "40%") != NULL, !own_workers);
        assert_null(strstr(b.j.text, "hypervisor"));
        close_bench(&b);
    }
}

static void test_stolen_time_is_reported(void **state)
{
    (void)state;
    static const double stolen[] = {0, 0.01, 0.05};
    for (size_t i = 0; i < sizeof(stolen) / sizeof(*stolen); i++) {
        struct bench b;
        open_bench(&b, names, N_RUNGS);
        add(&b, FLOOR, "{\"status\": \"ok\", \"seconds\": 1}");
        b.setting.stolen_frac = stolen[i];
        judge(&b);
        assert_int_equal(strstr(b.j.text, "5%") != NULL, i == 2);
        json_t *gap = dlb_gap_json(&b.setting, &b.j);
        assert_near(dlb_json_number(gap, "machine_stolen_frac"), stolen[i]);
        json_decref(gap);
        close_bench(&b);
    }
}

static void test_partial(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    b.results.interrupted = true;
    add(&b, FLOOR, "{\"status\": \"ok\", \"seconds\": 0.4}");
    add(&b, DIRECT, "{\"status\": \"cancelled\", \"reason\": \"interrupted\"}");
    judge(&b);
    assert_int_equal(b.j.rung[FLOOR].status, DLB_GAP_OK);
    assert_int_equal(b.j.rung[DIRECT].status, DLB_GAP_NOT_MEASURED);
    assert_true(b.j.rung[DIRECT].reason[0]);
    assert_true(isnan(b.j.rung[FLOOR].to_direct));
    json_t *gap = dlb_gap_json(&b.setting, &b.j);
    const json_t *direct = json_array_get(json_object_get(gap, "rungs"), DIRECT);
    assert_true(json_is_null(json_object_get(json_object_get(direct, "seconds"), "median")));
    json_decref(gap);
    close_bench(&b);
}

static void test_one_lost_repetition_loses_the_rung(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    add(&b, FLOOR, "{\"status\": \"ok\", \"seconds\": 0.4}");
    add(&b, FLOOR, "{\"status\": \"failed\", \"reason\": \"killed\", \"error\": 3}");
    add(&b, DIRECT, "{\"status\": \"failed\", \"error\": 7, \"code\": \"E_RUNG_WORKER_DIED\"}");
    judge(&b);
    assert_int_equal(b.j.rung[FLOOR].status, DLB_GAP_FAILED);
    assert_int_equal(b.j.rung[FLOOR].code, DLB_ERR_FORMAT); /* the general code of status 3 */
    assert_int_equal(b.j.rung[DIRECT].code, DLB_ERR_RUNG_WORKER_DIED);
    assert_string_equal(b.j.rung[FLOOR].reason, "killed");
    assert_null(dlb_gap_measured(&b.j, "floor"));
    close_bench(&b);
}

static void test_other_content_is_a_failure(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    add(&b, FLOOR, "{\"status\": \"ok\", \"seconds\": 0.4, \"checksum\": \"00000000000000ab\"}");
    add(&b, TORCH_DIRECT, direct_doc);
    judge(&b);
    assert_int_equal(b.j.rung[FLOOR].status, DLB_GAP_OK);
    assert_int_equal(b.j.rung[TORCH_DIRECT].status, DLB_GAP_FAILED);
    assert_int_equal(b.j.rung[TORCH_DIRECT].code, DLB_ERR_RUNG_CONTENT);
    assert_non_null(strstr(b.j.rung[TORCH_DIRECT].reason, "00000000000000ab"));
    close_bench(&b);
}

static void test_polls_are_named(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, names, N_RUNGS);
    add(&b, LISTS, "{\"status\": \"ok\", \"seconds\": 12.0, \"liveness_polls\": {\"count\": 2}}");
    judge(&b);
    assert_int_equal(dlb_gap_measured(&b.j, names[LISTS])->shown->n_liveness_polls, 2);
    assert_non_null(strstr(b.j.text, names[LISTS]));
    assert_non_null(strstr(b.j.text, "2 waits of 5.0 s "));
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratios_and_steps),
        cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_a_cause_must_be_removable),
        cmocka_unit_test(test_without_torch),
        cmocka_unit_test(test_of_two_the_faster_is_shown),
        cmocka_unit_test(test_cures_that_overlap_are_not_ranked),
        cmocka_unit_test(test_cures_that_do_not_help_come_last),
        cmocka_unit_test(test_busy_is_of_others),
        cmocka_unit_test(test_stolen_time_is_reported),
        cmocka_unit_test(test_partial),
        cmocka_unit_test(test_one_lost_repetition_loses_the_rung),
        cmocka_unit_test(test_other_content_is_a_failure),
        cmocka_unit_test(test_polls_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

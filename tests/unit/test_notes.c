/* What a reader is told beside the numbers: of a GPU's step that is not what was asked for, of CPU
 * time that others got, of windows that are too short, of a depth that no batch fills, and of who
 * did not come back at the end. */
#include "scenarios/judge/notes.h"
#include "scenarios/spec/flat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 2 };

static bool step_assumed;

/* The notes about two cells that both measured this, the first in its one repetition; new
 * reference. */
static json_t *noted(const char *measured, bool io_depth_said)
{
    struct dlb_plan plan = {.n_cells = CELLS,
                            .reference = -1,
                            .axes = json_object(),
                            .io_depth_said = io_depth_said,
                            .step_assumed = step_assumed};
    struct dlb_results results = {.reference = json_array(), .warm = json_array()};
    struct dlb_judgement j = {
        .best = -1, .recommended = -1, .notes = json_array(), .not_modelled = json_array()};
    json_t *shown = json_loads(measured, 0, NULL);
    plan.cells = calloc(CELLS, sizeof(*plan.cells));
    results.cells = calloc(CELLS, sizeof(json_t *));
    j.cells = calloc(CELLS, sizeof(*j.cells));
    assert_true(plan.cells && results.cells && j.cells && shown);
    assert_int_equal(json_object_set_new(shown, "status", json_string("ok")), 0);
    for (int i = 0; i < CELLS; i++) {
        plan.cells[i].config =
            json_pack("{si, sf}", "loader.batch_size", 16, "device.step_ms", 100.0);
        results.cells[i] = i == 0 ? json_pack("[O]", shown) : json_array();
        j.cells[i].shown = shown;
        j.cells[i].n_workers = dlb_json_number(shown, "n_workers");
    }
    assert_true(dlb_notes_fill(&plan, &results, &j));
    for (int i = 0; i < CELLS; i++) {
        json_decref(plan.cells[i].config);
        json_decref(results.cells[i]);
    }
    json_decref(shown);
    json_decref(plan.axes);
    json_decref(results.reference);
    json_decref(results.warm);
    json_decref(j.not_modelled);
    free(plan.cells);
    free(results.cells);
    free(j.cells);
    return j.notes;
}

static void says(const char *measured, const char *words)
{
    json_t *notes = noted(measured, false);
    char *all = json_dumps(notes, 0);
    size_t n = json_array_size(notes);
    if (n != (words ? 1 : 0) || (words && !strstr(all, words)))
        fail_msg("%s: %s", measured, all);
    free(all);
    json_decref(notes);
}

#define GPU(step) "{\"device\": {\"gpu\": {\"step\": " step "}}}"

static void a_step_that_is_not_what_was_asked(void **state)
{
    (void)state;
    says(GPU("{\"asked_ns\": 1e6, \"measured_ns\": 1.05e6, \"read_ns\": 2e4}"),
         "calibrated to 1.05 ms (+5.0%)");
    says(GPU("{\"asked_ns\": 1e6, \"measured_ns\": 0.9e6, \"read_ns\": 2e4}"),
         "calibrated to 0.9 ms (-10.0%)");
    says(GPU("{\"asked_ns\": 1e6, \"measured_ns\": 4e6, \"read_ns\": 3.9e6}"),
         "reading the batch alone takes the GPU 3.9 ms, so steps took 4 ms");
}

static void a_step_that_nobody_set(void **state)
{
    (void)state;
    step_assumed = true;
    says("{}", "a step of 100 ms, the default, which is no network's");
    step_assumed = false;
    says("{}", NULL);
}

static void nothing_is_said_of_one_that_is(void **state)
{
    (void)state;
    says(GPU("{\"asked_ns\": 1e6, \"measured_ns\": 1.019e6, \"read_ns\": 2e4}"), NULL);
    says(GPU("{\"asked_ns\": null, \"measured_ns\": null, \"read_ns\": 2e4}"), NULL);
    says(GPU("null"), NULL);
}

static void stolen_time(void **state)
{
    (void)state;
    says("{\"machine_stolen_frac\": 0.137}",
         "gave 14% of this machine's CPU time to others while cell 0");
    says("{\"machine_stolen_frac\": 0.019}", NULL);
    says("{\"machine_stolen_frac\": null}", NULL);
}

static void windows_of_few_bursts(void **state)
{
    (void)state;
    says("{\"n_workers\": 8, \"n_steps\": 20}",
         "cell 0 (and 1 more) measured 20 batches of 8 workers, which can finish together: its "
         "rate may be off by 40%");
    says("{\"n_workers\": 8, \"n_steps\": 4}", "off by 100%");
    says("{\"n_workers\": 8, \"n_steps\": 40}", NULL);
    says("{\"n_workers\": 1, \"n_steps\": 4}", NULL);
    says("{\"n_workers\": 0, \"n_steps\": 4}", NULL);
}

#define IO(requests, depth)                                                                        \
    "{\"worker_samples\": 100, \"io\": {\"requests\": " requests ", \"resubmitted\": 7, "          \
    "\"depth\": " depth "}}"

static void a_depth_that_no_batch_fills(void **state)
{
    (void)state;
    const struct {
        const char *measured;
        bool said;
        size_t n; /* both cells say it */
    } cases[] = {
        {IO("107", "17"), true, CELLS}, {IO("107", "16"), true, 0},    {IO("107", "17"), false, 0},
        {IO("207", "17"), true, 0}, /* each sample lies in two places */
        {IO("207", "33"), true, CELLS}, {IO("null", "null"), true, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *notes = noted(cases[i].measured, cases[i].said);
        assert_int_equal(json_array_size(notes), cases[i].n);
        const char *first = json_string_value(json_array_get(notes, 0));
        assert_true(!first || strstr(first, "is never reached"));
        json_decref(notes);
    }
}

static void who_does_not_come_back(void **state)
{
    (void)state;
    says("{\"block\": 2, \"stuck_why\": \"worker 0 does not end\"}",
         "cell 0: all of repetition 3 was measured, but at its end worker 0 does not end: what its "
         "workers did is not known");
    says("{\"block\": 2, \"stuck_why\": \"the GPU does not come back\", \"worker_stages\": {}}",
         "but at its end the GPU does not come back\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_is_not_what_was_asked),
        cmocka_unit_test(a_step_that_nobody_set),
        cmocka_unit_test(nothing_is_said_of_one_that_is),
        cmocka_unit_test(stolen_time),
        cmocka_unit_test(windows_of_few_bursts),
        cmocka_unit_test(a_depth_that_no_batch_fills),
        cmocka_unit_test(who_does_not_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

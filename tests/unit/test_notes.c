/* What a reader is told beside the numbers: of a GPU's step that is not what was asked for, of CPU
 * time that others got, of windows that are too short, of a depth that no batch fills, and of a
 * worker or device that did not come back at the end. */
#include "core/base/mem.h"
#include "scenarios/judge/notes.h"
#include "scenarios/judge/step_note.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 2 };

/* What both cells measured, the first in its one repetition, and what was planned. */
struct measured {
    struct dlb_cell_result result;
    double n_workers;
    bool io_depth_said, step_assumed;
};

static struct measured nothing(void)
{
    struct measured m = {.n_workers = 0};
    dlb_cell_result_init(&m.result);
    m.result.has_loop = m.result.has_device = true;
    return m;
}

/* The notes about it; new reference. */
static json_t *noted(struct measured *m)
{
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    struct dlb_plan_cell planned[CELLS] = {{.spec = spec}, {.spec = spec}};
    struct dlb_reps reps[CELLS] = {{.rep = &m->result, .n = 1}};
    struct dlb_judged_cell cells[CELLS] = {{.shown = &m->result, .n_workers = m->n_workers},
                                           {.shown = &m->result, .n_workers = m->n_workers}};
    struct dlb_plan plan = {.cells = planned,
                            .n_cells = CELLS,
                            .reference = -1,
                            .io_depth_said = m->io_depth_said,
                            .step_assumed = m->step_assumed};
    struct dlb_results results = {.cells = reps, .n_cells = CELLS};
    struct dlb_judgement j = {
        .best = -1, .recommended = -1, .notes = json_array(), .cells = cells, .n_cells = CELLS};
    dlb_spec_defaults(spec);
    spec->loader.batch_size = 16;
    spec->device.step_ms = 100;
    dlb_notes_fill(&plan, &results, &j);
    assert_true(isnan(j.drift_frac));
    free(spec);
    return j.notes;
}

/* They are one of this code with these figures; of NULL: none. */
static void says(struct measured m, const char *code, const char *figures)
{
    json_t *notes = noted(&m);
    const json_t *first = json_array_get(notes, 0);
    size_t n = json_array_size(notes);
    if (n != (code ? 1 : 0) || (code && (strcmp(dlb_json_text(first, "code"), code) != 0 ||
                                         !strstr(dlb_json_text(first, "text"), figures))))
        fail_msg("%zu notes instead of %s: %s: %s", n, code ? code : "none",
                 dlb_json_text(first, "code"), dlb_json_text(first, "text"));
    json_decref(notes);
}

static struct measured step(double asked_ns, double measured_ns, double read_ns)
{
    struct measured m = nothing();
    m.result.device.step_asked_ns = asked_ns;
    m.result.device.step_measured_ns = measured_ns;
    m.result.device.step_read_ns = read_ns;
    return m;
}

static void a_step_that_is_not_what_was_asked(void **state)
{
    (void)state;
    says(step(1e6, 1.05e6, 2e4), "STEP_OFF", "1.05 ms (+5.0%)");
    says(step(1e6, 0.9e6, 2e4), "STEP_OFF", "0.9 ms (-10.0%)");
    says(step(1e6, 4e6, 3.9e6), "STEP_OFF", "3.9 ms");
    says(step(1e6, 4e6, 3.9e6), "STEP_OFF", "4 ms");
}

/* A sweep has one note of it: how many cells, and figures of the worst. */
static void a_note_of_all_steps(void **state)
{
    (void)state;
    struct measured m = step(1e6, 1.05e6, 2e4), worse = step(1e6, 0.9e6, 2e4);
    struct dlb_judged_cell cells[3] = {
        {.shown = NULL}, {.shown = &m.result}, {.shown = &worse.result}};
    const struct dlb_judgement j = {.cells = cells, .n_cells = 3};
    json_t *notes = json_array();
    dlb_note_steps(&j, notes);
    assert_int_equal(json_array_size(notes), 1);
    const char *text = dlb_json_text(json_array_get(notes, 0), "text");
    assert_non_null(strstr(text, "2 of 3"));
    assert_non_null(strstr(text, "cell 2"));
    assert_non_null(strstr(text, "-10.0%"));
    json_decref(notes);
}

/* Steps then took took_ns, and the driver may know why. */
static void ran_says(struct measured m, double took_ns, const char *nvml, const char *code,
                     const char *figures)
{
    m.result.device.gpu =
        json_pack("{s{sf, sf}, so}", "run", "step_asked_ns", m.result.device.step_asked_ns,
                  "step_took_ns", took_ns, "nvml", nvml ? json_loads(nvml, 0, NULL) : json_null());
    assert_non_null(m.result.device.gpu);
    says(m, code, figures);
    json_decref(m.result.device.gpu);
}

static void slow_says(double took_ns, const char *nvml, const char *code, const char *figures)
{
    ran_says(step(1e6, 1e6, 2e4), took_ns, nvml, code, figures);
}

/* A late start of a short step is no slow GPU. */
static void a_short_step(void **state)
{
    (void)state;
    ran_says(step(2e4, 2e4, 4e3), 2.29e4, NULL, NULL, NULL);
    ran_says(step(2e4, 2e4, 4e3), 2.31e4, NULL, "STEP_OFF", "+15.5%");
    ran_says(step(2e4, 2e4, 4e3), 1.71e4, NULL, "STEP_OFF", "-14.5%");
    ran_says(step(1e4, 1.25e4, 4e3), 1.26e4, NULL, "STEP_OFF", "+26.0%"); /* of whole iterations */
    ran_says(step(2e3, 4e3, 4e3), 4.9e3, NULL, "STEP_OFF", "reading the batch alone");
}

static void a_gpu_that_slows_down(void **state)
{
    static const char nvml[] =
        "{\"throttle\": [\"sw_power_cap\", \"sync_boost\"], "
        "\"sm_clock_mean_mhz\": 1410.2, \"sm_clock_max_mhz\": 1980, \"power_limit_w\": 300, "
        "\"power_limit_default_w\": 700, \"n_other_processes\": 2, \"other_processes\": "
        "[{\"pid\": 41, \"name\": \"python3\"}, {\"pid\": 42, \"name\": null}]}";
    static const char contained[] = "{\"throttle\": [], \"n_other_processes\": 3, "
                                    "\"other_processes\": null}";
    (void)state;
    slow_says(1.019e6, nvml, NULL, NULL);
    slow_says(1.3e6, NULL, "STEP_OFF", "1.3 ms (+30.0%)");
    slow_says(0.97e6, NULL, "STEP_OFF", "0.97 ms (-3.0%)");
    slow_says(1.3e6, nvml, "STEP_OFF", "sw_power_cap, sync_boost");
    slow_says(1.3e6, nvml, "STEP_OFF", "1410 of 1980 MHz");
    slow_says(1.3e6, nvml, "STEP_OFF", "300 of 700 W");
    slow_says(1.3e6, nvml, "STEP_OFF", "python3 (41), ");
    slow_says(1.3e6, contained, "STEP_OFF", ": 3");
    slow_says(1.3e6, "{\"throttle\": [null], \"other_processes\": [5]}", "STEP_OFF", "+30.0%");
}

static void a_step_that_was_not_set(void **state)
{
    (void)state;
    struct measured m = nothing();
    m.step_assumed = true;
    says(m, "STEP_ASSUMED", "100 ms");
    says(nothing(), NULL, NULL);
}

static void nothing_is_said_of_one_that_is(void **state)
{
    (void)state;
    const double nan = (double)NAN;
    says(step(1e6, 1.019e6, 2e4), NULL, NULL);
    says(step(nan, nan, 2e4), NULL, NULL);
    says(step(nan, nan, nan), NULL, NULL);
}

static void stolen_time(void **state)
{
    (void)state;
    struct measured m = nothing();
    m.result.loop.machine_stolen_frac = 0.137;
    says(m, "STEAL", "14%");
    m.result.loop.machine_stolen_frac = 0.019;
    says(m, NULL, NULL);
}

static struct measured steps(double n_workers, uint64_t n_steps)
{
    struct measured m = nothing();
    m.n_workers = n_workers;
    m.result.loop.total.n_steps = n_steps;
    return m;
}

static void windows_of_few_bursts(void **state)
{
    (void)state;
    says(steps(8, 20), "BURSTS", " 20 batches of 8 ");
    says(steps(8, 20), "BURSTS", "40%");
    says(steps(8, 4), "BURSTS", "100%");
    says(steps(8, 40), NULL, NULL);
    says(steps(1, 4), NULL, NULL);
    says(steps(0, 4), NULL, NULL);
}

static struct measured io(uint64_t n_requests, uint64_t depth)
{
    struct measured m = nothing();
    m.result.has_workers = true;
    m.result.workers.stage[DLB_WS_READ].count = 100;
    m.result.workers.io.n_requests = n_requests;
    m.result.workers.io.n_resubmitted = 7;
    m.result.workers.io.depth = depth;
    return m;
}

static void a_depth_that_no_batch_fills(void **state)
{
    (void)state;
    const struct {
        uint64_t n_requests, depth;
        bool said;
        size_t n; /* both cells say it */
    } cases[] = {
        {107, 17, true, CELLS}, {107, 16, true, 0},
        {107, 17, false, 0},    {207, 17, true, 0}, /* each sample lies in two places */
        {207, 33, true, CELLS}, {DLB_NOT_MEASURED, DLB_NOT_MEASURED, true, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct measured m = io(cases[i].n_requests, cases[i].depth);
        m.io_depth_said = cases[i].said;
        json_t *notes = noted(&m);
        assert_int_equal(json_array_size(notes), cases[i].n);
        for (size_t k = 0; k < cases[i].n; k++)
            assert_string_equal(dlb_json_text(json_array_get(notes, k), "code"), "IO_DEPTH_UNUSED");
        json_decref(notes);
    }
}

static void what_does_not_come_back(void **state)
{
    (void)state;
    struct measured m = nothing();
    char told[2][1100];
    for (int i = 0; i < 2; i++) {
        m.result.block = 2;
        m.result.has_workers = i == 1;
        (void)snprintf(m.result.stuck_why, sizeof(m.result.stuck_why), "worker 0");
        says(m, "WORKER_STUCK", "repetition 3");
        says(m, "WORKER_STUCK", "worker 0");
        json_t *notes = noted(&m);
        (void)snprintf(told[i], sizeof(told[i]), "%s",
                       dlb_json_text(json_array_get(notes, 0), "text"));
        json_decref(notes);
    }
    /* Without what its workers did, that is said, too. */
    assert_true(strlen(told[0]) > strlen(told[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_is_not_what_was_asked),
        cmocka_unit_test(a_note_of_all_steps),
        cmocka_unit_test(a_gpu_that_slows_down),
        cmocka_unit_test(a_short_step),
        cmocka_unit_test(a_step_that_was_not_set),
        cmocka_unit_test(nothing_is_said_of_one_that_is),
        cmocka_unit_test(stolen_time),
        cmocka_unit_test(windows_of_few_bursts),
        cmocka_unit_test(a_depth_that_no_batch_fills),
        cmocka_unit_test(what_does_not_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

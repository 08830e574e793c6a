/* A sweep with planted repetitions, and its judgement. Header-only. */
#ifndef DLB_TESTS_JUDGED_H
#define DLB_TESTS_JUDGED_H

#include "scenarios/judge/judge.h"
#include "scenarios/scenario.h"
#include "scenarios/spec/flat.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct judged {
    struct dlb_plan plan;
    struct dlb_results results;
    struct dlb_judgement j;
};

static inline void open_judged(struct judged *t, const char *const *settings)
{
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    for (; *settings; settings++)
        assert_int_equal(dlb_config_set(cfg, *settings, &err), DLB_OK);
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 8, .iterable = false};
    memset(t, 0, sizeof(*t));
    if (dlb_scenario_by_name("sweep")->plan(&in, &t->plan, &err))
        fail_msg("%s", err.what);
    assert_int_equal(dlb_results_init(&t->results, &t->plan, &err), DLB_OK);
    dlb_config_free(cfg);
}

static inline void judge(struct judged *t)
{
    struct dlb_err err;
    assert_int_equal(dlb_judge_cells(&t->plan, &t->results, 8, &t->j, &err), DLB_OK);
}

static inline void close_judged(struct judged *t)
{
    dlb_judgement_free(&t->j, &t->plan);
    dlb_results_free(&t->results);
    dlb_plan_free(&t->plan);
}

/* A repetition of `rate` samples/s in a window of a second, of which `busy` was computing. */
static inline json_t *rep(double rate, double busy, uint32_t block, int64_t slots)
{
    json_int_t window = 1000000000;
    json_int_t busy_ns = (json_int_t)(busy * 1e9);
    json_t *doc = json_pack(
        "{ss, sI, sI, sI, sI, sI, sI, sI, sI, sI, sI, si, s{sI, sI, sI}, s{ss, ss, ss}}", "status",
        "ok", "window_ns", window, "n_samples", (json_int_t)rate, "n_steps",
        (json_int_t)(rate / 10), "n_bytes", (json_int_t)rate * 100, "busy_ns", busy_ns,
        "idle_input_ns", window - busy_ns, "idle_copy_ns", (json_int_t)0, "idle_other_ns",
        (json_int_t)0, "wall_ns", window, "unaccounted_ns", (json_int_t)1000, "block", block,
        "memory", "slots_bytes", (json_int_t)slots, "peak_pss_bytes", (json_int_t)1, "pinned_bytes",
        (json_int_t)0, "device", "kind", "emulated", "name", "emulated H100", "why", "test");
    assert_non_null(doc);
    return doc;
}

static inline void add(struct judged *t, uint32_t cell, const double *rates, uint32_t n,
                       int64_t slots)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(
            json_array_append_new(t->results.cells[cell], rep(rates[i], 0.5, i, slots)), 0);
}

#endif

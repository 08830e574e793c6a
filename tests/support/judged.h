/* An exhaustive sweep with planted repetitions, and its judgement. Header-only. */
#ifndef DLB_TESTS_JUDGED_H
#define DLB_TESTS_JUDGED_H

#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/judge/judge.h"
#include "scenarios/scenario.h"
#include "scenarios/spec/spec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
    /* No race; a test of one sets it back. */
    if (dlb_config_set(cfg, "sweep.exhaustive=true", &err))
        fail_msg("%s", err.what);
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err))
            fail_msg("%s: %s", *settings, err.what);
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 8, .iterable = false};
    memset(t, 0, sizeof(*t));
    if (dlb_scenario_by_name("sweep")->plan(&in, &t->plan, &err))
        fail_msg("%s", err.what);
    dlb_results_init(&t->results, &t->plan);
    dlb_config_free(cfg);
}

static inline void judge(struct judged *t)
{
    dlb_judge_cells(&t->plan, &t->results, 8, &t->j);
}

static inline void close_judged(struct judged *t)
{
    dlb_judgement_free(&t->j);
    dlb_results_free(&t->results);
    dlb_plan_free(&t->plan);
}

/* A repetition of `rate` samples/s in a window of a second, of which `busy` was computing. */
static inline struct dlb_cell_result rep(double rate, double busy, uint32_t block, uint64_t slots)
{
    struct dlb_cell_result out;
    struct dlb_share *total = &out.loop.total;
    dlb_cell_result_init(&out);
    out.block = block;
    out.has_loop = out.has_memory = out.has_device = true;
    total->window_ns = total->wall_ns = 1000000000;
    total->n_samples = (uint64_t)rate;
    total->n_steps = (uint64_t)(rate / 10);
    total->n_bytes = (uint64_t)rate * 100;
    total->busy_ns = (uint64_t)(busy * 1e9);
    total->idle_input_ns = total->window_ns - total->busy_ns;
    total->idle_copy_ns = total->idle_other_ns = 0;
    total->unaccounted_ns = 1000;
    out.memory = (struct dlb_memory_result){.slots_bytes = slots, .peak_pss_bytes = 1};
    (void)snprintf(out.device.kind, sizeof(out.device.kind), "emulated");
    (void)snprintf(out.device.name, sizeof(out.device.name), "emulated H100");
    return out;
}

/* One whose process was killed. */
static inline struct dlb_cell_result lost(uint32_t block)
{
    struct dlb_cell_result out;
    dlb_cell_result_init(&out);
    out.block = block;
    out.status = DLB_REP_FAILED;
    out.code = DLB_ERR_CELL_KILLED;
    out.error = dlb_code_status(out.code);
    (void)snprintf(out.reason, sizeof(out.reason), "was killed by SIGKILL");
    return out;
}

static inline void put(struct dlb_reps *reps, struct dlb_cell_result result)
{
    dlb_reps_add(reps, &result);
}

static inline void add(struct judged *t, uint32_t cell, const double *rates, uint32_t n,
                       uint64_t slots)
{
    for (uint32_t i = 0; i < n; i++)
        put(&t->results.cells[cell], rep(rates[i], 0.5, i, slots));
}

static inline struct dlb_cell_result *rep_of(struct judged *t, uint32_t cell, uint32_t number)
{
    assert_true(number < t->results.cells[cell].n);
    return &t->results.cells[cell].rep[number];
}

/* The first note of that code in a list of notes, or of what is not modelled; NULL: there is none.
 * *n: how many there are; may be NULL. */
static inline const char *noted(const json_t *list, const char *code, size_t *n)
{
    const char *first = NULL;
    const json_t *note;
    size_t i, count = 0;
    json_array_foreach(list, i, note) {
        if (strcmp(dlb_json_text(note, "code"), code) != 0)
            continue;
        first = first ? first : dlb_json_text(note, "text");
        count++;
    }
    if (n)
        *n = count;
    return first;
}

/* That list has such a note, once, with these figures in it; figures may be NULL. */
static inline void assert_noted(const json_t *list, const char *code, const char *figures)
{
    size_t n = 0;
    const char *text = noted(list, code, &n);
    if (n != 1 || (figures && !strstr(text, figures)))
        fail_msg("%zu of %s, with \"%s\": %s", n, code, figures ? figures : "",
                 text ? text : "none");
}

/* A cell's verdict is of that name (dlb_verdict_code). */
static inline void assert_verdict(const struct judged *t, uint32_t cell, const char *code)
{
    const struct dlb_verdict *v = &t->j.cells[cell].verdict;
    const char *is = dlb_verdict_code(v->klass, v->cause);
    if (!is || strcmp(is, code) != 0)
        fail_msg("cell %u: %s instead of %s: %s", cell, is ? is : "none", code, v->text);
}

#endif

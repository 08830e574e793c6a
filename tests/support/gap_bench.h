/* An in-memory ladder with made-up rungs, and its judgement. Header-only. */
#ifndef DLB_TESTS_GAP_BENCH_H
#define DLB_TESTS_GAP_BENCH_H

#include "scenarios/gap/judge.h"
#include "scenarios/gap/summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bench {
    struct dlb_plan plan;
    struct dlb_results results;
    struct dlb_gap_params params;
    struct dlb_gap_python python;
    struct dlb_gap_setting setting;
    struct dlb_gap_judgement j;
};

static inline void open_bench(struct bench *b, const char *const *names, uint32_t n)
{
    memset(b, 0, sizeof(*b));
    b->plan.cells = calloc(n, sizeof(*b->plan.cells));
    assert_non_null(b->plan.cells);
    b->plan.n_cells = n;
    for (uint32_t i = 0; i < n; i++)
        b->plan.cells[i].other.name = names[i];
    dlb_results_init(&b->results, &b->plan);
    b->params = (struct dlb_gap_params){.samples = 1000, .features = 10, .batch_size = 100};
    b->python = (struct dlb_gap_python){.found = true, .path = "/py", .torch = "2.0"};
    b->setting = (struct dlb_gap_setting){&b->params, &b->python, "", (double)NAN};
}

#endif

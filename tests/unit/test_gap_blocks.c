/* The intervals of the decomposition: from differences within blocks, and as often right as they
 * say. */
#include "core/base/rng.h"
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

enum { DIRECT, LOADER, LISTS, N_RUNGS };
static const char *const names[N_RUNGS] = {"torch-direct", "torch-dataloader",
                                           "torch-batch-sampler"};

/* A ladder of which the truth is known; seconds. */
static const struct {
    double index, stack, ordered, copy, direct_copy, start, rest;
} truth = {5, 3, 2, 0.6, 0.5, 0.2, 0.3};
#define TOTAL 8.6
#define ITEMS 7.0 /* indexing and stacking, without misses */
#define LISTS_S 1.1
#define LISTS_CAPPED_S 4.1 /* saves 5 of ITEMS */

static double true_part(int cause, bool capped)
{
    double shown = capped ? (TOTAL + truth.direct_copy - LISTS_CAPPED_S) / ITEMS : 1;
    switch (cause) {
    case DLB_GAP_CAUSE_INDEXING:
        return truth.index * shown;
    case DLB_GAP_CAUSE_STACKING:
        return truth.ordered * shown;
    case DLB_GAP_CAUSE_MISSES:
        return truth.stack - truth.ordered;
    case DLB_GAP_CAUSE_COPIES:
        return truth.copy - truth.direct_copy;
    case DLB_GAP_CAUSE_START_UP:
        return truth.start;
    case DLB_GAP_CAUSE_CLOSURE:
        return truth.rest + ITEMS * (1 - shown);
    default:
        return 0;
    }
}

static void close_bench(struct bench *b)
{
    dlb_gap_judgement_free(&b->j);
    dlb_results_free(&b->results);
    dlb_plan_free(&b->plan);
}

static void add(struct bench *b, uint32_t rung, uint32_t block, const char *text)
{
    json_t *doc = json_loads(text, 0, NULL);
    struct dlb_cell_result result;
    struct dlb_err err;
    assert_non_null(doc);
    assert_int_equal(dlb_cell_result_from_json(&result, doc, &err), DLB_OK);
    result.document = doc;
    result.block = block;
    dlb_reps_add(&b->results.cells[rung], &result);
}

/* Each part differs from block to block by itself, and the whole block is slower or faster. */
static void add_block(struct bench *b, uint32_t block, double lists, double noise,
                      struct dlb_rng *rng)
{
    double part[7];
    const double mean[7] = {truth.index, truth.stack, truth.copy, truth.direct_copy,
                            truth.start, truth.rest,  lists};
    double drift = 1 + noise * dlb_rng_normal(rng);
    for (int i = 0; i < 7; i++)
        part[i] = mean[i] * drift * (1 + noise * dlb_rng_normal(rng));
    char text[640];
    (void)snprintf(
        text, sizeof(text),
        "{\"status\": \"ok\", \"seconds\": %.9f, \"n_samples\": 1000, \"parts\": "
        "{\"index\": {\"seconds\": %.9f, \"minor_faults\": 0}, \"stack\": {\"seconds\": "
        "%.9f, \"minor_faults\": 0}, \"copy\": {\"seconds\": %.9f, \"minor_faults\": 0}, "
        "\"start\": {\"seconds\": %.9f, \"minor_faults\": 0}}, \"faults\": {\"ns\": 100},"
        " \"ordered\": {\"part\": \"stack\", \"seconds_per_sample\": %.12f}}",
        part[0] + part[1] + part[2] + part[4] + part[5], part[0], part[1], part[2], part[4],
        part[1] * truth.ordered / truth.stack / 1000);
    add(b, LOADER, block, text);
    (void)snprintf(
        text, sizeof(text),
        "{\"status\": \"ok\", \"seconds\": %.9f, \"n_samples\": 1000, \"parts\": "
        "{\"copy\": {\"seconds\": %.9f, \"minor_faults\": 0}}, \"faults\": {\"ns\": 100}}",
        part[3], part[3]);
    add(b, DIRECT, block, text);
    (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %.9f}", part[6]);
    add(b, LISTS, block, text);
}

static void judge(struct bench *b, uint32_t n_blocks, double lists, double noise, uint64_t seed)
{
    struct dlb_rng rng = dlb_rng_seed(seed, n_blocks, 3);
    open_bench(b, names, N_RUNGS);
    for (uint32_t i = 0; i < n_blocks; i++)
        add_block(b, i, lists, noise, &rng);
    dlb_gap_judge(&b->plan, &b->results, &b->setting, &b->j);
}

static bool holds(double low, double value, double high)
{
    return low <= value && value <= high;
}

/* Shares of ladders in which the intervals of each part, and of the sum, hold the truth. */
static void assert_coverage(uint32_t n_blocks, double noise, bool capped)
{
    enum { N_LADDERS = 200 };
    uint32_t held[DLB_GAP_N_CAUSES + 1] = {0};
    for (uint32_t i = 0; i < N_LADDERS; i++) {
        struct bench b;
        judge(&b, n_blocks, capped ? LISTS_CAPPED_S : LISTS_S, noise, i);
        assert_int_equal(b.j.n_blocks, n_blocks);
        for (int part = 0; part < DLB_GAP_N_CAUSES; part++) {
            const struct dlb_gap_share *p = &b.j.part[part];
            held[part] += holds(p->low - 1e-9, true_part(part, capped), p->high + 1e-9);
            assert_true(holds(p->low, p->seconds, p->high));
        }
        held[DLB_GAP_N_CAUSES] += holds(b.j.total_low, TOTAL, b.j.total_high);
        close_bench(&b);
    }
    printf("%3.0f%% %2u blocks%s:", noise * 100, n_blocks, capped ? ", capped" : "");
    for (int part = 0; part <= DLB_GAP_N_CAUSES; part++) {
        double share = (double)held[part] / N_LADDERS;
        printf(" %5.1f%%", share * 100);
        assert_true(share >= 0.92 - 3 * sqrt(0.92 * 0.08 / N_LADDERS));
    }
    printf("\n");
}

static void test_coverage(void **state)
{
    (void)state;
    static const double noises[] = {0.01, 0.03, 0.1};
    static const uint32_t blocks[] = {3, 5, 12};
    for (int noise = 0; noise < 3; noise++)
        for (int k = 0; k < 3; k++)
            for (int capped = 0; capped < 2; capped++)
                assert_coverage(blocks[k], noises[noise], capped);
}

/* The machine's drift is the same for both rungs of a block: it does not widen what is paired. */
static void test_pairing(void **state)
{
    (void)state;
    struct bench b;
    static const double slow[] = {1, 1.5, 1, 2, 1.2};
    open_bench(&b, names, N_RUNGS);
    for (uint32_t i = 0; i < 5; i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %.6f}", slow[i] + 2);
        add(&b, LOADER, i, text);
        (void)snprintf(text, sizeof(text), "{\"status\": \"ok\", \"seconds\": %.6f}", slow[i]);
        add(&b, DIRECT, i, text);
    }
    dlb_gap_judge(&b.plan, &b.results, &b.setting, &b.j);
    assert_int_equal(b.j.n_blocks, 5);
    assert_true(fabs(b.j.total_low - 2) < 1e-6 && fabs(b.j.total_high - 2) < 1e-6);
    close_bench(&b);
}

/* Fewer than three blocks: no interval, but the figures and how they are known. */
static void test_labels(void **state)
{
    (void)state;
    static const char *const labels[DLB_GAP_N_CAUSES] = {"removed", "removed", "removed",
                                                         "priced",  "stamped", "stamped",
                                                         "stamped", "stamped", "closure"};
    for (uint32_t n_blocks = 2; n_blocks <= 3; n_blocks++) {
        struct bench b;
        judge(&b, n_blocks, LISTS_S, 0.01, 1);
        json_t *gap = dlb_gap_json(&b.setting, &b.j), *part;
        size_t i;
        assert_int_equal(json_array_size(json_object_get(gap, "decomposition")), DLB_GAP_N_CAUSES);
        json_array_foreach(json_object_get(gap, "decomposition"), i, part) {
            assert_string_equal(dlb_json_text(part, "label"), labels[i]);
            assert_true(json_is_number(json_object_get(part, "seconds")));
            assert_int_equal(json_is_number(json_object_get(part, "low")), n_blocks == 3);
            assert_int_equal(json_is_number(json_object_get(part, "high")), n_blocks == 3);
        }
        assert_int_equal(json_is_number(json_object_get(gap, "total_low")), n_blocks == 3);
        assert_int_equal(dlb_json_u64(gap, "blocks", 99), n_blocks);
        assert_string_equal(dlb_gap_cause_names[DLB_GAP_CAUSE_CLOSURE], "closure");
        assert_non_null(strstr(b.j.text, "closure"));
        json_decref(gap);
        close_bench(&b);
    }
}

/* A block without one of the rungs gives no difference. */
static void test_blocks_that_lack_a_rung(void **state)
{
    (void)state;
    struct bench b;
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);
    open_bench(&b, names, N_RUNGS);
    for (uint32_t i = 0; i < 3; i++)
        add_block(&b, i, LISTS_S, 0.01, &rng);
    add(&b, LOADER, 3, "{\"status\": \"ok\", \"seconds\": 9.0}");
    dlb_gap_judge(&b.plan, &b.results, &b.setting, &b.j);
    assert_int_equal(b.j.n_blocks, 3);
    assert_true(isfinite(b.j.total_low));
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_pairing),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_blocks_that_lack_a_rung),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

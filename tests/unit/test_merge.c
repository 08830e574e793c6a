/* One result from those of several ranks: exact sums, the slowest and the failed rank by name. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/ranks/merge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N 3

/* A rank that took n_steps of 8 samples in window_ms, and waited for input in input_ms of it. */
static void fill(struct dlb_rank_part *part, uint32_t rank, uint64_t n_steps, uint64_t window_ms,
                 uint64_t input_ms)
{
    struct dlb_cell_result *r = &part->result;
    dlb_cell_result_init(r);
    (void)snprintf(part->node, sizeof(part->node), "node%u", rank / 2);
    part->done_s = (double)(window_ms + rank) / 1e3;
    part->together = true;
    r->data_id = 7;
    r->has_loop = r->has_workers = true;
    struct dlb_share *total = &r->loop.total;
    memset(total, 0, sizeof(*total));
    total->n_steps = n_steps;
    total->n_samples = 8 * n_steps;
    total->window_ns = total->wall_ns = window_ms * 1000000;
    total->idle_input_ns = input_ms * 1000000;
    total->busy_ns = total->window_ns - total->idle_input_ns;
    r->loop.n_batches = n_steps;
    r->loop.n_epochs = 1;
    r->loop.epoch = dlb_mem_array(1, sizeof(*r->loop.epoch));
    r->loop.epoch[0] = (struct dlb_epoch){.n_samples = 8 * n_steps,
                                          .n_unique = 8 * n_steps,
                                          .set_checksum = UINT64_MAX - rank,
                                          .ended = true,
                                          .whole = true};
    r->hists = dlb_mem_new(sizeof(*r->hists));
    for (uint64_t i = 0; i < n_steps; i++)
        dlb_hist_add(&r->hists->worker[DLB_WS_READ], 1000 * (rank + 1) + i);
}

static void free_all(struct dlb_rank_part *parts, struct dlb_cell_result *merged)
{
    for (uint32_t i = 0; i < N; i++)
        dlb_cell_result_free(&parts[i].result);
    dlb_cell_result_free(merged);
    memset(parts, 0, N * sizeof(*parts));
}

static const struct dlb_hist no_cost;

static void test_sums(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    struct dlb_hist *whole = dlb_mem_new(sizeof(*whole));
    for (uint32_t i = 0; i < N; i++) {
        fill(&parts[i], i, 100, 1000, 0);
        dlb_hist_merge(whole, &parts[i].result.hists->worker[DLB_WS_READ]);
    }
    dlb_ranks_merge(parts, N, &no_cost, &out);
    assert_int_equal(out.status, DLB_REP_OK);
    assert_true(out.loop.total.n_steps == 300 && out.loop.total.n_samples == 2400);
    assert_int_equal(out.loop.n_accelerators, N);
    assert_true(fabs(dlb_cell_result_samples_per_s(&out) - 2400) < 1e-3);
    assert_true(fabs(dlb_cell_result_steps_per_s(&out) - 100) < 1e-3);
    assert_true(out.loop.epoch[0].n_unique == 2400);
    assert_true(out.loop.epoch[0].set_checksum == 3 * UINT64_MAX - 3); /* modulo 2^64 */
    struct dlb_stage_result read = dlb_stage_result_of(whole);
    assert_memory_equal(&out.workers.stage[DLB_WS_READ], &read, sizeof(read));
    assert_true(dlb_json_number(out.ranks, "first_done_s") == 1.0);
    assert_true(dlb_json_number(out.ranks, "last_done_s") == 1.002);
    assert_true(json_is_null(json_object_get(out.ranks, "straggler")));
    for (size_t i = 0; i < N; i++) {
        const json_t *rank = json_array_get(json_object_get(out.ranks, "ranks"), i);
        assert_string_equal(dlb_json_text(rank, "data_id"), "0000000000000007");
    }
    free(whole);
    free_all(parts, &out);
}

/* Ranks 0 and 1 are on one machine, whose stolen time both saw; rank 2 alone names a sample. */
static void test_of_machines_and_of_any_rank(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    for (uint32_t i = 0; i < N; i++) {
        fill(&parts[i], i, 100, 1000, 0);
        parts[i].result.loop.machine_stolen_ns = i < 2 ? 100 : 50;
    }
    struct dlb_workers_result *workers = &parts[2].result.workers;
    workers->skipped = dlb_mem_array(1, sizeof(*workers->skipped));
    workers->skipped[0] = dlb_mem_text("a.jpg: is damaged");
    workers->n_skipped_named = 1;
    dlb_ranks_merge(parts, N, &no_cost, &out);
    assert_true(out.loop.machine_stolen_ns == 150);
    assert_int_equal(out.workers.n_skipped_named, 1);
    assert_string_equal(out.workers.skipped[0], "a.jpg: is damaged");
    free_all(parts, &out);
}

/* Rank 1 takes 1.5 times as long, all of it for input. */
static void test_straggler(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    for (uint32_t i = 0; i < N; i++)
        fill(&parts[i], i, 100, i == 1 ? 1500 : 1000, i == 1 ? 500 : 0);
    dlb_ranks_merge(parts, N, &no_cost, &out);
    const json_t *straggler = json_object_get(out.ranks, "straggler");
    assert_string_equal(dlb_json_text(straggler, "class"), "INPUT STRAGGLER");
    assert_int_equal(dlb_json_u64(straggler, "rank", 99), 1);
    assert_string_equal(dlb_json_text(straggler, "node"), "node0");
    const json_t *rates = json_object_get(out.ranks, "ranks_samples_per_s");
    assert_true(fabs(dlb_json_number(rates, "worst") - 800 / 1.5) < 1e-3);
    assert_true(fabs(dlb_json_number(rates, "median") - 800) < 1e-3);
    free_all(parts, &out);
}

/* The window's pace within epochs of 20 steps, whose border takes as long as two. The window is
 * that of each of n_accelerators. */
static void fill_pace(struct dlb_rank_part *part, uint32_t n_accelerators)
{
    struct dlb_loop_result *loop = &part->result.loop;
    const struct dlb_share *total = &loop->total;
    uint64_t n = n_accelerators;
    loop->n_accelerators = n_accelerators;
    loop->pace = (struct dlb_pace){.round = 1,
                                   .n_cycles = 4 * n_accelerators,
                                   .n_epoch_batches = 20,
                                   .within = {.n_steps = total->n_steps,
                                              .n_samples = total->n_samples,
                                              .ns = n * total->window_ns,
                                              .busy_ns = n * total->busy_ns,
                                              .idle_input_ns = n * total->idle_input_ns}};
    const struct dlb_stretch *within = &loop->pace.within;
    uint64_t n_steps = 20 * (uint64_t)loop->pace.n_cycles, of = within->n_steps;
    loop->pace.cycles = (struct dlb_stretch){.n_steps = n_steps,
                                             .n_samples = 8 * n_steps,
                                             .ns = n_steps * within->ns / of * 22 / 20,
                                             .busy_ns = n_steps * within->busy_ns / of,
                                             .idle_input_ns = n_steps * within->idle_input_ns / of,
                                             .idle_other_ns = n_steps * within->ns / of * 2 / 20};
}

/* Samples per second within epochs, and over an epoch of n_batches. */
static double rate_within(const struct dlb_cell_result *all)
{
    struct dlb_epoch_time step;
    dlb_pace_within(&all->loop.pace, &step);
    return 8 * 1e9 / step.ns * dlb_cell_result_n_accelerators(all);
}

static double rate_of_epochs(const struct dlb_cell_result *all, double n_batches)
{
    struct dlb_epoch_time epoch;
    dlb_pace_epoch(&all->loop.pace, n_batches, &epoch);
    return n_batches * 8 * 1e9 / epoch.ns * dlb_cell_result_n_accelerators(all);
}

/* Of 100 MB/s two ranks got 80 and 20, and the slow one all of it when the other one had ended:
 * rates of one load are added, others are not. That is so of each of the rates. */
static void test_unequal_loads(void **state)
{
    (void)state;
    for (int together = 0; together < 2; together++) {
        struct dlb_rank_part parts[N] = {0};
        struct dlb_cell_result out;
        fill(&parts[0], 0, 100, 10000, 0);
        fill(&parts[1], 1, 100, together ? 40000 : 16000, 4000);
        parts[0].together = together;
        fill_pace(&parts[0], 1);
        fill_pace(&parts[1], 1);
        dlb_ranks_merge(parts, 2, &no_cost, &out);
        double rate = together ? 80 + 20 : 1600 / 16.0;
        assert_true(fabs(dlb_cell_result_samples_per_s(&out) - rate) < 1e-3);
        const json_t *rates = json_object_get(out.ranks, "ranks_samples_per_s");
        assert_true(fabs(dlb_json_number(rates, "total") - rate) < 1e-3);
        assert_int_equal(json_is_true(json_object_get(out.ranks, "ranks_together")), together);
        /* Shares stay those of a mean accelerator. */
        const struct dlb_share *total = &out.loop.total;
        double waits = (double)total->idle_input_ns / (double)total->window_ns;
        assert_true(fabs(waits - (together ? 0.1 : 0.25) / 2) < 1e-6);
        assert_true(fabs(rate_within(&out) - rate) < 1e-3);
        assert_true(fabs(rate_of_epochs(&out, 20) - rate * 20 / 22) < 1e-3);
        assert_true(fabs(rate_of_epochs(&out, 40) - rate * 40 / 42) < 1e-3);
        struct dlb_epoch_time step;
        dlb_pace_within(&out.loop.pace, &step);
        assert_true(fabs(step.input_frac - waits) < 1e-6);
        assert_true(fabs(step.input_frac + step.busy_frac - 1) < 1e-6);
        assert_true(total->busy_ns + total->idle_input_ns + total->idle_copy_ns +
                        total->idle_other_ns ==
                    total->window_ns);
        free_all(parts, &out);
    }
}

/* One of them with two accelerators: each rank's rate is that of all its accelerators. */
static void test_pace_of_unequal_ranks(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    fill(&parts[0], 0, 200, 10000, 0);
    fill(&parts[1], 1, 100, 40000, 4000);
    fill_pace(&parts[0], 2);
    fill_pace(&parts[1], 1);
    dlb_ranks_merge(parts, 2, &no_cost, &out);
    assert_int_equal(out.loop.n_accelerators, 3);
    assert_true(fabs(dlb_cell_result_samples_per_s(&out) - (160 + 20)) < 1e-3);
    assert_true(fabs(rate_within(&out) - (160 + 20)) < 1e-3);
    assert_true(fabs(rate_of_epochs(&out, 20) - 180.0 * 20 / 22) < 1e-3);
    free_all(parts, &out);
}

/* A rate that one rank has not measured is not that of all. */
static void test_pace_not_known(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        struct dlb_rank_part parts[N] = {0};
        struct dlb_cell_result out;
        for (uint32_t i = 0; i < N; i++) {
            fill(&parts[i], i, 100, 1000, 0);
            fill_pace(&parts[i], 1);
        }
        parts[2].together = whole;
        parts[2].result.loop.pace.within = (struct dlb_stretch){0};
        parts[2].result.loop.pace.n_cycles = 0;
        parts[2].result.loop.pace.cycles = (struct dlb_stretch){0};
        dlb_ranks_merge(parts, N, &no_cost, &out);
        assert_true(dlb_cell_result_samples_per_s(&out) > 0);
        assert_true(isnan(rate_within(&out)) && isnan(rate_of_epochs(&out, 20)));
        free_all(parts, &out);
    }
}

/* The gate is held against the rank that is fed worst; of one process against the mean. */
static void test_gate(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    for (uint32_t i = 0; i < N; i++) {
        fill(&parts[i], i, 100, 1000, 0);
        parts[i].result.loop.total.au.nominal = i == 1 ? 0.3 : 1;
    }
    assert_true(dlb_cell_result_gated(&parts[1].result) == 0.3);
    dlb_ranks_merge(parts, N, &no_cost, &out);
    assert_true(fabs(out.loop.total.au.nominal - 2.3 / 3) < 1e-9);
    assert_true(dlb_cell_result_gated(&out) == 0.3);
    free_all(parts, &out);
    for (uint32_t i = 0; i < N; i++) {
        fill(&parts[i], i, 100, 1000, 0);
        parts[i].result.loop.total.au.nominal = i == 2 ? (double)NAN : 1;
    }
    dlb_ranks_merge(parts, N, &no_cost, &out);
    assert_true(isnan(dlb_cell_result_gated(&out)));
    free_all(parts, &out);
}

/* The end of a rank that was killed, or interrupted, is no end of its loop. */
static void test_end_not_known(void **state)
{
    (void)state;
    for (uint32_t lost = 0; lost < N; lost++) {
        struct dlb_rank_part parts[N] = {0};
        struct dlb_cell_result out;
        for (uint32_t i = 0; i < N; i++)
            fill(&parts[i], i, 100, 1000, 0);
        parts[lost].done_s = (double)NAN;
        dlb_ranks_merge(parts, N, &no_cost, &out);
        assert_true(json_is_null(json_object_get(out.ranks, "first_done_s")));
        assert_true(json_is_null(json_object_get(out.ranks, "last_done_s")));
        free_all(parts, &out);
    }
}

static void test_failed_rank(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    struct dlb_err err;
    for (uint32_t i = 0; i < N; i++)
        fill(&parts[i], i, 100, 1000, 0);
    (void)dlb_fail(&err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "told to end");
    dlb_cell_result_fail(&parts[0].result, &err);
    (void)dlb_fail(&err, DLB_ERR_CELL_KILLED, NULL, DLB_NO_OFFSET, "killed");
    dlb_cell_result_fail(&parts[2].result, &err);
    dlb_ranks_merge(parts, N, &no_cost, &out);
    assert_int_equal(out.status, DLB_REP_FAILED);
    assert_int_equal(out.code, DLB_ERR_CELL_KILLED);
    assert_non_null(strstr(out.reason, "rank 2 on node1"));
    free_all(parts, &out);
}

static void test_other_data(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    for (uint32_t i = 0; i < N; i++)
        fill(&parts[i], i, 100, 1000, 0);
    parts[2].result.data_id = 8;
    dlb_ranks_merge(parts, N, &no_cost, &out);
    assert_int_equal(out.status, DLB_REP_FAILED);
    assert_int_equal(out.code, DLB_ERR_RANKS_DATA);
    free_all(parts, &out);
}

/* Two shares of each rank, whatever number of accelerators it tells; 2^32 + 2 are not taken for
 * two. */
static void test_odd_counts(void **state)
{
    static const struct {
        uint32_t counts[N], n, n_shares;
    } odd[] = {{{2, 2, 2}, 6, 6},
               {{1, 1, 1}, 3, 6},
               {{0, 0, 0}, 0, 6},
               {{UINT32_MAX, 1, 2}, UINT32_MAX, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct dlb_rank_part parts[N] = {0};
        struct dlb_cell_result out;
        for (uint32_t rank = 0; rank < N; rank++) {
            struct dlb_loop_result *loop = &parts[rank].result.loop;
            fill(&parts[rank], rank, 100, 1000, 0);
            loop->n_accelerators = odd[i].counts[rank];
            loop->n_shares = 2;
            loop->share = dlb_mem_array(2, sizeof(*loop->share));
            loop->share[0].n_steps = 10 + rank;
            loop->share[1].n_steps = 20 + rank;
        }
        dlb_ranks_merge(parts, N, &no_cost, &out);
        assert_int_equal(out.loop.n_accelerators, odd[i].n);
        assert_int_equal(out.loop.n_shares, odd[i].n_shares);
        for (uint32_t k = 0; k < out.loop.n_shares; k++)
            assert_int_equal(out.loop.share[k].n_steps, (k % 2 + 1) * 10 + k / 2);
        /* A mean over none is not measured. */
        bool any = odd[i].n > 0;
        assert_true(out.loop.total.wall_ns == (any ? 1000000000 : DLB_NOT_MEASURED));
        assert_int_equal(out.loop.total.window_ns > 0, any);
        free_all(parts, &out);
    }
}

static void fill_cache(struct dlb_rank_part *part, enum dlb_cache_label label, double before_frac,
                       uint64_t n_bytes)
{
    struct dlb_cache_result *cache = &part->result.cache;
    cache->label = label;
    cache->metadata = DLB_CACHE_WARM;
    cache->resident_before_frac = before_frac;
    cache->resident_after_frac = 1 - before_frac;
    cache->process_bytes = n_bytes;
    cache->device_bytes = 10 * n_bytes;
    cache->delivered_bytes = n_bytes + 1;
    (void)snprintf(cache->why, sizeof(cache->why), "%g of it was there", before_frac);
}

/* Ranks 0 and 1 are on node0, and 2 is on node1: what two ranks of a machine's device count is the
 * same bytes. */
static void test_cache_of_all(void **state)
{
    (void)state;
    struct dlb_rank_part parts[N] = {0};
    struct dlb_cell_result out;
    for (uint32_t i = 0; i < N; i++) {
        fill(&parts[i], i, 100, 1000, 0);
        fill_cache(&parts[i], DLB_CACHE_COLD, 0.001 * i, 100 + i);
    }
    dlb_ranks_merge(parts, N, &no_cost, &out);
    assert_int_equal(out.cache.label, DLB_CACHE_COLD);
    assert_int_equal(out.cache.metadata, DLB_CACHE_WARM);
    assert_true(out.cache.resident_before_frac == 0.002);
    assert_true(out.cache.resident_after_frac == 1);
    assert_true(out.cache.process_bytes == 303 && out.cache.delivered_bytes == 306);
    assert_true(out.cache.device_bytes == 1000 + 1020);
    assert_string_equal(out.cache.why, "0 of it was there");
    free_all(parts, &out);
}

/* One rank whose share was not cold spoils the proof, and is named; one that does not know leaves
 * nothing known. */
static void test_cache_not_cold(void **state)
{
    static const struct {
        enum dlb_cache_label last, all;
        const char *why;
    } cases[] = {
        {DLB_CACHE_WARM, DLB_CACHE_MIXED, "rank 2 on node1: warm: 1 of it was there"},
        {DLB_CACHE_MIXED, DLB_CACHE_MIXED, "rank 2 on node1: mixed: 1 of it was there"},
        {DLB_CACHE_UNKNOWN, DLB_CACHE_UNKNOWN, "rank 2 on node1: unknown: 1 of it was there"}};
    (void)state;
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct dlb_rank_part parts[N] = {0};
        struct dlb_cell_result out;
        for (uint32_t i = 0; i < N; i++) {
            fill(&parts[i], i, 100, 1000, 0);
            fill_cache(&parts[i], i == 2 ? cases[k].last : DLB_CACHE_COLD, i == 2, 100);
        }
        parts[1].result.cache.process_bytes = DLB_NOT_MEASURED;
        dlb_ranks_merge(parts, N, &no_cost, &out);
        assert_int_equal(out.cache.label, cases[k].all);
        assert_string_equal(out.cache.why, cases[k].why);
        assert_true(out.cache.resident_before_frac == 1);
        assert_true(out.cache.process_bytes == DLB_NOT_MEASURED);
        free_all(parts, &out);
    }
}

/* What the runners send each other loses nothing. */
static void test_hists_json(void **state)
{
    (void)state;
    struct dlb_rank_part part = {0};
    fill(&part, 0, 1000, 1000, 0);
    json_t *doc = dlb_cell_hists_to_json(part.result.hists);
    struct dlb_cell_hists *back = dlb_cell_hists_from_json(doc);
    assert_non_null(back);
    assert_memory_equal(back, part.result.hists, sizeof(*back));
    json_t *empty = json_array();
    assert_null(dlb_cell_hists_from_json(empty));
    assert_null(dlb_cell_hists_from_json(NULL));
    json_decref(empty);
    json_decref(doc);
    free(back);
    dlb_cell_result_free(&part.result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_machines_and_of_any_rank),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_straggler),
        cmocka_unit_test(test_unequal_loads),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_end_not_known),
        cmocka_unit_test(test_failed_rank),
        cmocka_unit_test(test_other_data),
        cmocka_unit_test(test_hists_json),
        cmocka_unit_test(test_odd_counts),
        cmocka_unit_test(test_cache_of_all),
        cmocka_unit_test(test_cache_not_cold),
        cmocka_unit_test(test_pace_of_unequal_ranks),
        cmocka_unit_test(test_pace_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Cells of three ranks of which one takes twice as long for a step: those that have measured train
 * on until it has, too, so that all are measured under the same load. When they had measured, and
 * whether they did. */
#include "core/base/json.h"
#include "tests/support/fake_cells.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PLANTED 1 /* the rank */
#define BATCHES 40

static enum {
    TRAINS_ON,
    NEXT_EPOCH,
    COLD,
    RUNS_OUT,
    WHOLE_EPOCHS,
    BARRIER,
    BARRIER_EPOCHS,
    OTHER_ROUNDS,
    OTHER_EPOCHS,
    INTERRUPTED,
    ONE_ENDS
} scene;
static bool two_each; /* accelerators of a rank */

static void *cancel_soon(void *cancel)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + 100 * DLB_NS_PER_MS);
    atomic_store((atomic_bool *)cancel, true);
    return NULL;
}

static bool is_whole(void)
{
    return scene == WHOLE_EPOCHS || scene == BARRIER_EPOCHS || scene == OTHER_EPOCHS;
}

static bool has_barrier(void)
{
    return scene >= BARRIER && scene <= OTHER_EPOCHS;
}

/* Of each rank: 60 batches, or 400. Of other epochs, 20 and 40. */
static const char *samples(bool planted)
{
    if (scene == OTHER_EPOCHS)
        return planted ? "generate.samples=160" : "generate.samples=80";
    bool few = scene == NEXT_EPOCH || scene == COLD || scene == RUNS_OUT || is_whole();
    return few ? "generate.samples=240" : "generate.samples=1600";
}

static const char *epochs(void)
{
    if (scene == NEXT_EPOCH || scene == COLD)
        return "run.epochs=4";
    return scene == OTHER_EPOCHS ? "run.epochs=2" : "run.epochs=1";
}

static json_t *measure(struct dlb_link *link)
{
    static atomic_bool cancel;
    bool planted = link->rank == PLANTED;
    pthread_t thread;
    const char *const settings[] = {
        "dataset.format=synthetic", "dataset.codec=raw", "generate.sample_bytes=100",
        "loader.batch_size=4", "loader.pin_memory=true", "loader.shuffle=false",
        "run.warmup_batches=2", samples(planted), epochs(),
        /* As many as have shards to read: their batches make a round. */
        planted && scene == OTHER_ROUNDS ? "loader.num_workers=3" : "loader.num_workers=1",
        is_whole() ? "run.max_batches=0" : "run.max_batches=40",
        scene == COLD ? "run.cache=cold" : "run.cache=as-is",
        has_barrier() ? "accelerators.barrier=true" : "accelerators.barrier=false",
        two_each ? "accelerators.count=2" : "accelerators.count=1",
        planted && scene != OTHER_EPOCHS ? "device.step_ms=12" : "device.step_ms=6", NULL};
    bool interrupted = scene == INTERRUPTED || (scene == ONE_ENDS && planted);
    if (interrupted && pthread_create(&thread, NULL, cancel_soon, &cancel))
        return NULL;
    json_t *answer = answer_of_cell(link, settings, &cancel);
    if (interrupted)
        (void)pthread_join(thread, NULL);
    return answer;
}

static bool is_null(const struct dlb_cell_result *all, const char *key)
{
    return json_is_null(json_object_get(all->ranks, key));
}

static bool is_about(double a, double b)
{
    return fabs(a - b) < 0.25 * b;
}

static bool were_together(const struct dlb_cell_result *all)
{
    return json_is_true(json_object_get(all->ranks, "ranks_together"));
}

/* That of this repetition, over ranks and their mean step. */
static double within_epochs(const struct dlb_cell_result *all)
{
    struct dlb_epoch_time step;
    dlb_pace_within(&all->loop.pace, &step);
    return 4 * 1e9 / step.ns * dlb_cell_result_n_accelerators(all);
}

/* Batches that one of the others took. */
static bool took_its_part(const struct dlb_loop_result *loop)
{
    if (scene == TRAINS_ON || scene == NEXT_EPOCH)
        return loop->n_batches >= loop->total.n_steps * 3 / 2 &&
               loop->n_epochs == (scene == NEXT_EPOCH ? 2 : 1);
    return scene != COLD || (loop->n_batches == 60 && loop->n_epochs == 1);
}

/* The slow rank takes 0.5 s for what the others take 0.25 s. */
static int judge_load(const struct dlb_rank_part *parts, const struct dlb_cell_result *all)
{
    bool added = scene == TRAINS_ON || scene == NEXT_EPOCH;
    double slow_s = parts[PLANTED].done_s;
    if (!is_null(all, "barrier_us") || is_null(all, "first_done_s"))
        return 4;
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        const struct dlb_loop_result *loop = &parts[i].result.loop;
        if (scene != WHOLE_EPOCHS && loop->total.n_steps != (two_each ? 2 : 1) * BATCHES)
            return 5; /* what it trains on is not measured */
        if (i != PLANTED && !took_its_part(loop))
            return 6;
        if (i != PLANTED && parts[i].done_s > 0.75 * slow_s)
            return 7; /* when it had measured, whatever it trained on */
    }
    if (dlb_json_number(all->ranks, "first_done_s") > 0.75 * slow_s ||
        dlb_json_number(all->ranks, "last_done_s") != slow_s || were_together(all) != added)
        return 8;
    /* 667 samples/s each, and 333. */
    double rate = added ? 1667 : 1000, n = two_each ? 2 : 1;
    bool right = is_about(dlb_cell_result_samples_per_s(all), n * rate) &&
                 is_about(within_epochs(all), n * rate);
    return right ? 0 : 9;
}

/* All have measured as much at the same pace, but for those whose rounds are longer. */
static int judge_barrier(const struct dlb_rank_part *parts, const struct dlb_cell_result *all)
{
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        bool longer = scene == OTHER_ROUNDS && i == PLANTED;
        uint64_t n_steps = parts[i].result.loop.total.n_steps;
        if (scene == BARRIER_EPOCHS ? n_steps < BATCHES : n_steps != BATCHES + (longer ? 2 : 0))
            return 10;
        if (parts[i].together == longer)
            return 18;
    }
    bool right = were_together(all) == (scene != OTHER_ROUNDS);
    return right && is_about(dlb_cell_result_samples_per_s(all), 1000) ? 0 : 11;
}

/* A rank that has ended its first epoch begins its second: its steps meet those of the others'
 * first. Behind its last one it holds up nobody. */
static int judge_epochs(const struct dlb_rank_part *parts)
{
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        if (parts[i].n_rounds != (i == PLANTED ? 80 : 40) || parts[i].together == (i == PLANTED))
            return 12;
    return parts[0].done_s < 0.75 * parts[PLANTED].done_s ? 0 : 13;
}

/* Nobody waits for a rank that has ended without having measured, nor trains on to the end of its
 * data, which would be 400 batches. */
static int judge_one_ends(const struct dlb_rank_part *parts, const struct dlb_cell_result *all)
{
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        if (i != PLANTED && (parts[i].result.status != DLB_REP_OK || parts[i].together ||
                             parts[i].result.loop.total.n_steps != BATCHES ||
                             parts[i].result.loop.n_batches > 200 || isnan(parts[i].done_s)))
            return 16;
    return all->status == DLB_REP_CANCELLED && is_null(all, "last_done_s") ? 0 : 17;
}

static int judge(const struct dlb_rank_part *parts, const struct dlb_cell_result *all)
{
    if (scene == ONE_ENDS)
        return judge_one_ends(parts, all);
    if (scene == INTERRUPTED)
        return all->status == DLB_REP_CANCELLED && is_null(all, "first_done_s") &&
                       is_null(all, "last_done_s")
                   ? 0
                   : 14;
    if (scene == OTHER_EPOCHS) /* and so other data: the merged result says that */
        return judge_epochs(parts);
    if (all->status != DLB_REP_OK) {
        (void)fprintf(stderr, "%s\n", all->reason);
        return 15;
    }
    return has_barrier() ? judge_barrier(parts, all) : judge_load(parts, all);
}

static void run_scene(int of, bool two)
{
    part_fn *const parts[FAKE_RANKS] = {lead, follow, follow};
    int codes[FAKE_RANKS];
    scene = of;
    fake_cells = (struct fake_cells){measure, judge};
    two_each = two;
    run_ranks(parts, codes);
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

static void test_trains_on(void **state)
{
    (void)state;
    run_scene(TRAINS_ON, false);
}

static void test_two_each(void **state)
{
    (void)state;
    run_scene(TRAINS_ON, true);
}

/* Across a border of epochs, and not where that would read what the slow rank has yet to read. */
static void test_next_epoch(void **state)
{
    (void)state;
    run_scene(NEXT_EPOCH, false);
}

static void test_cold(void **state)
{
    (void)state;
    run_scene(COLD, false);
}

/* Its data end before the slow rank has measured: their rates are not added. */
static void test_runs_out(void **state)
{
    (void)state;
    run_scene(RUNS_OUT, false);
}

static void test_whole_epochs(void **state)
{
    (void)state;
    run_scene(WHOLE_EPOCHS, false);
}

static void test_barrier(void **state)
{
    (void)state;
    run_scene(BARRIER, false);
}

static void test_barrier_epochs(void **state)
{
    (void)state;
    run_scene(BARRIER_EPOCHS, false);
}

/* A rank whose shards keep more workers busy measures more batches: the last ones by itself. */
static void test_other_rounds(void **state)
{
    (void)state;
    run_scene(OTHER_ROUNDS, false);
}

static void test_other_epochs(void **state)
{
    (void)state;
    run_scene(OTHER_EPOCHS, false);
}

static void test_interrupted(void **state)
{
    (void)state;
    run_scene(INTERRUPTED, false);
}

static void test_one_ends(void **state)
{
    (void)state;
    run_scene(ONE_ENDS, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trains_on),      cmocka_unit_test(test_two_each),
        cmocka_unit_test(test_next_epoch),     cmocka_unit_test(test_cold),
        cmocka_unit_test(test_runs_out),       cmocka_unit_test(test_whole_epochs),
        cmocka_unit_test(test_barrier_epochs), cmocka_unit_test(test_other_rounds),
        cmocka_unit_test(test_barrier),        cmocka_unit_test(test_other_epochs),
        cmocka_unit_test(test_interrupted),    cmocka_unit_test(test_one_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

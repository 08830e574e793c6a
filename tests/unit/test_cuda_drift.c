/* A GPU whose clock drifts from the host's: what the training loop's window makes of its stamps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#ifndef DLB_HAVE_CUDA
int main(void)
{
    return 77; /* built without CUDA */
}
#else
#include "loaders/train/window.h"
#include "tests/support/cuda_rig.h"

#include <math.h>

enum { BUFS = 2 };
#define STEP_MS 50

/* Takes the oldest step, as the training loop does: after the next batch was handed over. */
static void settle(struct rig *rig, struct dlb_step *step, uint32_t buf, struct dlb_window *window,
                   struct dlb_consumed *out)
{
    bool reached = false;
    assert_int_equal(
        dlb_dev_cuda.wait(rig->cu, buf, DLB_STEPPED, UINT64_MAX, &step->times, &reached, &rig->err),
        DLB_OK);
    assert_true(reached);
    dlb_window_add(window, step, out);
}

/* Where the window's time went; the rest the GPU computed. */
struct shares {
    double input, other, busy;
};

/* A loader that needs batch_ns for each of n batches, and steps of half of that: half of the time
 * the GPU waits for input. The idle GPU answered in open_ns at open, and answers in answer_ns. */
struct course {
    uint32_t n;
    uint64_t batch_ns;
    double open_ns, answer_ns;
};

static struct shares run(struct rig *rig, const struct course *c, double drift)
{
    struct dlb_step steps[BUFS];
    struct dlb_window window;
    struct dlb_consumed *out = calloc(1, sizeof *out);
    assert_non_null(out);
    *rig = (struct rig){.opts = {.step_ms = (double)c->batch_ns / 2e6}};
    (void)reset(NULL);
    fake.drift = drift;
    fake.answer_ns = c->open_ns;
    assert_int_equal(rig_open(rig, BUFS, false, false), DLB_OK);
    fake.answer_ns = c->answer_ns;
    assert_int_equal(dlb_dev_cuda.pin(rig->cu, rig->host, BYTES, &rig->err), DLB_OK);
    dlb_window_open(&window, &(struct dlb_window_opts){.round = 1,
                                                       .n_workers = 1,
                                                       .n_epoch_batches = (double)NAN,
                                                       .step_ns = (double)c->batch_ns / 2});
    uint64_t ready_ns = dlb_now_ns();
    for (uint32_t i = 0; i < c->n; i++) {
        struct dlb_step *step = &steps[i % BUFS];
        *step = (struct dlb_step){.mark = i == 0 ? DLB_MARK_OPEN : DLB_MARK_ROUND,
                                  .nth = i,
                                  .late = true,
                                  .n_samples = 1,
                                  .wait_start_ns = dlb_now_ns()};
        ready_ns += c->batch_ns;
        now_ns = now_ns > ready_ns ? now_ns : ready_ns;
        step->ready_ns = step->wait_end_ns = dlb_now_ns();
        assert_int_equal(dlb_dev_cuda.copy(rig->cu, i % BUFS, rig->host, BYTES, &rig->err), DLB_OK);
        assert_int_equal(dlb_dev_cuda.step(rig->cu, i % BUFS, &rig->err), DLB_OK);
        if (i > 0)
            settle(rig, &steps[(i - 1) % BUFS], (i - 1) % BUFS, &window, out);
    }
    dlb_window_close(&window, out);
    const struct dlb_share *share = &window.share;
    double all_ns = (double)share->window_ns;
    const struct shares shares = {(double)share->idle_input_ns / all_ns,
                                  (double)share->idle_other_ns / all_ns,
                                  (double)share->busy_ns / all_ns};
    dlb_window_free(&window);
    free(out);
    return shares;
}

static void check(const struct shares *s, const struct course *c, double drift, double limit)
{
    if (fabs(s->input - 0.5) > limit || s->other > limit || fabs(s->busy - 0.5) > limit)
        fail_msg("an answer in %.0f us, %+.0f ppm: input %.1f%%, other %.1f%%", c->answer_ns / 1e3,
                 drift * 1e6, 100 * s->input, 100 * s->other);
}

static void waiting_stays_waiting(void **state)
{
    static const double drifts[] = {0, 50e-6, -50e-6, 200e-6, -200e-6};
    const struct course c = {3000, 100 * DLB_NS_PER_MS, 5e3, 5e3};
    (void)state;
    for (size_t d = 0; d < sizeof drifts / sizeof *drifts; d++) {
        struct rig rig;
        const struct shares shares = run(&rig, &c, drifts[d]);
        check(&shares, &c, drifts[d], 0.01);
        /* 300 s of drift; the anchor is one second old. */
        double shift_ns = -drifts[d] * c.n * (double)c.batch_ns;
        assert_true(fabs((double)dlb_gpu_clock_shift_ns(&rig.cu->time.clock) - shift_ns) <
                    0.01 * fabs(shift_ns) + 20e3);
        assert_true(fabs(1 / rig.cu->time.clock.rate - 1 - drifts[d]) < 1e-6);
        assert_true(rig.cu->time.clock.n_brackets > 200);
        rig_close(&rig);
    }
}

/* 30 s of short steps on a GPU that answers later in the run than at open, as a busy one may: no
 * bracket is as narrow as the first. What an answer takes is no more certain than its bracket. */
static void late_answers(void **state)
{
    static const double drifts[] = {0, 50e-6, -50e-6, 200e-6, -200e-6};
    static const double answers_ns[] = {7e3, 12e3, 20e3, 40e3};
    (void)state;
    for (size_t a = 0; a < sizeof answers_ns / sizeof *answers_ns; a++)
        for (size_t d = 0; d < sizeof drifts / sizeof *drifts; d++) {
            const struct course c = {15000, 2 * DLB_NS_PER_MS, 7e3, answers_ns[a]};
            struct rig rig;
            const struct shares shares = run(&rig, &c, drifts[d]);
            check(&shares, &c, drifts[d], 0.02);
            assert_true(fabs(1 / rig.cu->time.clock.rate - 1 - drifts[d]) < 2e-6);
            rig_close(&rig);
        }
}

/* Another program's work on the side stream: what does not answer is not waited for. */
static void a_stream_that_is_not_idle(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = STEP_MS}};
    struct dlb_dev_times t;
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    fake.answer_ns = 120e6;
    fake.drift = 50e-6;
    for (int i = 0; i < 400; i++) {
        uint64_t before_ns = dlb_now_ns();
        assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
        assert_true(dlb_now_ns() - before_ns < 60 * DLB_NS_PER_MS + (uint64_t)fake.answer_ns);
        assert_true(t.copy_start_ns >= before_ns && t.step_end_ns <= dlb_now_ns());
    }
    assert_true(rig.cu->time.clock.n_brackets > 10);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_stays_waiting),
        cmocka_unit_test(late_answers),
        cmocka_unit_test_setup(a_stream_that_is_not_idle, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

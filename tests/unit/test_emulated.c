#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "loaders/device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const struct dlb_device dlb_dev_emulated;

struct rig {
    struct dlb_device_opts opts;
    void *dv;
    struct dlb_err err;
    const struct dlb_augment *augment; /* NULL: none */
};

enum { BYTES = 1 << 20, H100 = 1 };

static void rig_open(struct rig *rig, uint32_t n_bufs, bool one_stream, bool keep)
{
    rig->opts.profile = H100;
    size_t n = (dlb_dev_emulated.state_bytes + 63) & ~(size_t)63;
    rig->dv = aligned_alloc(64, n);
    assert_non_null(rig->dv);
    memset(rig->dv, 0, n);
    struct dlb_device_open how = {.opts = &rig->opts,
                                  .n_bufs = n_bufs,
                                  .buf_bytes = BYTES,
                                  .seed = 3,
                                  .copy_on_compute = one_stream,
                                  .keep_bytes = keep,
                                  .augment = rig->augment};
    assert_int_equal(dlb_dev_emulated.open(rig->dv, &how, &rig->err), DLB_OK);
}

static void rig_close(struct rig *rig)
{
    dlb_dev_emulated.close(rig->dv);
    free(rig->dv);
}

static int wait_for(void *dv, uint32_t buf, enum dlb_point point, struct dlb_dev_times *times,
                    struct dlb_err *err)
{
    bool reached = false;
    int rc = dlb_dev_emulated.wait(dv, buf, point, UINT64_MAX / 2, times, &reached, err);
    assert_true(rc != DLB_OK || reached);
    return rc;
}

static struct dlb_dev_times trip(struct rig *rig, uint32_t buf, const void *host, size_t n)
{
    struct dlb_dev_times times;
    assert_int_equal(dlb_dev_emulated.copy(rig->dv, buf, host, n, &rig->err), DLB_OK);
    assert_int_equal(dlb_dev_emulated.step(rig->dv, buf, &rig->err), DLB_OK);
    assert_int_equal(wait_for(rig->dv, buf, DLB_STEPPED, &times, &rig->err), DLB_OK);
    return times;
}

static void operations_take_their_modelled_time(void **state)
{
    (void)state;
    uint8_t *host = calloc(1, BYTES);
    struct rig rig = {.opts = {.step_ms = 2}};
    rig_open(&rig, 1, false, false);
    assert_int_equal(dlb_dev_emulated.pin(rig.dv, host, BYTES, &rig.err), DLB_OK);
    struct dlb_dev_times times = trip(&rig, 0, host, BYTES);
    uint64_t copy_ns = (uint64_t)(BYTES / dlb_device_profiles[H100].pinned_bytes_per_s * 1e9);
    assert_int_equal(times.copy_end_ns - times.copy_start_ns, copy_ns);
    assert_int_equal(times.step_end_ns - times.step_start_ns, 2 * DLB_NS_PER_MS);
    assert_true(times.step_start_ns >= times.copy_end_ns);
    assert_true(dlb_now_ns() >= times.step_end_ns);
    rig_close(&rig);
    free(host);
}

/* What was measured elsewhere stands in for the profile's rates. */
static void measured_rates_replace_the_profiles(void **state)
{
    (void)state;
    uint8_t *host = calloc(1, BYTES);
    struct rig rig = {
        .opts = {.pinned_bytes_per_s = 1e9, .pageable_bytes_per_s = 2e8, .copy_us = 70}};
    rig_open(&rig, 1, false, false);
    struct dlb_dev_times times = trip(&rig, 0, host, BYTES);
    assert_true(times.copy_end_ns - times.copy_start_ns >= 70000 + (uint64_t)(BYTES / 2e8 * 1e9));
    assert_int_equal(dlb_dev_emulated.pin(rig.dv, host, BYTES, &rig.err), DLB_OK);
    times = trip(&rig, 0, host, BYTES);
    assert_int_equal(times.copy_end_ns - times.copy_start_ns,
                     70000 + (uint64_t)(BYTES / 1e9 * 1e9));
    rig_close(&rig);
    free(host);
}

static uint64_t thread_cpu_ns(void)
{
    struct timespec ts;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
    return (uint64_t)ts.tv_sec * DLB_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* The end of a step is slept for, while another is queued behind it. Then workers have the CPU. */
static void a_busy_device_is_not_watched(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 3}};
    struct dlb_dev_times times;
    uint64_t cpu_ns = 0;
    enum { N_STEPS = 10 };

    rig_open(&rig, 2, false, false);
    for (uint32_t i = 0; i <= N_STEPS; i++) {
        assert_int_equal(dlb_dev_emulated.copy(rig.dv, i % 2, NULL, 0, &rig.err), DLB_OK);
        assert_int_equal(dlb_dev_emulated.step(rig.dv, i % 2, &rig.err), DLB_OK);
        uint64_t before_ns = thread_cpu_ns();
        if (i > 0)
            assert_int_equal(wait_for(rig.dv, (i - 1) % 2, DLB_STEPPED, &times, &rig.err), DLB_OK);
        cpu_ns += thread_cpu_ns() - before_ns;
    }
    assert_true(cpu_ns < N_STEPS * DLB_WATCH_NS / 2);
    rig_close(&rig);
}

/* Two streams overlap, one does not. */
static void streams_overlap(void **state)
{
    (void)state;
    uint8_t *host = calloc(1, BYTES);
    for (int one_stream = 0; one_stream <= 1; one_stream++) {
        struct rig rig = {.opts = {.step_ms = 5}};
        struct dlb_dev_times a, b;
        rig_open(&rig, 2, one_stream, false);
        assert_int_equal(dlb_dev_emulated.pin(rig.dv, host, BYTES, &rig.err), DLB_OK);
        for (uint32_t buf = 0; buf < 2; buf++) {
            assert_int_equal(dlb_dev_emulated.copy(rig.dv, buf, host, BYTES, &rig.err), DLB_OK);
            assert_int_equal(dlb_dev_emulated.step(rig.dv, buf, &rig.err), DLB_OK);
        }
        assert_int_equal(wait_for(rig.dv, 0, DLB_STEPPED, &a, &rig.err), DLB_OK);
        assert_int_equal(wait_for(rig.dv, 1, DLB_STEPPED, &b, &rig.err), DLB_OK);
        if (one_stream)
            assert_true(b.copy_start_ns >= a.step_end_ns);
        else
            assert_true(b.step_start_ns == a.step_end_ns ||
                        b.copy_start_ns > a.step_end_ns - DLB_NS_PER_MS);
        assert_true(b.step_start_ns >= a.step_end_ns);
        rig_close(&rig);
    }
    free(host);
}

/* From pageable memory a copy blocks its caller until it is done. */
static void pageable_copies_block(void **state)
{
    (void)state;
    uint8_t *host = calloc(1, BYTES);
    struct rig rig = {0};
    struct dlb_dev_times times;
    rig_open(&rig, 1, false, false);
    uint64_t start_ns = dlb_now_ns();
    assert_int_equal(dlb_dev_emulated.copy(rig.dv, 0, host, BYTES, &rig.err), DLB_OK);
    uint64_t end_ns = dlb_now_ns();
    assert_int_equal(wait_for(rig.dv, 0, DLB_COPIED, &times, &rig.err), DLB_OK);
    assert_true(times.copy_start_ns >= start_ns && times.copy_end_ns <= end_ns);
    double least_ns = BYTES / dlb_device_profiles[H100].pageable_bytes_per_s * 1e9;
    assert_true((double)(times.copy_end_ns - times.copy_start_ns) >= least_ns - 1);
    assert_int_equal(times.oversleep_ns, 0);
    rig_close(&rig);
    free(host);
}

static void polls_tell_the_truth(void **state)
{
    (void)state;
    uint8_t host[64] = {0};
    struct rig rig = {.opts = {.step_ms = 30}};
    bool copied = false, stepped = true;
    rig_open(&rig, 1, false, false);
    assert_int_equal(dlb_dev_emulated.copy(rig.dv, 0, host, 64, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_emulated.step(rig.dv, 0, &rig.err), DLB_OK);
    uint64_t before_ns = dlb_now_ns();
    assert_int_equal(dlb_dev_emulated.poll(rig.dv, 0, DLB_COPIED, &copied, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_emulated.poll(rig.dv, 0, DLB_STEPPED, &stepped, &rig.err), DLB_OK);
    assert_true(copied);
    if (dlb_now_ns() - before_ns < 20 * DLB_NS_PER_MS)
        assert_false(stepped);
    rig_close(&rig);
}

static void waits_end_at_their_limit(void **state)
{
    (void)state;
    uint8_t host[1] = {0};
    struct rig rig = {.opts = {.step_ms = 60000}};
    struct dlb_dev_times times;
    bool reached = true;
    rig_open(&rig, 1, false, false);
    assert_int_equal(dlb_dev_emulated.copy(rig.dv, 0, host, 1, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_emulated.step(rig.dv, 0, &rig.err), DLB_OK);
    uint64_t start_ns = dlb_now_ns();
    assert_int_equal(dlb_dev_emulated.wait(rig.dv, 0, DLB_STEPPED, 5 * DLB_NS_PER_MS, &times,
                                           &reached, &rig.err),
                     DLB_OK);
    assert_false(reached);
    assert_true(dlb_now_ns() - start_ns >= 5 * DLB_NS_PER_MS);
    assert_int_equal(times.oversleep_ns, 0);
    rig_close(&rig);
}

static void step_times_spread_as_asked(void **state)
{
    (void)state;
    uint8_t host[1] = {0};
    for (int dist = DLB_STEP_NORMAL; dist <= DLB_STEP_LOGNORMAL; dist++) {
        struct rig rig = {.opts = {.step_ms = 0.02, .step_dist = dist, .step_stdev_ms = 0.004}};
        double sum = 0, squares = 0;
        enum { N = 4000 };
        rig_open(&rig, 1, false, false);
        for (int i = 0; i < N; i++) {
            struct dlb_dev_times times = trip(&rig, 0, host, 0);
            double ms = (double)(times.step_end_ns - times.step_start_ns) / 1e6;
            sum += ms;
            squares += ms * ms;
        }
        double mean = sum / N, sd = sqrt(squares / N - mean * mean);
        assert_true(fabs(mean - 0.02) < 0.0004); /* six standard errors */
        assert_true(fabs(sd - 0.004) < 0.0004);
        rig_close(&rig);
    }
}

static void checksums_are_of_what_arrived(void **state)
{
    (void)state;
    uint8_t host[1000];
    uint64_t sum = 0;
    struct rig rig = {0};
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (uint8_t)(i * 13);
    rig_open(&rig, 2, false, true);
    (void)trip(&rig, 1, host, sizeof host);
    uint64_t expect = dlb_hash64(host, sizeof host, 0);
    host[500] ^= 1; /* after the copy: it must not show */
    assert_int_equal(dlb_dev_emulated.checksum(rig.dv, 1, &sum, &rig.err), DLB_OK);
    assert_true(sum == expect);
    assert_true(sum != dlb_hash64(host, sizeof host, 0));
    rig_close(&rig);
    rig_open(&rig, 1, false, false);
    assert_int_equal(dlb_dev_emulated.checksum(rig.dv, 0, &sum, &rig.err), DLB_E_DEVICE);
    rig_close(&rig);
}

/* What is left to the device takes its bytes' time at the rate of the accelerator's memory, on top
 * of the step, and is what the host makes of the same bytes. */
static void samples_are_made_within_the_step(void **state)
{
    (void)state;
    struct dlb_augment how = dlb_augment_widen(DLB_ELEMENT_U16, 1025);
    struct rig rig = {.opts = {.step_ms = 1}, .augment = &how};
    size_t n = BYTES / how.in_bytes, n_made = 0;
    uint8_t *host = malloc(n * how.in_bytes), *want = malloc(how.out_bytes);
    const uint8_t *made = NULL;
    assert_true(host && want);
    for (size_t i = 0; i < n * how.in_bytes; i++)
        host[i] = (uint8_t)(i * 11);
    rig_open(&rig, 1, false, true);
    struct dlb_dev_times times = trip(&rig, 0, host, n * how.in_bytes);
    double ns = (double)(n * (how.in_bytes + how.out_bytes)) /
                dlb_device_profiles[H100].memory_bytes_per_s * 1e9;
    assert_int_equal(times.step_end_ns - times.step_start_ns, DLB_NS_PER_MS + (uint64_t)ns);
    assert_int_equal(dlb_dev_emulated.made(rig.dv, 0, &made, &n_made, &rig.err), DLB_OK);
    assert_int_equal(n_made, n);
    for (size_t i = 0; i < n; i++) {
        dlb_augment_run(&how, host + i * how.in_bytes, want);
        assert_memory_equal(made + i * how.out_bytes, want, how.out_bytes);
    }
    assert_int_equal(dlb_dev_emulated.copy(rig.dv, 0, host, 3, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_emulated.step(rig.dv, 0, &rig.err), DLB_E_DEVICE);
    rig_close(&rig);
    rig_open(&rig, 1, false, false); /* nothing is kept */
    assert_int_equal(dlb_dev_emulated.made(rig.dv, 0, &made, &n_made, &rig.err), DLB_E_DEVICE);
    rig_close(&rig);
    free(host);
    free(want);
}

/* Steps take as long, but nothing is copied. */
static void batches_of_another_process_are_only_stepped(void **state)
{
    (void)state;
    struct dlb_augment how = dlb_augment_widen(DLB_ELEMENT_U16, 1025);
    struct rig rig = {.opts = {.step_ms = 1}, .augment = &how};
    size_t n = 4 * (size_t)BYTES / how.in_bytes; /* more than a buffer has room for */
    double ns = (double)(n * (how.in_bytes + how.out_bytes)) /
                dlb_device_profiles[H100].memory_bytes_per_s * 1e9;
    rig_open(&rig, 1, false, true);
    struct dlb_dev_times times = trip(&rig, 0, NULL, n * how.in_bytes);
    assert_int_equal(times.copy_end_ns, times.copy_start_ns);
    assert_int_equal(times.step_end_ns - times.step_start_ns, DLB_NS_PER_MS + (uint64_t)ns);
    rig_close(&rig);
}

static void copies_that_never_end_do_not_overflow(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.pinned_bytes_per_s = 1e-300}};
    uint8_t *host = malloc(BYTES);
    assert_non_null(host);
    rig_open(&rig, 1, false, false);
    assert_int_equal(dlb_dev_emulated.pin(rig.dv, host, BYTES, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_emulated.copy(rig.dv, 0, host, BYTES, &rig.err), DLB_OK);
    uint64_t due_ns = dlb_dev_emulated.due(rig.dv, 0, DLB_COPIED);
    assert_true(due_ns > UINT64_C(1) << 59 && due_ns < UINT64_C(1) << 62);
    rig_close(&rig);
    free(host);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    struct rig rig = {0};
    uint8_t host[1] = {0};
    rig_open(&rig, 1, false, false);
    assert_int_equal(dlb_dev_emulated.copy(rig.dv, 1, host, 1, &rig.err), DLB_E_DEVICE);
    assert_int_equal(dlb_dev_emulated.copy(rig.dv, 0, host, BYTES + 1, &rig.err), DLB_E_DEVICE);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_take_their_modelled_time),
        cmocka_unit_test(measured_rates_replace_the_profiles),
        cmocka_unit_test(a_busy_device_is_not_watched),
        cmocka_unit_test(streams_overlap),
        cmocka_unit_test(pageable_copies_block),
        cmocka_unit_test(polls_tell_the_truth),
        cmocka_unit_test(step_times_spread_as_asked),
        cmocka_unit_test(checksums_are_of_what_arrived),
        cmocka_unit_test(samples_are_made_within_the_step),
        cmocka_unit_test(batches_of_another_process_are_only_stepped),
        cmocka_unit_test(copies_that_never_end_do_not_overflow),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(waits_end_at_their_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

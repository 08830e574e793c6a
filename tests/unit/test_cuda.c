/* The CUDA device without a GPU, over a runtime of the tests' own. */
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
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "loaders/device/memo.h"
#include "reports/load.h"
#include "reports/schema.h"
#include "scenarios/cell/numa.h"
#include "tests/support/cuda_rig.h"
#include "tests/support/folder.h"

#include <math.h>
#include <string.h>

static int reset_with_folder(void **state)
{
    return reset(state) == 0 ? folder_make(state) : -1;
}

/* Of either kind, and for batches that are not full, too. */
static void steps_take_what_was_asked(void **state)
{
    (void)state;
    const double asked_ms[] = {0.05, 1, 20};
    for (int kind = DLB_STEP_FMA; kind <= DLB_STEP_MEMORY; kind++)
        for (int i = 0; i < 3; i++) {
            struct rig rig = {.opts = {.step_ms = asked_ms[i], .step_kind = kind}};
            struct dlb_dev_times t;
            assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
            assert_true(fabs(rig.cu->calibration.measured_ns / 1e6 / asked_ms[i] - 1) < 0.02);
            assert_int_equal(rig.cu->calibration.n_sms_seen, SMS);
            assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
            assert_true(fabs(step_ms(&t) - asked_ms[i]) <= 0.02 * asked_ms[i] + 0.001);
            assert_int_equal(trip(&rig, 0, BYTES / 8, &t), DLB_OK);
            assert_true(fabs(step_ms(&t) - asked_ms[i]) <= 0.02 * asked_ms[i] + 0.001);
            rig_close(&rig);
        }
}

/* A step that is like the buffer's last one is launched again, not recorded again. What a memory
 * step reads moves on, and a varied step differs. */
static void equal_steps_are_recorded_once(void **state)
{
    static const struct {
        struct dlb_device_opts opts;
        int n_captures;
    } cases[] = {{{.step_ms = 1}, 1},
                 {{.step_ms = 1, .step_kind = DLB_STEP_MEMORY}, 10},
                 {{.step_ms = 1, .step_dist = DLB_STEP_NORMAL, .step_stdev_ms = 0.2}, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig rig = {.opts = cases[i].opts};
        struct dlb_dev_times t;
        (void)reset(state);
        assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
        int before = fake.n_captures;
        for (int k = 0; k < 10; k++)
            assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
        assert_int_equal(fake.n_captures - before, cases[i].n_captures);
        rig_close(&rig);
    }
}

/* Of a GPU that slows by 30% under way the run tells; by its calibration nobody would know. */
static void steps_that_get_longer_are_told(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 2}};
    struct dlb_dev_times t;
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    for (int slow = 0; slow <= 1; slow++) {
        if (slow) {
            gpu.slows_at_ns = now_ns;
            gpu.slows_to = 1.3;
        }
        rig.cu->ran = (struct dlb_cuda_ran){0};
        for (int i = 0; i < 50; i++)
            assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
        json_t *ran = dlb_dev_cuda.ran(rig.cu);
        double asked_ns = json_real_value(json_object_get(ran, "step_asked_ns"));
        double took_ns = json_real_value(json_object_get(ran, "step_took_ns"));
        assert_int_equal(json_integer_value(json_object_get(ran, "n_steps")), 50);
        assert_true(fabs(asked_ns - 2e6) < 1);
        assert_true(fabs(took_ns / asked_ns - (slow ? 1.3 : 1)) < 0.01);
        assert_true(fabs((double)(t.step_end_ns - t.step_start_ns) / took_ns - 1) < 0.01);
        json_decref(ran);
    }
    rig_close(&rig);
}

static void a_share_computes_on_fewer_multiprocessors(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 0, .sm_share = 0.5}};
    struct dlb_dev_times t;
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
    assert_int_equal(fake.n_blocks, SMS / 2);
    rig_close(&rig);
}

/* Copy of the next batch and step of this one: together on two streams, one after the other on one.
 */
static void streams_overlap(void **state)
{
    (void)state;
    for (int one_stream = 0; one_stream <= 1; one_stream++) {
        struct rig rig = {.opts = {.step_ms = 30}};
        struct dlb_dev_times a, b, c;
        bool reached;
        assert_int_equal(rig_open(&rig, 2, one_stream, false), DLB_OK);
        assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_OK);
        int syncs = fake.n_syncs;
        for (uint32_t buf = 0; buf < 2; buf++) {
            assert_int_equal(dlb_dev_cuda.copy(rig.cu, buf, rig.host, BYTES, &rig.err), DLB_OK);
            assert_int_equal(dlb_dev_cuda.step(rig.cu, buf, &rig.err), DLB_OK);
        }
        assert_int_equal(fake.n_syncs, syncs); /* from pinned memory nothing blocks */
        assert_int_equal(
            dlb_dev_cuda.wait(rig.cu, 0, DLB_STEPPED, UINT64_MAX, &a, &reached, &rig.err), DLB_OK);
        assert_int_equal(
            dlb_dev_cuda.wait(rig.cu, 1, DLB_STEPPED, UINT64_MAX, &b, &reached, &rig.err), DLB_OK);
        assert_true(b.step_start_ns >= a.step_end_ns && b.step_start_ns >= b.copy_end_ns);
        assert_int_equal(b.copy_start_ns >= a.step_end_ns, one_stream);
        assert_int_equal(trip(&rig, 0, BYTES, &c), DLB_OK); /* a buffer's last step comes first */
        assert_true(c.copy_start_ns >= a.step_end_ns && c.step_start_ns >= b.step_end_ns);
        rig_close(&rig);
    }
}

static void pageable_copies_wait_for_their_stream(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 0}};
    bool reached = false;
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    assert_int_equal(dlb_dev_cuda.copy(rig.cu, 0, rig.host, BYTES, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_cuda.poll(rig.cu, 0, DLB_COPIED, &reached, &rig.err), DLB_OK);
    assert_true(reached);
    assert_int_equal(dlb_dev_cuda.copy(rig.cu, 1, rig.host, BYTES, &rig.err), DLB_E_DEVICE);
    assert_int_equal(dlb_dev_cuda.copy(rig.cu, 0, rig.host, BYTES + 1, &rig.err), DLB_E_DEVICE);
    rig_close(&rig);
}

/* The fake's clock is off by 0.1%, a hundred times what real ones are; stamps stay where the host
 * saw things happen, in order, over several anchors. */
static void stamps_follow_the_host(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        struct rig rig = {.opts = {.step_ms = 150}};
        uint64_t last_ns = 0;
        assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
        fake.drift = sign * 1e-3;
        for (int i = 0; i < 16; i++) {
            struct dlb_dev_times t;
            uint64_t before_ns = dlb_now_ns();
            assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
            uint64_t after_ns = dlb_now_ns();
            assert_true(t.copy_start_ns >= before_ns && t.copy_start_ns >= last_ns);
            assert_true(t.copy_end_ns <= t.step_start_ns && t.step_start_ns < t.step_end_ns);
            assert_true(t.step_end_ns <= after_ns);
            last_ns = t.step_end_ns;
        }
        assert_true(rig.cu->time.clock.gpu_ns > DLB_NS_PER_S);
        assert_true(sign * dlb_gpu_clock_shift_ns(&rig.cu->time.clock) < 0);
        rig_close(&rig);
    }
}

/* Three batches in flight, as with prefetch 2, over several anchors. */
static void anchors_move_under_way(void **state)
{
    (void)state;
    enum { BUFS = 3, BATCHES = 100 };
    struct rig rig = {.opts = {.step_ms = 150}};
    uint64_t last_ns = 0;
    int n_moves = 0;
    assert_int_equal(rig_open(&rig, BUFS, false, false), DLB_OK);
    assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_OK);
    struct CUevent_st *anchor = rig.cu->time.anchor;
    fake.drift = 1e-5;
    for (uint32_t i = 0; i < BATCHES + BUFS - 1; i++) {
        struct dlb_dev_times t;
        bool reached = false;
        if (i < BATCHES) {
            assert_int_equal(dlb_dev_cuda.copy(rig.cu, i % BUFS, rig.host, BYTES, &rig.err),
                             DLB_OK);
            assert_int_equal(dlb_dev_cuda.step(rig.cu, i % BUFS, &rig.err), DLB_OK);
        }
        if (i + 1 < BUFS)
            continue;
        assert_int_equal(dlb_dev_cuda.wait(rig.cu, (i + 1) % BUFS, DLB_STEPPED, UINT64_MAX, &t,
                                           &reached, &rig.err),
                         DLB_OK);
        assert_true(reached && t.step_start_ns >= last_ns && t.copy_end_ns <= t.step_start_ns);
        assert_true(fabs(step_ms(&t) - 150) < 0.02 * 150);
        assert_true(last_ns == 0 || t.step_start_ns - last_ns < 100 * DLB_NS_PER_US); /* no gap */
        last_ns = t.step_end_ns;
        n_moves += rig.cu->time.anchor != anchor;
        anchor = rig.cu->time.anchor;
    }
    assert_true(n_moves >= 5);
    rig_close(&rig);
}

static void a_wait_ends_in_time(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 500}};
    struct dlb_dev_times t;
    bool reached = true;
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    assert_int_equal(dlb_dev_cuda.copy(rig.cu, 0, rig.host, BYTES, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_cuda.step(rig.cu, 0, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_cuda.wait(rig.cu, 0, DLB_STEPPED, 1000, &t, &reached, &rig.err),
                     DLB_OK);
    assert_false(reached);
    rig_close(&rig); /* while the step runs */
}

/* On the fake's clock a sleep ends 60 us late, and by then the device has finished the copy and
 * runs dry. So the end of a short copy is polled; during a long one the driver sleeps all the same.
 */
static void the_end_of_a_copy_is_looked_for(void **state)
{
    static const double copies_ns[] = {30e3, 80e3, 5e6};
    (void)state;
    for (size_t i = 0; i < sizeof copies_ns / sizeof *copies_ns; i++) {
        struct rig rig = {.opts = {.step_ms = 0}};
        struct dlb_dev_times t;
        (void)reset(NULL);
        fake.copy_ns = copies_ns[i];
        assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
        assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_OK);
        assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK); /* nothing is known of copies yet */
        for (int k = 0; k < 4; k++) {
            int n_before = fake.n_calls, n_read = fake.n_read;
            assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
            assert_true(t.oversleep_ns < 10 * DLB_NS_PER_US);
            assert_true(dlb_now_ns() - t.step_end_ns < 20 * DLB_NS_PER_US);
            assert_true(fake.n_read - n_read <= 8); /* 4 of the batch, and of what is foreseen */
            assert_true(fake.n_calls - n_before < 1000);
        }
        rig_close(&rig);
    }
}

/* What a copy takes beside its bytes is nearly all of a small one. */
static void a_small_batch_foretells_no_long_copy(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 0}};
    struct dlb_dev_times t;
    fake.copy_ns = 30e3;
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_OK);
    assert_int_equal(trip(&rig, 0, 0, &t), DLB_OK); /* of no bytes there is no rate */
    assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
    assert_int_equal(trip(&rig, 0, 64, &t), DLB_OK);
    assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
    assert_true(dlb_now_ns() - t.step_end_ns < 20 * DLB_NS_PER_US);
    rig_close(&rig);
}

static void checksums_are_of_what_the_gpu_holds_and_read(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 0}};
    struct dlb_dev_times t;
    uint64_t sum = 0;
    assert_int_equal(rig_open(&rig, 2, false, true), DLB_OK);
    for (uint32_t i = 0; i < 6; i++) {
        size_t n = BYTES - i * 3;
        assert_int_equal(trip(&rig, i % 2, n, &t), DLB_OK);
        assert_int_equal(dlb_dev_cuda.checksum(rig.cu, i % 2, &sum, &rig.err), DLB_OK);
        assert_int_equal(sum, dlb_hash64(rig.host, n, 0));
    }
    fake.kernels_blind = true;
    assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
    assert_int_equal(dlb_dev_cuda.checksum(rig.cu, 0, &sum, &rig.err), DLB_E_DEVICE);
    assert_int_equal(rig.err.code, DLB_ERR_GPU_READ_WRONG);
    rig_close(&rig);
}

/* A sweep's later cells take the calibration of the first, where everything that it depends on is
 * the same. */
static void a_calibration_is_handed_on(void **state)
{
    (void)state;
    struct dlb_cuda_calibration first;
    struct rig rig = {.opts = {.step_ms = 5}, .memo = folder};
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    assert_false(rig.cu->calibration.reused);
    first = rig.cu->calibration;
    rig_close(&rig);
    for (int i = 0; i < 3; i++) {
        struct rig later = {.opts = {.step_ms = i == 1 ? 6 : 5}, .memo = i == 2 ? NULL : folder};
        struct dlb_dev_times t;
        uint64_t start_ns = dlb_now_ns();
        assert_int_equal(rig_open(&later, 1, false, false), DLB_OK);
        assert_int_equal(later.cu->calibration.reused, i == 0);
        if (i == 0) {
            assert_memory_equal(&later.cu->calibration.model, &first.model, sizeof first.model);
            assert_true(dlb_now_ns() - start_ns < 500 * DLB_NS_PER_MS); /* the fake's clock */
        }
        assert_int_equal(trip(&later, 0, BYTES, &t), DLB_OK);
        assert_true(fabs(step_ms(&t) - later.opts.step_ms) <= 0.02 * later.opts.step_ms + 0.001);
        rig_close(&later);
    }
    dlb_memo_clear(folder);
    assert_false(dlb_memo_recall(folder, "auto", &first, sizeof first));
}

static int all_there_is(struct rig *rig)
{
    struct dlb_dev_times t;
    uint64_t sum;
    int rc = rig_open(rig, 2, false, true);
    if (rc == DLB_OK)
        rc = dlb_dev_cuda.pin(rig->cu, rig->host, BYTES, &rig->err);
    for (uint32_t buf = 0; rc == DLB_OK && buf < 2; buf++) {
        rc = trip(rig, buf, BYTES, &t);
        if (rc == DLB_OK)
            rc = dlb_dev_cuda.checksum(rig->cu, buf, &sum, &rig->err);
    }
    return rc;
}

/* Every call of the runtime, one after the other, fails once: each is heard, and nothing is lost.
 * Calibration makes the same calls many times over, of which every fifth will do. */
static void no_failure_goes_unheard(void **state)
{
    static const struct dlb_device_opts steps[] = {{.step_ms = 0},
                                                   {.step_ms = 1, .step_kind = DLB_STEP_FMA},
                                                   {.step_ms = 1, .step_kind = DLB_STEP_MEMORY}};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int n_all = 0;
        for (int k = 0; k <= n_all; k += i == 0 ? 1 : 5) {
            struct rig rig = {.opts = steps[i]};
            (void)reset(NULL);
            fake.fail_at = k;
            int rc = all_there_is(&rig);
            assert_int_equal(rc, k == 0 ? DLB_OK : DLB_E_DEVICE);
            if (rc != DLB_OK)
                assert_int_equal(rig.err.lib_code, fake.with);
            if (k == 0)
                n_all = fake.n_calls;
            rig_close(&rig);
        }
        assert_true(n_all > 50);
    }
}

/* What it tells of itself is what the result's schema says. */
static void facts_fit_the_schema(void **state)
{
    (void)state;
    json_t *schema = dlb_summary_schema();
    json_t *part =
        json_pack("{ss, sO}", "$ref", "#/$defs/gpu", "$defs", json_object_get(schema, "$defs"));
    for (int ms = 0; ms <= 5; ms += 5) {
        struct rig rig = {.opts = {.step_ms = ms, .step_kind = DLB_STEP_MEMORY}};
        struct dlb_err err;
        assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
        json_t *facts = dlb_dev_cuda.describe(rig.cu);
        assert_string_equal(json_string_value(json_object_get(facts, "name")), "Fake GPU");
        const json_t *error = json_object_get(json_object_get(facts, "step"), "error_frac");
        assert_true(ms > 0 ? fabs(json_real_value(error)) < 0.02 : json_is_null(error));
        /* run, numa and nvml are added later */
        assert_int_equal(dlb_schema_check(part, facts, DLB_SCHEMA_EXACT, NULL, &err), DLB_E_FORMAT);
        assert_int_equal(json_object_set_new(facts, "nvml", json_null()), 0);
        assert_int_equal(json_object_set_new(facts, "run", dlb_dev_cuda.ran(rig.cu)), 0);
        struct dlb_memory memory = {.addr = rig.host, .n_bytes = BYTES};
        assert_int_equal(
            json_object_set_new(facts, "numa", dlb_numa_place(rig.cu->gpu.pci_bus_id, &memory)), 0);
        if (dlb_schema_check(part, facts, DLB_SCHEMA_EXACT, NULL, &err))
            fail_msg("%s", err.what);
        /* as earlier versions wrote it */
        static const char *const later[] = {"ecc", "pcie", "environment", "run"};
        for (size_t i = 0; i < sizeof later / sizeof *later; i++)
            assert_int_equal(json_object_del(facts, later[i]), 0);
        assert_int_equal(dlb_schema_check(part, facts, DLB_SCHEMA_READABLE, NULL, &err), DLB_OK);
        json_decref(facts);
        rig_close(&rig);
    }
    json_decref(part);
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(equal_steps_are_recorded_once, reset),
        cmocka_unit_test_setup(steps_take_what_was_asked, reset),
        cmocka_unit_test_setup(steps_that_get_longer_are_told, reset),
        cmocka_unit_test_setup(a_share_computes_on_fewer_multiprocessors, reset),
        cmocka_unit_test_setup(streams_overlap, reset),
        cmocka_unit_test_setup(pageable_copies_wait_for_their_stream, reset),
        cmocka_unit_test_setup(stamps_follow_the_host, reset),
        cmocka_unit_test_setup(anchors_move_under_way, reset),
        cmocka_unit_test_setup(a_wait_ends_in_time, reset),
        cmocka_unit_test_setup(the_end_of_a_copy_is_looked_for, reset),
        cmocka_unit_test_setup(a_small_batch_foretells_no_long_copy, reset),
        cmocka_unit_test_setup(checksums_are_of_what_the_gpu_holds_and_read, reset),
        cmocka_unit_test_setup_teardown(a_calibration_is_handed_on, reset_with_folder,
                                        folder_remove),
        cmocka_unit_test_setup(no_failure_goes_unheard, reset),
        cmocka_unit_test_setup(facts_fit_the_schema, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

/* What goes wrong on machines with a GPU, or without: planted in a runtime of the tests' own. */
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
#include "tests/support/cuda_rig.h"
#include "tests/support/error.h"

#include <string.h>

/* What the probe of "auto" and the opening of the device report of the same failure, planted at the
 * nth call of either. */
static void both_fail(cudaError_t error, int probe_call, int open_call, enum dlb_code code,
                      const char *figure)
{
    char name[96];
    struct dlb_err err = {0};
    struct rig rig = {.opts = {.step_ms = 0}};
    const char *driver = fake.driver;

    (void)reset(NULL);
    fake.driver = driver;
    fake.fail_at = probe_call;
    fake.with = error;
    assert_int_equal(dlb_dev_cuda.probe(name, &err), DLB_E_DEVICE);
    error_is(&err, code, figure);
    assert_int_equal(err.lib_code, error);
    fake.n_calls = 0;
    fake.fail_at = open_call;
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_E_DEVICE);
    error_is(&rig.err, code, figure);
    assert_int_equal(rig.err.lib_code, error);
    rig_close(&rig);
}

/* Places of calls: in a probe, and in an open. */
enum { PROBE_COUNT = 1, PROBE_CONTEXT = 3, OPEN_DEVICE = 1, OPEN_CONTEXT = 2 };

static void a_driver_that_is_missing(void **state)
{
    char needed[16];
    (void)state;
    fake.driver = NULL;
    (void)snprintf(needed, sizeof needed, "%d", (int)dlb_nvidia_driver_needed(DLB_CUDA_MAJOR));
    both_fail(cudaErrorInsufficientDriver, PROBE_COUNT, OPEN_DEVICE, DLB_ERR_DRIVER_UNFIT, needed);
}

static void a_driver_that_is_too_old(void **state)
{
    (void)state;
    fake.driver = "450.51.06";
    both_fail(cudaErrorInsufficientDriver, PROBE_COUNT, OPEN_DEVICE, DLB_ERR_DRIVER_UNFIT,
              "450.51.06");
}

/* The kernel has the driver, the container has not its library. */
static void a_driver_that_is_not_handed_in(void **state)
{
    (void)state;
    fake.driver = "580.65.06";
    both_fail(cudaErrorInsufficientDriver, PROBE_COUNT, OPEN_DEVICE, DLB_ERR_DRIVER_UNFIT,
              "libcuda.so.1");
}

static void a_driver_without_a_gpu(void **state)
{
    (void)state;
    both_fail(cudaErrorNoDevice, PROBE_COUNT, OPEN_DEVICE, DLB_ERR_GPU_NOT_FOUND,
              "CUDA_VISIBLE_DEVICES");
    both_fail(cudaErrorSystemDriverMismatch, PROBE_COUNT, OPEN_DEVICE, DLB_ERR_DRIVER_UNFIT,
              "libcuda.so.1");
}

/* Compute mode "exclusive process": the second program gets no context. */
static void a_gpu_that_another_program_has(void **state)
{
    (void)state;
    both_fail(cudaErrorDevicesUnavailable, PROBE_CONTEXT, OPEN_CONTEXT, DLB_ERR_GPU_TAKEN,
              "nvidia-smi");
}

static void a_gpu_that_is_too_old(void **state)
{
    (void)state;
    both_fail(cudaErrorNoKernelImageForDevice, PROBE_CONTEXT, OPEN_CONTEXT, DLB_ERR_GPU_TOO_OLD,
              "7.5");
}

/* An error that has no code of its own. */
static void a_call_that_fails(void **state)
{
    (void)state;
    both_fail(cudaErrorUnknown, PROBE_CONTEXT, OPEN_CONTEXT, DLB_ERR_CUDA_CALL_FAILED,
              "/dev/nvidia");
}

/* After them the context is of no use: every later call returns the same. The advice is for the
 * first, and the process ends without waiting for anything. */
static void errors_that_stay(void **state)
{
    static const struct {
        cudaError_t error;
        enum dlb_code code;
        const char *figure;
    } known[] = {
        {cudaErrorECCUncorrectable, DLB_ERR_GPU_BROKEN, "ECC"},
        {cudaErrorLaunchFailure, DLB_ERR_GPU_BROKEN, "Xid"},
        {cudaErrorJitCompilerNotFound, DLB_ERR_DRIVER_UNFIT, "libnvidia-ptxjitcompiler.so.1"},
        {cudaErrorUnsupportedPtxVersion, DLB_ERR_DRIVER_UNFIT, "older"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int late = 0; late <= 1; late++) {
            struct rig rig = {.opts = {.step_ms = 1}};
            struct dlb_dev_times t;
            (void)reset(NULL);
            fake.sticky = true;
            fake.with = known[i].error;
            fake.fail_at = late ? 0 : 40;
            int rc = rig_open(&rig, 2, false, false);
            if (late) {
                assert_int_equal(rc, DLB_OK);
                assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
                fake.fail_at = fake.n_calls + 5;
                rc = trip(&rig, 1, BYTES, &t);
            }
            assert_int_equal(rc, DLB_E_DEVICE);
            error_is(&rig.err, known[i].code, known[i].figure);
            assert_int_equal(rig.err.lib_code, known[i].error);
            assert_true(dlb_dev_cuda.end(rig.cu));
            rig_close(&rig);
        }
}

/* The GPU runs out of memory at the context, or at any of the buffers. */
static void a_gpu_whose_memory_is_taken(void **state)
{
    unsigned n_buffers = 0;

    (void)state;
    both_fail(cudaErrorMemoryAllocation, PROBE_CONTEXT, OPEN_CONTEXT, DLB_ERR_GPU_MEMORY,
              "device.prefetch");
    for (int call = 1; n_buffers < 2; call++) {
        struct rig rig = {.opts = {.step_kind = DLB_STEP_MEMORY}};
        (void)reset(NULL);
        fake.fail_at = call;
        fake.with = cudaErrorMemoryAllocation;
        assert_int_equal(rig_open(&rig, 2, false, false), DLB_E_DEVICE);
        error_is(&rig.err, DLB_ERR_GPU_MEMORY, "");
        if (rig.err.lib_code == 0 && rig.cu->kernels.scratch) {
            /* All that the device takes, and what was free before it took any. */
            error_is(&rig.err, DLB_ERR_GPU_MEMORY, "2 batches of 0.1 MB");
            error_is(&rig.err, DLB_ERR_GPU_MEMORY, "268.4 MB");
            error_is(&rig.err, DLB_ERR_GPU_MEMORY, "1.07 GB");
            n_buffers += rig.cu->bufs[0].data != NULL; /* the second buffer's turn */
        }
        rig_close(&rig);
        assert_true(call < 100);
    }
}

static void host_memory_that_cannot_be_pinned(void **state)
{
    static const struct {
        cudaError_t code;
        const char *option;
    } known[] = {{cudaErrorMemoryAllocation, "num_workers"},
                 {cudaErrorOperatingSystem, "num_workers"},
                 {cudaErrorNotSupported, "pin_mode"},
                 {cudaErrorInvalidValue, "pin_mode"}};

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct rig rig = {.opts = {.step_ms = 0}};
        (void)reset(NULL);
        assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
        fake.fail_at = fake.n_calls + 1;
        fake.with = known[i].code;
        assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_E_DEVICE);
        error_is(&rig.err, DLB_ERR_PIN_FAILED, known[i].option);
        rig_close(&rig);
    }
}

/* More time than the model can mend: each measurement takes longer than the one before. */
static void a_gpu_that_others_compute_on(void **state)
{
    (void)state;
    struct rig rig = {.opts = {.step_ms = 5}};
    gpu.slower = 0.02;
    fake.fail_at = -1; /* an error is expected */
    assert_int_equal(rig_open(&rig, 1, false, false), DLB_E_DEVICE);
    error_is(&rig.err, DLB_ERR_GPU_SHARED, "5.000 ms");
    rig_close(&rig);
}

/* The process ends by _exit: nothing was waited for or freed. */
static void rig_abandon(struct rig *rig)
{
    int n_live = fake.n_live;
    assert_true(rig->cu->waiting.hung);
    dlb_dev_cuda.close(rig->cu);
    assert_int_equal(fake.n_live, n_live);
    drop_all();
    free(rig->cu->staging.back);
    free(rig->cu->staging.made_back);
    free(rig->cu->staging.sm_seen);
    free(rig->cu);
    free(rig->host);
}

/* From an open's kth call on: it is said, in time, and no call is made that never returns. */
static void hangs_from(double step_ms, int k)
{
    struct rig rig = {.opts = {.step_ms = step_ms}};
    (void)reset(NULL);
    fake.hangs_at = k;
    fake.fail_at = -1;
    uint64_t start_ns = dlb_now_ns();
    assert_int_equal(rig_open(&rig, 2, false, true), DLB_E_DEVICE);
    error_is(&rig.err, DLB_ERR_GPU_HANGS, " within 1"); /* 10 s, or 12 s for a step of 1 s */
    assert_false(dlb_dev_cuda.end(rig.cu));
    rig_abandon(&rig);
    assert_true(dlb_now_ns() - start_ns < 30 * DLB_NS_PER_S); /* the fake's clock */
}

static void a_gpu_that_hangs(void **state)
{
    (void)state;
    for (int ms = 0; ms <= 1; ms++) {
        struct rig rig = {.opts = {.step_ms = ms}};
        (void)reset(NULL);
        assert_int_equal(rig_open(&rig, 2, false, true), DLB_OK);
        int n_all = fake.n_calls;
        assert_true(n_all > 100);
        assert_true(dlb_dev_cuda.end(rig.cu));
        rig_close(&rig);
        for (int k = 1; k < n_all; k += ms == 0 ? 1 : 11) /* the last one asks what came before */
            hangs_from(ms, k);
    }
}

/* Under way, with a step queued: who ends the run waits for it, but not for ever. */
/* hang_s = 0: whatever an answer takes. A limit that is shorter than the steps of calibration is no
 * reason to call them a hang. */
static void limits_of_waiting(void **state)
{
    struct rig patient = {.opts = {.step_ms = 1}, .no_hang = true};
    struct rig hasty = {.opts = {.step_ms = 3000, .hang_s = 0.2}};
    struct dlb_dev_times t;
    assert_int_equal(rig_open(&patient, 1, false, false), DLB_OK);
    fake.copy_ns = 20e9;
    assert_int_equal(trip(&patient, 0, BYTES, &t), DLB_OK);
    rig_close(&patient);
    (void)reset(state);
    assert_int_equal(rig_open(&hasty, 1, false, false), DLB_OK);
    assert_int_equal(trip(&hasty, 0, BYTES, &t), DLB_OK);
    rig_close(&hasty);
}

static void a_gpu_that_begins_to_hang(void **state)
{
    (void)state;
    for (int pinned = 0; pinned <= 1; pinned++) {
        struct rig rig = {.opts = {.step_ms = 1}};
        (void)reset(NULL);
        assert_int_equal(rig_open(&rig, 2, false, false), DLB_OK);
        if (pinned)
            assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_OK);
        fake.hangs_at = fake.n_calls + 1;
        int rc = dlb_dev_cuda.copy(rig.cu, 0, rig.host, BYTES, &rig.err);
        assert_int_equal(rc, pinned ? DLB_OK : DLB_E_DEVICE);
        if (!pinned)
            error_is(&rig.err, DLB_ERR_GPU_HANGS, " 10 s");
        assert_int_equal(dlb_dev_cuda.step(rig.cu, 0, &rig.err), DLB_OK);
        uint64_t start_ns = dlb_now_ns();
        assert_false(dlb_dev_cuda.end(rig.cu));
        assert_true(dlb_now_ns() - start_ns < 10 * DLB_NS_PER_S);
        rig_abandon(&rig);
    }
}

/* Who waits for a step hears of it, in slices of time as without a limit; a step that is only long,
 * and a host that was away for a while, are no such thing. */
static void a_wait_for_a_gpu_that_hangs(void **state)
{
    static const uint64_t patience_ns[] = {UINT64_MAX, 50 * DLB_NS_PER_MS, 0, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < sizeof patience_ns / sizeof *patience_ns; i++) {
        enum dlb_point point = i < 3 ? DLB_STEPPED : DLB_COPIED;
        struct rig rig = {.opts = {.step_ms = 1000}};
        struct dlb_dev_times t;
        bool reached = false;
        int rc = DLB_OK;
        (void)reset(NULL);
        assert_int_equal(rig_open(&rig, 2, false, false), DLB_OK);
        assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_OK);
        assert_int_equal(trip(&rig, 0, BYTES, &t), DLB_OK);
        rig.opts.step_ms = 30e3; /* as drawn from a distribution */
        assert_int_equal(dlb_dev_cuda.copy(rig.cu, 1, rig.host, BYTES, &rig.err), DLB_OK);
        assert_int_equal(dlb_dev_cuda.step(rig.cu, 1, &rig.err), DLB_OK);
        now_ns += 20 * DLB_NS_PER_S;
        while (rc == DLB_OK && !reached) {
            rc = dlb_dev_cuda.wait(rig.cu, 1, DLB_STEPPED, patience_ns[i], &t, &reached, &rig.err);
            now_ns += DLB_NS_PER_MS;
        }
        assert_int_equal(rc, DLB_OK);
        rig.opts.step_ms = 1000;
        now_ns += 60 * DLB_NS_PER_S;
        fake.hangs_at = fake.n_calls + 1;
        assert_int_equal(dlb_dev_cuda.copy(rig.cu, 0, rig.host, BYTES, &rig.err), DLB_OK);
        assert_int_equal(dlb_dev_cuda.step(rig.cu, 0, &rig.err), DLB_OK);
        uint64_t start_ns = dlb_now_ns();
        while (rc == DLB_OK && dlb_now_ns() - start_ns < 100 * DLB_NS_PER_S)
            rc = dlb_dev_cuda.wait(rig.cu, 0, point, patience_ns[i], &t, &reached, &rig.err);
        assert_int_equal(rc, DLB_E_DEVICE);
        error_is(&rig.err, DLB_ERR_GPU_HANGS, i < 3 ? " 1.0 s" : " 65.5 kB");
        assert_true(dlb_now_ns() - start_ns > 10 * DLB_NS_PER_S);
        assert_true(dlb_now_ns() - start_ns < 30 * DLB_NS_PER_S);
        rig_abandon(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_driver_that_is_missing, reset),
        cmocka_unit_test_setup(a_driver_that_is_too_old, reset),
        cmocka_unit_test_setup(a_driver_that_is_not_handed_in, reset),
        cmocka_unit_test_setup(a_driver_without_a_gpu, reset),
        cmocka_unit_test_setup(a_gpu_that_another_program_has, reset),
        cmocka_unit_test_setup(a_gpu_that_is_too_old, reset),
        cmocka_unit_test_setup(a_call_that_fails, reset),
        cmocka_unit_test_setup(errors_that_stay, reset),
        cmocka_unit_test_setup(a_gpu_whose_memory_is_taken, reset),
        cmocka_unit_test_setup(host_memory_that_cannot_be_pinned, reset),
        cmocka_unit_test_setup(a_gpu_that_others_compute_on, reset),
        cmocka_unit_test_setup(a_gpu_that_hangs, reset),
        cmocka_unit_test_setup(limits_of_waiting, reset),
        cmocka_unit_test_setup(a_gpu_that_begins_to_hang, reset),
        cmocka_unit_test_setup(a_wait_for_a_gpu_that_hangs, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

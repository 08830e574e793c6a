/* transform.where = "gpu" on the CUDA device, over a runtime of the tests' own: what is queued in
 * which order, and what comes of it. */
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

#include "core/base/hash.h"

#include <math.h>
#include <string.h>

enum { SIDE = 9, SIZE = 8 };

static void calls_are(const char *want)
{
    if (strcmp(fake.calls, want) != 0)
        fail_msg("queued %s, not %s", fake.calls, want);
    memset(fake.calls, 0, sizeof fake.calls);
}

/* Whole places, else the pixels' own bytes would say where to crop. */
static void place_samples(struct rig *rig)
{
    const struct dlb_augment *how = rig->augment;
    for (size_t i = 0; i < BYTES / how->in_bytes; i++) {
        struct dlb_augment_place place = {(uint16_t)(i % 2), (uint16_t)(i / 2 % 2), i % 3 == 0};
        memcpy(rig->host + i * how->in_bytes + how->place_at, &place, sizeof place);
    }
}

/* Between a step's events, on the compute stream, before the batch is read: the copy is over then.
 */
static void samples_are_made_within_the_step(void **state)
{
    (void)state;
    for (int one_stream = 0; one_stream <= 1; one_stream++)
        for (int keep = 0; keep <= 1; keep++) {
            struct dlb_augment how = dlb_augment_image(SIDE, SIZE);
            struct rig rig = {.opts = {.step_ms = 1}, .augment = &how};
            struct dlb_dev_times t;
            size_t n = BYTES / how.in_bytes * how.in_bytes;
            (void)reset(NULL);
            assert_int_equal(rig_open(&rig, 2, one_stream, keep), DLB_OK);
            assert_int_equal(dlb_dev_cuda.pin(rig.cu, rig.host, BYTES, &rig.err), DLB_OK);
            place_samples(&rig);
            memset(fake.calls, 0, sizeof fake.calls);
            assert_int_equal(trip(&rig, 1, n, &t), DLB_OK);
            if (one_stream)
                calls_are(keep ? "eceeazrfge" : "eceearfge");
            else
                calls_are(keep ? "WECEweazrfge" : "WECEwearfge");
            rig_close(&rig);
        }
}

static void what_was_made_is_what_the_host_makes(void **state)
{
    (void)state;
    struct dlb_augment kinds[] = {dlb_augment_image(SIDE, SIZE),
                                  dlb_augment_widen(DLB_ELEMENT_U16, 33)};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct dlb_augment *how = &kinds[k];
        struct rig rig = {.opts = {.step_ms = 0}, .augment = how};
        struct dlb_dev_times t;
        const uint8_t *made = NULL;
        size_t n = BYTES / how->in_bytes, n_made = 0;
        uint8_t *want = malloc(how->out_bytes);
        uint64_t sum = 0;
        (void)reset(NULL);
        assert_non_null(want);
        assert_int_equal(rig_open(&rig, 1, false, true), DLB_OK);
        if (how->kind == DLB_AUGMENT_IMAGE)
            place_samples(&rig);
        assert_int_equal(trip(&rig, 0, n * how->in_bytes, &t), DLB_OK);
        assert_int_equal(dlb_dev_cuda.made(rig.cu, 0, &made, &n_made, &rig.err), DLB_OK);
        assert_int_equal(n_made, n);
        for (size_t i = 0; i < n; i++) {
            dlb_augment_run(how, rig.host + i * how->in_bytes, want);
            assert_memory_equal(made + i * how->out_bytes, want, how->out_bytes);
        }
        assert_int_equal(dlb_dev_cuda.checksum(rig.cu, 0, &sum, &rig.err), DLB_OK);
        assert_int_equal(sum, dlb_hash64(rig.host, n * how->in_bytes, 0)); /* as delivered */
        rig_close(&rig);
        free(want);
    }
}

/* It is measured at open, comes on top of the step's own time, and is told. */
static void its_time_comes_on_top(void **state)
{
    (void)state;
    struct dlb_augment how = dlb_augment_image(SIDE, SIZE);
    struct rig rig = {.opts = {.step_ms = 1}, .augment = &how};
    struct dlb_dev_times t;
    size_t n = BYTES / how.in_bytes;
    double most_ns = LAUNCH_NS + (double)(n * (how.in_bytes + how.out_bytes)) * READ_NS_PER_BYTE;

    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    assert_true(fabs(rig.cu->calibration.augment_ns - most_ns) < 1000);
    assert_true(fabs(rig.cu->calibration.measured_ns / 1e6 - 1) < 0.02);
    place_samples(&rig);
    assert_int_equal(trip(&rig, 0, n * how.in_bytes, &t), DLB_OK);
    assert_true(fabs(step_ms(&t) - 1 - most_ns / 1e6) < 0.03);
    json_t *facts = dlb_dev_cuda.describe(rig.cu);
    assert_true(json_real_value(json_object_get(json_object_get(facts, "step"), "augment_ns")) > 0);
    json_decref(facts);
    rig_close(&rig);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    struct dlb_augment how = dlb_augment_image(SIDE, SIZE);
    struct rig rig = {.opts = {.step_ms = 0}, .augment = &how};
    const uint8_t *made;
    size_t n;

    assert_int_equal(rig_open(&rig, 1, false, false), DLB_OK);
    assert_int_equal(dlb_dev_cuda.copy(rig.cu, 0, rig.host, how.in_bytes + 1, &rig.err), DLB_OK);
    assert_int_equal(dlb_dev_cuda.step(rig.cu, 0, &rig.err), DLB_E_DEVICE);
    assert_int_equal(rig.err.code, DLB_ERR_BATCH_CUT);
    assert_int_equal(dlb_dev_cuda.made(rig.cu, 0, &made, &n, &rig.err), DLB_E_DEVICE);
    assert_int_equal(rig.err.code, DLB_ERR_DEVICE_MISUSED);
    rig_close(&rig);
}

/* Every call fails once, those for what is made among them; of calibration every seventh. */
static void no_failure_goes_unheard(void **state)
{
    (void)state;
    struct dlb_augment how = dlb_augment_image(SIDE, SIZE);
    static const struct dlb_device_opts steps[] = {{.step_ms = 0},
                                                   {.step_ms = 1, .step_kind = DLB_STEP_FMA},
                                                   {.step_ms = 1, .step_kind = DLB_STEP_MEMORY}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int n_all = 0;
        for (int k = 0; k <= n_all; k += i == 0 ? 1 : 7) {
            struct rig rig = {.opts = steps[i], .augment = &how};
            struct dlb_dev_times t;
            const uint8_t *made;
            size_t n;
            (void)reset(NULL);
            fake.fail_at = k;
            int rc = rig_open(&rig, 2, false, true);
            if (rc == DLB_OK)
                place_samples(&rig);
            for (uint32_t buf = 0; rc == DLB_OK && buf < 2; buf++) {
                rc = trip(&rig, buf, 10 * how.in_bytes, &t);
                if (rc == DLB_OK)
                    rc = dlb_dev_cuda.made(rig.cu, buf, &made, &n, &rig.err);
            }
            assert_int_equal(rc, k == 0 ? DLB_OK : DLB_E_DEVICE);
            if (k == 0)
                n_all = fake.n_calls;
            rig_close(&rig);
        }
        assert_true(n_all > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(samples_are_made_within_the_step, reset),
        cmocka_unit_test_setup(what_was_made_is_what_the_host_makes, reset),
        cmocka_unit_test_setup(its_time_comes_on_top, reset),
        cmocka_unit_test_setup(misuse_is_refused, reset),
        cmocka_unit_test_setup(no_failure_goes_unheard, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

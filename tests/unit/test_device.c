/* What needs no device: which one is chosen, asking a driver in a child, clocks and calibration. */
#include "core/base/clock.h"
#include "loaders/device/cuda/step_plan.h"
#include "loaders/device/device.h"
#include "tests/support/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int answers(char name[96], struct dlb_err *err)
{
    (void)err;
    (void)printf("a driver's chatter\n");
    (void)fflush(stdout);
    (void)snprintf(name, 96, "Some GPU");
    return DLB_OK;
}

static int refuses(char name[96], struct dlb_err *err)
{
    (void)name;
    return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET, "driver 1.0 is too old");
}

static int crashes(char name[96], struct dlb_err *err)
{
    (void)name;
    (void)err;
    (void)raise(SIGKILL);
    return DLB_OK;
}

static int leaves(char name[96], struct dlb_err *err)
{
    (void)name;
    (void)err;
    _exit(0);
}

static int hangs(char name[96], struct dlb_err *err)
{
    (void)name;
    (void)err;
    (void)pause();
    return DLB_OK;
}

static void a_driver_may_do_what_it_likes(void **state)
{
    (void)state;
    char name[96] = "";
    struct dlb_err err;
    assert_int_equal(dlb_device_probe(answers, 10 * DLB_NS_PER_S, name, &err), DLB_OK);
    assert_string_equal(name, "Some GPU");
    assert_int_equal(dlb_device_probe(refuses, 10 * DLB_NS_PER_S, name, &err), DLB_E_DEVICE);
    assert_string_equal(err.what, "driver 1.0 is too old");
    assert_int_equal(dlb_device_probe(crashes, 10 * DLB_NS_PER_S, name, &err), DLB_E_DEVICE);
    error_is(&err, DLB_ERR_DRIVER_CRASHED, "signal 9");
    assert_int_equal(dlb_device_probe(leaves, 10 * DLB_NS_PER_S, name, &err), DLB_E_DEVICE);
    error_is(&err, DLB_ERR_DRIVER_CRASHED, "");
    assert_int_equal(dlb_device_probe(hangs, 200 * DLB_NS_PER_MS, name, &err), DLB_E_DEVICE);
    error_is(&err, DLB_ERR_DRIVER_HANGS, " 0.2 s");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    assert_int_equal(errno, ECHILD);
}

static void auto_takes_the_first_that_answers(void **state)
{
    (void)state;
    static const struct dlb_device emulated = {.name = "emulated", .emulated = true},
                                   real = {.name = "real", .probe = answers},
                                   old = {.name = "old", .probe = refuses},
                                   without = {.name = "without", .missing = "built without it"};
    const struct {
        const struct dlb_device *list[4], *taken;
        const char *why;
    } cases[] = {
        {{&emulated, &real}, &real, "Some GPU"},
        {{&emulated, &old, &real}, &real, "Some GPU"},
        {{&emulated, &old}, &emulated, "driver 1.0 is too old"},
        {{&emulated, &without}, &emulated, "built without it"},
        {{&emulated, &without, &old}, &emulated, "driver 1.0 is too old"},
        {{&emulated}, &emulated, "auto"},
        {{&old}, NULL, "driver 1.0 is too old"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[160] = "";
        struct dlb_err err = {0};
        assert_ptr_equal(dlb_device_first(cases[i].list, why, &err), cases[i].taken);
        if (cases[i].taken)
            assert_non_null(strstr(why, cases[i].why));
        else
            error_is(&err, DLB_ERR_DEVICE_NOT_FOUND, cases[i].why);
    }
}

static void a_named_device_is_not_asked(void **state)
{
    (void)state;
    for (int i = 0; dlb_devices[i]; i++) {
        struct dlb_device_opts opts = {.kind = i + 1};
        char why[160] = "";
        struct dlb_err err = {0};
        const struct dlb_device *device = dlb_device_choose(&opts, NULL, why, &err);
        if (dlb_devices[i]->missing) {
            assert_null(device);
            error_is(&err, DLB_ERR_DEVICE_NOT_BUILT, dlb_devices[i]->missing);
        } else {
            assert_ptr_equal(device, dlb_devices[i]);
            assert_non_null(strstr(why, "device.kind"));
        }
    }
}

static double model_ns(const struct dlb_step_model *m, uint64_t n_iters, size_t n_bytes)
{
    return m->fixed_ns + m->ns_per_byte * (double)n_bytes + m->ns_per_iter * (double)n_iters;
}

static void calibration_finds_the_iterations(void **state)
{
    (void)state;
    const struct dlb_step_model truth = {
        .fixed_ns = 6000, .ns_per_byte = 0.0004, .ns_per_iter = 63};
    const size_t all = 80 << 20;
    struct dlb_step_point points[4] = {{4096, 0, 0}, {all, 0, 0}, {all, 500, 0}, {all, 1000, 0}};
    struct dlb_step_model found;
    struct dlb_err err;
    for (int i = 0; i < 4; i++)
        points[i].ns = model_ns(&truth, points[i].n_iters, points[i].n_bytes);
    assert_int_equal(dlb_step_fit(points, &found, &err), DLB_OK);
    const double asked_ns[] = {50e3, 1e6, 100e6, 600e9};
    for (int i = 0; i < 4; i++) {
        uint64_t n = dlb_step_iters(&found, asked_ns[i], all);
        assert_true(fabs(model_ns(&truth, n, all) / asked_ns[i] - 1) < 0.002);
        n = dlb_step_iters(&found, asked_ns[i], all / 10);
        assert_true(fabs(model_ns(&truth, n, all / 10) / asked_ns[i] - 1) < 0.002);
    }
    assert_int_equal(dlb_step_iters(&found, 30e3, all), 0); /* reading takes longer */
    assert_int_equal(dlb_step_iters(&found, 0, 0), 0);
    assert_int_equal(dlb_step_iters(&found, 1e300, 0), UINT64_C(1) << 63);
    assert_int_equal(dlb_step_iters(&(struct dlb_step_model){0}, 1e6, 0), 0);

    points[3].ns = points[2].ns; /* more work, no more time */
    assert_int_equal(dlb_step_fit(points, &found, &err), DLB_E_DEVICE);
    points[3].ns = NAN;
    assert_int_equal(dlb_step_fit(points, &found, &err), DLB_E_DEVICE);
}

/* A model that is off comes to what was measured, whatever it is off by. */
static void corrections_converge(void **state)
{
    (void)state;
    const struct dlb_step_model truth = {.fixed_ns = 9000,
                                         .ns_per_byte = 0.0005,
                                         .ns_per_iter = 70},
                                wrong[] = {
                                    {.fixed_ns = 9000, .ns_per_byte = 0.0005, .ns_per_iter = 50},
                                    {.fixed_ns = 0, .ns_per_byte = 0, .ns_per_iter = 70},
                                    {.fixed_ns = 48000, .ns_per_byte = 0.0005, .ns_per_iter = 70}};
    const double asked_ns[] = {50e3, 5e6};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
        for (int i = 0; i < 2; i++) {
            struct dlb_step_model model = wrong[w];
            struct dlb_step_point point = {.n_bytes = 1 << 20};
            for (int round = 0; round < 6; round++) {
                point.n_iters = dlb_step_iters(&model, asked_ns[i], point.n_bytes);
                point.ns = model_ns(&truth, point.n_iters, point.n_bytes);
                dlb_step_correct(&model, &point);
            }
            assert_true(fabs(point.ns / asked_ns[i] - 1) < 0.005);
        }
}

static void launches_and_shares_keep_their_limits(void **state)
{
    (void)state;
    assert_int_equal(dlb_step_launches(0), 1);
    assert_int_equal(dlb_step_launches(100e6), 1);
    assert_int_equal(dlb_step_launches(250e6), 3);
    /* The longest steps: kernels that end in half of the 5 s that an end waits for one. */
    assert_true(600e9 / dlb_step_launches(600e9) < 2.5e9);
    assert_int_equal(dlb_step_sms(132, 1), 132);
    assert_int_equal(dlb_step_sms(132, 0.25), 33);
    assert_int_equal(dlb_step_sms(132, 0), 1);
    assert_int_equal(dlb_step_sms(1, 0.1), 1);
}

static void sums_depend_on_place_and_tail(void **state)
{
    (void)state;
    const uint8_t bytes[19] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 4, 0};
    assert_int_equal(dlb_step_sum(bytes, 0), 0);
    assert_int_equal(dlb_step_sum(bytes, 8), 1);
    assert_int_equal(dlb_step_sum(bytes, 16), 1 + 2 * 3);
    assert_int_equal(dlb_step_sum(bytes, 19), 1 + 2 * 3 + (3 + 4 * 256) * 5);
    assert_int_equal(dlb_step_sum(bytes, 17), 1 + 2 * 3 + 3 * 5);
    const uint8_t swapped[16] = {2, 0, 0, 0, 0, 0, 0, 0, 1};
    assert_int_equal(dlb_step_sum(swapped, 16), 2 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_may_do_what_it_likes),
        cmocka_unit_test(auto_takes_the_first_that_answers),
        cmocka_unit_test(a_named_device_is_not_asked),
        cmocka_unit_test(calibration_finds_the_iterations),
        cmocka_unit_test(corrections_converge),
        cmocka_unit_test(launches_and_shares_keep_their_limits),
        cmocka_unit_test(sums_depend_on_place_and_tail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A device that does not finish is left alone, and so is the memory that it copies from. An
 * emulated device plays the part. */
#include "scenarios/gap/rungs/rung.h"
#include "tests/support/own_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct {
    bool hangs;
    int n_ended, n_closed;
    const uint8_t *pinned;
    size_t pinned_bytes;
} seen;

static int noted_pin(void *dv, void *host, size_t n_bytes, struct dlb_err *err)
{
    seen.pinned = host;
    seen.pinned_bytes = n_bytes;
    return dlb_dev_emulated.pin(dv, host, n_bytes, err);
}

static bool noted_end(void *dv)
{
    (void)dv;
    assert_int_equal(seen.n_closed, 0);
    seen.n_ended++;
    return !seen.hangs;
}

static void noted_close(void *dv)
{
    seen.n_closed++;
    dlb_dev_emulated.close(dv);
}

static struct dlb_rung_result ran(const char *rung, bool hangs)
{
    struct dlb_gap_params params;
    struct dlb_rung_result result;
    struct dlb_err err;
    json_t *flat = json_pack("{si, si, si, si, sf}", "gap.samples", 4096, "gap.features", 100,
                             "gap.batch_size", 2048, "gap.workers", 1, "device.step_ms", 0.1);

    memset(&seen, 0, sizeof(seen));
    seen.hangs = hangs;
    own_device = dlb_dev_emulated;
    own_device.pin = noted_pin;
    own_device.end = noted_end;
    own_device.close = noted_close;
    if (dlb_gap_params_flat(&params, flat, "test", &err) != DLB_OK)
        fail_msg("%s", err.what);
    json_decref(flat);
    dlb_gap_rung_run(&params, rung, NULL, NULL, &result);
    assert_int_equal(result.status, DLB_RUNG_OK);
    assert_int_equal(seen.n_ended, 1);
    return result;
}

static const char *const rungs[] = {"floor", "direct", "dlbench", "pin-thread-pooled"};

static void what_ends_is_closed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
        struct dlb_rung_result result = ran(rungs[i], false);
        assert_int_equal(seen.n_closed, 1);
        assert_false(result.stuck);
        dlb_rung_result_free(&result);
    }
}

/* The memory that a driver may still copy from stays mapped: reading it would crash otherwise. In a
 * child process, because what is left behind ends with the process. */
static void what_hangs_is_left_as_it_is(void **state)
{
    int status;
    (void)state;
    for (size_t i = 0; i < sizeof(rungs) / sizeof(rungs[0]); i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct dlb_rung_result result = ran(rungs[i], true);
            bool as_it_is = seen.n_closed == 0 && result.stuck;
            uint32_t sum = 0;
            for (size_t at = 0; at < seen.pinned_bytes; at += 4096)
                sum += seen.pinned[at];
            _exit(as_it_is && sum + 1 > 0 ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ends_is_closed),
        cmocka_unit_test(what_hangs_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* One repetition, in this process: its result, whatever comes of it. */
#include "loaders/uring.h"
#include "tests/support/cell.h"
#include "tests/support/folder.h"

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_measures(void **state)
{
    (void)state;
    struct dlb_pulse pulse = {.stall_ns = 60000000000};
    struct dlb_cell_watch watch = {.pulse = &pulse};
    const char *const settings[] = {
        "dataset.format=synthetic",   "dataset.codec=raw",    "generate.samples=200",
        "generate.sample_bytes=1000", "loader.batch_size=10", "loader.num_workers=2",
        "loader.pin_memory=true",     "device.step_ms=0.5",   "run.checksum=true",
        "run.warmup_batches=3",       "run.epochs=2",         NULL};
    struct dlb_cell_result ran;
    cell_ran(settings, DLB_MODE_MEASURE, &watch, &ran);
    assert_ok(&ran);
    assert_int_equal(atomic_load(&pulse.n_batches), 40);
    assert_true(ran.has_loop && ran.has_workers && ran.has_memory && ran.has_device);
    assert_int_equal(ran.loop.n_epochs, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct dlb_epoch *epoch = &ran.loop.epoch[i];
        assert_int_equal(epoch->n_samples, 200);
        assert_int_equal(epoch->n_unique, 200);
        assert_int_equal(epoch->n_expected, 200);
        assert_true(epoch->set_checksum != 0);
    }
    const struct dlb_share *total = &ran.loop.total;
    assert_int_equal(total->busy_ns + total->idle_input_ns + total->idle_copy_ns +
                         total->idle_other_ns,
                     total->window_ns);
    assert_true(total->window_ns >= total->n_steps * 500000);
    assert_int_equal(total->n_bytes, total->n_steps * 10000);
    assert_int_equal(ran.loop.n_batches, 40);
    assert_int_equal(ran.loop.n_checksum_mismatches, 0);
    assert_true(ran.memory.pinned_bytes > 0);
    assert_true(ran.memory.slots_bytes >= 2 * 4 * 10000);
    assert_true(ran.memory.peak_pss_bytes > 100000);
    assert_string_equal(ran.device.name, "emulated H100");
    assert_true(isnan(ran.cache.resident_before_frac)); /* nothing on a disk */
    dlb_cell_result_free(&ran);
}

static void test_failure_is_a_result(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.codec=raw", "dataset.path=/nowhere/at/all", NULL};
    struct dlb_cell_result ran;
    cell_ran(settings, DLB_MODE_MEASURE, NULL, &ran);
    assert_int_equal(ran.status, DLB_REP_FAILED);
    assert_non_null(strstr(ran.reason, "/nowhere/at/all"));
    assert_int_equal(ran.error, DLB_E_IO);
    assert_int_equal(ran.code, DLB_ERR_NOT_FOUND);
    assert_false(ran.has_loop || ran.has_workers);
    dlb_cell_result_free(&ran);
}

static void test_cancelled_keeps_what_there_is(void **state)
{
    (void)state;
    atomic_bool cancel = true;
    struct dlb_cell_watch watch = {.cancel = &cancel};
    const char *const settings[] = {"dataset.format=synthetic", "dataset.codec=raw",
                                    "generate.samples=1000000", "device.step_ms=10", NULL};
    struct dlb_cell_result ran;
    cell_ran(settings, DLB_MODE_MEASURE, &watch, &ran);
    assert_int_equal(ran.status, DLB_REP_CANCELLED);
    assert_int_equal(ran.code, DLB_ERR_CANCELLED);
    assert_true(ran.has_loop && ran.has_workers);
    dlb_cell_result_free(&ran);
}

/* What is measured is the data set that the plan was made for. */
static void test_another_data_set(void **state)
{
    (void)state;
    struct dlb_cell_watch watch = {.data_id = 12345};
    const char *const settings[] = {"dataset.format=synthetic", "dataset.codec=raw",
                                    "generate.samples=100", "device.step_ms=0", NULL};
    struct dlb_cell_result ran;
    cell_ran(settings, DLB_MODE_MEASURE, &watch, &ran);
    assert_int_equal(ran.status, DLB_REP_FAILED);
    assert_int_equal(ran.code, DLB_ERR_DATASET_CHANGED);
    assert_true(ran.data_id != 0);
    watch.data_id = ran.data_id;
    dlb_cell_result_free(&ran);
    cell_ran(settings, DLB_MODE_MEASURE, &watch, &ran);
    assert_ok(&ran);
    assert_int_equal(ran.data_id, watch.data_id);
    dlb_cell_result_free(&ran);
}

/* Batches that the end cuts off have been read for some samples: what one sample costs stays what
 * it is. */
static void test_bytes_per_sample_at_the_end(void **state)
{
    (void)state;
    static const uint8_t bytes[512];
    char name[40], setting[100];
    folder_sub("a");
    for (int i = 0; i < 600; i++) {
        (void)snprintf(name, sizeof(name), "a/%d.bin", i);
        folder_write(name, bytes, sizeof(bytes));
    }
    (void)snprintf(setting, sizeof(setting), "dataset.path=%s", folder);
    for (int async = 0; async < (dlb_uring_missing() ? 1 : 2); async++) {
        const char *const settings[] = {"dataset.codec=raw",
                                        setting,
                                        async ? "loader.io=io_uring" : "loader.io=sync",
                                        "loader.batch_size=50",
                                        "loader.num_workers=3",
                                        "loader.sample_sleep_us=1000",
                                        "device.kind=emulated",
                                        "device.step_ms=20",
                                        "run.warmup_batches=0",
                                        "run.max_batches=2",
                                        NULL};
        struct dlb_cell_result ran;
        cell_ran(settings, DLB_MODE_MEASURE, NULL, &ran);
        assert_ok(&ran);
        assert_true(ran.workers.n_samples >= 150);
        assert_int_equal(ran.workers.io_bytes, ran.workers.n_samples * 512);
        /* The window may close before the last samples are read. */
        uint64_t n_read = ran.workers.stage[DLB_WS_READ].count;
        assert_true(n_read > 0 && n_read <= ran.workers.n_samples);
        uint64_t n_ahead = async ? 3 * 50 : 3; /* requested, and not taken before it closed */
        assert_true(ran.workers.reads.count >= n_read);
        assert_true(ran.workers.reads.count <= n_read + n_ahead);
        dlb_cell_result_free(&ran);
    }
}

/* The warm pass touches every byte, in batches of its own size. */
static void test_warm_reads_all(void **state)
{
    (void)state;
    uint8_t bytes[1009];
    char name[40], setting[100];
    for (size_t k = 0; k < sizeof(bytes); k++)
        bytes[k] = (uint8_t)k;
    folder_sub("a");
    for (size_t i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof(name), "a/%zu.bin", i);
        folder_write(name, bytes, 1000 + i);
    }
    (void)snprintf(setting, sizeof(setting), "dataset.path=%s", folder);
    const char *const settings[] = {"dataset.codec=raw",
                                    setting,
                                    "loader.batch_size=100000",
                                    "loader.num_workers=2",
                                    "device.step_ms=0",
                                    "run.warmup_batches=0",
                                    NULL};
    struct dlb_cell_result ran;
    cell_ran(settings, DLB_MODE_WARM, NULL, &ran);
    assert_ok(&ran);
    assert_int_equal(ran.workers.n_samples, 9);
    assert_int_equal(ran.workers.io_bytes, 9 * 1000 + 36);
    /* A file each: a request each, though a worker waits for it. */
    assert_true(ran.workers.reads_are_requests);
    assert_int_equal(ran.workers.reads.count, 9);
    assert_true(ran.workers.io.n_requests == DLB_NOT_MEASURED);
    assert_true(ran.workers.io.p50_ns == DLB_NOT_MEASURED);
    dlb_cell_result_free(&ran);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_failure_is_a_result),
        cmocka_unit_test(test_cancelled_keeps_what_there_is),
        cmocka_unit_test(test_another_data_set),
        cmocka_unit_test_setup_teardown(test_bytes_per_sample_at_the_end, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_warm_reads_all, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

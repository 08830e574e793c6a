/* One repetition, in this process: its document, whatever comes of it. */
#include "loaders/uring.h"
#include "tests/support/cell.h"
#include "tests/support/folder.h"

#include <fcntl.h>
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
    struct dlb_cell_watch watch = {&pulse, NULL, NULL};
    const char *const settings[] = {
        "dataset.format=synthetic",   "dataset.codec=raw",    "generate.samples=200",
        "generate.sample_bytes=1000", "loader.batch_size=10", "loader.num_workers=2",
        "loader.pin_memory=true",     "device.step_ms=0.5",   "run.checksum=true",
        "run.warmup_batches=3",       "run.epochs=2",         NULL};
    json_t *doc = cell_ran(settings, DLB_MODE_MEASURE, &watch);
    assert_string_equal(dlb_json_text(doc, "status"), "ok");
    assert_int_equal(atomic_load(&pulse.n_batches), 40);
    const json_t *epochs = json_object_get(doc, "epochs");
    assert_int_equal(json_array_size(epochs), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *epoch = json_array_get(epochs, i);
        assert_int_equal(dlb_json_u64(epoch, "samples", 0), 200);
        assert_int_equal(dlb_json_u64(epoch, "unique", 0), 200);
        assert_int_equal(dlb_json_u64(epoch, "expected", 0), 200);
        assert_int_equal(strlen(dlb_json_text(epoch, "set_checksum")), 16);
    }
    uint64_t window_ns = dlb_json_u64(doc, "window_ns", 0), sum_ns = 0;
    static const char *const parts[] = {"busy_ns", "idle_input_ns", "idle_copy_ns",
                                        "idle_other_ns"};
    for (size_t i = 0; i < 4; i++)
        sum_ns += dlb_json_u64(doc, parts[i], 0);
    assert_int_equal(sum_ns, window_ns);
    uint64_t n_steps = dlb_json_u64(doc, "n_steps", 0);
    assert_true(window_ns >= n_steps * 500000);
    assert_int_equal(dlb_json_u64(doc, "n_bytes", 0), n_steps * 10000);
    assert_int_equal(dlb_json_u64(doc, "n_batches", 0), 40);
    assert_int_equal(dlb_json_u64(doc, "n_checksum_mismatches", 9), 0);
    const json_t *memory = json_object_get(doc, "memory");
    assert_true(dlb_json_u64(memory, "pinned_bytes", 0) > 0);
    assert_true(dlb_json_u64(memory, "slots_bytes", 0) >= 2 * 4 * 10000);
    assert_true(dlb_json_u64(memory, "peak_pss_bytes", 0) > 100000);
    const json_t *device = json_object_get(doc, "device");
    assert_string_equal(dlb_json_text(device, "name"), "emulated H100");
    assert_true(json_is_null(json_object_get(doc, "resident_frac"))); /* nothing on a disk */
    json_decref(doc);
}

static void test_failure_is_a_document(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.codec=raw", "dataset.path=/nowhere/at/all", NULL};
    json_t *doc = cell_ran(settings, DLB_MODE_MEASURE, NULL);
    assert_string_equal(dlb_json_text(doc, "status"), "failed");
    assert_non_null(strstr(dlb_json_text(doc, "reason"), "/nowhere/at/all"));
    assert_int_equal(dlb_json_u64(doc, "error", 0), DLB_E_IO);
    assert_null(json_object_get(doc, "window_ns"));
    json_decref(doc);
}

static void test_cancelled_keeps_what_there_is(void **state)
{
    (void)state;
    atomic_bool cancel = true;
    struct dlb_cell_watch watch = {NULL, &cancel, NULL};
    const char *const settings[] = {"dataset.format=synthetic", "dataset.codec=raw",
                                    "generate.samples=1000000", "device.step_ms=10", NULL};
    json_t *doc = cell_ran(settings, DLB_MODE_MEASURE, &watch);
    assert_string_equal(dlb_json_text(doc, "status"), "cancelled");
    assert_non_null(json_object_get(doc, "epochs"));
    assert_non_null(json_object_get(doc, "worker_stages"));
    json_decref(doc);
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
        json_t *doc = cell_ran(settings, DLB_MODE_MEASURE, NULL);
        const json_t *reads = json_object_get(doc, "reads");
        uint64_t n = dlb_json_u64(doc, "worker_samples", 0);
        if (strcmp(dlb_json_text(doc, "status"), "ok") != 0)
            fail_msg("%s", dlb_json_text(doc, "reason"));
        assert_true(n >= 150);
        assert_int_equal(dlb_json_u64(doc, "io_bytes", 0), n * 512);
        assert_int_equal(dlb_json_u64(reads, "count", 0), n);
        json_decref(doc);
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
    const char *const settings[] = {"dataset.codec=raw",        setting,
                                    "loader.batch_size=100000", "loader.num_workers=2",
                                    "device.step_ms=0",         NULL};
    json_t *doc = cell_ran(settings, DLB_MODE_WARM, NULL);
    if (strcmp(dlb_json_text(doc, "status"), "ok") != 0)
        fail_msg("%s", dlb_json_text(doc, "reason"));
    assert_int_equal(dlb_json_u64(doc, "worker_samples", 0), 9);
    assert_int_equal(dlb_json_u64(doc, "io_bytes", 0), 9 * 1000 + 36);
    /* A file each: a request each, though a worker waits for it. */
    const json_t *reads = json_object_get(doc, "reads"), *io = json_object_get(doc, "io");
    assert_string_equal(dlb_json_text(reads, "of"), "requests");
    assert_int_equal(dlb_json_u64(reads, "count", 0), 9);
    assert_true(json_is_null(json_object_get(io, "requests")));
    assert_true(json_is_null(json_object_get(io, "p50_ns")));
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measures),
        cmocka_unit_test(test_failure_is_a_document),
        cmocka_unit_test(test_cancelled_keeps_what_there_is),
        cmocka_unit_test_setup_teardown(test_bytes_per_sample_at_the_end, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(test_warm_reads_all, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

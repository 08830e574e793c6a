/* Every rung in this process at a small size: the same rows, faults where they belong, complete
 * accounts, and interrupts. */
#include "core/base/clock.h"
#include "scenarios/gap/rungs/array.h"
#include "scenarios/gap/rungs/rung.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* 1,024 rows of 400 bytes are 100 pages; the last batch is a short one. */
#define SIZES "\"gap.samples\": 9728, \"gap.features\": 100, \"gap.batch_size\": 2048"

static struct dlb_gap_params params_of(const char *more)
{
    struct dlb_gap_params params;
    struct dlb_err err;
    char text[512], said[1024];

    (void)snprintf(text, sizeof text,
                   "{" SIZES ", \"gap.workers\": 2, \"device.kind\": \"emulated\", "
                   "\"device.step_ms\": 0.5%s}",
                   more);
    json_t *flat = json_loads(text, 0, NULL);
    assert_non_null(flat);
    if (dlb_gap_params_flat(&params, flat, "test", &err) != DLB_OK)
        fail_msg("%s", dlb_err_text(&err, said, sizeof said));
    json_decref(flat);
    return params;
}

static struct dlb_rung_result run_ok(const struct dlb_gap_params *params, const char *name)
{
    struct dlb_rung_result result;
    dlb_gap_rung_run(params, name, NULL, NULL, &result);
    if (result.status != DLB_RUNG_OK)
        fail_msg("%s: %s", name, result.reason);
    assert_string_equal(result.rung, name);
    return result;
}

static double part_seconds(const struct dlb_rung_parts *parts)
{
    double sum = 0;
    for (uint32_t i = 0; i < parts->n; i++)
        sum += parts->part[i].seconds;
    return sum;
}

static void expected_checksum(const struct dlb_gap_params *params, char text[17])
{
    struct dlb_gap_memory array;
    struct dlb_err err;
    assert_int_equal(dlb_gap_array_open(&array, params, NULL, &err), DLB_OK);
    (void)snprintf(text, 17, "%016llx",
                   (unsigned long long)dlb_gap_checksum(array.addr, (uint64_t)params->samples,
                                                        (uint64_t)params->features));
    dlb_gap_unmap(&array);
}

static void all_deliver_the_same_rows(void **state)
{
    static const char *const targets[] = {"", ", \"gap.target\": \"buffer\""};
    char want[17];
    (void)state;

    for (size_t t = 0; t < 2; t++) {
        struct dlb_gap_params params = params_of(targets[t]);
        expected_checksum(&params, want);
        for (const char *const *name = dlb_gap_rung_names; *name; name++) {
            struct dlb_rung_result r = run_ok(&params, *name);
            if (strcmp(r.checksum, want) != 0)
                fail_msg("%s delivered other rows", *name);
            assert_true(r.seconds > 0 && fabs(part_seconds(&r.parts) - r.seconds) < 1e-6);
            assert_int_equal(r.copy_calls.count, 5);
            assert_true(r.copy_calls.p99_ns == DLB_NOT_MEASURED);
            assert_in_range(r.copy_calls.max_ns, 1, 600 * DLB_NS_PER_S);
            assert_int_equal(r.n_batches, 5);
            assert_int_equal(r.batch_bytes, 2048 * 400);
            dlb_rung_result_free(&r);
        }
    }
}

/* A fresh batch takes a fault for each page, in a thread or a process; reused memory takes none. */
static void faults_are_where_the_memory_is_new(void **state)
{
    static const struct {
        const char *name;
        bool fresh;
    } rungs[] = {{"gather", true},     {"per-sample", true},
                 {"transport", true},  {"transport-pooled", false},
                 {"pin-thread", true}, {"pin-thread-pooled", false},
                 {"dlbench", false},   {"direct", false}};
    struct dlb_gap_params params = params_of("");
    double pages = 2048.0 * 400 / (double)sysconf(_SC_PAGESIZE);
    (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); /* their shadow memory faults, too: how often depends on the huge pages that are free */
#endif

    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        struct dlb_rung_result r = run_ok(&params, rungs[i].name);
        double per_batch = r.faults.per_batch;
        /* A batch ends within a page, and a stack may take a fault, too. */
        if (rungs[i].fresh ? fabs(per_batch - pages) > 0.02 * pages : per_batch > 0.02 * pages)
            fail_msg("%s: %f faults a batch of %f pages", rungs[i].name, per_batch, pages);
        assert_true(r.faults.ns > 0);
        dlb_rung_result_free(&r);
    }
}

static void the_median_epoch_is_told(void **state)
{
    struct dlb_gap_params params = params_of(", \"gap.epochs\": 4, \"gap.warmup_epochs\": 0");
    uint32_t below = 0;
    (void)state;

    struct dlb_rung_result r = run_ok(&params, "dlbench");
    assert_int_equal(r.n_epochs, 4);
    for (size_t i = 0; i < 4; i++)
        below += r.epochs[i] < r.seconds;
    assert_int_equal(below, 1);
    assert_string_equal(r.checksum, ""); /* only a warm-up epoch is checksummed */
    assert_int_equal(r.copy_calls.count, 20);
    dlb_rung_result_free(&r);
}

static void threads_are_told_apart(void **state)
{
    struct dlb_gap_params params = params_of("");
    static const char *const names[] = {"loop", "worker 0", "worker 1", "pin thread"};
    (void)state;

    struct dlb_rung_result r = run_ok(&params, "pin-thread");
    uint64_t faults = 0;
    assert_int_equal(r.os.n_threads, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct dlb_rung_account *thread = &r.os.threads[i];
        assert_string_equal(thread->name, names[i]);
        assert_int_equal(thread->own_process, i == 1 || i == 2);
        faults += thread->minor_faults;
    }
    assert_int_equal(faults, r.os.process.minor_faults);
    assert_true(part_seconds(&r.worker_parts) > 0);
    dlb_rung_result_free(&r);
}

static void one_row_and_odd_sizes(void **state)
{
    static const char *const sizes[] = {
        ", \"gap.samples\": 1, \"gap.features\": 1, \"gap.batch_size\": 1",
        ", \"gap.samples\": 7, \"gap.features\": 3, \"gap.batch_size\": 7",
        ", \"gap.samples\": 101, \"gap.features\": 33, \"gap.batch_size\": 2, \"gap.workers\": 3",
        (", \"gap.samples\": 1000, \"gap.features\": 1100, \"gap.batch_size\": 400, "
         "\"gap.workers\": 1"),
    };
    char want[17];
    (void)state;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct dlb_gap_params params = params_of(sizes[s]);
        params.device.step_ms = 0;
        expected_checksum(&params, want);
        for (const char *const *name = dlb_gap_rung_names; *name; name++) {
            struct dlb_rung_result r = run_ok(&params, *name);
            assert_string_equal(r.checksum, want);
            dlb_rung_result_free(&r);
        }
    }
}

static void errors_are_told(void **state)
{
    struct dlb_gap_params params = params_of("");
    struct dlb_rung_result r;
    (void)state;

    dlb_gap_rung_run(&params, "step-ladder", NULL, NULL, &r);
    assert_int_equal(r.status, DLB_RUNG_FAILED);
    assert_int_equal(r.code, DLB_ERR_RUNG_UNKNOWN);
    assert_non_null(strstr(r.reason, "step-ladder"));
    dlb_rung_result_free(&r);
    assert_int_equal(dlb_gap_rung_bytes(&params, "step-ladder"), 0);

    params = params_of(", \"gap.samples\": 4000000000, \"gap.features\": 100000");
    for (const char *const *name = dlb_gap_rung_names; *name; name++) {
        assert_true(dlb_gap_rung_bytes(&params, *name) > dlb_gap_array_bytes(&params));
        dlb_gap_rung_run(&params, *name, NULL, NULL, &r);
        assert_int_equal(r.status, DLB_RUNG_FAILED);
        assert_int_equal(r.code, DLB_ERR_GAP_TOO_LARGE);
        dlb_rung_result_free(&r);
    }
}

static atomic_bool interrupted;

/* A while after the first batch. */
static void *interrupt_soon(void *arg)
{
    struct dlb_pulse *pulse = arg;
    uint64_t give_up_ns = dlb_now_ns() + 60 * DLB_NS_PER_S;
    while (atomic_load(&pulse->n_batches) == 0 && dlb_now_ns() < give_up_ns)
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    (void)dlb_sleep_until_ns(dlb_now_ns() + 300 * DLB_NS_PER_MS);
    atomic_store(&interrupted, true);
    return NULL;
}

/* With long steps: threads that wait for the device, or for a slot behind it, stop waiting. And
 * with short steps, where no wait is long. */
static void an_interrupt_ends_a_rung(void **state)
{
    struct dlb_gap_params params = params_of(", \"gap.epochs\": 1000");
    pthread_t id;
    (void)state;

    for (int quick = 0; quick < 2; quick++) {
        params.device.step_ms = quick ? 1 : 60000;
        for (const char *const *name = dlb_gap_rung_names; *name; name++) {
            struct dlb_pulse pulse = {.n_batches = 0};
            atomic_store(&interrupted, false);
            assert_int_equal(pthread_create(&id, NULL, interrupt_soon, &pulse), 0);
            struct dlb_rung_result r;
            dlb_gap_rung_run(&params, *name, &interrupted, &pulse, &r);
            assert_int_equal(pthread_join(id, NULL), 0);
            assert_int_equal(r.status, DLB_RUNG_CANCELLED);
            assert_int_equal(r.code, DLB_ERR_CANCELLED);
            assert_true(pulse.n_batches > 0);
            dlb_rung_result_free(&r);
        }
    }
}

/* From /proc/PID/stat: "pid (name) state parent ..." */
static pid_t parent_of(pid_t pid, char name[32])
{
    char path[64];
    int parent = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f || fscanf(f, "%*d (%31[^)]) %*c %d", name, &parent) != 2)
        parent = 0;
    if (f)
        (void)fclose(f);
    return parent;
}

static bool kill_first_worker(void)
{
    DIR *proc = opendir("/proc");
    bool killed = false;
    assert_non_null(proc);
    for (const struct dirent *entry; !killed && (entry = readdir(proc));) {
        char name[32] = "", above[32] = "";
        pid_t pid = atoi(entry->d_name);
        pid_t parent = pid > 0 ? parent_of(pid, name) : 0;
        if (strcmp(name, "dlb-worker-0") == 0 && parent_of(parent, above) == getpid())
            killed = kill(pid, SIGKILL) == 0;
    }
    (void)closedir(proc);
    return killed;
}

static void *kill_soon(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3000 && !kill_first_worker(); i++)
        (void)dlb_sleep_until_ns(dlb_now_ns() + 10 * DLB_NS_PER_MS);
    return NULL;
}

/* The thread that waits for it notices its death; a pin thread, too. */
static void a_worker_that_is_killed_is_named(void **state)
{
    static const char *const names[] = {"transport", "transport-pooled", "pin-thread"};
    struct dlb_gap_params params = params_of(", \"gap.epochs\": 1000, \"gap.warmup_epochs\": 1000");
    pthread_t id;
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(pthread_create(&id, NULL, kill_soon, NULL), 0);
        struct dlb_rung_result r;
        dlb_gap_rung_run(&params, names[i], NULL, NULL, &r);
        assert_int_equal(pthread_join(id, NULL), 0);
        assert_int_equal(r.status, DLB_RUNG_FAILED);
        assert_int_equal(r.code, DLB_ERR_RUNG_WORKER_DIED);
        assert_non_null(strstr(r.reason, "worker 0"));
        assert_non_null(strstr(r.reason, "SIGKILL"));
        dlb_rung_result_free(&r);
    }
}

/* What one process writes, another reads as the same figures. */
static void a_result_survives_json(void **state)
{
    struct dlb_gap_params params = params_of("");
    (void)state;

    for (size_t i = 0; i < 2; i++) {
        struct dlb_rung_result r = run_ok(&params, i ? "pin-thread" : "direct"), back;
        json_t *doc = dlb_rung_result_to_json(&r);
        dlb_rung_result_from_json(doc, &back);
        json_t *again = dlb_rung_result_to_json(&back);
        assert_true(json_equal(doc, again));
        assert_int_equal(back.os.process.cpu_ns, r.os.process.cpu_ns);
        assert_string_equal(back.device.kind, "emulated");
        assert_true(back.n_liveness_polls == DLB_NOT_MEASURED && isnan(back.start_up.import_s));
        json_decref(doc);
        json_decref(again);
        dlb_rung_result_free(&r);
        dlb_rung_result_free(&back);
    }
}

/* A document of another program may hold anything. */
static void any_json_is_a_result(void **state)
{
    /* Longer than a name, of two bytes a letter. */
    static const char long_name[] =
        "{\"status\": \"ok\", \"parts\": {\"\u00e9\u00e9\u00e9\u00e9\u00e9"
        "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\": {}}}";
    static const char *const texts[] = {
        "{}",
        long_name,
        "{\"status\": \"ok\"}",
        "{\"status\": 5, \"seconds\": \"x\", \"os\": [], \"parts\": 1}",
        "{\"status\": \"ok\", \"seconds\": null, \"os\": {\"threads\": [1, null]}, \"epochs\": {}}",
        "{\"parts\": {\"a\": 1}, \"checksum\": 7, \"faults\": {\"ns\": 1}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct dlb_rung_result r;
        json_t *doc = json_loads(texts[i], 0, NULL);
        assert_non_null(doc);
        dlb_rung_result_from_json(doc, &r);
        bool ok = strstr(texts[i], "\"ok\"") != NULL;
        assert_int_equal(r.status, ok ? DLB_RUNG_OK : DLB_RUNG_NOT_MEASURED);
        assert_true(isnan(r.seconds) && r.n_samples == DLB_NOT_MEASURED && !r.checksum[0]);
        json_decref(doc);
        doc = dlb_rung_result_to_json(&r);
        json_decref(doc);
        dlb_rung_result_free(&r);
    }
}

static void the_array_can_be_written(void **state)
{
    struct dlb_gap_params params = params_of("");
    struct dlb_gap_memory array;
    struct dlb_err err;
    (void)state;

    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(dlb_gap_array_write(&params, fileno(file), NULL, &err), DLB_OK);
    uint64_t n_bytes = dlb_gap_array_bytes(&params);
    uint8_t *written = malloc(n_bytes);
    assert_non_null(written);
    assert_int_equal(pread(fileno(file), written, n_bytes, 0), n_bytes);
    assert_int_equal(dlb_gap_array_open(&array, &params, NULL, &err), DLB_OK);
    assert_memory_equal(written, array.addr, n_bytes);
    dlb_gap_unmap(&array);
    free(written);
    (void)fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_deliver_the_same_rows),
        cmocka_unit_test(faults_are_where_the_memory_is_new),
        cmocka_unit_test(the_median_epoch_is_told),
        cmocka_unit_test(threads_are_told_apart),
        cmocka_unit_test(one_row_and_odd_sizes),
        cmocka_unit_test(errors_are_told),
        cmocka_unit_test(an_interrupt_ends_a_rung),
        cmocka_unit_test(a_worker_that_is_killed_is_named),
        cmocka_unit_test(a_result_survives_json),
        cmocka_unit_test(any_json_is_a_result),
        cmocka_unit_test(the_array_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

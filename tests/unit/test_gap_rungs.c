/* Every rung in this process at a small size: same rows, faults where they belong, an account that
 * is closed, an interrupt that is heard. */
#include "core/base/clock.h"
#include "scenarios/gap/rungs/array.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/spec/flat.h"

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

static json_t *run_ok(const struct dlb_gap_params *params, const char *name)
{
    json_t *doc = dlb_gap_rung_run(params, name, NULL, NULL);
    assert_non_null(doc);
    if (strcmp(dlb_json_text(doc, "status"), "ok") != 0)
        fail_msg("%s: %s", name, dlb_json_text(doc, "reason"));
    assert_string_equal(dlb_json_text(doc, "rung"), name);
    return doc;
}

static double at(const json_t *doc, const char *one, const char *two)
{
    return dlb_json_number(json_object_get(doc, one), two);
}

static double part_seconds(const json_t *parts)
{
    double sum = 0;
    const char *name;
    json_t *part;
    json_object_foreach((json_t *)parts, name, part)
        sum += dlb_json_number(part, "seconds");
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
            json_t *doc = run_ok(&params, *name);
            if (strcmp(dlb_json_text(doc, "checksum"), want) != 0)
                fail_msg("%s delivered other rows", *name);
            double seconds = dlb_json_number(doc, "seconds");
            double named = part_seconds(json_object_get(doc, "parts"));
            assert_true(seconds > 0 && fabs(named - seconds) < 1e-6);
            assert_int_equal(at(doc, "copy_calls", "count"), 5);
            assert_true(
                json_is_null(json_object_get(json_object_get(doc, "copy_calls"), "p99_ns")));
            assert_true(at(doc, "copy_calls", "max_ns") > 0);
            assert_int_equal(dlb_json_number(doc, "n_batches"), 5);
            assert_int_equal(dlb_json_number(doc, "batch_bytes"), 2048 * 400);
            json_decref(doc);
        }
    }
}

/* A fresh batch is as many faults as it has pages, whoever fills it; reused memory has none. */
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
#ifdef __SANITIZE_THREAD__
    skip(); /* its shadow memory faults, too */
#endif

    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
        json_t *doc = run_ok(&params, rungs[i].name);
        double per_batch = at(doc, "faults", "per_batch");
        /* A part of a page at the end of each batch, and a stack's here and there. */
        if (rungs[i].fresh ? fabs(per_batch - pages) > 0.02 * pages : per_batch > 0.02 * pages)
            fail_msg("%s: %f faults a batch of %f pages", rungs[i].name, per_batch, pages);
        assert_true(at(doc, "faults", "ns") > 0);
        json_decref(doc);
    }
}

static void the_median_epoch_is_told(void **state)
{
    struct dlb_gap_params params = params_of(", \"gap.epochs\": 4, \"gap.warmup_epochs\": 0");
    uint32_t below = 0;
    (void)state;

    json_t *doc = run_ok(&params, "dlbench");
    const json_t *epochs = json_object_get(doc, "epochs");
    double seconds = dlb_json_number(doc, "seconds");
    assert_int_equal(json_array_size(epochs), 4);
    for (size_t i = 0; i < 4; i++)
        below += json_number_value(json_array_get(epochs, i)) < seconds;
    assert_int_equal(below, 1);
    assert_true(json_is_null(json_object_get(doc, "checksum"))); /* no epoch to take it in */
    assert_int_equal(at(doc, "copy_calls", "count"), 20);
    json_decref(doc);
}

static void threads_are_told_apart(void **state)
{
    struct dlb_gap_params params = params_of("");
    static const char *const names[] = {"loop", "worker 0", "worker 1", "pin thread"};
    (void)state;

    json_t *doc = run_ok(&params, "pin-thread");
    const json_t *threads = json_object_get(json_object_get(doc, "os"), "threads");
    double faults = 0;
    assert_int_equal(json_array_size(threads), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *thread = json_array_get(threads, i);
        assert_string_equal(dlb_json_text(thread, "name"), names[i]);
        assert_int_equal(json_is_true(json_object_get(thread, "own_process")), i == 1 || i == 2);
        faults += dlb_json_number(thread, "minor_faults");
    }
    assert_true(faults == at(json_object_get(doc, "os"), "process", "minor_faults"));
    assert_true(part_seconds(json_object_get(doc, "worker_parts")) > 0);
    json_decref(doc);
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
            json_t *doc = run_ok(&params, *name);
            assert_string_equal(dlb_json_text(doc, "checksum"), want);
            json_decref(doc);
        }
    }
}

static void errors_are_told(void **state)
{
    struct dlb_gap_params params = params_of("");
    (void)state;

    json_t *doc = dlb_gap_rung_run(&params, "ladder", NULL, NULL);
    assert_string_equal(dlb_json_text(doc, "status"), "failed");
    assert_non_null(strstr(dlb_json_text(doc, "reason"), "ladder"));
    json_decref(doc);
    assert_int_equal(dlb_gap_rung_bytes(&params, "ladder"), 0);

    params = params_of(", \"gap.samples\": 4000000000, \"gap.features\": 100000");
    for (const char *const *name = dlb_gap_rung_names; *name; name++) {
        assert_true(dlb_gap_rung_bytes(&params, *name) > dlb_gap_array_bytes(&params));
        doc = dlb_gap_rung_run(&params, *name, NULL, NULL);
        assert_string_equal(dlb_json_text(doc, "status"), "failed");
        assert_non_null(strstr(dlb_json_text(doc, "reason"), "gap.samples"));
        json_decref(doc);
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

/* While the device takes long steps: whoever waits for it, or for a slot behind it, leaves. And
 * while it is quick, so that nobody ever waits for long. */
static void an_interrupt_is_heard(void **state)
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
            json_t *doc = dlb_gap_rung_run(&params, *name, &interrupted, &pulse);
            assert_int_equal(pthread_join(id, NULL), 0);
            assert_string_equal(dlb_json_text(doc, "status"), "cancelled");
            assert_true(pulse.n_batches > 0);
            json_decref(doc);
        }
    }
}

/* Of /proc/PID/stat: "pid (name) state parent ..." */
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

/* Whoever waits for it learns of its death; a pin thread, too. */
static void a_worker_that_is_killed_is_named(void **state)
{
    static const char *const names[] = {"transport", "transport-pooled", "pin-thread"};
    struct dlb_gap_params params = params_of(", \"gap.epochs\": 1000, \"gap.warmup_epochs\": 1000");
    pthread_t id;
    (void)state;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(pthread_create(&id, NULL, kill_soon, NULL), 0);
        json_t *doc = dlb_gap_rung_run(&params, names[i], NULL, NULL);
        assert_int_equal(pthread_join(id, NULL), 0);
        assert_string_equal(dlb_json_text(doc, "status"), "failed");
        assert_non_null(strstr(dlb_json_text(doc, "reason"), "was killed by SIGKILL"));
        json_decref(doc);
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
        cmocka_unit_test(an_interrupt_is_heard),
        cmocka_unit_test(a_worker_that_is_killed_is_named),
        cmocka_unit_test(the_array_can_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Running fio: scripts play it. One that hangs is killed, and what it started stays in the group of
 * this process, which is ended as a whole; an interrupt ends it at once. */
#include "core/base/config.h"
#include "scenarios/storage/fio.h"
#include "tests/support/folder.h"

#include "core/base/clock.h"

#include <pthread.h>
#include <signal.h>

#define WAIT_NS (20 * DLB_NS_PER_S) /* for processes to be gone, on a busy machine */

static struct dlb_spec spec;
static struct dlb_pulse pulse;
static atomic_bool cancel;
static char *path_before;

static void program(const char *name, const char *text)
{
    folder_write(name, text, strlen(text));
    assert_int_equal(chmod(folder_path(name), 0755), 0);
}

/* A data set of one file, and a folder that is first in PATH. */
static int setup(void **state)
{
    char set[600], with[4096];
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_err err;
    assert_int_equal(folder_make(state), 0);
    folder_sub("data");
    folder_sub("data/class");
    folder_write("data/class/a.bin", "content", 7);
    (void)snprintf(set, sizeof set, "dataset.path=%s", folder_path("data"));
    assert_int_equal(dlb_config_set(cfg, "dataset.format=files", &err), DLB_OK);
    assert_int_equal(dlb_config_set(cfg, "dataset.codec=raw", &err), DLB_OK);
    assert_int_equal(dlb_config_set(cfg, set, &err), DLB_OK);
    assert_int_equal(dlb_spec_from_config(&spec, cfg, &err), DLB_OK);
    dlb_config_free(cfg);
    path_before = strdup(getenv("PATH"));
    (void)snprintf(with, sizeof with, "%s:%s", folder, path_before);
    assert_int_equal(setenv("PATH", with, 1), 0);
    pulse = (struct dlb_pulse){.stall_ns = DLB_NS_PER_S};
    atomic_store(&cancel, false);
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(setenv("PATH", path_before, 1), 0);
    free(path_before);
    return folder_remove(state);
}

static struct dlb_cell_result run(void)
{
    const struct dlb_cell_watch watch = {.pulse = &pulse, .cancel = &cancel};
    struct dlb_cell_result out;
    dlb_fio_run(&spec, &watch, &out);
    return out;
}

/* The number in this file. */
static pid_t number_in(const char *name)
{
    size_t n;
    char *text = (char *)folder_read(name, &n);
    text[n] = '\0';
    pid_t number = atoi(text);
    free(text);
    return number;
}

/* Whether the process whose number is in this file runs no more. */
static bool is_gone(const char *name)
{
    char stat[64], line[512] = "";
    (void)snprintf(stat, sizeof stat, "/proc/%d/stat", number_in(name));
    FILE *file = fopen(stat, "r");
    if (!file)
        return true;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    (void)fclose(file);
    const char *end = strrchr(line, ')');
    return !end || end[2] == 'Z';
}

static void assert_gone(const char *name)
{
    uint64_t end_ns = dlb_now_ns() + WAIT_NS;
    while (!is_gone(name) && dlb_now_ns() < end_ns)
        (void)dlb_sleep_until_ns(dlb_now_ns() + 10 * DLB_NS_PER_MS);
    assert_true(is_gone(name));
}

static void assert_hang(const struct dlb_cell_result *result)
{
    assert_int_equal(result->status, DLB_REP_FAILED);
    assert_int_equal(result->code, DLB_ERR_PROGRAM_HANGS);
    assert_non_null(strstr(result->reason, folder_path("fio")));
}

static void what_it_prints_is_taken(void **state)
{
    (void)state;
    program("fio",
            "#!/bin/sh\n"
            "echo '{\"jobs\": [{\"error\": 0, \"read\": {\"bw_bytes\": 5, \"iops\": 2}}]}'\n");
    struct dlb_cell_result result = run();
    assert_int_equal(result.status, DLB_REP_OK);
    assert_true(result.baseline.bytes_per_s == 5);
    dlb_cell_result_free(&result);
}

static void one_that_hangs_is_killed(void **state)
{
    (void)state;
    char text[1024];
    (void)snprintf(text, sizeof text, "#!/bin/sh\nsleep 600 &\necho $! >%s\necho $$ >%s\nwait\n",
                   folder_path("child"), folder_path("own"));
    program("fio", text);
    struct dlb_cell_result result = run();
    assert_hang(&result);
    assert_true(atomic_load(&pulse.n_signs) > 0); /* its watcher lets it run that long */
    assert_gone("own");
    assert_int_equal(getpgid(number_in("child")), getpgrp());
    assert_int_equal(kill(number_in("child"), SIGKILL), 0);
    assert_gone("child");
    dlb_cell_result_free(&result);
}

static void one_that_hangs_at_its_end_is_killed(void **state)
{
    (void)state;
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "#!/bin/sh\ntrap '' TERM\necho $$ >%s\nexec >&-\nwhile :; do sleep 1; done\n",
                   folder_path("own"));
    program("fio", text);
    struct dlb_cell_result result = run();
    assert_hang(&result);
    assert_gone("own");
    dlb_cell_result_free(&result);
}

static void *interrupt(void *unused)
{
    (void)unused;
    while (access(folder_path("own"), F_OK))
        (void)dlb_sleep_until_ns(dlb_now_ns() + 10 * DLB_NS_PER_MS);
    atomic_store(&cancel, true);
    return NULL;
}

static void an_interrupt_ends_it(void **state)
{
    (void)state;
    char text[1024];
    pthread_t thread;
    pulse.stall_ns = 3600 * DLB_NS_PER_S;
    (void)snprintf(text, sizeof text, "#!/bin/sh\necho $$ >%s\nexec sleep 600\n",
                   folder_path("own"));
    program("fio", text);
    assert_int_equal(pthread_create(&thread, NULL, interrupt, NULL), 0);
    struct dlb_cell_result result = run();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result.status, DLB_REP_CANCELLED);
    assert_gone("own");
    dlb_cell_result_free(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_it_prints_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_hangs_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_hangs_at_its_end_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(an_interrupt_ends_it, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a repetition asks of its loaders: one order for all, and all are told to stop before one is
 * waited for. A loader that does not come back takes nothing from what was measured. */
#include "tests/support/cell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HANGS "worker 0 does not end"

extern const struct dlb_loader dlb_ld_threads;

static struct {
    struct dlb_loader loader;
    char order[16]; /* d: dismiss, s: stop */
    bool hangs;     /* the last one to be stopped */
    const struct dlb_shuffled *shuffled;
} seen;

static void note(char what)
{
    size_t n = strlen(seen.order);
    assert_true(n + 1 < sizeof(seen.order));
    seen.order[n] = what;
}

static int noted_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    assert_non_null(job->order);
    assert_int_equal(job->n_loaders, 3); /* limits are asked for all of them */
    assert_true(!seen.shuffled || seen.shuffled == job->order);
    seen.shuffled = job->order;
    return dlb_ld_threads.start(ld, job, err);
}

static void noted_dismiss(void *ld)
{
    note('d');
    dlb_ld_threads.dismiss(ld);
}

static int noted_stop(void *ld, struct dlb_err *err)
{
    note('s');
    int rc = dlb_ld_threads.stop(ld, err);
    if (seen.hangs && strcmp(seen.order, "dddsss") == 0)
        return dlb_fail(err, DLB_ERR_WORKER, NULL, DLB_NO_OFFSET, HANGS);
    return rc;
}

/* Replaces the choice (--wrap, in CMakeLists.txt). */
const struct dlb_loader *__wrap_dlb_loader_choose(const struct dlb_loader_opts *opts,
                                                  struct dlb_err *err);
const struct dlb_loader *__wrap_dlb_loader_choose(const struct dlb_loader_opts *opts,
                                                  struct dlb_err *err)
{
    (void)opts;
    (void)err;
    return &seen.loader;
}

static void run(bool hangs, struct dlb_cell_result *out)
{
    const char *const settings[] = {
        "dataset.format=synthetic",   "dataset.codec=raw",    "generate.samples=600",
        "generate.sample_bytes=1000", "loader.batch_size=10", "loader.num_workers=1",
        "loader.pin_memory=true",     "device.kind=emulated", "device.step_ms=0",
        "run.warmup_batches=1",       "accelerators.count=3", NULL};
    memset(&seen, 0, sizeof(seen));
    seen.hangs = hangs;
    seen.loader = dlb_ld_threads;
    seen.loader.start = noted_start;
    seen.loader.dismiss = noted_dismiss;
    seen.loader.stop = noted_stop;
    cell_ran(settings, DLB_MODE_MEASURE, NULL, out);
}

static void all_have_one_order_and_are_told_before_one_is_waited_for(void **state)
{
    (void)state;
    struct dlb_cell_result ran;
    run(false, &ran);
    assert_ok(&ran);
    assert_string_equal(seen.order, "dddsss");
    dlb_cell_result_free(&ran);
}

/* What is left behind is only given back by _exit: in a process of its own. */
static void a_worker_that_hangs_takes_nothing(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct dlb_cell_result ran;
        run(true, &ran);
        bool measured = ran.status == DLB_REP_OK && ran.loop.total.window_ns > 0 &&
                        ran.loop.total.n_samples > 0 && !ran.reason[0];
        bool stuck = strcmp(ran.stuck_why, HANGS) == 0;
        _exit(measured && stuck && !ran.has_workers ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_hangs_takes_nothing), /* forks: before there are threads */
        cmocka_unit_test(all_have_one_order_and_are_told_before_one_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

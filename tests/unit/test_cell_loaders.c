/* What a repetition asks of its loaders: one order for all, that all are told to stop before one is
 * waited for; and who does not come back takes nothing from what was measured. */
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
        return dlb_fail(err, DLB_ERR_WORKER, NULL, DLB_NO_OFFSET, "worker 0 does not end");
    return rc;
}

/* In the stead of the choice (--wrap, in CMakeLists.txt). */
const struct dlb_loader *__wrap_dlb_loader_choose(const struct dlb_loader_opts *opts,
                                                  struct dlb_err *err);
const struct dlb_loader *__wrap_dlb_loader_choose(const struct dlb_loader_opts *opts,
                                                  struct dlb_err *err)
{
    (void)opts;
    (void)err;
    return &seen.loader;
}

static json_t *ran(bool hangs)
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
    return cell_ran(settings, DLB_MODE_MEASURE, NULL);
}

static void all_have_one_order_and_are_told_before_one_is_waited_for(void **state)
{
    (void)state;
    json_t *doc = ran(false);
    assert_string_equal(dlb_json_text(doc, "status"), "ok");
    assert_string_equal(seen.order, "dddsss");
    json_decref(doc);
}

/* What is left behind is only given back by _exit: in a process of its own. */
static void a_worker_that_hangs_takes_nothing(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        json_t *doc = ran(true);
        bool measured = strcmp(dlb_json_text(doc, "status"), "ok") == 0 &&
                        dlb_json_u64(doc, "n_samples", 0) > 0 && !json_object_get(doc, "reason");
        bool stuck = json_is_true(json_object_get(doc, "stuck")) &&
                     strstr(dlb_json_text(doc, "stuck_why"), "worker 0 does not end");
        bool of_workers = json_object_get(doc, "worker_stages") || json_object_get(doc, "io_bytes");
        _exit(measured && stuck && !of_workers ? 0 : 1);
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

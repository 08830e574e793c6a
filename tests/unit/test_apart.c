/* Work in a child process: its result, its error, and each way in which it can end without one, or
 * tell what cannot be. */
#include "core/base/apart.h"
#include "core/base/mem.h"
#include "tests/support/error.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum ending {
    SUCCEEDS,
    FAILS,
    CRASHES,
    IS_KILLED,
    IS_INTERRUPTED,
    IS_HUNG_UP,
    GIVES_UP,
    HANGS,
    RUNS_SHORT,
    SIGNS,      /* takes longer than its patience, and says that it goes on */
    IS_ENDLESS, /* says so for ever */
    STAYS,      /* tells its result and does not end */
    LIES,       /* tells nonsense and does not end */
    HAS_NO_END, /* an error whose text does not end */
    HAS_NO_CODE,
    HAS_NO_STATUS,
};

struct work {
    enum ending ending;
    int figure;
    uint64_t n;
    uint8_t *array;
};

static int work(void *ctx, struct dlb_err *err)
{
    struct work *w = ctx;
    w->figure = 42;
    w->n = 3;
    w->array = calloc(w->n, 1);
    switch (w->ending) {
    case FAILS:
        return dlb_fail(err, DLB_ERR_TAR_DAMAGED, "inner", 512, "checksum 7");
    case CRASHES:
        (void)raise(SIGSEGV);
        break;
    case IS_KILLED:
        (void)raise(SIGKILL);
        break;
    case IS_INTERRUPTED:
        (void)raise(SIGTERM);
        break;
    case IS_HUNG_UP:
        (void)raise(SIGHUP);
        break;
    case GIVES_UP:
        _exit(1);
    case HANGS:
        (void)pause();
        break;
    case RUNS_SHORT:
        (void)dlb_mem_check(NULL);
        break;
    case SIGNS:
        for (int i = 0; i < 10; i++, dlb_apart_sign())
            (void)usleep(300 * 1000);
        break;
    case IS_ENDLESS:
        for (;;)
            dlb_apart_sign();
    case HAS_NO_END:
        (void)dlb_fail(err, DLB_ERR_TAR_DAMAGED, "inner", 512, "checksum 7");
        memset(err->what, 'x', sizeof err->what);
        return DLB_E_FORMAT;
    case HAS_NO_CODE:
        (void)dlb_fail(err, DLB_ERR_TAR_DAMAGED, "inner", 512, "checksum 7");
        err->code = DLB_N_CODES;
        return DLB_E_FORMAT;
    case HAS_NO_STATUS:
        (void)dlb_fail(err, DLB_ERR_TAR_DAMAGED, "inner", 512, "checksum 7");
        return DLB_E_CANCELLED + 1;
    case LIES:
        w->figure = 666;
        break;
    case STAYS:
    case SUCCEEDS:
        break;
    }
    w->array[2] = 9;
    return DLB_OK;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct work *w = ctx;
    bool passed = dlb_pass(pipe, &w->figure, sizeof w->figure) &&
                  (pipe->tells || w->figure == 42) && dlb_pass(pipe, &w->n, sizeof w->n) &&
                  dlb_pass_array(pipe, (void **)&w->array, w->n, 1);
    if (pipe->tells && (w->ending == STAYS || w->ending == LIES))
        (void)pause();
    return passed;
}

static int ends(enum ending ending, struct work *w, struct dlb_err *err)
{
    *w = (struct work){.ending = ending};
    struct dlb_apart how = {
        .path = "outer",
        .who = "libtest",
        .work = work,
        .pass = pass,
        .ctx = w,
        .patience_s =
            ending == HANGS || ending == SIGNS || ending == STAYS || ending == LIES ? 1 : 60,
        .most_signs = ending == SIGNS        ? 10
                      : ending == IS_ENDLESS ? 1000
                                             : 0};
    return dlb_apart(&how, err);
}

static void a_result_comes_back(void **state)
{
    (void)state;
    struct work w;
    struct dlb_err err;
    assert_int_equal(ends(SUCCEEDS, &w, &err), DLB_OK);
    assert_int_equal(w.figure, 42);
    assert_int_equal(w.n, 3);
    assert_int_equal(w.array[2], 9);
    free(w.array);
}

static void an_error_comes_back_whole(void **state)
{
    (void)state;
    struct work w;
    struct dlb_err err;
    assert_int_equal(ends(FAILS, &w, &err), DLB_E_FORMAT);
    error_is(&err, DLB_ERR_TAR_DAMAGED, "checksum 7");
    assert_string_equal(err.path, "inner");
    assert_int_equal(err.offset_bytes, 512);
    assert_int_equal(w.figure, 0);
}

static void each_end_has_its_code(void **state)
{
    (void)state;
    static const struct {
        enum ending ending;
        enum dlb_code code;
        int signo;
    } rows[] = {
        {CRASHES, DLB_ERR_CHILD_CRASHED, SIGSEGV}, {IS_KILLED, DLB_ERR_CHILD_CRASHED, SIGKILL},
        {IS_INTERRUPTED, DLB_ERR_CANCELLED, 0},    {GIVES_UP, DLB_ERR_CHILD_GAVE_UP, 0},
        {HANGS, DLB_ERR_CHILD_HANGS, 0},           {RUNS_SHORT, DLB_ERR_NOMEM, 0},
        {IS_ENDLESS, DLB_ERR_CHILD_HANGS, 0},      {LIES, DLB_ERR_CHILD_GAVE_UP, 0},
        {HAS_NO_END, DLB_ERR_CHILD_GAVE_UP, 0},    {HAS_NO_CODE, DLB_ERR_CHILD_GAVE_UP, 0},
        {HAS_NO_STATUS, DLB_ERR_CHILD_GAVE_UP, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct work w;
        struct dlb_err err;
        assert_int_equal(ends(rows[i].ending, &w, &err), dlb_code_status(rows[i].code));
        error_is(&err, rows[i].code, "");
        assert_int_equal(err.lib_code, rows[i].signo);
        assert_string_equal(err.path, "outer");
    }
}

/* As under nohup. */
static void an_ignored_hangup_stays_ignored(void **state)
{
    (void)state;
    struct work w;
    struct dlb_err err;
    (void)signal(SIGHUP, SIG_IGN);
    int rc = ends(IS_HUNG_UP, &w, &err);
    (void)signal(SIGHUP, SIG_DFL);
    assert_int_equal(rc, DLB_OK);
    free(w.array);
    assert_int_equal(ends(IS_HUNG_UP, &w, &err), DLB_E_CANCELLED);
}

/* One that says that it goes on; one that has told all, and stays: it is not waited for for ever.
 */
static void a_result_may_be_slow(void **state)
{
    (void)state;
    static const enum ending slow[] = {SIGNS, STAYS};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        struct work w;
        struct dlb_err err;
        (void)alarm(60);
        assert_int_equal(ends(slow[i], &w, &err), DLB_OK);
        (void)alarm(0);
        assert_int_equal(w.figure, 42);
        assert_int_equal(w.array[2], 9);
        free(w.array);
    }
}

static void put_in_order(void *ctx)
{
    (void)!write(*(int *)ctx, "x", 1);
}

/* Else a child that runs short of memory would remove its parent's scratch. */
static void a_child_leaves_its_parent_s_folder_alone(void **state)
{
    (void)state;
    struct work w;
    struct dlb_err err;
    char byte;
    int marks[2];
    assert_int_equal(pipe(marks), 0);
    dlb_mem_at_exhaustion(put_in_order, &marks[1]);
    assert_int_equal(ends(RUNS_SHORT, &w, &err), DLB_E_NOMEM);
    dlb_mem_at_exhaustion(NULL, NULL);
    (void)close(marks[1]);
    assert_int_equal(read(marks[0], &byte, 1), 0);
    (void)close(marks[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_comes_back),
        cmocka_unit_test(an_error_comes_back_whole),
        cmocka_unit_test(a_result_may_be_slow),
        cmocka_unit_test(each_end_has_its_code),
        cmocka_unit_test(an_ignored_hangup_stays_ignored),
        cmocka_unit_test(a_child_leaves_its_parent_s_folder_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Work in a child process: its result, its error, and each way in which it can end without one. */
#include "core/base/apart.h"
#include "core/base/mem.h"
#include "tests/support/error.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum ending { SUCCEEDS, FAILS, CRASHES, IS_KILLED, IS_INTERRUPTED, GIVES_UP, HANGS, RUNS_SHORT };

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
    case GIVES_UP:
        _exit(1);
    case HANGS:
        (void)pause();
        break;
    case RUNS_SHORT:
        (void)dlb_mem_check(NULL);
        break;
    case SUCCEEDS:
        break;
    }
    w->array[2] = 9;
    return DLB_OK;
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    struct work *w = ctx;
    return dlb_pass(pipe, &w->figure, sizeof w->figure) && dlb_pass(pipe, &w->n, sizeof w->n) &&
           dlb_pass_array(pipe, (void **)&w->array, w->n, 1);
}

static int ends(enum ending ending, struct work *w, struct dlb_err *err)
{
    *w = (struct work){.ending = ending};
    struct dlb_apart how = {.path = "outer",
                            .who = "libtest",
                            .work = work,
                            .pass = pass,
                            .ctx = w,
                            .patience_s = ending == HANGS ? 1 : 60};
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
        {HANGS, DLB_ERR_CHILD_HANGS, 0},           {RUNS_SHORT, DLB_ERR_NOMEM, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct work w;
        struct dlb_err err;
        assert_int_equal(ends(rows[i].ending, &w, &err), dlb_code_status(rows[i].code));
        error_is(&err, rows[i].code, "");
        assert_int_equal(err.lib_code, rows[i].signo);
        assert_string_equal(err.path, "outer");
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
        cmocka_unit_test(each_end_has_its_code),
        cmocka_unit_test(a_child_leaves_its_parent_s_folder_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What a result says of processes that were lost, whatever they measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/judged.h"

/* Whatever process is lost, and in whichever block, the result says so. */
static void test_every_lost_process_is_noted(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *const[]){"sweep.loader.num_workers=[1, 2, 4]", NULL});
    for (uint32_t i = 0; i < 3; i++)
        add(&t, i, (const double[]){100, 100}, 2, 1000);
    put(&t.results.ceilings[0], rep(1000, 1, 0, 0));
    assert_int_equal(dlb_results_n_failed(&t.results), 0);
    put(&t.results.ceilings[0], lost(1));
    put(&t.results.reference, rep(100, 0.5, 0, 0));
    put(&t.results.reference, lost(1));
    put(&t.results.warm, lost(0));
    assert_int_equal(dlb_results_n_failed(&t.results), 3);
    judge(&t);
    assert_noted(t.j.notes, "CEILING_FAILED", "(block 2)");
    assert_noted(t.j.notes, "REFERENCE_FAILED", "block 2");
    assert_noted(t.j.notes, "WARM_PASS", "SIGKILL");
    close_judged(&t);
}

/* What stopped one ceiling stopped the others: one note, with their number. */
static void test_ceilings_that_fail_alike_are_one_note(void **state)
{
    (void)state;
    for (uint32_t n_alike = 1; n_alike <= 4; n_alike++) {
        struct judged t;
        size_t n_notes = 0;
        char number[32] = "block 1";
        open_judged(&t, (const char *const[]){"sweep.loader.batch_size=[4, 8, 16, 32]", NULL});
        assert_int_equal(t.plan.n_ceilings, 4);
        for (uint32_t i = 0; i < 4; i++) {
            add(&t, i, (const double[]){100}, 1, 1000);
            put(&t.results.ceilings[i], lost(i < n_alike ? 0 : i));
        }
        judge(&t);
        if (n_alike > 1)
            (void)snprintf(number, sizeof number, "%u ceilings", n_alike);
        assert_non_null(strstr(noted(t.j.notes, "CEILING_FAILED", &n_notes), number));
        assert_int_equal(n_notes, 4 - n_alike + 1);
        close_judged(&t);
    }
}

/* A torch without the setting has its cell skipped, whose reason says so; a killed one has failed.
 */
static void test_what_skipped_a_cell_is_told_with_it(void **state)
{
    (void)state;
    for (int lacks = 0; lacks < 2; lacks++) {
        struct judged t;
        struct dlb_cell_result result = lost(0);
        open_judged(&t, (const char *const[]){"sweep.loader.num_workers=[1, 2]", NULL});
        add(&t, 0, (const double[]){100}, 1, 1000);
        result.code = lacks ? DLB_ERR_PYTHON_SETTING_MISSING : result.code;
        result.error = dlb_code_status(result.code);
        put(&t.results.cells[1], result);
        judge(&t);
        assert_int_equal(t.j.cells[1].status, lacks ? DLB_CELL_SKIPPED : DLB_CELL_FAILED);
        assert_int_equal(dlb_results_n_failed(&t.results), 1);
        assert_int_equal(dlb_results_n_untold(&t.results, &t.j), !lacks);
        close_judged(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_lost_process_is_noted),
        cmocka_unit_test(test_ceilings_that_fail_alike_are_one_note),
        cmocka_unit_test(test_what_skipped_a_cell_is_told_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

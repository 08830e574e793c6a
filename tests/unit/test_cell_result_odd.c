/* Results of cells that another process wrote oddly. */
#include "scenarios/cell/cell_result.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct dlb_cell_result read_from(json_t *doc)
{
    struct dlb_cell_result out;
    struct dlb_err err;
    assert_non_null(doc);
    if (dlb_cell_result_from_json(&out, doc, &err))
        fail_msg("%s", err.what);
    json_decref(doc);
    return out;
}

/* Its 24 bytes hold eleven characters of two bytes. Cut in the middle of the twelfth, what was read
 * could not be written. */
static void a_text_is_cut_between_characters(void **state)
{
    (void)state;
    struct dlb_cell_result r = read_from(
        json_pack("{s:s, s:{}, s:s}", "status", "ok", "cache", "residency_by",
                  "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"
                  "\u00e9"));
    assert_int_equal(strlen(r.cache.residency_by), 22);
    struct dlb_cell_result back = read_from(dlb_cell_result_to_json(&r));
    assert_string_equal(back.cache.residency_by, r.cache.residency_by);
    dlb_cell_result_free(&r);
    dlb_cell_result_free(&back);
}

static void a_failure_has_the_status_of_an_error(void **state)
{
    static const struct {
        const char *status;
        int error;
    } odd[] = {{"failed", DLB_OK}, {"cancelled", DLB_END}, {"failed", 99}};
    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct dlb_cell_result r =
            read_from(json_pack("{s:s, s:i}", "status", odd[i].status, "error", odd[i].error));
        assert_int_equal(r.error, DLB_E_WORKER);
        dlb_cell_result_free(&r);
    }
}

/* As many as there are accelerators: what sums their counts makes room for no more. */
static void shares_are_no_more_than_accelerators(void **state)
{
    static const struct {
        json_int_t count;
        uint32_t n_shares;
    } odd[] = {{0, 0}, {1, 1}, {2, 2}, {3, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct dlb_cell_result r = read_from(
            json_pack("{s:s, s:i, s:{s:I, s:[{s:i}, {s:i}]}}", "status", "ok", "window_ns", 1,
                      "accelerators", "count", odd[i].count, "each", "steps", 7, "steps", 8));
        assert_int_equal(r.loop.n_accelerators, odd[i].count);
        assert_int_equal(r.loop.n_shares, odd[i].n_shares);
        for (uint32_t k = 0; k < r.loop.n_shares; k++)
            assert_int_equal(r.loop.share[k].n_steps, 7 + k);
        dlb_cell_result_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_cut_between_characters),
        cmocka_unit_test(a_failure_has_the_status_of_an_error),
        cmocka_unit_test(shares_are_no_more_than_accelerators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which cells of two results are compared, and which repetitions of further results count. */
#include "core/base/json.h"
#include "scenarios/compare/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A sweep of 1, 2, ... workers. `status`: a letter for each cell, o (ok) or f (failed). */
static json_t *sweep(const char *status, double rate)
{
    json_t *cells = dlb_json_made(json_array());
    for (int i = 0; status[i]; i++) {
        bool ok = status[i] == 'o';
        json_t *values = dlb_json_made(json_array());
        for (int k = 0; ok && k < 3; k++)
            dlb_json_append(values, json_real(rate * (i + 1) * (1 + 0.01 * k)));
        dlb_json_append(cells, dlb_json_made(json_pack(
                                   "{ss, s{si, si}, s{so}}", "status", ok ? "ok" : "failed",
                                   "config", "loader.num_workers", i + 1, "loader.batch_size", 8,
                                   "samples_per_s", "values", values)));
    }
    return dlb_json_made(json_pack("{ss, so}", "command", "sweep", "cells", cells));
}

/* A side: the result, and a further one (may be NULL). */
static struct dlb_compared_side side(const json_t *docs[2], int64_t cell)
{
    return (struct dlb_compared_side){"side", docs, docs[1] ? 2 : 1, cell};
}

/* *out: what was compared; NULL after an error. Its code, or DLB_N_CODES. */
static enum dlb_code compare(const json_t *a[2], int64_t cell_a, const json_t *b[2], int64_t cell_b,
                             json_t **out)
{
    struct dlb_err err;
    const struct dlb_compare_request request = {side(a, cell_a), side(b, cell_b), 0.01, 0.01};
    *out = NULL;
    return dlb_compare_documents(&request, out, &err) ? err.code : DLB_N_CODES;
}

static const json_t *part(const json_t *doc, const char *key)
{
    return json_object_get(json_object_get(doc, "compare"), key);
}

/* Each side has one cell that was measured, and they are of other settings: no pair, unless the
 * user names them. */
static void test_failed_cells_are_no_pair(void **state)
{
    json_t *one = sweep("of", 1000), *other = sweep("fo", 1000), *both = sweep("oo", 1000), *out;
    (void)state;
    const json_t *a[2] = {one, NULL}, *b[2] = {other, NULL}, *all[2] = {both, NULL};
    assert_int_equal(compare(a, -1, b, -1, &out), DLB_ERR_COMPARE_NOTHING);
    assert_int_equal(compare(a, 0, b, 1, &out), DLB_N_CODES);
    json_decref(out);
    assert_int_equal(compare(a, -1, all, -1, &out), DLB_N_CODES);
    const json_t *pair = json_array_get(part(out, "cells"), 0);
    assert_int_equal(json_array_size(part(out, "cells")), 1);
    assert_int_equal(dlb_json_u64(pair, "a_cell", 9), 0);
    assert_int_equal(dlb_json_u64(pair, "b_cell", 9), 0);
    assert_int_equal(dlb_json_u64(part(out, "unmatched"), "b", 9), 1);
    json_decref(out);
    json_decref(one);
    json_decref(other);
    json_decref(both);
}

/* Repeats of one cell are its repetitions in the further results, found by its settings. */
static void test_repeats_of_one_cell(void **state)
{
    json_t *doc = sweep("ooo", 1000), *repeat = sweep("ooo", 1500), *without = sweep("off", 1000),
           *out;
    (void)state;
    const json_t *a[2] = {doc, repeat}, *b[2] = {doc, NULL}, *none[2] = {doc, without};
    assert_int_equal(compare(a, 1, b, 2, &out), DLB_N_CODES);
    /* 2020 and 3030 beside 3030 */
    double change = dlb_json_number(json_array_get(part(out, "cells"), 0), "change_frac");
    assert_true(change > 0.2 && change < 0.25);
    json_decref(out);
    assert_int_equal(compare(none, 1, b, 2, &out), DLB_ERR_COMPARE_NOTHING);
    json_decref(doc);
    json_decref(repeat);
    json_decref(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_cells_are_no_pair),
        cmocka_unit_test(test_repeats_of_one_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

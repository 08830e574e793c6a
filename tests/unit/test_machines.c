/* What there is for each rank, from what all ranks tell of their machines. */
#include "core/base/json.h"
#include "scenarios/ranks/machines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void add(json_t *all, const char *node, int cpus, int cpus_there, const char *program)
{
    json_t *one = json_pack("{ss, si, si, si, ss}", "node", node, "cpus", cpus, "cpus_there",
                            cpus_there, "ram_bytes", 1000, "program", program);
    assert_int_equal(json_array_append_new(all, one), 0);
}

/* Ranks on one machine share its CPUs; one that the launcher binds has only those; the poorest
 * counts for all. Memory is that of all machines. */
static void test_share(void **state)
{
    (void)state;
    json_t *all = json_array();
    add(all, "a", 8, 8, "x");
    struct dlb_ranks_share share = dlb_machines_share(all);
    assert_int_equal(share.n_here, 1);
    assert_int_equal(share.n_cpus, 8);
    assert_int_equal(share.ram_bytes, 1000);
    add(all, "a", 8, 8, "x");
    add(all, "b", 16, 16, "x");
    share = dlb_machines_share(all);
    assert_int_equal(share.n_here, 2);
    assert_int_equal(share.n_cpus, 4);
    assert_int_equal(share.ram_bytes, 2000);
    add(all, "c", 1, 64, "x");
    assert_int_equal(dlb_machines_share(all).n_cpus, 1);
    json_decref(all);
}

/* More ranks than CPUs: each has one. */
static void test_crowd(void **state)
{
    (void)state;
    json_t *all = json_array();
    for (int i = 0; i < 5; i++)
        add(all, "a", 2, 2, "x");
    assert_int_equal(dlb_machines_share(all).n_cpus, 1);
    json_decref(all);
}

static void test_programs(void **state)
{
    (void)state;
    struct dlb_err err;
    json_t *all = json_array();
    add(all, "a", 8, 8, "x");
    add(all, "b", 8, 8, "x");
    assert_int_equal(dlb_machines_check(all, &err), DLB_OK);
    add(all, "c", 8, 8, "y");
    assert_int_equal(dlb_machines_check(all, &err), dlb_code_status(DLB_ERR_RANKS_PROGRAM));
    assert_int_equal(err.code, DLB_ERR_RANKS_PROGRAM);
    assert_non_null(strstr(err.what, "rank 2 on c"));
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What there is for each rank, from what all ranks tell of their machines. */
#include "core/base/json.h"
#include "scenarios/ranks/machines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void add_limited(json_t *all, const char *node, int cpus, int cpus_there, const char *set,
                        double quota)
{
    json_t *one = json_pack("{ss, si, ss, so, si, si, ss}", "node", node, "cpus", cpus, "cpu_set",
                            set, "quota", quota > 0 ? json_real(quota) : json_null(), "cpus_there",
                            cpus_there, "ram_bytes", 1000, "program", "x");
    assert_int_equal(json_array_append_new(all, one), 0);
}

/* Its set of CPUs is like that of others with as many. */
static void add(json_t *all, const char *node, int cpus, int cpus_there, const char *program)
{
    add_limited(all, node, cpus, cpus_there, cpus == 1 ? "1" : cpus == 2 ? "2" : "all", 0);
    json_t *last = json_array_get(all, json_array_size(all) - 1);
    assert_int_equal(json_object_set_new(last, "program", json_string(program)), 0);
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

/* Four ranks of one machine with 64 CPUs, by what they may use. */
static void test_limits(void **state)
{
    static const struct {
        const char *sets[4];
        int cpus;
        double quota;
        uint32_t n_cpus, n_alike;
        int64_t bound;
    } cases[] = {
        {{"all", "all", "all", "all"}, 64, 0, 16, 4, -1},
        {{"4", "4", "4", "4"}, 4, 0, 1, 4, -1}, /* a container of 4 CPUs */
        {{"all", "all", "all", "all"}, 4, 3.5, 1, 4, -1},
        {{"all", "all", "all", "all"}, 64, 100, 16, 4, -1},
        {{"left", "right", "left", "right"}, 32, 0, 16, 2, -1}, /* bound to two sockets */
        {{"left", "right", "left", "right"}, 16, 0, 8, 2, 0},
        {{"0", "1", "2", "3"}, 1, 0, 1, 1, 0},
        {{"0", "1", "2", "3"}, 16, 0, 16, 1, -1},
        {{"0", "1", "2", "3"}, 32, 0, 16, 1, -1}, /* sets that overlap */
        {{"0", "1", "2", "3"}, 4, 8, 4, 1, 0},    /* fewer than the quota */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *all = json_array();
        for (size_t rank = 0; rank < 4; rank++)
            add_limited(all, "a", cases[i].cpus, 64, cases[i].sets[rank], cases[i].quota);
        struct dlb_ranks_share share = dlb_machines_share(all);
        assert_int_equal(share.n_here, 4);
        assert_int_equal(share.n_cpus, cases[i].n_cpus);
        assert_int_equal(share.n_alike, cases[i].n_alike);
        assert_int_equal(dlb_machines_bound(all), cases[i].bound);
        json_decref(all);
    }
}

/* The same set on another machine is another set. A rank alone on its machine is taken for bound,
 * unless a quota limits it. */
static void test_limits_elsewhere(void **state)
{
    (void)state;
    json_t *all = json_array();
    add_limited(all, "a", 8, 8, "all", 0);
    add_limited(all, "b", 8, 8, "all", 0);
    add_limited(all, "c", 4, 64, "all", 4);
    assert_int_equal(dlb_machines_share(all).n_alike, 1);
    assert_int_equal(dlb_machines_share(all).n_cpus, 4);
    assert_int_equal(dlb_machines_bound(all), -1);
    add_limited(all, "d", 2, 64, "0", 0);
    assert_int_equal(dlb_machines_bound(all), 3);
    json_decref(all);
}

/* Ranks near their GPUs, three on one side of a machine and one on the other, have less than their
 * share by what dlbench itself did. */
static void test_placed(void **state)
{
    (void)state;
    json_t *all = json_array(), *one;
    size_t i;
    for (i = 0; i < 4; i++)
        add_limited(all, "a", 32, 64, i < 3 ? "left" : "right", 0);
    assert_int_equal(dlb_machines_bound(all), 0);
    json_array_foreach(all, i, one)
        dlb_json_put(one, "place", json_object());
    assert_int_equal(dlb_machines_bound(all), -1);
    assert_int_equal(dlb_machines_share(all).n_cpus, 10);
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
        cmocka_unit_test(test_share),  cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_limits_elsewhere),
        cmocka_unit_test(test_placed), cmocka_unit_test(test_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What summary.json says of the machines of a run: a row for each, with what its first rank saw. */
#include "core/base/json.h"
#include "scenarios/judge/ranks_summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Ranks 0 and 2 on one machine, 1 on another. */
static json_t *nodes_of_three(void)
{
    json_t *nodes = json_array();
    for (int i = 0; i < 3; i++)
        dlb_json_append(nodes, json_pack("{ss, si, ss, sn, si, si, ss}", "node",
                                         i == 1 ? "nodeb" : "nodea", "cpus", i == 2 ? 1 : 8,
                                         "cpu_set", "7", "quota", "cpus_there", 8, "ram_bytes",
                                         1000, "program", "00aa"));
    return nodes;
}

static json_t *ranks_with(const char *const *data_ids)
{
    json_t *ranks = json_array();
    for (int i = 0; i < 3; i++)
        dlb_json_append(ranks, data_ids[i]
                                   ? json_pack("{si, ss}", "rank", i, "data_id", data_ids[i])
                                   : json_pack("{si}", "rank", i));
    return json_pack("{so}", "ranks", ranks);
}

/* The document of a run whose only cell has these ranks. */
static json_t *summary(json_t *nodes, json_t *ranks)
{
    struct dlb_cell_result shown = {.ranks = ranks};
    struct dlb_judged_cell cell = {.shown = ranks ? &shown : NULL};
    const struct dlb_judgement judgement = {.cells = &cell, .n_cells = 1, .best = ranks ? 0 : -1};
    const struct dlb_plan plan = {.n_cells = 1};
    const struct dlb_summary in = {.plan = &plan, .judgement = &judgement, .nodes = nodes};
    json_t *doc = json_object();
    dlb_ranks_summary_put(doc, &in);
    json_decref(nodes);
    json_decref(ranks);
    return doc;
}

static void test_machines(void **state)
{
    static const char *const ids[] = {"11", "22", "33"};
    (void)state;
    json_t *doc = summary(nodes_of_three(), ranks_with(ids)), *wanted, *nodes;
    nodes = json_object_get(doc, "nodes");
    wanted = json_pack("[{ss, si, si, si, si, ss, ss}, {ss, si, si, si, si, ss, ss}]", "node",
                       "nodea", "ranks", 2, "cpus", 8, "cpus_there", 8, "ram_bytes", 1000,
                       "program", "00aa", "data_id", "11", "node", "nodeb", "ranks", 1, "cpus", 8,
                       "cpus_there", 8, "ram_bytes", 1000, "program", "00aa", "data_id", "22");
    assert_true(json_equal(nodes, wanted));
    assert_true(json_is_null(json_object_get(doc, "clock_offset_us")));
    assert_int_equal(json_array_size(json_object_get(doc, "ranks")), 3);
    json_decref(wanted);
    json_decref(doc);
}

/* Nothing ran, or what ran was kept by a version that did not say which data it saw. */
static void test_data_not_known(void **state)
{
    static const char *const ids[] = {NULL, "22", NULL};
    (void)state;
    json_t *doc = summary(nodes_of_three(), NULL);
    json_t *first = json_array_get(json_object_get(doc, "nodes"), 0);
    assert_true(json_is_null(json_object_get(first, "data_id")));
    json_decref(doc);
    doc = summary(nodes_of_three(), ranks_with(ids));
    first = json_array_get(json_object_get(doc, "nodes"), 0);
    assert_true(json_is_null(json_object_get(first, "data_id")));
    assert_string_equal(dlb_json_text(json_array_get(json_object_get(doc, "nodes"), 1), "data_id"),
                        "22");
    json_decref(doc);
    doc = summary(NULL, NULL); /* one process */
    assert_int_equal(json_object_size(doc), 0);
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machines),
        cmocka_unit_test(test_data_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

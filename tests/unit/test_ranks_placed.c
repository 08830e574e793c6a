/* Which ranks of a machine run near their GPUs, in summary.json, from what each rank tells of its
 * own. */
#include "core/base/json.h"
#include "reports/load.h"
#include "reports/schema.h"
#include "scenarios/judge/ranks_summary.h"
#include "scenarios/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* place: NULL: the rank has none. */
static void add(json_t *all, const char *node, const char *gpu, int numa_node, const char *cpus)
{
    json_t *place =
        gpu ? json_pack("{ss, si, ss}", "gpu", gpu, "numa_node", numa_node, "cpus", cpus)
            : json_null();
    dlb_json_append(all, json_pack("{ss, si, ss, sn, si, si, ss, so}", "node", node, "cpus", 32,
                                   "cpu_set", "x", "quota", "cpus_there", 64, "ram_bytes", 1000,
                                   "program", "x", "place", place));
}

static json_t *nodes_of(const json_t *said)
{
    const struct dlb_plan plan = {.n_cells = 0};
    const struct dlb_judgement judgement = {.best = -1};
    const struct dlb_summary in = {.nodes = said, .plan = &plan, .judgement = &judgement};
    json_t *doc = json_object();
    dlb_ranks_summary_put(doc, &in);
    json_t *nodes = json_incref(json_object_get(doc, "nodes"));
    json_decref(doc);
    return nodes;
}

static void fits_the_schema(const json_t *nodes)
{
    struct dlb_err err;
    json_t *schema = dlb_summary_schema();
    const json_t *part = json_object_get(json_object_get(schema, "properties"), "nodes");
    assert_non_null(part);
    if (dlb_schema_check(part, nodes, DLB_SCHEMA_EXACT, NULL, &err))
        fail_msg("%s", err.what);
    json_decref(schema);
}

static void a_row_for_each_machine(void **state)
{
    (void)state;
    json_t *said = json_array();
    add(said, "a", NULL, 0, NULL);
    add(said, "b", "0000:07:00.0", 0, "0-31");
    add(said, "a", NULL, 0, NULL);
    add(said, "b", "0000:88:00.0", 1, "32-63");
    json_t *nodes = nodes_of(said);
    fits_the_schema(nodes);
    assert_int_equal(json_array_size(nodes), 2);
    const json_t *a = json_array_get(nodes, 0), *b = json_array_get(nodes, 1);
    assert_int_equal(dlb_json_u64(a, "ranks", 0), 2);
    assert_int_equal(dlb_json_u64(b, "ranks", 0), 2);
    assert_null(json_object_get(a, "placed"));
    const json_t *placed = json_object_get(b, "placed");
    assert_int_equal(json_array_size(placed), 2);
    const json_t *last = json_array_get(placed, 1);
    assert_int_equal(dlb_json_u64(json_array_get(placed, 0), "rank", 9), 1);
    assert_int_equal(dlb_json_u64(last, "rank", 9), 3);
    assert_int_equal(dlb_json_u64(last, "numa_node", 9), 1);
    assert_string_equal(dlb_json_text(last, "gpu"), "0000:88:00.0");
    assert_string_equal(dlb_json_text(last, "cpus"), "32-63");
    json_decref(nodes);
    json_decref(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_for_each_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

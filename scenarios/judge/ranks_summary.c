#include "scenarios/judge/ranks_summary.h"

#include "core/base/json.h"

#include <string.h>

static const json_t *ranks_of(const struct dlb_summary *in)
{
    const struct dlb_judgement *j = in->judgement;
    const struct dlb_cell_result *best = j->best >= 0 ? j->cells[j->best].shown : NULL;
    if (best && best->ranks)
        return best->ranks;
    for (uint32_t i = 0; i < in->plan->n_cells; i++)
        if (j->cells[i].shown && j->cells[i].shown->ranks)
            return j->cells[i].shown->ranks;
    return NULL;
}

/* Where a rank runs, in the row of its machine. */
static void add_place(json_t *row, size_t rank, const json_t *one)
{
    const json_t *place = json_object_get(one, "place");
    if (!json_is_object(place))
        return;
    if (!json_object_get(row, "placed"))
        dlb_json_put(row, "placed", json_array());
    json_t *placed = dlb_json_made(json_copy((json_t *)place));
    dlb_json_put(placed, "rank", json_integer((json_int_t)rank));
    dlb_json_append(json_object_get(row, "placed"), placed);
}

/* One row for each machine, with the number of its ranks and the data set that the first of them
 * saw in the cell that `ranks` describes. Both arrays are by rank. */
static json_t *machines(const json_t *nodes, const json_t *ranks)
{
    json_t *out = dlb_json_made(json_array()), *row;
    const json_t *one;
    size_t i, k;
    json_array_foreach(nodes, i, one) {
        json_t *same = NULL;
        json_array_foreach(out, k, row) {
            if (strcmp(dlb_json_text(row, "node"), dlb_json_text(one, "node")) == 0)
                same = row;
        }
        if (same) {
            uint64_t n = dlb_json_u64(same, "ranks", 0);
            dlb_json_put(same, "ranks", json_integer((json_int_t)n + 1));
            add_place(same, i, one);
            continue;
        }
        row = dlb_json_made(json_copy((json_t *)one));
        json_t *data_id = json_object_get(json_array_get(ranks, i), "data_id");
        dlb_json_put(row, "ranks", json_integer(1));
        dlb_json_put(row, "data_id", data_id ? json_incref(data_id) : json_null());
        (void)json_object_del(row, "cpu_set"); /* of one rank, to compare it with others */
        (void)json_object_del(row, "quota");
        (void)json_object_del(row, "place");
        add_place(row, i, one);
        dlb_json_append(out, row);
    }
    return out;
}

void dlb_ranks_summary_put(json_t *doc, const struct dlb_summary *in)
{
    const json_t *ranks = ranks_of(in);
    const char *key;
    json_t *value;
    if (!in->nodes)
        return;
    dlb_json_put(doc, "nodes", machines(in->nodes, json_object_get(ranks, "ranks")));
    dlb_json_put(doc, "clock_offset_us",
                 in->clocks ? json_incref((json_t *)in->clocks) : json_null());
    json_object_foreach((json_t *)ranks, key, value) {
        dlb_json_put(doc, key, json_incref(value));
    }
}

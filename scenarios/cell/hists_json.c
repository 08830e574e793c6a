/* The histograms behind a repetition's stages, as JSON and back. */
#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/cell/cell_result.h"

#include <stdlib.h>

#define N_HISTS (sizeof(struct dlb_cell_hists) / sizeof(struct dlb_hist))
#define N_HEAD 4 /* count, sum, min, max; then pairs of bucket and count */

/* Of a list; 0 for what is no number. */
static uint64_t at(const json_t *list, size_t i)
{
    json_int_t value = json_integer_value(json_array_get(list, i));
    return value > 0 ? (uint64_t)value : 0;
}

static void append(json_t *list, uint64_t value)
{
    dlb_json_append(list, dlb_json_made(json_integer((json_int_t)value)));
}

static json_t *hist_to(const struct dlb_hist *hist)
{
    json_t *out = dlb_json_made(json_array());
    append(out, hist->count);
    append(out, hist->sum_ns);
    append(out, hist->min_ns);
    append(out, hist->max_ns);
    for (uint32_t i = 0; i < DLB_HIST_BUCKETS; i++)
        if (hist->bucket[i] > 0) {
            append(out, i);
            append(out, hist->bucket[i]);
        }
    return out;
}

static void hist_from(const json_t *list, struct dlb_hist *hist)
{
    hist->count = at(list, 0);
    hist->sum_ns = at(list, 1);
    hist->min_ns = at(list, 2);
    hist->max_ns = at(list, 3);
    for (size_t i = N_HEAD; i + 1 < json_array_size(list); i += 2)
        if (at(list, i) < DLB_HIST_BUCKETS)
            hist->bucket[at(list, i)] = (uint32_t)at(list, i + 1);
}

json_t *dlb_cell_hists_to_json(const struct dlb_cell_hists *hists)
{
    const struct dlb_hist *each = (const struct dlb_hist *)hists;
    json_t *out = dlb_json_made(json_array());
    for (size_t i = 0; i < N_HISTS; i++)
        dlb_json_append(out, hist_to(&each[i]));
    return out;
}

struct dlb_cell_hists *dlb_cell_hists_from_json(const json_t *doc)
{
    if (json_array_size(doc) != N_HISTS)
        return NULL;
    struct dlb_cell_hists *out = dlb_mem_new(sizeof(*out));
    for (size_t i = 0; i < N_HISTS; i++)
        hist_from(json_array_get(doc, i), (struct dlb_hist *)out + i);
    return out;
}

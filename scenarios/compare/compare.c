#include "scenarios/compare/compare.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/measure/compare.h"
#include "core/measure/stats.h"
#include "scenarios/compare/align.h"
#include "scenarios/compare/changes.h"
#include "scenarios/compare/differences.h"
#include "scenarios/compare/figures.h"
#include "scenarios/compare/traceml.h"
#include "scenarios/compare/work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rates that cells have, the most telling last (scenarios/judge/rates.h). */
static const char *const rates[] = {"samples_per_s", "within_epoch_samples_per_s",
                                    "epoch_samples_per_s"};

static const json_t *cell_at(const json_t *doc, uint32_t place)
{
    return json_array_get(json_object_get(doc, "cells"), place);
}

static const json_t *values_of(const json_t *cell, const char *rate)
{
    return json_object_get(json_object_get(cell, rate), "values");
}

static uint32_t n_measured(const json_t *cell, const char *rate)
{
    const json_t *value;
    size_t i;
    uint32_t n = 0;
    json_array_foreach(values_of(cell, rate), i, value)
        n += json_is_number(value);
    return n;
}

/* The cells of one pair: that of each document of each side; NULL: it has none. */
struct pair {
    const json_t **a, **b; /* [n_docs] owned */
};

static const json_t **cells_of(const struct dlb_compared_side *side, const json_t *keys,
                               const json_t *first)
{
    const json_t **cells = dlb_mem_array(side->n_docs, sizeof(*cells));
    cells[0] = first;
    for (uint32_t i = 1; i < side->n_docs; i++)
        cells[i] = dlb_aligned_find(side->docs[i], keys, first);
    return cells;
}

/* Of all documents, A's first. */
static const json_t *cell_of(const struct dlb_compare_request *request, const struct pair *pair,
                             uint32_t k)
{
    return k < request->a.n_docs ? pair->a[k] : pair->b[k - request->a.n_docs];
}

/* The most telling rate that every repetition of every cell has. */
static const char *choose_rate(const struct dlb_compare_request *request, const struct pair *pairs,
                               uint32_t n)
{
    size_t kind = sizeof(rates) / sizeof(*rates) - 1;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < request->a.n_docs + request->b.n_docs; k++) {
            const json_t *cell = cell_of(request, &pairs[i], k);
            while (cell && kind > 0 && n_measured(cell, rates[kind]) < n_measured(cell, rates[0]))
                kind--;
        }
    return rates[kind];
}

/* The share of all repetitions that others disturbed, and that no quiet run replaced. */
static double disturbed_frac(const struct dlb_compare_request *request, const struct pair *pairs,
                             uint32_t n)
{
    double n_disturbed = 0, n_all = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < request->a.n_docs + request->b.n_docs; k++) {
            const json_t *cell = cell_of(request, &pairs[i], k);
            double left = dlb_json_number(json_object_get(cell, "noise"), "still_disturbed");
            double of = n_measured(cell, rates[0]);
            n_disturbed += left > 0 ? fmin(left, of) : 0;
            n_all += of;
        }
    return n_all > 0 ? n_disturbed / n_all : 0;
}

/* Whether repetitions of the two sides ran beside each other, in the blocks of one result. */
static bool is_paired(const struct dlb_compare_request *request, const struct pair *pair)
{
    const json_t *of_a = json_object_get(pair->a[0], "blocks");
    const json_t *of_b = json_object_get(pair->b[0], "blocks");
    return request->a.n_docs == 1 && request->b.n_docs == 1 && json_array_size(of_a) > 0 &&
           json_array_size(of_b) > 0 && json_equal(request->a.docs[0], request->b.docs[0]);
}

static double rate_at(const json_t *cell, const char *rate, size_t i)
{
    const json_t *value = json_array_get(values_of(cell, rate), i);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static struct dlb_compare_reps all_reps(const json_t *cell, const char *rate)
{
    size_t n = json_array_size(values_of(cell, rate));
    double *values = dlb_mem_array(n, sizeof(*values));
    for (size_t i = 0; i < n; i++)
        values[i] = rate_at(cell, rate, i);
    return (struct dlb_compare_reps){values, (uint32_t)n};
}

/* The repetitions of the blocks that `other` has, too, in its order. */
static struct dlb_compare_reps shared_reps(const json_t *cell, const json_t *other,
                                           const char *rate)
{
    const json_t *own = json_object_get(cell, "blocks"), *wanted;
    size_t i, n = json_array_size(json_object_get(other, "blocks"));
    double *values = dlb_mem_array(n, sizeof(*values));
    json_array_foreach(json_object_get(other, "blocks"), i, wanted) {
        size_t k = 0;
        while (k < json_array_size(own) && !json_equal(json_array_get(own, k), wanted))
            k++;
        values[i] = k < json_array_size(own) ? rate_at(cell, rate, k) : (double)NAN;
    }
    return (struct dlb_compare_reps){values, (uint32_t)n};
}

static struct dlb_compare_reps *reps_of(const json_t *const *cells, uint32_t n, const char *rate)
{
    struct dlb_compare_reps *reps = dlb_mem_array(n, sizeof(*reps));
    for (uint32_t i = 0; i < n; i++)
        if (cells[i])
            reps[i] = all_reps(cells[i], rate);
    return reps;
}

static void fill_cell(const struct dlb_compare_request *request, const struct pair *pair,
                      bool paired, const char *rate, struct dlb_compare_cell *out)
{
    struct dlb_compare_reps *a = reps_of(pair->a, request->a.n_docs, rate);
    struct dlb_compare_reps *b = reps_of(pair->b, request->b.n_docs, rate);
    if (paired) {
        free((void *)b[0].rate);
        b[0] = shared_reps(pair->b[0], pair->a[0], rate);
    }
    *out = (struct dlb_compare_cell){a, b};
}

static void free_reps(const struct dlb_compare_reps *reps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free((void *)reps[i].rate);
    free((void *)reps);
}

/* Median over all repetitions of a side. */
static json_t *median_json(const struct dlb_compare_reps *reps, uint32_t n_docs)
{
    double *values = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_docs; i++) {
        values = dlb_mem_grow(values, (size_t)n + reps[i].n, sizeof(*values));
        for (uint32_t k = 0; k < reps[i].n; k++)
            values[n++] = reps[i].rate[k];
    }
    json_t *out = dlb_json_real_or_null(dlb_median(values, n));
    free(values);
    return out;
}

static json_t *cell_json(const struct dlb_compare_request *request, const struct dlb_aligned *by,
                         uint32_t i, const struct dlb_compare_cell *cell,
                         const struct dlb_change *change, const struct dlb_work *work)
{
    const json_t *first = cell_at(request->a.docs[0], by->pair[i][0]);
    json_t *out = dlb_change_json(change);
    dlb_json_put(out, "settings", dlb_aligned_settings(by->keys, first));
    dlb_json_put(out, "what", json_null());
    dlb_json_put(out, "a_cell", json_integer(by->pair[i][0]));
    dlb_json_put(out, "b_cell", json_integer(by->pair[i][1]));
    dlb_json_put(out, "a", median_json(cell->a, request->a.n_docs));
    dlb_json_put(out, "b", median_json(cell->b, request->b.n_docs));
    dlb_work_put(out, work);
    return out;
}

struct made {
    struct dlb_aligned by;
    struct pair *pairs;
    struct dlb_compare_cell *cells;
    struct dlb_change *changes;
    struct dlb_work *work; /* of each pair */
    struct dlb_compare in;
    struct dlb_comparison over;
    const char *rate;
};

/* Rates of different work are not called faster, slower or the same. */
static void judge_work(const struct dlb_compare_request *request, struct made *made)
{
    for (uint32_t i = 0; i < made->by.n_pairs; i++) {
        made->work[i] = dlb_work_of(made->pairs[i].a, request->a.n_docs, made->pairs[i].b,
                                    request->b.n_docs, request->smallest_frac);
        if (made->work[i].differs)
            made->changes[i].verdict = made->over.all.verdict = DLB_COMPARE_UNCLEAR;
    }
}

static void make(const struct dlb_compare_request *request, struct made *made)
{
    const struct dlb_aligned *by = &made->by;
    made->pairs = dlb_mem_array(by->n_pairs, sizeof(*made->pairs));
    made->cells = dlb_mem_array(by->n_pairs, sizeof(*made->cells));
    made->changes = dlb_mem_array(by->n_pairs, sizeof(*made->changes));
    made->work = dlb_mem_array(by->n_pairs, sizeof(*made->work));
    bool paired = true;
    for (uint32_t i = 0; i < by->n_pairs; i++) {
        const json_t *a = cell_at(request->a.docs[0], by->pair[i][0]);
        const json_t *b = cell_at(request->b.docs[0], by->pair[i][1]);
        made->pairs[i] =
            (struct pair){cells_of(&request->a, by->keys, a), cells_of(&request->b, by->keys, b)};
        paired = paired && is_paired(request, &made->pairs[i]);
    }
    double disturbed = disturbed_frac(request, made->pairs, by->n_pairs);
    made->rate = choose_rate(request, made->pairs, by->n_pairs);
    for (uint32_t i = 0; i < by->n_pairs; i++)
        fill_cell(request, &made->pairs[i], paired, made->rate, &made->cells[i]);
    made->in = (struct dlb_compare){.cells = made->cells,
                                    .n_cells = by->n_pairs,
                                    .n_a = request->a.n_docs,
                                    .n_b = request->b.n_docs,
                                    .paired = paired,
                                    .smallest_frac = request->smallest_frac,
                                    .between_frac = request->between_frac,
                                    .disturbed_frac = disturbed};
    dlb_compare(&made->in, made->changes, &made->over);
    judge_work(request, made);
}

static void free_made(const struct dlb_compare_request *request, struct made *made)
{
    for (uint32_t i = 0; i < made->by.n_pairs; i++) {
        free_reps(made->cells[i].a, request->a.n_docs);
        free_reps(made->cells[i].b, request->b.n_docs);
        free(made->pairs[i].a);
        free(made->pairs[i].b);
    }
    free(made->pairs);
    free(made->cells);
    free(made->changes);
    free(made->work);
    dlb_aligned_free(&made->by);
}

/* Whether each further result has a cell of some pair: one that has none would say nothing. */
static int check_repeats(const struct dlb_compare_request *request, const struct made *made,
                         struct dlb_err *err)
{
    const uint32_t n[] = {request->a.n_docs, request->b.n_docs};
    for (int s = 0; s < 2; s++)
        for (uint32_t k = 1; k < n[s]; k++) {
            bool any = false;
            for (uint32_t i = 0; i < made->by.n_pairs && !any; i++)
                any = (s ? made->pairs[i].b : made->pairs[i].a)[k];
            if (!any)
                return dlb_fail(err, DLB_ERR_COMPARE_NOTHING, s ? "--also-b" : "--also-a",
                                DLB_NO_OFFSET,
                                "its result number %u has no cell with the settings of those that "
                                "are compared",
                                k);
        }
    return DLB_OK;
}

static int compare_cells(const struct dlb_compare_request *request, json_t *out,
                         struct dlb_err *err)
{
    struct made made = {.pairs = NULL};
    int rc = dlb_align(request, &made.by, err);
    if (rc)
        return rc;
    make(request, &made);
    rc = check_repeats(request, &made, err);
    if (rc) {
        free_made(request, &made);
        return rc;
    }
    json_t *cells = dlb_json_made(json_array());
    for (uint32_t i = 0; i < made.by.n_pairs; i++)
        dlb_json_append(cells, cell_json(request, &made.by, i, &made.cells[i], &made.changes[i],
                                         &made.work[i]));
    const json_t *a = made.pairs[0].a[0], *b = made.pairs[0].b[0];
    struct dlb_differing of_a = {request->a.docs[0], json_object_get(a, "config"), a};
    struct dlb_differing of_b = {request->b.docs[0], json_object_get(b, "config"), b};
    dlb_json_put(out, "figure", json_string(made.rate));
    dlb_json_put(out, "cells", cells);
    dlb_json_put(out, "unmatched",
                 dlb_json_made(json_pack("{si, si}", "a", (int)made.by.n_alone[0], "b",
                                         (int)made.by.n_alone[1])));
    dlb_changes_put(out, &made.in, &made.over);
    dlb_json_put(out, "differences", dlb_differences(&of_a, &of_b, made.by.keys));
    free_made(request, &made);
    return DLB_OK;
}

static json_t *side_json(const struct dlb_compared_side *side)
{
    const json_t *doc = side->docs[0];
    bool traceml = dlb_traceml_is(doc);
    const char *when = traceml ? dlb_json_text(doc, "generated_at")
                               : dlb_json_text(json_object_get(doc, "environment"), "timestamp");
    const json_t *named = traceml ? json_object_get(doc, "meta") : doc;
    return dlb_json_made(json_pack("{so, ss, ss, so, si, sb}", "name",
                                   dlb_json_safe_text(side->name), "run_name",
                                   dlb_json_text(named, "run_name"), "command",
                                   traceml ? "traceml" : dlb_json_text(doc, "command"), "timestamp",
                                   when[0] ? json_string(when) : json_null(), "results",
                                   (int)side->n_docs, "partial", dlb_json_is_true(doc, "partial")));
}

static uint32_t count_traceml(const struct dlb_compared_side *side)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < side->n_docs; i++)
        n += dlb_traceml_is(side->docs[i]);
    return n;
}

/* What the two are compared by: their own part, or their cells. */
static int compare_any(const struct dlb_compare_request *request, json_t *out, struct dlb_err *err)
{
    const char *a = dlb_json_text(request->a.docs[0], "command");
    const char *b = dlb_json_text(request->b.docs[0], "command");
    bool whole = request->a.cell < 0 && request->b.cell < 0;
    uint32_t n_traceml = count_traceml(&request->a) + count_traceml(&request->b);
    if (n_traceml > 0 && n_traceml < request->a.n_docs + request->b.n_docs)
        return dlb_fail(err, DLB_ERR_COMPARE_KIND, request->b.name, DLB_NO_OFFSET,
                        "one is TraceML's, another dlbench's: `dlbench run --traceml FILE` writes "
                        "what compares with TraceML's");
    if (n_traceml > 0 && !whole)
        return dlb_fail(err, DLB_ERR_COMPARE_CELL, request->b.name, DLB_NO_OFFSET,
                        "TraceML's results have no cells: leave the number out");
    if (n_traceml > 0)
        return dlb_compare_traceml(request, out, err);
    if (whole && strcmp(a, b) == 0 && strcmp(a, "storage") == 0)
        return dlb_compare_storage(request, out, err);
    if (strcmp(a, "gap") != 0 && strcmp(b, "gap") != 0)
        return compare_cells(request, out, err);
    if (whole && strcmp(a, b) == 0)
        return dlb_compare_gap(request, out, err);
    return dlb_fail(err, DLB_ERR_COMPARE_KIND, request->b.name, DLB_NO_OFFSET,
                    "is a result of %s, and %s is one of %s: a gap is compared with a gap, as a "
                    "whole",
                    b, request->a.name, a);
}

int dlb_compare_documents(const struct dlb_compare_request *request, json_t **out,
                          struct dlb_err *err)
{
    json_t *compare = dlb_json_made(json_object());
    dlb_json_put(compare, "a", side_json(&request->a));
    dlb_json_put(compare, "b", side_json(&request->b));
    int rc = compare_any(request, compare, err);
    if (rc)
        json_decref(compare);
    else
        *out = dlb_json_made(json_pack("{ss, so}", "command", "compare", "compare", compare));
    return rc;
}

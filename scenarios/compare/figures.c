#include "scenarios/compare/figures.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "scenarios/compare/changes.h"
#include "scenarios/compare/differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct dlb_compare how_of(const struct dlb_compare_request *request)
{
    return (struct dlb_compare){.n_a = request->a.n_docs,
                                .n_b = request->b.n_docs,
                                .smallest_frac = request->smallest_frac,
                                .between_frac = request->between_frac};
}

static int refuse_repeats(const struct dlb_compare_request *request, struct dlb_err *err)
{
    if (request->a.n_docs == 1 && request->b.n_docs == 1)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_COMPARE_KIND, request->b.name, DLB_NO_OFFSET,
                    "results of storage and gap are compared one with one: leave --also-a and "
                    "--also-b out, and set --between to what such results differ by");
}

static void put_differences(const struct dlb_compare_request *request, json_t *compare)
{
    const json_t *a = request->a.docs[0], *b = request->b.docs[0];
    struct dlb_differing of_a = {a, json_object_get(a, "config"), NULL};
    struct dlb_differing of_b = {b, json_object_get(b, "config"), NULL};
    dlb_json_put(compare, "unmatched", dlb_json_made(json_pack("{si, si}", "a", 0, "b", 0)));
    dlb_json_put(compare, "differences", dlb_differences(&of_a, &of_b, NULL));
}

json_t *dlb_figure_json(const char *what, double a, double b, const struct dlb_change *change)
{
    json_t *out = dlb_change_json(change);
    dlb_json_put(out, "settings", dlb_json_made(json_object()));
    dlb_json_put(out, "what", dlb_json_made(json_string(what)));
    dlb_json_put(out, "a_cell", json_null());
    dlb_json_put(out, "b_cell", json_null());
    dlb_json_put(out, "a", dlb_json_real_or_null(a));
    dlb_json_put(out, "b", dlb_json_real_or_null(b));
    return out;
}

/* N: a real number with its 95% interval where a curve was fitted, else the range of whole ones. */
static bool number_of(const json_t *doc, struct dlb_compare_figure *out)
{
    const json_t *storage = json_object_get(doc, "storage"), *fit = json_object_get(storage, "fit");
    bool fitted = dlb_json_is_true(fit, "used");
    out->value = fitted ? dlb_json_number(fit, "at") : dlb_json_number(storage, "max_accelerators");
    out->low = dlb_json_number(fitted ? fit : storage, "low");
    out->high = dlb_json_number(fitted ? fit : storage, "high");
    if (!fitted && dlb_json_is_true(storage, "capped")) /* it is at least that many */
        out->high = (double)NAN;
    return isfinite(out->value);
}

int dlb_compare_storage(const struct dlb_compare_request *request, json_t *compare,
                        struct dlb_err *err)
{
    struct dlb_compare how = how_of(request);
    struct dlb_compare_figure a, b;
    struct dlb_change change;
    int rc = refuse_repeats(request, err);
    if (rc)
        return rc;
    if (!number_of(request->a.docs[0], &a) || !number_of(request->b.docs[0], &b))
        return dlb_fail(err, DLB_ERR_COMPARE_NOTHING, request->b.name, DLB_NO_OFFSET,
                        "it or %s has no number of accelerators", request->a.name);
    dlb_compare_figures(&a, &b, &how, 1, &change);
    struct dlb_comparison over = {.all = change,
                                  .n_intervals = 1,
                                  .noise_frac = (double)NAN,
                                  .result_frac = how.between_frac};
    json_t *cells = dlb_json_made(json_array());
    dlb_json_append(cells, dlb_figure_json("accelerators", a.value, b.value, &change));
    dlb_json_put(compare, "figure", json_string("accelerators"));
    dlb_json_put(compare, "cells", cells);
    dlb_changes_put(compare, &how, &over);
    put_differences(request, compare);
    return DLB_OK;
}

static const json_t *named(const json_t *list, const char *key, const char *name)
{
    const json_t *one;
    size_t i;
    json_array_foreach(list, i, one) {
        if (strcmp(dlb_json_text(one, key), name) == 0)
            return one;
    }
    return NULL;
}

static const json_t *seconds_of(const json_t *rung)
{
    return json_object_get(json_object_get(rung, "seconds"), "values");
}

/* Epochs a second. */
static struct dlb_compare_reps speeds_of(const json_t *rung)
{
    const json_t *value;
    size_t i, n = json_array_size(seconds_of(rung));
    double *speed = dlb_mem_array(n, sizeof(*speed));
    json_array_foreach(seconds_of(rung), i, value) {
        speed[i] = json_is_number(value) ? 1 / json_number_value(value) : (double)NAN;
    }
    return (struct dlb_compare_reps){speed, (uint32_t)n};
}

struct rungs {
    const char **name; /* [n] */
    struct dlb_compare_reps *a, *b;
    struct dlb_compare_cell *cells;
    struct dlb_change *changes;
    uint32_t n;
};

/* Those that both have. */
static void find_rungs(const json_t *of_a, const json_t *of_b, struct rungs *out)
{
    const json_t *rung;
    size_t i, n = json_array_size(of_a);
    *out = (struct rungs){
        dlb_mem_array(n, sizeof(*out->name)),    dlb_mem_array(n, sizeof(*out->a)),
        dlb_mem_array(n, sizeof(*out->b)),       dlb_mem_array(n, sizeof(*out->cells)),
        dlb_mem_array(n, sizeof(*out->changes)), 0};
    json_array_foreach(of_a, i, rung) {
        const json_t *other = named(of_b, "rung", dlb_json_text(rung, "rung"));
        if (json_array_size(seconds_of(rung)) == 0 || json_array_size(seconds_of(other)) == 0)
            continue;
        uint32_t at = out->n++;
        out->name[at] = dlb_json_text(rung, "rung");
        out->a[at] = speeds_of(rung);
        out->b[at] = speeds_of(other);
        out->cells[at] = (struct dlb_compare_cell){&out->a[at], &out->b[at]};
    }
}

static void free_rungs(struct rungs *rungs)
{
    for (uint32_t i = 0; i < rungs->n; i++) {
        free((void *)rungs->a[i].rate);
        free((void *)rungs->b[i].rate);
    }
    free(rungs->name);
    free(rungs->a);
    free(rungs->b);
    free(rungs->cells);
    free(rungs->changes);
}

static struct dlb_compare_figure part_figure(const json_t *part)
{
    return (struct dlb_compare_figure){dlb_json_number(part, "seconds"),
                                       dlb_json_number(part, "low"), dlb_json_number(part, "high")};
}

static void put_parts(const json_t *of_a, const json_t *of_b, const struct dlb_compare *how,
                      uint32_t n_intervals, json_t *cells)
{
    const json_t *part;
    size_t i;
    double whole = dlb_json_number(of_a, "total_seconds");
    json_array_foreach(json_object_get(of_a, "decomposition"), i, part) {
        const char *name = dlb_json_text(part, "part");
        const json_t *other = named(json_object_get(of_b, "decomposition"), "part", name);
        struct dlb_compare_figure a = part_figure(part), b = part_figure(other);
        struct dlb_change change;
        if (!other || !isfinite(a.value) || !isfinite(b.value))
            continue;
        dlb_compare_parts(&a, &b, whole, how, n_intervals, &change);
        dlb_json_append(cells, dlb_figure_json(name, a.value, b.value, &change));
    }
}

static double median_seconds(const json_t *list, const char *name)
{
    return dlb_json_number(json_object_get(named(list, "rung", name), "seconds"), "median");
}

int dlb_compare_gap(const struct dlb_compare_request *request, json_t *compare, struct dlb_err *err)
{
    const json_t *gap_a = json_object_get(request->a.docs[0], "gap");
    const json_t *gap_b = json_object_get(request->b.docs[0], "gap");
    const json_t *of_a = json_object_get(gap_a, "rungs"), *of_b = json_object_get(gap_b, "rungs");
    struct dlb_compare how = how_of(request);
    struct dlb_comparison over;
    struct rungs rungs;
    int rc = refuse_repeats(request, err);
    if (rc)
        return rc;
    find_rungs(of_a, of_b, &rungs);
    if (rungs.n == 0) {
        free_rungs(&rungs);
        return dlb_fail(err, DLB_ERR_COMPARE_NOTHING, request->b.name, DLB_NO_OFFSET,
                        "no rung was measured in it and in %s", request->a.name);
    }
    how.cells = rungs.cells;
    how.n_cells = rungs.n;
    how.n_more = (uint32_t)json_array_size(json_object_get(gap_a, "decomposition"));
    dlb_compare(&how, rungs.changes, &over);
    json_t *cells = dlb_json_made(json_array());
    for (uint32_t i = 0; i < rungs.n; i++)
        dlb_json_append(cells,
                        dlb_figure_json(rungs.name[i], median_seconds(of_a, rungs.name[i]),
                                        median_seconds(of_b, rungs.name[i]), &rungs.changes[i]));
    put_parts(gap_a, gap_b, &how, over.n_intervals, cells);
    dlb_json_put(compare, "figure", json_string("seconds"));
    dlb_json_put(compare, "cells", cells);
    dlb_changes_put(compare, &how, &over);
    put_differences(request, compare);
    free_rungs(&rungs);
    return DLB_OK;
}

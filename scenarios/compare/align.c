#include "scenarios/compare/align.h"

#include "core/base/json.h"
#include "core/base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const json_t *cells_of(const json_t *doc)
{
    return json_object_get(doc, "cells");
}

static const json_t *config_of(const json_t *cell)
{
    return json_object_get(cell, "config");
}

static bool is_measured(const json_t *cell)
{
    const json_t *rate = json_object_get(cell, "samples_per_s");
    return strcmp(dlb_json_text(cell, "status"), "ok") == 0 &&
           json_array_size(json_object_get(rate, "values")) > 0;
}

/* Places of the side's cells that are compared. Owned by the caller. */
static uint32_t *places_of(const struct dlb_compared_side *side, uint32_t *n)
{
    const json_t *cells = cells_of(side->docs[0]), *cell;
    uint32_t *places = dlb_mem_array(json_array_size(cells), sizeof(*places));
    size_t i;
    *n = 0;
    json_array_foreach(cells, i, cell) {
        if (is_measured(cell) && (side->cell < 0 || (size_t)side->cell == i))
            places[(*n)++] = (uint32_t)i;
    }
    return places;
}

static bool has(const json_t *keys, const char *key)
{
    for (size_t i = 0; i < json_array_size(keys); i++)
        if (strcmp(json_string_value(json_array_get(keys, i)), key) == 0)
            return true;
    return false;
}

/* Appends the settings in which the cells of one result differ, measured or not: what failed on one
 * side must not make the others a pair. */
static void add_keys(const json_t *doc, json_t *keys)
{
    const json_t *cells = cells_of(doc), *cell;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)config_of(json_array_get(cells, 0)), key, value) {
        bool differs = false;
        size_t i;
        json_array_foreach(cells, i, cell) {
            differs = differs || !json_equal(value, json_object_get(config_of(cell), key));
        }
        if (differs && !has(keys, key))
            dlb_json_append(keys, dlb_json_made(json_string(key)));
    }
}

static bool agree(const json_t *keys, const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        const json_t *of_a = json_object_get(config_of(a), key);
        const json_t *of_b = json_object_get(config_of(b), key);
        if (of_a != of_b && !(of_a && of_b && json_equal(of_a, of_b)))
            return false;
    }
    return true;
}

static void pair_up(const json_t *const docs[2], uint32_t *const places[2], const uint32_t n[2],
                    struct dlb_aligned *out)
{
    bool *taken = dlb_mem_array(n[1], sizeof(*taken));
    for (uint32_t i = 0; i < n[0]; i++) {
        const json_t *a = json_array_get(cells_of(docs[0]), places[0][i]);
        uint32_t k = 0;
        while (k < n[1] &&
               (taken[k] || !agree(out->keys, a, json_array_get(cells_of(docs[1]), places[1][k]))))
            k++;
        if (k == n[1])
            continue;
        taken[k] = true;
        out->pair[out->n_pairs][0] = places[0][i];
        out->pair[out->n_pairs++][1] = places[1][k];
    }
    free(taken);
}

static int check_cell(const struct dlb_compared_side *side, uint32_t n, struct dlb_err *err)
{
    size_t n_cells = json_array_size(cells_of(side->docs[0]));
    if (side->cell < 0 || n == 1)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_COMPARE_CELL, side->name, DLB_NO_OFFSET,
                    "cell %lld is not among the %zu cells of the result, or it was not measured",
                    (long long)side->cell, n_cells);
}

static int check_pairs(const struct dlb_compare_request *request, const uint32_t n[2],
                       const struct dlb_aligned *aligned, struct dlb_err *err)
{
    const struct dlb_compared_side *sides[] = {&request->a, &request->b};
    for (int s = 0; s < 2; s++) {
        int rc = check_cell(sides[s], n[s], err);
        if (rc)
            return rc;
        if (n[s] == 0)
            return dlb_fail(err, DLB_ERR_COMPARE_NOTHING, sides[s]->name, DLB_NO_OFFSET,
                            "no cell of the result was measured");
    }
    if (aligned->n_pairs == 0)
        return dlb_fail(err, DLB_ERR_COMPARE_NOTHING, request->b.name, DLB_NO_OFFSET,
                        "none of its %u cells has the settings of one of the %u cells of %s: name "
                        "one cell of each, as in RESULT#0",
                        n[1], n[0], request->a.name);
    return DLB_OK;
}

int dlb_align(const struct dlb_compare_request *request, struct dlb_aligned *out,
              struct dlb_err *err)
{
    const struct dlb_compared_side *sides[] = {&request->a, &request->b};
    const json_t *const docs[] = {request->a.docs[0], request->b.docs[0]};
    uint32_t n[2];
    uint32_t *const places[] = {places_of(&request->a, &n[0]), places_of(&request->b, &n[1])};
    *out = (struct dlb_aligned){.keys = dlb_json_made(json_array()),
                                .pair = dlb_mem_array(n[0], sizeof(*out->pair))};
    for (int s = 0; s < 2; s++)
        if (sides[s]->cell < 0)
            add_keys(docs[s], out->keys);
    pair_up(docs, places, n, out);
    int rc = check_pairs(request, n, out, err);
    for (int s = 0; s < 2; s++) {
        out->n_alone[s] = n[s] - out->n_pairs;
        free(places[s]);
    }
    if (rc)
        dlb_aligned_free(out);
    return rc;
}

void dlb_aligned_free(struct dlb_aligned *aligned)
{
    json_decref(aligned->keys);
    free(aligned->pair);
    *aligned = (struct dlb_aligned){.keys = NULL};
}

json_t *dlb_aligned_settings(const json_t *keys, const json_t *cell)
{
    json_t *out = dlb_json_made(json_object());
    for (size_t i = 0; i < json_array_size(keys); i++) {
        const char *key = json_string_value(json_array_get(keys, i));
        json_t *value = json_object_get(config_of(cell), key);
        dlb_json_put(out, key, value ? json_incref(value) : json_null());
    }
    return out;
}

const json_t *dlb_aligned_find(const json_t *doc, const json_t *keys, const json_t *cell)
{
    const json_t *other, *found = NULL;
    size_t i;
    json_t *all = dlb_json_made(json_copy((json_t *)keys));
    add_keys(doc, all);
    json_array_foreach(cells_of(doc), i, other) {
        if (!found && is_measured(other) && agree(all, cell, other))
            found = other;
    }
    json_decref(all);
    return found;
}

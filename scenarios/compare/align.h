/* Which cells of two results are the same, by their settings.
 *
 * Floor 4, private to scenarios/compare. Pure. */
#ifndef DLB_SCENARIOS_COMPARE_ALIGN_H
#define DLB_SCENARIOS_COMPARE_ALIGN_H

#include "scenarios/compare/compare.h"

struct dlb_aligned {
    json_t *keys;        /* array: settings that differ among the cells of a result; owned */
    uint32_t (*pair)[2]; /* [n_pairs] places in cells[] of A and of B; owned */
    uint32_t n_pairs;
    uint32_t n_alone[2]; /* measured cells without a partner */
};

/* Cells that were measured, and agree in all of `keys`. A side that is one cell, or whose result
 * has one alone, adds no keys: two such are a pair whatever their settings. DLB_E_CONFIG:
 * COMPARE_NOTHING, COMPARE_CELL. */
int dlb_align(const struct dlb_compare_request *request, struct dlb_aligned *out,
              struct dlb_err *err);
void dlb_aligned_free(struct dlb_aligned *aligned);

/* The cell's values of the keys. New reference. */
json_t *dlb_aligned_settings(const json_t *keys, const json_t *cell);

/* The measured cell of another result that agrees with `cell` in `keys`, and in what the cells of
 * that result differ in. Borrowed; NULL: none. */
const json_t *dlb_aligned_find(const json_t *doc, const json_t *keys, const json_t *cell);

#endif

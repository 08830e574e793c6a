/* What the accelerator asks for, and what it gets.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_SUPPLY_H
#define DLB_REPORTS_SUPPLY_H

#include <jansson.h>
#include <stdbool.h>

/* Samples per second; NaN: not measured, or it does not apply. */
struct dlb_supply {
    double needs;    /* what the step time allows, of all accelerators */
    double gives;    /* what the cell delivers whose settings are offered (reports/ranked.h) */
    double hardware; /* what dlbench's own loaders deliver at best of the same work, if `gives` is
                        PyTorch's */
    double ready;    /* what the same cell would deliver if its data were always ready */
};

/* What the steps of a cell could take; NaN: its step time is not known. */
double dlb_supply_needs(const json_t *cell);
/* Whether steps that need so much do the same work; one that is not known may. */
bool dlb_supply_is_same_need(double a, double b);

struct dlb_supply dlb_supply_of(const json_t *doc);

#endif

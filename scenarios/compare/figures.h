/* Results with an answer of their own: storage's N, gap's rungs and parts, TraceML's steps.
 *
 * Floor 4, private to scenarios/compare. Pure. */
#ifndef DLB_SCENARIOS_COMPARE_FIGURES_H
#define DLB_SCENARIOS_COMPARE_FIGURES_H

#include "core/measure/compare.h"
#include "scenarios/compare/compare.h"

/* Fill "compare". DLB_E_CONFIG: COMPARE_NOTHING, COMPARE_KIND. */
int dlb_compare_storage(const struct dlb_compare_request *request, json_t *compare,
                        struct dlb_err *err);
int dlb_compare_gap(const struct dlb_compare_request *request, json_t *compare,
                    struct dlb_err *err);
int dlb_compare_traceml(const struct dlb_compare_request *request, json_t *compare,
                        struct dlb_err *err);

/* One of compare's "cells" that is no cell. New reference. */
json_t *dlb_figure_json(const char *what, double a, double b, const struct dlb_change *change);

#endif

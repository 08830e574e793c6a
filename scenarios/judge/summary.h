/* summary.json as a document in memory: the one result that every report renders.
 *
 * Floor 4. Control thread. Its names are scripted against: reports/summary.schema.json is the
 * contract. */
#ifndef DLB_SCENARIOS_JUDGE_SUMMARY_H
#define DLB_SCENARIOS_JUDGE_SUMMARY_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "formats/dataset.h"
#include "scenarios/scenario.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>

#define DLB_SCHEMA_VERSION 2

/* All borrowed. */
struct dlb_summary {
    const char *command, *arguments, *run_name, *version, *commit; /* arguments: for a shell, with a
                                                                      space before each */
    const json_t *environment;
    const struct dlb_shape *shape;
    const struct dlb_spec *spec; /* the base configuration's */
    const struct dlb_config *cfg;
    const struct dlb_plan *plan;
    const struct dlb_results *results;
    const struct dlb_judgement *judgement;
    const json_t *nodes, *clocks; /* of a run over ranks (scenarios/ranks/team.h); else NULL */
    bool partial; /* something failed, or the user interrupted it, or it still runs */
};

/* New reference. */
json_t *dlb_summary_build(const struct dlb_summary *in);

#endif

/* What rules come to, of a result or a comparison.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_RULES_JUDGE_H
#define DLB_SCENARIOS_RULES_JUDGE_H

#include "scenarios/rules/rule.h"

#include <jansson.h>

/* `doc`: a summary, or what dlb_compare_documents made. `of`: the summary that rules about figures
 * of a result are held against; NULL: doc itself. A run has one cell; of a sweep it is the
 * recommended one, else the best; of storage that of the number of accelerators. A rule about a
 * change is held against each pair of cells, and their mean where there are more. *out: an array of
 * {"rule", "place", "outcome", "value", "low", "high", "limit", "text"}; new reference.
 * DLB_E_CONFIG: RULE_FIGURE, of a figure that such a result has not. */
int dlb_rules_judge(const struct dlb_rule *rules, uint32_t n, const json_t *doc, const json_t *of,
                    json_t **out, struct dlb_err *err);

/* A further outcome, of --strict: whether every cell was measured. New reference. */
json_t *dlb_rules_all_measured(const json_t *doc);

/* How many of the outcomes are "failed", "unclear" ... */
uint32_t dlb_rules_count(const json_t *outcomes, const char *outcome);

#endif

/* Rules that decide whether a result is good enough: --fail-on 'idle>10%'.
 *
 * Floor 4. Pure; any thread. A rule names a figure and a limit, and fails where the figure is
 * beyond it. The figure has an interval. A rule passes or fails only where all of it is on one side
 * of the limit; else it is unclear. */
#ifndef DLB_SCENARIOS_RULES_RULE_H
#define DLB_SCENARIOS_RULES_RULE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_RULES_MAX 32
#define DLB_RULE_CAP 128 /* bytes of a rule, with the terminating zero */

enum dlb_rule_source {
    DLB_RULE_OF_SHARES,  /* shares: of the window, one for each repetition, or of the samples */
    DLB_RULE_OF_RATES,   /* samples/s, one for each repetition */
    DLB_RULE_OF_STORAGE, /* the number of accelerators */
    DLB_RULE_OF_CHANGE,  /* of a comparison: the loss or gain of speed */
};

struct dlb_rule_figure {
    const char *name;
    enum dlb_rule_source source;
    const char *key; /* in the document, where the name is another */
    const char *help;
};
extern const struct dlb_rule_figure dlb_rule_figures[]; /* ends with name == NULL */

struct dlb_rule {
    char text[DLB_RULE_CAP]; /* as the user wrote it */
    const struct dlb_rule_figure *figure;
    bool above;   /* fails above the limit; else below */
    double limit; /* NaN: the smallest effect of interest */
};

/* "idle>10%", "samples_per_s < 1700", "slower>2%", "slower". DLB_E_CONFIG names the place in the
 * text: RULE_SYNTAX, RULE_FIGURE. */
int dlb_rule_parse(const char *text, struct dlb_rule *out, struct dlb_err *err);

#endif

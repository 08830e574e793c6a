/* A rule of --fail-on, as a user types it. What is read is read the same from its own text. */
#include "scenarios/rules/rule.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* NAN: a rule without a limit. */
static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    char text[512];
    size_t n = n_bytes < sizeof(text) ? n_bytes : sizeof(text) - 1;
    struct dlb_err err = {.status = DLB_OK};
    struct dlb_rule rule, again;
    memcpy(text, data, n);
    text[n] = '\0';
    if (dlb_rule_parse(text, &rule, &err) != DLB_OK) {
        if (err.status != DLB_E_CONFIG || err.what[0] == '\0')
            DLB_BUG("a refusal without words");
        return 0;
    }
    if (!rule.figure || rule.limit < 0)
        DLB_BUG("a rule without a figure, or with a limit below 0");
    if (dlb_rule_parse(rule.text, &again, &err) != DLB_OK || again.figure != rule.figure ||
        again.above != rule.above || !same(again.limit, rule.limit))
        DLB_BUG("a rule that reads differently from its own text");
    return 0;
}

#include "bench/experiment/rules.h"

#include "bench/experiment/exports.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "scenarios/rules/judge.h"

#include <string.h>

int dlb_rules_check(const struct dlb_args *args, struct dlb_err *err)
{
    return dlb_exports_check(args, err);
}

int dlb_rules_put(const struct dlb_args *args, json_t *doc, const json_t *of, struct dlb_err *err)
{
    json_t *outcomes;
    if (args->n_rules == 0 && !args->strict)
        return DLB_OK;
    int rc = dlb_rules_judge(args->rules, args->n_rules, doc, of, &outcomes, err);
    if (rc)
        return rc;
    if (args->strict)
        dlb_json_append(outcomes, dlb_rules_all_measured(of ? of : doc));
    dlb_json_put(doc, "rules", outcomes);
    return DLB_OK;
}

static void say_outcomes(const json_t *outcomes)
{
    const json_t *one;
    size_t i;
    json_array_foreach(outcomes, i, one) {
        const char *outcome = dlb_json_text(one, "outcome"), *place = dlb_json_text(one, "place");
        if (strcmp(outcome, "passed") != 0)
            dlb_say(stderr, "dlbench: rule %s %s%s%s: %s", dlb_json_text(one, "rule"),
                    strcmp(outcome, "failed") == 0 ? "failed" : "is unclear", place[0] ? ", " : "",
                    place, dlb_json_text(one, "text"));
    }
}

int dlb_rules_conclude(const struct dlb_args *args, const json_t *doc, int code)
{
    bool asked = args->n_rules > 0 || args->strict; /* a result may hold outcomes of its own */
    const json_t *outcomes = asked ? json_object_get(doc, "rules") : NULL;
    say_outcomes(outcomes);
    int written = dlb_exports_write(args, doc, code);
    if (code || written)
        return code ? code : written;
    bool no = dlb_rules_count(outcomes, "failed") > 0 ||
              (args->strict && dlb_rules_count(outcomes, "unclear") > 0);
    return no ? DLB_EXIT_NO : DLB_EXIT_OK;
}

int dlb_rules_refuse(const struct dlb_args *args, const char *command, struct dlb_err *err)
{
    struct dlb_args with = *args;
    struct dlb_err ignored; /* the caller's error is this one, or comes before it */
    int code = dlb_print_err(err);
    with.traceml = with.trace = NULL;
    if (dlb_exports_check(&with, &ignored))
        return code;
    json_t *doc = dlb_json_made(json_pack("{ss}", "command", command));
    (void)dlb_exports_write(&with, doc, code);
    json_decref(doc);
    return code;
}

#include "reports/junit.h"

#include "core/base/json.h"
#include "reports/markup.h"

#include <string.h>

static void put_text(struct dlb_text *out, const char *words)
{
    dlb_markup_text(out, words, DLB_MARKUP_HTML); /* of which XML needs a part */
}

static bool is_outcome(const json_t *rule, const char *outcome)
{
    return strcmp(dlb_json_text(rule, "outcome"), outcome) == 0;
}

struct counts {
    size_t n, n_failed, n_skipped;
};

static struct counts count(const json_t *rules, bool strict)
{
    struct counts out = {json_array_size(rules), 0, 0};
    const json_t *rule;
    size_t i;
    json_array_foreach(rules, i, rule) {
        bool unclear = is_outcome(rule, "unclear");
        out.n_failed += is_outcome(rule, "failed") || (strict && unclear);
        out.n_skipped += !strict && unclear;
    }
    return out;
}

static void put_case(struct dlb_text *out, const char *command, const json_t *rule, bool strict)
{
    const char *place = dlb_json_text(rule, "place");
    dlb_text_printf(out, "    <testcase classname=\"dlbench.");
    put_text(out, command);
    dlb_text_printf(out, "\" name=\"");
    put_text(out, dlb_json_text(rule, "rule"));
    dlb_text_printf(out, "%s", place[0] ? " (" : "");
    put_text(out, place);
    dlb_text_printf(out, "%s\"", place[0] ? ")" : "");
    if (is_outcome(rule, "passed")) {
        dlb_text_printf(out, "/>\n");
        return;
    }
    bool failed = strict || is_outcome(rule, "failed");
    dlb_text_printf(out, ">\n      <%s message=\"", failed ? "failure" : "skipped");
    put_text(out, is_outcome(rule, "unclear") ? "unclear: " : "");
    put_text(out, dlb_json_text(rule, "text"));
    dlb_text_printf(out, "\"/>\n    </testcase>\n");
}

/* The command itself: whether it could measure. */
static void put_command(struct dlb_text *out, const char *command, int exit_code)
{
    dlb_text_printf(out, "    <testcase classname=\"dlbench\" name=\"");
    put_text(out, command);
    if (exit_code)
        dlb_text_printf(out,
                        "\">\n      <error message=\"exit code %d: stderr says why\"/>\n"
                        "    </testcase>\n",
                        exit_code);
    else
        dlb_text_printf(out, "\"/>\n");
}

void dlb_junit_render(const json_t *doc, bool strict, int exit_code, struct dlb_text *out)
{
    const json_t *rules = json_object_get(doc, "rules"), *rule;
    const char *command = dlb_json_text(doc, "command");
    struct counts n = count(rules, strict);
    bool itself = exit_code || n.n == 0;
    size_t i;
    dlb_text_printf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                         "  <testsuite name=\"dlbench ");
    put_text(out, command);
    dlb_text_printf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"%zu\">\n",
                    n.n + itself, n.n_failed, exit_code != 0, n.n_skipped);
    json_array_foreach(rules, i, rule) {
        put_case(out, command, rule, strict);
    }
    if (itself)
        put_command(out, command, exit_code);
    dlb_text_printf(out, "  </testsuite>\n</testsuites>\n");
}

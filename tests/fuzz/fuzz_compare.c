/* Two results from anywhere, dlbench's or TraceML's, as [A, B]: what can be read is compared,
 * rendered and held against rules. While libFuzzer runs, an input's length chooses whether all
 * cells or one are compared, and which rule is held against them, because each costs as much as all
 * else; where a corpus is replayed without it, each has its turn. No input may crash, leak, or put
 * a control character on the terminal or into a JUnit file. */
#include "core/base/json.h"
#include "core/measure/compare.h"
#include "reports/compare.h"
#include "reports/junit.h"
#include "reports/load.h"
#include "reports/traceml.h"
#include "reports/watch.h"
#include "scenarios/compare/compare.h"
#include "scenarios/compare/traceml.h"
#include "scenarios/rules/judge.h"
#include "tests/support/json_mutator.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_text(struct dlb_text *text)
{
    if (!text->data || strlen(text->data) != text->len_bytes)
        DLB_BUG("a text that is empty or holds a zero byte");
    for (size_t i = 0; i < text->len_bytes; i++)
        if ((unsigned char)text->data[i] < ' ' && text->data[i] != '\n')
            DLB_BUG("a text holds a control character");
    dlb_text_free(text);
}

static bool can_be_read(const json_t *doc)
{
    struct dlb_err err;
    if (dlb_traceml_is(doc))
        return dlb_traceml_check(doc, "fuzz.json", &err) == DLB_OK;
    return dlb_summary_check(doc, "fuzz.json", &err) == DLB_OK && !dlb_watch_is(doc);
}

static const char *const rules[] = {"slower>2%",    "faster",          "idle>10%",
                                    "skipped>0.1%", "samples_per_s<1", "accelerators<3"};
enum { N_RULES = sizeof(rules) / sizeof(*rules) };

static void judge(json_t *made, const json_t *of, size_t i)
{
    struct dlb_err err;
    struct dlb_rule rule;
    struct dlb_text text = {0};
    json_t *outcomes = NULL;
    if (dlb_rule_parse(rules[i], &rule, &err) != DLB_OK)
        DLB_BUG("a rule that is refused");
    if (dlb_rules_judge(&rule, 1, made, of, &outcomes, &err) != DLB_OK)
        return;
    dlb_json_put(made, "rules", outcomes);
    dlb_junit_render(made, i % 2, i % 4, &text);
    check_text(&text);
}

/* `cell`: of both, or -1: all. Rules from the first to the one before the end. */
static void compare(const json_t *a, const json_t *b, int64_t cell, size_t first, size_t end)
{
    const json_t *const of_a[] = {a, b}, *const of_b[] = {b};
    struct dlb_compare_request request = {.a = {"A", of_a, cell < 0 ? 2 : 1, cell},
                                          .b = {"B", of_b, 1, cell},
                                          .smallest_frac = DLB_COMPARE_SMALLEST,
                                          .between_frac = DLB_COMPARE_BETWEEN};
    struct dlb_err err = {.status = DLB_OK};
    struct dlb_text text = {0};
    json_t *made = NULL;
    if (dlb_compare_documents(&request, &made, &err) != DLB_OK) {
        if (made || err.status == DLB_OK || err.what[0] == '\0')
            DLB_BUG("an error without words, or with a result");
        return;
    }
    dlb_compare_render(made, cell < 0 ? 80 : 0, true, &text);
    check_text(&text);
    for (size_t i = first; i < end; i++)
        judge(made, b, i);
    json_decref(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    json_t *pair = json_loadb((const char *)data, n_bytes, 0, NULL);
    const json_t *a = json_array_get(pair, 0), *b = json_array_get(pair, 1);
    struct dlb_text text = {0};
    size_t way = n_bytes % (2 * N_RULES);
    if (a && b && can_be_read(a) && can_be_read(b)) {
        if (LLVMFuzzerMutate) {
            compare(a, b, way < N_RULES ? -1 : 0, way % N_RULES, way % N_RULES + 1);
        } else {
            compare(a, b, -1, 0, N_RULES);
            compare(a, b, 0, 0, N_RULES);
        }
        if (!dlb_traceml_is(b)) {
            dlb_traceml_render(b, &text);
            check_text(&text);
        }
    }
    json_decref(pair);
    return 0;
}

/* What PyTorch's loader takes beside the same work in C, as text. */
#include "core/base/json.h"
#include "reports/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* `c`, `python`: JSON of the stages, with ' for ". To be freed. */
static void render(const char *c, const char *python, struct dlb_text *out)
{
    char text[1000];
    (void)snprintf(text, sizeof text,
                   "{'cells': [{'in_c': {'runs': 1, 'same_work': true, 'sample_ns': 2e6, "
                   "'python_sample_ns': 4e6, 'stages_ns': {%s}, 'python_stages_ns': {%s}}}]}",
                   c, python);
    for (char *at = text; *at; at++)
        *at = (char)(*at == '\'' ? '"' : *at);
    json_t *doc = json_loads(text, 0, NULL);
    assert_non_null(doc);
    dlb_findings_in_c(doc, 1000, out);
    assert_non_null(out->data);
    json_decref(doc);
}

static void test_stages(void **state)
{
    (void)state;
    struct dlb_text out = {0};
    render("'read': 1e6, 'decode': 500000", "'read': 3e6, 'decode': 1000000", &out);
    assert_non_null(strstr(out.data, " read 1.00 (3.00), decode 0.50 (1.00)."));
    dlb_text_free(&out);
}

static void test_what_was_not_measured(void **state)
{
    (void)state;
    struct dlb_text out = {0};
    render("'read': null, 'decode': 500000, 'collate': null", "'read': 100000, 'decode': null",
           &out);
    assert_non_null(strstr(out.data, " read - (0.10), decode 0.50 (-)."));
    assert_null(strstr(out.data, "collate"));
    dlb_text_free(&out);
}

/* No text is longer than what it is written to. */
static void test_huge_figures(void **state)
{
    (void)state;
    struct dlb_text out = {0};
    const char *all = "'read': 1e308, 'decode': 1e308, 'transform': 1e308, 'collate': 1e308";
    render(all, all, &out);
    assert_non_null(strstr(out.data, " collate 1e+302 (1e+302)."));
    dlb_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stages),
                                       cmocka_unit_test(test_what_was_not_measured),
                                       cmocka_unit_test(test_huge_figures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

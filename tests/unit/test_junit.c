/* JUnit XML: counts, outcomes, and names that hold anything. */
#include "core/base/json.h"
#include "reports/junit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *rendered(const char *json, bool strict, int exit_code)
{
    json_error_t why;
    struct dlb_text text = {0};
    json_t *doc = json_loads(json, JSON_ALLOW_NUL, &why);
    if (!doc)
        fail_msg("%s", why.text);
    dlb_junit_render(doc, strict, exit_code, &text);
    json_decref(doc);
    return text.data;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("%s is not in:\n%s", part, text);
}

#define THREE                                                                                      \
    "{\"command\": \"run\", \"rules\": ["                                                          \
    "{\"rule\": \"idle>10%\", \"place\": \"cell 0\", \"outcome\": \"failed\", \"text\": \"why\"}," \
    "{\"rule\": \"idle>90%\", \"place\": \"\", \"outcome\": \"passed\", \"text\": \"\"},"          \
    "{\"rule\": \"slower\", \"place\": \"\", \"outcome\": \"unclear\", \"text\": \"x\"}]}"

static void test_outcomes(void **state)
{
    (void)state;
    char *text = rendered(THREE, false, 0);
    assert_has(text, "<testsuite name=\"dlbench run\" tests=\"3\" failures=\"1\" errors=\"0\" "
                     "skipped=\"1\">");
    assert_has(text, "name=\"idle&gt;10% (cell 0)\">\n      <failure message=\"why\"/>");
    assert_has(text, "name=\"idle&gt;90%\"/>");
    assert_has(text, "<skipped message=\"unclear: x\"/>");
    free(text);
    text = rendered(THREE, true, 0);
    assert_has(text, "failures=\"2\" errors=\"0\" skipped=\"0\"");
    assert_has(text, "<failure message=\"unclear: x\"/>");
    free(text);
}

static void test_without_rules(void **state)
{
    (void)state;
    char *text = rendered("{\"command\": \"sweep\"}", true, 0);
    assert_has(text, "tests=\"1\" failures=\"0\"");
    assert_has(text, "<testcase classname=\"dlbench\" name=\"sweep\"/>");
    free(text);
}

/* What could not be measured is never green, with rules or without. */
static void test_not_measured(void **state)
{
    (void)state;
    char *text = rendered("{\"command\": \"run\"}", false, 3);
    assert_has(text, "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\"");
    assert_has(text, "name=\"run\">\n      <error message=\"exit code 3");
    free(text);
    text = rendered(THREE, false, 130);
    assert_has(text, "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\"");
    free(text);
}

static void test_names(void **state)
{
    (void)state;
    char *text = rendered("{\"command\": \"a<b&\\\"'\", \"rules\": [{\"rule\": \"\\u0001\\u001b[31m"
                          "\\u0085\\uffff\\ufffe\\uffee\", \"outcome\": \"failed\", \"text\": "
                          "\"]]>\\n\"}]}",
                          false, 0);
    assert_has(text, "dlbench.a&lt;b&amp;&quot;&#39;\"");
    assert_has(text, "name=\"\\x01\\x1b[31m\\xc2\\x85[U+FFFF][U+FFFE]\xef\xbf\xae\"");
    assert_has(text, "message=\"]]&gt;\\x0a\"");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes), cmocka_unit_test(test_without_rules),
        cmocka_unit_test(test_not_measured), cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

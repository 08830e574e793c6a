/* What Python took, of documents that lack figures or have huge ones. */
#include "reports/findings.h"
#include "tests/support/rendered.h"

/* ' for ". */
static json_t *loaded(const char *json)
{
    char text[1000];
    (void)snprintf(text, sizeof text, "%s", json);
    for (char *at = text; *at; at++)
        *at = (char)(*at == '\'' ? '"' : *at);
    json_t *doc = json_loads(text, 0, NULL);
    assert_non_null(doc);
    return doc;
}

static void assert_no_odd_figure(const char *text)
{
    static const char *const odd[] = {"nan", "inf%", "inf ", "000000000000000000"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        if (strstr(text, odd[i]))
            fail_msg("\"%s\" is in:\n%s", odd[i], text);
}

static void test_in_c(void **state)
{
    (void)state;
    static const struct {
        const char *in_c, *has;
    } cases[] = {
        {"'runs': 1, 'same_work': true, 'sample_ns': null, 'python_sample_ns': 4e6", " 4"},
        {"'runs': 1, 'same_work': true, 'sample_ns': null, 'python_sample_ns': null", " - ms"},
        {"'runs': 1, 'same_work': false, 'sample_bytes': null, 'python_sample_bytes': 1e308",
         " - bytes"},
        {"'runs': 1, 'same_work': false, 'sample_bytes': 3072, 'python_sample_bytes': 12288",
         " 3072 bytes"},
        {"'runs': null, 'reason': 'WHY', 'same_work': true", ": WHY"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char json[400];
        struct dlb_text out = {0};
        (void)snprintf(json, sizeof json, "{'cells': [{'in_c': {%s}}]}", cases[i].in_c);
        json_t *doc = loaded(json);
        dlb_findings_in_c(doc, 1000, &out);
        assert_no_odd_figure(out.data);
        assert_has(out.data, cases[i].has);
        dlb_text_free(&out);
        json_decref(doc);
    }
}

static void test_stamps_and_shares(void **state)
{
    (void)state;
    static const char *const fracs[] = {"1e308", "-1e308", "null"};
    for (size_t i = 0; i < sizeof fracs / sizeof *fracs; i++) {
        char json[600];
        struct dlb_text out = {0};
        (void)snprintf(json, sizeof json,
                       "{'python': {'stamps_frac': %s, 'stages': ["
                       "{'name': 'a', 'part': 'read', 'count': 1, 'sum_ns': 1e308},"
                       "{'name': 'b', 'part': 'decode', 'sum_ns': null}]}}",
                       fracs[i]);
        json_t *cell = loaded(json);
        dlb_findings_python(cell, 1000, &out);
        assert_no_odd_figure(out.data);
        assert_has(out.data, " 100%\n");
        dlb_text_free(&out);
        json_decref(cell);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_c),
                                       cmocka_unit_test(test_stamps_and_shares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A summary.txt is known for that of its summary.json, whatever the name of the run. */
#include "reports/title.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static json_t *named(const char *name, bool partial)
{
    return json_pack("{ss, ss, sb}", "command", "sweep", "run_name", name, "partial", partial);
}

static void test_each_name_is_known(void **state)
{
    (void)state;
    char lengthy[256], words[256] = "a ";
    memset(lengthy, 'n', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    memset(words + 2, 'w', 90);
    const char *const names[] = {"a",    "a  b",   " a",    "a ",    "a\tb",
                                 "a\nb", "\u00e9", "a\x1b", lengthy, words};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int partial = 0; partial < 2; partial++) {
            struct dlb_text text = {0};
            json_t *doc = named(names[i], partial), *other = named("another", partial);
            dlb_report_title(doc, "sweep", DLB_REPORT_TEXT_COLUMNS, &text);
            dlb_text_printf(&text, "data:\n");
            if (!dlb_report_is_of(doc, text.data))
                fail_msg("%zu: %s", i, text.data);
            assert_false(dlb_report_is_of(other, text.data));
            dlb_text_free(&text);
            json_decref(doc);
            json_decref(other);
        }
}

static void test_others_texts_are_not(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "\n",
                                        "dlbench ",
                                        "dlbench sweep",
                                        "dlbench sweep: ",
                                        "dlbench sweep: a",
                                        "dlbench sweep: ab\n",
                                        "dlbench sweep: a b\n",
                                        "dlbench Sweep: a\n",
                                        "dlbench : a\n",
                                        "my notes on dlbench sweep: a\n"};
    json_t *doc = named("a", false);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(dlb_report_is_of(doc, texts[i]));
    assert_true(dlb_report_is_of(doc, "dlbench sweep: a\n"));
    assert_true(dlb_report_is_of(doc, "dlbench run: a (PARTIAL)\n"));
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_name_is_known),
                                       cmocka_unit_test(test_others_texts_are_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

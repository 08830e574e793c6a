/* Values of an axis as labels show them. */
#include "reports/sheets/labels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define END "0/same/end/of/all/the/paths" /* what is shown of it */

/* The axis is gone when its values are shown: no look-up goes over it. */
static void test_labels_of_values(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
        bool alike;
    } cases[] = {
        {"\"/data/a" END "\"", "...0/same/end/of/all/the/paths (1)", true},
        {"\"/data/b" END "\"", "...0/same/end/of/all/the/paths (4)", true}, /* the last of two */
        {"\"/data/c" END "\"", "...0/same/end/of/all/the/paths", true},
        {"\"short\"", "short", false},
        {"\"other\"", "other", false},
        {"1", "1 (5)", true},
        {"\"1\"", "1 (6)", true},
        {"2", "2 (7)", true},
        {"2.0", "2 (8)", true},
        {"true", "yes", false},
        {"null", "-", false},
    };
    json_t *values = json_pack("[s, s, s, s, i, s, i, f, b]", "/data/a" END, "/data/b" END, "short",
                               "/data/b" END, 1, "1", 2, 2.0, 1);
    struct dlb_label_axis axis, none;
    char text[DLB_VALUE_CAP + 24];
    dlb_label_axis_open(values, &axis);
    dlb_label_axis_open(NULL, &none);
    json_decref(values);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *value = json_loads(cases[i].json, JSON_DECODE_ANY, NULL);
        assert_int_equal(dlb_label_value(&axis, value, text, sizeof(text)), cases[i].alike);
        assert_string_equal(text, cases[i].text);
        assert_false(dlb_label_value(&none, value, text, sizeof(text)));
        json_decref(value);
    }
    assert_false(dlb_label_value(&axis, NULL, text, sizeof(text)));
    assert_string_equal(text, "-");
    dlb_label_axis_close(&axis);
    dlb_label_axis_close(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_labels_of_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

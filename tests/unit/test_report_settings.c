/* Settings to paste: whose loader they were measured with, what belongs to them, what was not
 * measured. */
#include "core/base/json.h"
#include "reports/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* One cell, recommended. `config`, `detail`: JSON with ' for ". */
static json_t *result(const char *command, const char *pipeline, const char *config,
                      const char *detail)
{
    char text[1500];
    json_t *doc;
    (void)snprintf(text, sizeof(text),
                   "{'command': '%s', 'recommended_cell': 0, 'best_cell': 0, 'pytorch': 'line', "
                   "'axes': {'python.args.n': [1, 2]}, 'recommendation_detail': {%s}, 'cells': "
                   "[{'index': 0, 'pipeline': '%s', 'config': {%s}}]}",
                   command, detail, pipeline, config);
    for (char *at = text; *at; at++)
        *at = (char)(*at == '\'' ? '"' : *at);
    assert_non_null(doc = json_loads(text, 0, NULL));
    return doc;
}

/* Whether the report of the settings has the words. */
static bool says(json_t *doc, const char *words)
{
    struct dlb_text out = {0};
    dlb_findings_settings(doc, 100, &out);
    assert_non_null(out.data);
    bool found = strstr(out.data, words) != NULL;
    dlb_text_free(&out);
    json_decref(doc);
    return found;
}

#define OWN "'python.loader': 'a:b/train.py:make_loader', 'python.args.k': 3, 'python.args.n': 2"

static void names_the_loader(void **state)
{
    (void)state;
    assert_true(says(result("run", "pytorch", "", ""), " own DataLoader:\n  line\n"));
    assert_true(says(result("sweep", "pytorch", "'python.loader': ''", ""), " own DataLoader:\n"));
    assert_true(says(result("run", "pytorch", OWN, ""), " own make_loader:\n"));
    assert_true(says(result("sweep", "pytorch", OWN, ""), " own make_loader:\n"));
    assert_false(says(result("run", "hardware", OWN, ""), "make_loader:\n"));
}

static void arguments_of_a_loader_belong_to_it(void **state)
{
    (void)state;
    assert_true(says(result("run", "pytorch", OWN, ""),
                     "and with: python.args.n = 2, python.args.k = 3\n"));
    assert_false(says(result("run", "pytorch", "'python.args.k': 3", ""), "python.args.k"));
}

static void unmeasured_values_are_listed(void **state)
{
    (void)state;
    assert_true(says(result("sweep", "pytorch", "",
                            "'unmeasured': ['loader.order'], 'unmeasured_values': "
                            "{'python.start_method': ['spawn', 'forkserver'], 'loader.x': [3]}"),
                     "unmeasured: loader.order, python.start_method = \"spawn\" or "
                     "\"forkserver\", loader.x = 3\n"));
}

/* What is to be pasted is whole, however long. */
static void long_settings_are_not_cut(void **state)
{
    (void)state;
    char text[2001];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    json_t *doc = result("sweep", "pytorch", "", "");
    json_t *cell = json_array_get(json_object_get(doc, "cells"), 0);
    json_object_set_new(json_object_get(cell, "config"), "python.args.n", json_string(text));
    json_object_set_new(doc, "recommendation_detail",
                        json_pack("{s{s[s]}}", "unmeasured_values", "loader.x", text));
    json_object_set_new(doc, "pytorch", json_pack("s+", text, "(end)"));
    assert_true(says(json_incref(doc), "xx(end)\n"));
    assert_true(says(json_incref(doc), "python.args.n =\n  \"xx"));
    assert_true(says(json_incref(doc), "xx\"\n  unmeasured: loader.x =\n  \"xx"));
    struct dlb_text out = {0};
    dlb_findings_settings(doc, 100, &out);
    assert_string_equal(out.data + out.len_bytes - 4, "xx\"\n");
    dlb_text_free(&out);
    json_decref(doc);
}

/* A run compares nothing; what torch ignores is not measured there either. */
static void pinning_in_vain_is_unmeasured(void **state)
{
    (void)state;
    static const char *const codes[] = {"PIN_MEMORY_UNMEASURED", "NO_GPU"};
    for (int i = 0; i < 2; i++) {
        json_t *doc = result("run", "pytorch", "", "");
        json_object_set_new(doc, "recommendation_detail", json_null());
        json_object_set_new(doc, "not_modelled", json_pack("[{ss}]", "code", codes[i]));
        assert_true(says(doc, "unmeasured: loader.pin_memory\n") == (i == 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_the_loader),
        cmocka_unit_test(arguments_of_a_loader_belong_to_it),
        cmocka_unit_test(unmeasured_values_are_listed),
        cmocka_unit_test(long_settings_are_not_cut),
        cmocka_unit_test(pinning_in_vain_is_unmeasured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Long text of a document is cut between two characters, never within one. */
#include "reports/text.h"
#include "tests/support/rendered.h"

#define THREE_BYTES "\xe6\x97\xa5"

/* `shift` letters and characters of three bytes, so that one shift of three cuts between them. */
static void long_words(size_t shift, char words[400])
{
    memset(words, 'x', shift);
    words[shift] = '\0';
    for (size_t i = 0; i < 60; i++)
        (void)strcat(words, THREE_BYTES);
}

/* JSON has UTF-8 only. A part of a character would be escaped. */
static void assert_whole_characters(const char *text)
{
    json_t *string = json_string(text);
    if (!string)
        fail_msg("not UTF-8:\n%s", text);
    json_decref(string);
    for (const char *at = text; (at = strstr(at, "\\x")); at++)
        if (strchr("89abcdef", at[2]))
            fail_msg("a part of a character: %.40s", at);
}

static void assert_all_formats(const json_t *doc)
{
    static const char *const formats[] = {"terminal", "text", "md", "html", "csv", "prometheus"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        char *text = rendered(doc, formats[i], 0);
        assert_whole_characters(text);
        free(text);
    }
}

static json_t *estimate(void)
{
    return json_pack("{sf, sf, sf, ss}", "median", 0.1, "low", 0.05, "high", 0.2, "interval",
                     "min-max");
}

/* Ten settings with a long name and a long value fill a label. */
static void add_axes(json_t *doc, const char *words)
{
    json_t *axes = json_object_get(doc, "axes"), *cell;
    size_t i;
    for (int k = 0; k < 10; k++) {
        char key[500];
        (void)snprintf(key, sizeof(key), "files.%d%s", k, words);
        json_object_set_new(axes, key, json_pack("[s, s]", words, "b"));
        json_array_foreach(json_object_get(doc, "cells"), i, cell)
            json_object_set_new(json_object_get(cell, "config"), key, json_string(i ? "b" : words));
    }
}

static json_t *sweep_with(const char *words)
{
    json_t *doc = summary_of("sweep"), *cells = json_object_get(doc, "cells");
    json_t *cell = json_array_get(cells, 0), *other = json_array_get(cells, 1);
    json_object_set_new(cell, "verdict", json_pack("{ss, ss}", "class", words, "cause", words));
    json_object_set_new(
        cell, "race",
        json_pack("{ss, so, sf}", "state", words, "loss_frac", estimate(), "probability", 0.5));
    json_object_set_new(cell, "cache",
                        json_pack("{ss, ss, ss}", "asked", words, "metadata", words, "why", words));
    json_object_set_new(json_object_get(cell, "worker_stages"), words,
                        json_pack("{si, sf, sf}", "count", 3, "p50_ns", 1e3, "p99_ns", 1e4));
    json_object_set_new(cell, "python",
                        json_pack("{s[{ss, ss, si, sf}]}", "stages", "name", words, "part", "read",
                                  "count", 1, "sum_ns", 1e6));
    json_object_set_new(other, "status", json_string(words));
    json_object_set_new(other, "reason", json_string(words));
    json_object_set_new(doc, "best_cell", json_integer(0));
    json_object_set_new(doc, "recommended_cell", json_integer(0));
    json_object_set_new(doc, "recommendation_detail",
                        json_pack("{ss, sf}", "stopped", words, "blocks", 3.0));
    json_object_set_new(json_object_get(doc, "environment"), words,
                        json_pack("{s{s{ss}}}", words, words, words, words));
    return doc;
}

static void test_texts_of_a_sweep(void **state)
{
    (void)state;
    for (size_t shift = 0; shift < 3; shift++) {
        char words[400];
        long_words(shift, words);
        json_t *doc = sweep_with(words);
        assert_all_formats(doc);
        add_axes(doc, words);
        assert_all_formats(doc);
        json_decref(doc);
    }
}

/* Whatever the length, whole characters; bytes that are none are shown. */
static void test_plain(void **state)
{
    (void)state;
    for (size_t max = 0; max < 8; max++) {
        struct dlb_text text = {0};
        dlb_text_plain(&text, THREE_BYTES THREE_BYTES, max);
        assert_int_equal(text.len_bytes, max / 3 * 3 < 6 ? max / 3 * 3 : 6);
        assert_int_equal(dlb_text_width(THREE_BYTES THREE_BYTES, max), text.len_bytes);
        dlb_text_free(&text);
    }
    struct dlb_text text = {0};
    dlb_text_plain(&text, THREE_BYTES, SIZE_MAX);
    dlb_text_plain(&text, "\xe6 x", 1);
    assert_string_equal(text.data, THREE_BYTES "\\xe6");
    dlb_text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts_of_a_sweep),
                                       cmocka_unit_test(test_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ranks in the reports: a row for each, and the straggler. */
#include "core/base/json.h"
#include "tests/support/rendered.h"

/* A result of three ranks; `straggler`: the third one is. */
static json_t *ranked_doc(bool straggler)
{
    json_t *doc = summary_of("run"), *ranks = json_array();
    for (int i = 0; i < 3; i++)
        json_array_append_new(
            ranks, json_pack("{si, ss, ss, sf, sf, sf, sf, so}", "rank", i, "node",
                             i < 2 ? "nodea" : "node\033[31mb", "status", "ok", "samples_per_s",
                             1000.0 + i, "gpu_idle_frac", 0.125, "input_wait_frac", 0.0625,
                             "done_s", 3.25, "straggler",
                             straggler && i == 2 ? json_string("INPUT STRAGGLER") : json_null()));
    json_object_set_new(doc, "ranks", ranks);
    json_object_set_new(
        doc, "ranks_samples_per_s",
        json_pack("{sf, sf, sf}", "total", 3003.0, "worst", 1000.0, "median", 1001.0));
    json_object_set_new(doc, "first_done_s", json_real(3.25));
    json_object_set_new(doc, "last_done_s", json_real(3.5));
    json_object_set_new(doc, "barrier_us", json_pack("{sf, sf}", "p50", 150.0, "p99", 900.0));
    json_object_set_new(doc, "straggler",
                        straggler ? json_pack("{ss, si, ss, si, sf, sf, sf, sf}", "class",
                                              "INPUT STRAGGLER", "rank", 2, "node", "nodeb",
                                              "median_rank", 1, "cost_ms", 12.5, "score", 0.25,
                                              "part_ms", 30.0, "median_part_ms", 18.0)
                                  : json_null());
    return doc;
}

static void test_text_has_each_rank(void **state)
{
    json_t *doc = ranked_doc(true);
    (void)state;
    char *text = rendered(doc, "text", 0);
    static const char *const has[] = {"nodea",  "1,000",           "1,002",  "12.5", "3,003",
                                      "150 us", "INPUT STRAGGLER", "rank 2", "25%"};
    for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++)
        assert_has(text, has[i]);
    assert_null(strchr(text, '\033'));
    free(text);
    text = rendered(doc, "terminal", 60); /* what does not fit is left out, the ranks stay */
    assert_has(text, "1,002");
    free(text);
    json_decref(doc);
}

static void test_page_has_each_rank(void **state)
{
    json_t *doc = ranked_doc(true);
    (void)state;
    char *text = rendered(doc, "html", 0);
    assert_has(text, "2 on node");
    assert_has(text, "INPUT STRAGGLER");
    assert_null(strchr(text, '\033'));
    free(text);
    json_decref(doc);
}

static void test_one_rank_and_no_straggler(void **state)
{
    json_t *doc = ranked_doc(false);
    (void)state;
    char *text = rendered(doc, "text", 0);
    assert_has(text, "3,003");
    assert_null(strstr(text, "STRAGGLER"));
    free(text);
    json_array_remove(json_object_get(doc, "ranks"), 2);
    json_array_remove(json_object_get(doc, "ranks"), 1);
    text = rendered(doc, "text", 0);
    assert_null(strstr(text, "nodea"));
    free(text);
    json_decref(doc);
}

/* What a storage feeds is said of each rank, as the search has it. */
static void test_storage_feeds_each_rank(void **state)
{
    (void)state;
    static const char *const formats[][2] = {{"html", "each of 3 ranks"}, {"text", "each rank"}};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        json_t *doc = summary_of("storage"), *ranked = ranked_doc(false);
        char *text = rendered(doc, formats[i][0], 0);
        assert_null(strstr(text, formats[i][1]));
        free(text);
        json_object_set(doc, "ranks", json_object_get(ranked, "ranks"));
        text = rendered(doc, formats[i][0], 0);
        assert_has(text, formats[i][1]);
        free(text);
        json_decref(doc);
        json_decref(ranked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_feeds_each_rank),
        cmocka_unit_test(test_text_has_each_rank),
        cmocka_unit_test(test_page_has_each_rank),
        cmocka_unit_test(test_one_rank_and_no_straggler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

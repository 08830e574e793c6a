/* The in-memory ladder in the reports: of a real result, at every width. */
#include "reports/gap.h"
#include "tests/support/rendered.h"

static json_t *ladder(void)
{
    return summary_of("gap");
}

static void test_everything_is_there(void **state)
{
    (void)state;
    static const char *const words[] = {"floor",
                                        "torch-dataloader-workers",
                                        "an epoch",
                                        "of direct",
                                        "of floor",
                                        "kernel",
                                        "run queue",
                                        "blocked",
                                        "switches",
                                        "their cost",
                                        "copies/longest",
                                        "syncs/longest",
                                        "per-item indexing",
                                        ": 9.65x. ",
                                        "no GPU"};
    json_t *doc = ladder();
    for (int i = 0; i < 2; i++) {
        char *text = rendered(doc, i ? "text" : "terminal", 0);
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            assert_has(text, words[k]);
        assert_null(strstr(text, "Verdict:"));
        free(text);
    }
    json_decref(doc);
}

static void test_narrow_terminals(void **state)
{
    (void)state;
    json_t *doc = ladder();
    for (uint32_t width = 60; width <= 160; width += 20) {
        char *text = rendered(doc, "terminal", width);
        assert_in_range(longest_line(text), 1, width);
        assert_has(text, "of direct");
        assert_has(text, "blocked");
        if (width <= 80)
            assert_has(text, "summary.txt has");
        free(text);
    }
    json_decref(doc);
}

/* A step that is below the noise floor is no step. */
static void test_steps_below_the_noise(void **state)
{
    (void)state;
    json_t *doc = ladder();
    char *text = rendered(doc, "text", 0);
    assert_null(strstr(text, "(noise)"));
    free(text);
    json_object_set_new(doc, "noise_floor_frac", json_real(0.999));
    text = rendered(doc, "text", 0);
    assert_has(text, "(noise)");
    free(text);
    json_object_set_new(doc, "noise_floor_frac", json_real(1e-9));
    text = rendered(doc, "text", 0);
    assert_null(strstr(text, "(noise)"));
    free(text);
    json_decref(doc);
}

/* A rung without a time keeps its place, and says why once. */
static void test_what_was_not_measured(void **state)
{
    (void)state;
    json_t *doc = ladder(), *rung;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(doc, "gap"), "rungs"), i, rung) {
        if (i < 13)
            continue;
        json_t *seconds = json_object_get(rung, "seconds");
        json_object_set_new(rung, "status", json_string("not-measured"));
        json_object_set_new(rung, "reason", json_string("no-torch"));
        json_object_set_new(seconds, "median", json_null());
        json_object_set_new(seconds, "low", json_null());
        json_object_set_new(seconds, "high", json_null());
    }
    char *text = rendered(doc, "terminal", 100);
    assert_has(text, "not-measured");
    assert_has(text, "not-measured: torch-batch-sampler, torch-out-of-order: no-torch\n");
    assert_null(strstr(text, "nan"));
    free(text);
    json_decref(doc);
}

static void test_other_results_have_no_ladder(void **state)
{
    (void)state;
    json_t *doc = json_object();
    assert_false(dlb_gap_is(doc));
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_there),
        cmocka_unit_test(test_narrow_terminals),
        cmocka_unit_test(test_steps_below_the_noise),
        cmocka_unit_test(test_what_was_not_measured),
        cmocka_unit_test(test_other_results_have_no_ladder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

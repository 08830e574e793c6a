/* A watched training loop in the reports: alone, beside its replay, with parts missing, at every
 * width. */
#include "core/base/json.h"
#include "reports/watch.h"
#include "tests/support/rendered.h"

/* The live loop of the corpus did 5,871 samples/s; this one is `ratio` times as fast. */
static json_t *replay_of(const json_t *live, double ratio)
{
    json_t *doc = json_deep_copy(live), *watch = json_object_get(doc, "watch");
    static const char *const rates[] = {"samples_per_s", "steps_per_s"};
    json_object_set_new(watch, "mode", json_string("replay"));
    for (int i = 0; i < 2; i++)
        json_object_set_new(
            watch, rates[i],
            json_real(ratio * dlb_json_number(json_object_get(live, "watch"), rates[i])));
    return doc;
}

static char *pair(const json_t *a, const json_t *b, uint32_t width)
{
    const json_t *const docs[] = {a, b};
    struct dlb_text text = {0};
    dlb_watch_render(docs, 2, width, width ? width : 100, &text);
    return text.data;
}

static void test_figures_are_shown(void **state)
{
    (void)state;
    static const char *const words[] = {"5,871",   "183",     "59.5",       "3.1 ms", "6.9 ms",
                                        "epoch 0", "epoch 1", "first wait", "892 ns"};
    json_t *doc = summary_of("watch");
    assert_true(dlb_watch_is(doc));
    for (int i = 0; i < 2; i++) {
        char *text = rendered(doc, i ? "text" : "terminal", 0);
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            assert_has(text, words[k]);
        assert_null(strstr(text, "Verdict:"));
        assert_null(strstr(text, "(PARTIAL"));
        free(text);
    }
    json_object_set_new(doc, "partial", json_true());
    char *text = rendered(doc, "terminal", 0);
    assert_has(text, "(PARTIAL)");
    free(text);
    json_decref(doc);
}

/* In either order; by steps where samples are not known. */
static void test_headroom_is_replay_over_live(void **state)
{
    (void)state;
    json_t *live = summary_of("watch"), *replay = replay_of(live, 2.5);
    for (int i = 0; i < 2; i++) {
        char *text = i ? pair(replay, live, 0) : pair(live, replay, 0);
        assert_has(text, " 2.50 times ");
        free(text);
        json_object_set_new(json_object_get(live, "watch"), "samples_per_s", json_null());
    }
    char *text = pair(live, live, 0);
    assert_null(strstr(text, " times "));
    free(text);
    json_decref(replay);
    json_decref(live);
}

/* The time of epochs that ran at once is counted once: what they share is said. */
static void test_overlap_is_shown(void **state)
{
    (void)state;
    json_t *doc = summary_of("watch"), *watch = json_object_get(doc, "watch");
    json_t *epochs = json_object_get(watch, "epochs");
    double wall_ns = dlb_json_number(json_array_get(epochs, 0), "wall_ns") +
                     dlb_json_number(json_array_get(epochs, 1), "wall_ns");
    char *text = rendered(doc, "terminal", 0);
    assert_null(strstr(text, " 321 ms"));
    free(text);
    json_object_set_new(watch, "wall_ns", json_integer((json_int_t)(wall_ns - 321e6)));
    text = rendered(doc, "terminal", 0);
    assert_has(text, " 321 ms");
    free(text);
    json_decref(doc);
}

/* Without a rate it is said of how many steps there is none. */
static void test_too_few_steps(void **state)
{
    (void)state;
    static const char *const figures[] = {"wait_frac", "samples_per_s", "steps_per_s"};
    json_t *doc = summary_of("watch"), *watch = json_object_get(doc, "watch");
    char *text = rendered(doc, "terminal", 0);
    assert_null(strstr(text, " 360 steps"));
    free(text);
    for (int i = 0; i < 3; i++)
        json_object_set_new(watch, figures[i], json_null());
    text = rendered(doc, "terminal", 0);
    assert_has(text, " 360 steps");
    assert_null(strstr(text, "59.5"));
    free(text);
    json_decref(doc);
}

static void test_what_is_missing_is_a_dash(void **state)
{
    (void)state;
    json_t *doc = summary_of("watch"), *watch = json_object_get(doc, "watch");
    json_object_set_new(watch, "samples_per_s", json_null());
    json_object_set_new(watch, "wait_frac", json_null());
    json_object_set_new(watch, "cost_ns", json_null());
    json_object_set_new(watch, "waits", json_pack("{si}", "count", 0));
    char *text = rendered(doc, "terminal", 0);
    assert_has(text, "-         -  ");
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "59.5"));
    free(text);
    json_decref(doc);
}

static void test_narrow_terminals(void **state)
{
    (void)state;
    json_t *live = summary_of("watch"), *replay = replay_of(live, 2);
    for (uint32_t width = 60; width <= 160; width += 20) {
        char *text = rendered(live, "terminal", width), *two = pair(live, replay, width);
        assert_in_range(longest_line(text), 1, width);
        assert_in_range(longest_line(two), 1, width);
        assert_has(text, "waits %");
        assert_has(two, "samples/s");
        free(two);
        free(text);
    }
    json_decref(replay);
    json_decref(live);
}

static void test_many_epochs_are_cut(void **state)
{
    (void)state;
    json_t *doc = summary_of("watch"),
           *epochs = json_object_get(json_object_get(doc, "watch"), "epochs");
    for (int i = 2; i < 25; i++) {
        json_t *epoch = json_deep_copy(json_array_get(epochs, 0));
        json_object_set_new(epoch, "number", json_integer(i));
        json_array_append_new(epochs, epoch);
    }
    char *text = rendered(doc, "terminal", 0);
    assert_has(text, "epoch 19 ");
    assert_null(strstr(text, "epoch 20 "));
    assert_has(text, "(5 ");
    free(text);
    json_decref(doc);
}

static void test_hostile_pairs(void **state)
{
    (void)state;
    json_t *doc = summary_of("watch_hostile");
    char *text = pair(doc, doc, 100);
    for (const char *at = text; *at; at++)
        assert_true((unsigned char)*at >= ' ' || *at == '\n');
    free(text);
    json_decref(doc);
}

/* Its own schema holds: a field of the other one is refused, and so is one that is missing. */
static void test_the_schema_is_its_own(void **state)
{
    (void)state;
    struct dlb_err err = {.code = DLB_N_CODES};
    json_t *doc = summary_of("watch");
    assert_int_equal(dlb_summary_check(doc, "x", &err), DLB_OK);
    json_object_set_new(json_object_get(doc, "watch"), "steps", json_string("many"));
    assert_int_equal(dlb_summary_check(doc, "x", &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SUMMARY_FIELD_BAD);
    json_object_del(doc, "watch");
    assert_int_equal(dlb_summary_check(doc, "x", &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SUMMARY_FIELD_MISSING);
    json_decref(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures_are_shown),
        cmocka_unit_test(test_headroom_is_replay_over_live),
        cmocka_unit_test(test_overlap_is_shown),
        cmocka_unit_test(test_too_few_steps),
        cmocka_unit_test(test_what_is_missing_is_a_dash),
        cmocka_unit_test(test_narrow_terminals),
        cmocka_unit_test(test_many_epochs_are_cut),
        cmocka_unit_test(test_hostile_pairs),
        cmocka_unit_test(test_the_schema_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The line of a report that says what the accelerator needs, and what the loader gives. */
#include "reports/ranked.h"
#include "tests/support/rendered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What the accelerator needs is what its step time allows, whatever was delivered. */
static void test_demand_and_supply(void **state)
{
    (void)state;
    json_t *doc = summary_of("sweep");
    json_t *cell = json_array_get(json_object_get(doc, "cells"), 4);
    json_object_set_new(doc, "recommended_cell", json_integer(4));
    json_object_set_new(json_object_get(doc, "device"), "step_source", json_string("a list"));
    json_object_set_new(json_object_get(cell, "config"), "device.step_ms", json_real(20));
    json_object_set_new(json_object_get(cell, dlb_ranked_rate(doc)), "median", json_real(3000));
    json_object_set_new(cell, "accelerators",
                        json_pack("{si, s[{si, si, sI}]}", "count", 2, "each", "steps", 10,
                                  "samples", 640, "window_ns", (json_int_t)250000000));
    char *text = rendered(doc, "terminal", 160);
    assert_has(text, "6,400 samples/s (2 x 64 / 20 ms; a list)");
    assert_has(text, " 4 gives 3,000: 46.9% ");
    free(text);
    json_object_set_new(json_object_get(cell, "config"), "device.step_ms", json_real(20000));
    json_object_set_new(cell, "accelerators",
                        json_pack("{si, s[{si, sI, sI}]}", "count", 1, "each", "steps", 20,
                                  "samples", (json_int_t)(20 * 16384), "window_ns",
                                  (json_int_t)400000000000));
    text = rendered(doc, "text", 0);
    assert_has(text, "(16,384 / 20,000 ms; a list)");
    assert_null(strstr(text, "e+0"));
    free(text);
    json_object_set_new(cell, "accelerators", json_pack("{si, sn}", "count", 32, "each"));
    json_object_set_new(json_object_get(cell, "config"), "device.step_ms", json_real(20));
    text = rendered(doc, "text", 0); /* too many to tell of each: by batch_size */
    assert_has(text, "102,400 samples/s (32 x 64 / 20 ms; a list)");
    free(text);
    json_object_set_new(json_object_get(cell, "config"), "device.step_ms", json_real(0));
    text = rendered(doc, "terminal", 160);
    assert_null(strstr(text, "Needs "));
    free(text);
    json_decref(doc);
}

/* Only the rate of the whole window is its batches over its time. */
static void test_the_rate_says_what_it_is_of(void **state)
{
    static const char *const rates[][2] = {{"samples_per_s", "over"},
                                           {"within_epoch_samples_per_s", "borders"},
                                           {"epoch_samples_per_s", "projected"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
        json_t *doc = summary_of("run"), *cell = json_array_get(json_object_get(doc, "cells"), 0);
        json_object_set_new(doc, "ranked_by", json_string(rates[i][0]));
        json_object_set_new(cell, rates[i][0], json_pack("{sf}", "median", 3000.0));
        json_object_set_new(cell, "accelerators",
                            json_pack("{si, s[{si, si, sI}]}", "count", 1, "each", "steps", 10,
                                      "samples", 640, "window_ns", (json_int_t)250000000));
        char *text = rendered(doc, "terminal", 400);
        const char *demand = strstr(text, "Needs ");
        assert_non_null(demand);
        for (size_t k = 0; k < sizeof(rates) / sizeof(*rates); k++)
            assert_int_equal(strstr(demand, rates[k][1]) != NULL, k == i);
        free(text);
        json_decref(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demand_and_supply),
        cmocka_unit_test(test_the_rate_says_what_it_is_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

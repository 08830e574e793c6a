/* A configuration that gets what another one was told is the same. */
#include "core/base/config.h"
#include "scenarios/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct dlb_config *told(const char *const *assignments)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_err err;
    for (; *assignments; assignments++)
        assert_int_equal(dlb_config_set(cfg, *assignments, &err), DLB_OK);
    return cfg;
}

static void test_what_was_said_is_restored(void **state)
{
    static const char *const set[] = {"loader.num_workers=3", "run.seed=7",
                                      "sweep.loader.batch_size=[4, 8]", NULL};
    struct dlb_config *a = told(set), *b = told(&set[3]);
    struct dlb_err err;
    (void)state;
    assert_false(dlb_config_is_set(b));
    json_t *said = dlb_config_said(a);
    assert_int_equal(json_array_size(said), 3);
    assert_int_equal(dlb_config_restore(b, said, &err), DLB_OK);
    assert_true(dlb_config_is_set(b));
    json_t *again = dlb_config_said(b);
    json_t *resolved[] = {dlb_config_resolved(a), dlb_config_resolved(b)};
    assert_true(json_equal(said, again));
    assert_true(json_equal(resolved[0], resolved[1]));
    assert_true(json_equal((json_t *)dlb_config_axes(a), (json_t *)dlb_config_axes(b)));
    assert_string_equal(dlb_config_origin(b, "run.seed"), dlb_config_origin(a, "run.seed"));
    json_decref(resolved[0]);
    json_decref(resolved[1]);
    json_decref(again);
    json_decref(said);
    dlb_config_free(a);
    dlb_config_free(b);
}

static void test_unknown_keys_are_refused(void **state)
{
    static const char *const nothing[] = {NULL};
    struct dlb_config *cfg = told(nothing);
    struct dlb_err err;
    json_t *said =
        json_loads("[{\"key\": \"loader.none\", \"value\": 1, \"origin\": \"x\"}]", 0, NULL);
    (void)state;
    assert_int_equal(dlb_config_restore(cfg, said, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_CONFIG_UNKNOWN_KEY);
    json_decref(said);
    dlb_config_free(cfg);
}

/* On the command line, as in a file. */
static void test_fractions_are_decimal(void **state)
{
    static const struct {
        const char *set;
        int code; /* enum dlb_code; -1: it is one */
    } rows[] = {{"device.step_ms=0x10", DLB_ERR_CONFIG_WRONG_TYPE},
                {"device.step_ms=1e-400", DLB_ERR_CONFIG_OUT_OF_RANGE},
                {"device.step_ms=1e-300", -1},
                {"device.step_ms=0e-400", -1}};
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_err err;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = dlb_config_set(cfg, rows[i].set, &err);
        assert_int_equal(rc, rows[i].code < 0 ? DLB_OK : DLB_E_CONFIG);
        assert_true(rows[i].code < 0 || (int)err.code == rows[i].code);
    }
    dlb_config_free(cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_said_is_restored),
        cmocka_unit_test(test_unknown_keys_are_refused),
        cmocka_unit_test(test_fractions_are_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

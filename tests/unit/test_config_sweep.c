/* A section "sweep" with options of its own, beside the lists of a sweep. */
#include "core/base/config.h"
#include "core/base/json.h"
#include "scenarios/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct dlb_err err;

static void refused(struct dlb_config *cfg, const char *setting, enum dlb_code code,
                    const char *named)
{
    if (dlb_config_set(cfg, setting, &err) == DLB_OK || err.code != code ||
        !strstr(err.what, named))
        fail_msg("%s: %s", setting, err.what);
}

static void test_options_beside_axes(void **state)
{
    (void)state;
    const char text[] =
        "[sweep]\nmax_minutes = 2.5\nloader.num_workers = [1, 2]\nexhaustive = true";
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_spec spec;
    assert_int_equal(dlb_config_load_text(cfg, text, strlen(text), "a.toml", &err), DLB_OK);
    assert_int_equal(dlb_config_set(cfg, "sweep.tolerance=0.05", &err), DLB_OK);
    assert_int_equal(json_object_size(dlb_config_axes(cfg)), 1);
    assert_string_equal(dlb_config_origin(cfg, "sweep.max_minutes"), "a.toml:2");
    assert_int_equal(dlb_spec_from_config(&spec, cfg, &err), DLB_OK);
    assert_true(spec.sweep.exhaustive);
    assert_true(spec.sweep.max_minutes == 2.5);
    assert_true(spec.sweep.tolerance == 0.05);
    dlb_config_free(cfg);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_spec spec;
    refused(cfg, "sweep.max_minutes=[1, 2]", DLB_ERR_CONFIG_WRONG_TYPE, "sweep.max_minutes");
    refused(cfg, "sweep.max_minuets=1", DLB_ERR_CONFIG_UNKNOWN_KEY, "\"sweep.max_minutes\"");
    refused(cfg, "sweep.tolerence=1", DLB_ERR_CONFIG_UNKNOWN_KEY, "\"sweep.tolerance\"");
    refused(cfg, "sweep.num_workers=[1]", DLB_ERR_CONFIG_UNKNOWN_KEY,
            "\"sweep.loader.num_workers\"");
    refused(cfg, "sweep.loader.num_wokers=[1]", DLB_ERR_CONFIG_UNKNOWN_KEY,
            "\"sweep.loader.num_workers\"");
    refused(cfg, "loader.tolerance=1", DLB_ERR_CONFIG_UNKNOWN_KEY, "\"sweep.tolerance\"");
    refused(cfg, "sweep=1", DLB_ERR_CONFIG_UNKNOWN_KEY, "sweep.max_minutes");
    assert_int_equal(json_object_size(dlb_config_axes(cfg)), 0);
    static const char *const outside[] = {"sweep.tolerance=0", "sweep.tolerance=1"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(dlb_config_set(cfg, outside[i], &err), DLB_OK);
        assert_int_equal(dlb_spec_from_config(&spec, cfg, &err), DLB_E_CONFIG);
        assert_int_equal(err.code, DLB_ERR_CONFIG_OUT_OF_RANGE);
    }
    dlb_config_free(cfg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_beside_axes),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

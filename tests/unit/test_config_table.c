/* Options that are tables: what files, --set and JSON put into them, lists over one of their names,
 * and specifications that carry them between processes. */
#include "core/base/config.h"
#include "core/base/json.h"
#include "scenarios/spec/axes.h"
#include "scenarios/spec/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct dlb_err err;

static struct dlb_config *loaded(const char *text)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    if (dlb_config_load_text(cfg, text, strlen(text), "a.toml", &err))
        fail_msg("%s", err.what);
    return cfg;
}

static void set(struct dlb_config *cfg, const char *assignment)
{
    if (dlb_config_set(cfg, assignment, &err))
        fail_msg("%s: %s", assignment, err.what);
}

static void holds(const struct dlb_config *cfg, const char *wanted)
{
    struct dlb_spec *spec = calloc(1, sizeof(*spec)), *again = calloc(1, sizeof(*spec));
    assert_true(spec && again);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    assert_string_equal(spec->python.args, wanted);
    json_t *flat = dlb_spec_to_json(spec, false);
    assert_int_equal(dlb_spec_from_json(again, flat, "spec.json", &err), DLB_OK);
    assert_true(dlb_spec_equal(spec, again));
    json_decref(flat);
    free(spec);
    free(again);
}

#define TORCH "loader.kind = \"torch\"\n"

static void every_spelling_has_its_type(void **state)
{
    struct dlb_config *cfg =
        loaded(TORCH "[python.args]\nb = 2\na = \"2\"\nc = 2.0\nd = [true, 1]\n");
    (void)state;
    holds(cfg, "{\"a\":\"2\",\"b\":2,\"c\":2.0,\"d\":[true,1]}");
    assert_string_equal(dlb_config_origin(cfg, "python.args.c"), "a.toml:5");
    set(cfg, "python.args.d=False");
    set(cfg, "python.args.a = [1e1, -3, \"a,b\", x y, '7',]");
    set(cfg, "python.args.b=1-2");
    set(cfg, "python.args.c=[]");
    holds(cfg, "{\"a\":[10.0,-3,\"a,b\",\"x y\",\"7\"],\"b\":\"1-2\",\"c\":[],\"d\":false}");
    set(cfg, "python.args.a=");
    set(cfg, "python.args.b=\"[1]\"");
    set(cfg, "python.args.c=.5");
    set(cfg, "python.args.d=inf");
    holds(cfg, "{\"a\":\"\",\"b\":\"[1]\",\"c\":0.5,\"d\":\"inf\"}");
    dlb_config_free(cfg);
    cfg = loaded(TORCH "python = {args = {x = 1}}\n");
    holds(cfg, "{\"x\":1}");
    dlb_config_free(cfg);
    cfg = loaded(TORCH "[python.args]\n");
    holds(cfg, "{}");
    dlb_config_free(cfg);
}

static void hashes_differ(void **state)
{
    struct dlb_config *one = loaded(TORCH "python.args.x = 1\n");
    struct dlb_config *other = loaded(TORCH "python.args.x = \"1\"\n");
    char a[17], b[17];
    (void)state;
    dlb_config_hash(one, a);
    dlb_config_hash(other, b);
    assert_string_not_equal(a, b);
    dlb_config_free(one);
    dlb_config_free(other);
}

/* A list over a name changes that name alone. */
static void lists_vary_one_name(void **state)
{
    struct dlb_config *cfg = loaded(TORCH "python.args.x = 1\nsweep.python.args.y = [1, \"b\"]\n");
    struct dlb_spec *spec = calloc(1, sizeof(*spec)), *other = calloc(1, sizeof(*spec));
    struct dlb_axes axes;
    (void)state;
    assert_true(spec && other);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    dlb_axes_from_json(&axes, dlb_config_axes(cfg));
    const struct dlb_axis *axis = &axes.axis[0];
    assert_int_equal(axes.n, 1);
    assert_string_equal(axis->key, "python.args.y");
    assert_string_equal(dlb_axis_name(axis), "y");
    *other = *spec;
    json_t *none = dlb_axis_load(axis, spec);
    assert_true(json_is_null(none));
    json_decref(none);
    assert_true(dlb_axis_equal(axis, spec, other));
    dlb_axis_store(axis, json_array_get(axis->values, 1), other);
    assert_string_equal(other->python.args, "{\"x\":1,\"y\":\"b\"}");
    assert_false(dlb_axis_equal(axis, spec, other));
    assert_true(dlb_axis_is_other_work(axis, spec));
    set(cfg, "python.args.y=3"); /* pins what the file swept */
    assert_int_equal(json_object_size(dlb_config_axes(cfg)), 0);
    dlb_axes_free(&axes);
    dlb_config_free(cfg);
    free(spec);
    free(other);
}

static void refused(struct dlb_config *cfg, const char *assignment, enum dlb_code code)
{
    if (dlb_config_set(cfg, assignment, &err) == DLB_OK || err.code != code)
        fail_msg("%s: %s: %s", assignment, dlb_code_name(err.code), err.what);
}

static void bad_names_and_values_are_refused(void **state)
{
    struct dlb_config *cfg = loaded(TORCH "python.args.x = 1\n");
    json_t *value = json_pack("{si}", "y", 1), *list = json_pack("[[i]]", 1);
    char *large = malloc(DLB_OPT_TABLE_CAP + 100);
    (void)state;
    assert_true(value && list && large);
    refused(cfg, "python.args=1", DLB_ERR_CONFIG_UNKNOWN_KEY);
    refused(cfg, "python.args.=1", DLB_ERR_CONFIG_UNKNOWN_KEY);
    refused(cfg, "python.args.a.b=1", DLB_ERR_CONFIG_UNKNOWN_KEY);
    refused(cfg, "python.args.1a=1", DLB_ERR_CONFIG_UNKNOWN_KEY);
    refused(cfg, "python.args.a-b=1", DLB_ERR_CONFIG_UNKNOWN_KEY);
    refused(cfg, "python.args.a234567890123456789012345678901234567890123456789=1",
            DLB_ERR_CONFIG_UNKNOWN_KEY);
    refused(cfg, "sweep.python.args=[1]", DLB_ERR_CONFIG_UNKNOWN_KEY);
    refused(cfg, "sweep.python.args.a=1", DLB_ERR_CONFIG_BAD_AXIS);
    refused(cfg, "sweep.python.args.a=[1, 1]", DLB_ERR_CONFIG_BAD_AXIS);
    refused(cfg, "python.args.a=[1", DLB_ERR_CONFIG_WRONG_TYPE);
    refused(cfg, "python.args.a=[[1]]", DLB_ERR_CONFIG_WRONG_TYPE);
    refused(cfg, "python.args.a=99999999999999999999", DLB_ERR_CONFIG_OUT_OF_RANGE);
    refused(cfg, "python.args.a=1e999", DLB_ERR_CONFIG_OUT_OF_RANGE);
    refused(cfg, "python.args.a=\xff", DLB_ERR_CONFIG_BAD_TEXT);
    (void)snprintf(large, DLB_OPT_TABLE_CAP + 100, "python.args.a=%0*d", DLB_OPT_TABLE_CAP - 14, 0);
    memset(large + strlen("python.args.a="), 'x', DLB_OPT_TABLE_CAP - 14);
    refused(cfg, large, DLB_ERR_CONFIG_BAD_TEXT); /* a byte too many */
    large[strlen(large) - 1] = '\0';
    set(cfg, large);
    assert_int_equal(dlb_config_set_json(cfg, "python.args.b", value, "j", &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_CONFIG_WRONG_TYPE);
    assert_int_equal(dlb_config_set_json(cfg, "python.args.b", list, "j", &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_CONFIG_WRONG_TYPE);
    assert_int_equal(dlb_config_set_json(cfg, "python.args", value, "j", &err), DLB_E_CONFIG);
    json_decref(value);
    json_decref(list);
    free(large);
    dlb_config_free(cfg);
}

/* A number that no double holds, in a file and on a command line: what it is, where, and that
 * quotes make it text. The largest double is one. */
static void too_large_numbers_are_named(void **state)
{
    static const struct {
        const char *toml, *set, *number;
    } large[] = {
        {"python.args.x = 12e5678\n", "python.args.x=12e5678", "x = 12e5678 "},
        {"python.args.x = [1.0,\n  -1_2e5678, 2]\n", NULL, "x = -1_2e5678 "},
        {NULL, "python.args.x=[1, -12e5678]", "x = -12e5678 "},
        {"sweep.python.args.x = [1, 1.8e308]\n", "sweep.python.args.x=[1, 1.8e308]",
         "x = 1.8e308 "},
        {"device.step_ms = 12e5678\n", NULL, "device.step_ms = 12e5678 "},
        {"python.args.x = -inf\n", NULL, "x = -inf "},
    };
    struct dlb_config *cfg = loaded(TORCH);
    (void)state;
    for (size_t i = 0; i < sizeof(large) / sizeof(*large); i++)
        for (int file = 0; file < 2; file++) {
            const char *said = file ? large[i].toml : large[i].set;
            if (!said)
                continue;
            int rc = file ? dlb_config_load_text(cfg, said, strlen(said), "a.toml", &err)
                          : dlb_config_set(cfg, said, &err);
            if (rc == DLB_OK || err.code != DLB_ERR_CONFIG_OUT_OF_RANGE)
                fail_msg("%s: %s: %s", said, dlb_code_name(err.code), err.what);
            assert_string_equal(err.path, file ? "a.toml:1" : "--set");
            assert_non_null(strstr(err.what, large[i].number));
            assert_non_null(strstr(err.what, "quotes"));
        }
    dlb_config_free(cfg);
    cfg =
        loaded(TORCH "[python.args]\nx = \"12e5678\"\ny = 1.7976931348623157e+308\nz = 1e-5678\n");
    holds(cfg, "{\"x\":\"12e5678\",\"y\":1.7976931348623157e308,\"z\":0.0}");
    set(cfg, "python.args.x=[\"12e5678\"]");
    set(cfg, "python.args.y=-1.7976931348623157e+308");
    holds(cfg, "{\"x\":[\"12e5678\"],\"y\":-1.7976931348623157e308,\"z\":0.0}");
    dlb_config_free(cfg);
}

/* C's text would end there, and the rest would count for nothing. */
static void zero_bytes_are_not_cut(void **state)
{
    static const char *const texts[] = {
        "dataset.format = \"synthetic\\u0000x\"\n",    "[dataset]\n\"path\\u0000x\" = \"data\"\n",
        "sweep.loader.order = [\"any\\u0000x\"]\n",    "dataset.path = \"a\\u0000b\"\n",
        "generate.sample_bytes = \"4 KiB\\u0000x\"\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
        int rc = dlb_config_load_text(cfg, texts[i], strlen(texts[i]), "a.toml", &err);
        if (rc == DLB_OK || err.code != DLB_ERR_CONFIG_BAD_TEXT)
            fail_msg("%s: %s", texts[i], rc == DLB_OK ? "taken" : dlb_code_name(err.code));
        dlb_config_free(cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_has_its_type),
        cmocka_unit_test(hashes_differ),
        cmocka_unit_test(lists_vary_one_name),
        cmocka_unit_test(bad_names_and_values_are_refused),
        cmocka_unit_test(too_large_numbers_are_named),
        cmocka_unit_test(zero_bytes_are_not_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "core/base/json.h"
#include "scenarios/spec/own_code.h"
#include "scenarios/spec/spec.h"
#include "tests/support/planned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_groups_have_every_section_once(void **state)
{
    (void)state;
    static const char *const sections[] = {"dataset", "generate", "transform",        "loader",
                                           "python",  "device",   "accelerators",     "run",
                                           "sweep",   "workload", "workload.step_ms", "storage"};
    const struct dlb_opt_group *const *groups = dlb_spec_groups();
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        assert_string_equal(groups[i]->section, sections[i]);
    for (size_t i = 0; groups[i]; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(groups[i]->section, groups[k]->section);
    assert_ptr_equal(groups, dlb_spec_groups());
}

static void test_fills_every_section(void **state)
{
    (void)state;
    struct dlb_err err;
    const char *const settings[] = {"dataset.format=synthetic",
                                    "dataset.codec=raw",
                                    "loader.batch_size=17",
                                    "loader.num_workers=3",
                                    "device.step_ms=2.5",
                                    "run.epochs=4",
                                    "run.seed=99",
                                    "generate.samples=12",
                                    "transform.size=100",
                                    NULL};
    struct dlb_config *cfg = config_of(settings);
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    assert_string_equal(dlb_formats[spec->dataset.format]->name, "synthetic");
    assert_int_equal(spec->loader.batch_size, 17);
    assert_int_equal(spec->loader.num_workers, 3);
    assert_true(spec->device.step_ms == 2.5);
    assert_int_equal(spec->run.epochs, 4);
    assert_int_equal(spec->run.seed, 99);
    assert_int_equal(spec->generate.samples, 12);
    assert_int_equal(spec->transform.size, 100);
    free(spec);
    dlb_config_free(cfg);
}

static void test_rank_needs_a_larger_world(void **state)
{
    (void)state;
    struct dlb_err err;
    const char *const settings[] = {"run.rank=2", "run.world=2", NULL};
    struct dlb_config *cfg = config_of(settings);
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_RANK_OUTSIDE_WORLD);
    assert_non_null(strstr(err.what, "run.world"));
    free(spec);
    dlb_config_free(cfg);
}

static void test_many_accelerators_need_pinned_memory(void **state)
{
    (void)state;
    struct dlb_err err;
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    assert_int_equal(dlb_config_set(cfg, "accelerators.count=2", &err), DLB_OK);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_ACCELERATORS_NEED_PINNING);
    assert_non_null(strstr(err.what, "loader.pin_memory"));
    assert_int_equal(dlb_config_set(cfg, "loader.pin_memory=true", &err), DLB_OK);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    assert_int_equal(dlb_accelerators_loaders(&spec->accelerators), 2);
    assert_int_equal(dlb_config_set(cfg, "accelerators.shared_workers=true", &err), DLB_OK);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    assert_int_equal(dlb_accelerators_loaders(&spec->accelerators), 1);
    dlb_config_free(cfg);
    free(spec);
}

/* What a cell's process is given is what was planned: spec to JSON and back, a format's own section
 * and reals included. */
static void test_json_round_trip(void **state)
{
    (void)state;
    struct dlb_err err;
    const char *const settings[] = {
        "loader.batch_size=8",  "loader.pin_memory=true",   "loader.num_workers=2",
        "dataset.path=/data/x", "dataset.format=tokens",    "tokens.seq_len=77",
        "device.step_ms=0.1",   "run.cache=cold",           "accelerators.count=3",
        "workload.name=mine",   "storage.allow_small=true", NULL};
    struct dlb_config *cfg = config_of(settings);
    struct dlb_spec *spec = calloc(1, sizeof(*spec)), *again = calloc(1, sizeof(*spec));
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    json_t *flat = dlb_spec_to_json(spec, false);
    assert_int_equal(json_integer_value(json_object_get(flat, "tokens.seq_len")), 77);
    assert_int_equal(dlb_spec_from_json(again, flat, "test", &err), DLB_OK);
    assert_true(dlb_spec_equal(spec, again));
    json_t *back = dlb_spec_to_json(again, false);
    assert_true(json_equal(flat, back));
    again->loader.batch_size++;
    assert_false(dlb_spec_equal(spec, again));
    json_decref(flat);
    json_decref(back);
    free(spec);
    free(again);
    dlb_config_free(cfg);
}

static void test_null_means_default(void **state)
{
    (void)state;
    struct dlb_err err;
    json_t *flat =
        json_pack("{sn, sI}", "loader.prefetch_factor", "loader.num_workers", (json_int_t)0);
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    assert_int_equal(dlb_spec_from_json(spec, flat, "test", &err), DLB_OK);
    assert_int_equal(spec->loader.prefetch_factor, 2);
    json_decref(flat);
    free(spec);
}

static void test_json_is_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"loader.num_workers\": -5}",
                                      "{\"loader.num_workers\": \"many\"}",
                                      "{\"loader.no_such_key\": 1}", "{\"run.rank\": 1}"};
    struct dlb_err err;
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *flat = json_loads(bad[i], 0, NULL);
        assert_int_equal(dlb_spec_from_json(spec, flat, "test", &err), DLB_E_CONFIG);
        json_decref(flat);
    }
    free(spec);
}

static void test_json_reading_never_invents(void **state)
{
    (void)state;
    json_t *doc = json_pack("{ss, sI, sn}", "text", "x", "minus", (json_int_t)-1, "null");
    assert_true(dlb_json_number(doc, "text") != dlb_json_number(doc, "text")); /* NaN */
    assert_true(dlb_json_number(doc, "absent") != dlb_json_number(doc, "absent"));
    assert_int_equal(dlb_json_u64(doc, "minus", 7), 7);
    assert_int_equal(dlb_json_u64(NULL, "minus", 7), 7);
    assert_string_equal(dlb_json_text(doc, "null"), "");
    json_t *null = dlb_json_real_or_null(dlb_json_number(doc, "null"));
    assert_true(json_is_null(null));
    json_t *name = dlb_json_safe_text("caf\xe9.jpg"); /* Latin-1: no UTF-8 */
    assert_string_equal(json_string_value(name), "caf\\xe9.jpg");
    json_decref(name);
    json_decref(doc);
}

/* PyTorch's batches stay in its process: of devices they have the emulated one. */
static void test_torch_is_given_the_emulated_device(void **state)
{
    (void)state;
    for (int kind = 0; kind == 0 || dlb_devices[kind - 1]; kind++) {
        struct dlb_spec *spec = calloc(1, sizeof(*spec));
        bool fits = kind > 0 && dlb_devices[kind - 1]->emulated;
        spec->device.kind = kind;
        dlb_spec_make_torch(spec);
        assert_true(dlb_spec_is_torch(spec));
        assert_int_equal(spec->device.kind, kind == 0 || fits ? kind : dlb_device_emulated());
        free(spec);
    }
}

static void test_own_code_without_a_path_is_all_the_data(void **state)
{
    (void)state;
    static const struct {
        const char *settings[5];
        const char *format, *kind; /* NULL: not set */
    } rows[] = {
        {{"python.dataset=a.py:make"}, "python", "torch"},
        {{"python.loader=a.py:make"}, "python", "torch"},
        {{"sweep.python.loader=[\"\", \"a.py:make\"]"}, "python", "torch"},
        {{"python.dataset=a.py:make", "dataset.format=python"}, "python", "torch"},
        {{"python.dataset=a.py:make", "loader.kind=threads"}, "python", "threads"},
        {{"python.dataset=a.py:make", "dataset.format=files"}, "files", "torch"},
        {{"python.dataset=a.py:make", "dataset.path=/data"}, NULL, NULL},
        {{"python.dataset=a.py:make", "sweep.dataset.path=[\"/a\", \"/b\"]"}, NULL, NULL},
        {{"python.dataset=a.py:make", "sweep.loader.kind=[\"torch\", \"threads\"]"},
         "python",
         NULL},
        {{"python.dataset=a.py:make", "python.dataset="}, NULL, NULL},
        {{"python.dataset=a.py:make", "dataset.path="}, "python", "torch"},
        {{"loader.kind=torch"}, NULL, "torch"},
        {{"python.interpreter=python3"}, NULL, NULL},
    };
    struct dlb_err err;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dlb_config *cfg = config_of(rows[i].settings);
        assert_int_equal(dlb_own_code_apply(cfg, &err), DLB_OK);
        assert_int_equal(dlb_own_code_apply(cfg, &err), DLB_OK); /* once more changes nothing */
        json_t *all = dlb_config_resolved(cfg);
        assert_int_equal(dlb_config_has(cfg, "dataset.format"), rows[i].format != NULL);
        assert_int_equal(dlb_config_has(cfg, "loader.kind"), rows[i].kind != NULL);
        if (rows[i].format)
            assert_string_equal(json_string_value(json_object_get(all, "dataset.format")),
                                rows[i].format);
        if (rows[i].kind)
            assert_string_equal(json_string_value(json_object_get(all, "loader.kind")),
                                rows[i].kind);
        json_decref(all);
        dlb_config_free(cfg);
    }
}

/* What the interpreter, or the device, would refuse later is refused before anything runs; where a
 * list may have other values, each cell is judged by itself. */
static void test_what_no_cell_can_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *settings[5];
        enum dlb_code code;
    } rows[] = {
        {{"loader.kind=torch", "python.args.n=4"}, DLB_ERR_PYTHON_ARGS},
        {{"loader.kind=torch", "python.args.n=4", "python.dataset=a.py:make"}, DLB_N_CODES},
        {{"python.args.n=4"}, DLB_N_CODES},
        {{"loader.kind=torch", "device.kind=cuda"}, DLB_ERR_PYTHON_NO_GPU},
        {{"python.dataset=a.py:make", "device.kind=cuda"}, DLB_ERR_PYTHON_NO_GPU},
        {{"loader.kind=torch", "device.kind=emulated"}, DLB_N_CODES},
        {{"loader.kind=threads", "device.kind=cuda"}, DLB_N_CODES},
        {{"loader.kind=torch", "device.kind=cuda", "sweep.loader.kind=[\"torch\", \"threads\"]"},
         DLB_N_CODES},
        {{"loader.kind=torch", "device.kind=cuda", "sweep.device.kind=[\"emulated\"]"},
         DLB_N_CODES},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct dlb_err err;
        struct dlb_config *cfg = config_of(rows[i].settings);
        int rc = dlb_own_code_apply(cfg, &err);
        assert_int_equal(rc == DLB_OK, rows[i].code == DLB_N_CODES);
        if (rc != DLB_OK)
            assert_int_equal(err.code, rows[i].code);
        dlb_config_free(cfg);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_have_every_section_once),
        cmocka_unit_test(test_fills_every_section),
        cmocka_unit_test(test_rank_needs_a_larger_world),
        cmocka_unit_test(test_many_accelerators_need_pinned_memory),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_null_means_default),
        cmocka_unit_test(test_json_is_checked),
        cmocka_unit_test(test_json_reading_never_invents),
        cmocka_unit_test(test_torch_is_given_the_emulated_device),
        cmocka_unit_test(test_own_code_without_a_path_is_all_the_data),
        cmocka_unit_test(test_what_no_cell_can_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

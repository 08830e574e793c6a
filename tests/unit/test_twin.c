/* The null-source twin of a cell: what stays, what goes, and what it says of the harness. */
#include "core/measure/verdict.h"
#include "scenarios/cell/cell.h"
#include "scenarios/plan/twin.h"
#include "scenarios/spec/flat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

static json_t *config_of(const char *const *settings)
{
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err))
            fail_msg("%s: %s", *settings, err.what);
    json_t *flat = dlb_config_resolved(cfg);
    dlb_config_free(cfg);
    assert_non_null(flat);
    return flat;
}

static const char *const settings[] = {"dataset.format=files",
                                       "dataset.codec=jpeg",
                                       "dataset.path=/no/such/place",
                                       "loader.batch_size=16",
                                       "loader.num_workers=3",
                                       "loader.prefetch_factor=4",
                                       "loader.pin_memory=true",
                                       "loader.io=io_uring",
                                       "loader.shuffle=true",
                                       "loader.sample_sleep_us=90",
                                       "device.step_ms=8",
                                       "device.prefetch=2",
                                       "device.copy_us=30",
                                       "accelerators.count=5",
                                       "accelerators.barrier=true",
                                       "run.epochs=7",
                                       "run.rank=1",
                                       "run.world=4",
                                       "run.checksum=true",
                                       "device.step_dist=normal",
                                       "device.step_stdev_ms=1",
                                       NULL};

static struct dlb_spec *twin_of(const json_t *config, uint64_t sample_bytes, enum dlb_twin what)
{
    struct dlb_err err;
    json_t *twin = NULL;
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    if (dlb_twin_config(config, sample_bytes, what, &twin, &err) ||
        dlb_flat_spec(twin, "twin", spec, &err))
        fail_msg("%s", err.what);
    json_decref(twin);
    return spec;
}

static void keeps_all_but_the_data(void **state)
{
    (void)state;
    json_t *config = config_of(settings);
    for (int what = DLB_TWIN_STEPS; what <= DLB_TWIN_FREE; what++) {
        struct dlb_spec *spec = twin_of(config, 1234, (enum dlb_twin)what);
        assert_string_equal(dlb_formats[spec->dataset.format]->name, "synthetic");
        assert_string_equal(spec->dataset.path, "");
        assert_int_equal(spec->generate.sample_bytes, 1234);
        assert_int_equal(spec->loader.batch_size, 16);
        assert_int_equal(spec->loader.num_workers, 3);
        assert_int_equal(spec->loader.prefetch_factor, 4);
        assert_true(spec->loader.pin_memory);
        assert_true(spec->loader.sample_sleep_us == 0);
        assert_int_equal(spec->loader.io, DLB_READ_SYNC);
        assert_int_equal(spec->accelerators.count, 5);
        assert_true(spec->accelerators.barrier);
        assert_int_equal(spec->device.prefetch, 2);
        assert_int_equal(spec->run.world, 1);
        /* one epoch holds all that is measured, of every rank */
        assert_int_equal(spec->run.epochs, 1);
        assert_true(spec->generate.samples >=
                    5 * 16 * (spec->run.max_batches + spec->run.warmup_batches + 1));
        assert_true(what == DLB_TWIN_STEPS ? spec->device.step_ms == 8 : spec->device.step_ms == 0);
        assert_true(what == DLB_TWIN_STEPS ? spec->device.copy_us == 30
                                           : spec->device.copy_us == 0);
        assert_true(spec->run.max_batches >= 20);
        free(spec);
    }
    json_decref(config);
}

/* Steps that take forever, and batches of a million, stay within bounds. */
static void its_length_is_bounded(void **state)
{
    (void)state;
    const char *const large[] = {"loader.batch_size=1048576", "device.step_ms=600000",
                                 "loader.pin_memory=true", "accelerators.count=64", NULL};
    json_t *config = config_of(large);
    struct dlb_spec *spec = twin_of(config, 400, DLB_TWIN_STEPS);
    assert_int_equal(spec->run.max_batches, 20);
    free(spec);
    const char *const none[] = {"loader.batch_size=1", "device.step_ms=0", NULL};
    json_decref(config);
    config = config_of(none);
    spec = twin_of(config, 1, DLB_TWIN_STEPS);
    assert_int_equal(spec->run.max_batches, 20000);
    free(spec);
    json_decref(config);
}

static void figures_are_read_off_documents(void **state)
{
    (void)state;
    json_t *docs = json_array();
    for (int i = 1; i <= 3; i++) /* the last one was disturbed */
        json_array_append_new(docs,
                              json_pack("{si, si, si, si, si}", "window_ns", i < 3 ? 1000 : 9000,
                                        "idle_input_ns", i < 3 ? 18 + 2 * i : 8000, "idle_other_ns",
                                        10, "idle_copy_ns", 500, "n_samples", 6));
    json_array_append_new(docs, json_pack("{ss}", "status", "failed"));
    assert_true(fabs(dlb_twin_share(docs) - 0.032) < 1e-12);
    assert_true(fabs(dlb_twin_headroom(docs, 2e6) - 3) < 1e-12);
    assert_true(isnan(dlb_twin_headroom(docs, 0)));
    json_array_clear(docs);
    assert_true(isnan(dlb_twin_share(docs)));
    assert_true(isnan(dlb_twin_headroom(docs, 2e6)));
    json_decref(docs);
}

/* It runs as any other cell, and its figures are what the verdict takes. */
static void runs_as_a_cell(void **state)
{
    (void)state;
    const char *const small[] = {"loader.batch_size=4",
                                 "loader.num_workers=1",
                                 "loader.pin_memory=true",
                                 "device.kind=emulated",
                                 "device.step_ms=2",
                                 "accelerators.count=3",
                                 NULL};
    const struct dlb_cell_watch nobody = {NULL, NULL, NULL};
    json_t *config = config_of(small);
    struct dlb_evidence evidence = {.complete = true, .input_frac = 0.9, .compute_frac = 0.1};
    struct dlb_verdict verdict;
    for (int what = DLB_TWIN_STEPS; what <= DLB_TWIN_FREE; what++) {
        struct dlb_spec *spec = twin_of(config, 100, (enum dlb_twin)what);
        if (what == DLB_TWIN_STEPS) /* long enough here, and quicker */
            spec->run.max_batches = 20;
        json_t *docs = json_pack("[o]", dlb_cell_run(spec, DLB_MODE_MEASURE, &nobody));
        assert_string_equal(dlb_json_text(json_array_get(docs, 0), "status"), "ok");
        assert_true(isfinite(dlb_twin_share(docs)));
        if (what == DLB_TWIN_FREE) {
            double rate = dlb_twin_headroom(docs, 1); /* samples/s */
            evidence.harness_headroom = dlb_twin_headroom(docs, rate / 4);
            dlb_judge(&evidence, &verdict);
            assert_int_equal(verdict.klass, DLB_V_HARNESS_BOUND);
            evidence.harness_headroom = dlb_twin_headroom(docs, rate / 6);
            dlb_judge(&evidence, &verdict);
            assert_int_equal(verdict.klass, DLB_V_INPUT_BOUND);
        }
        json_decref(docs);
        free(spec);
    }
    json_decref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_all_but_the_data),
        cmocka_unit_test(its_length_is_bounded),
        cmocka_unit_test(figures_are_read_off_documents),
        cmocka_unit_test(runs_as_a_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

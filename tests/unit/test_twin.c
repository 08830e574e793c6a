/* The null-source twin of a cell: what stays, what goes, and what it says of the harness. */
#include "core/measure/verdict.h"
#include "scenarios/cell/cell.h"
#include "scenarios/plan/twin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

static struct dlb_spec *spec_of(const char *const *settings)
{
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_spec *spec = calloc(1, sizeof(*spec));
    for (; *settings; settings++)
        if (dlb_config_set(cfg, *settings, &err))
            fail_msg("%s: %s", *settings, err.what);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    dlb_config_free(cfg);
    return spec;
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

/* It goes through a file to its process: its own spec, and what that process reads, are one. */
static struct dlb_spec *twin_of(const struct dlb_spec *cell, uint64_t sample_bytes,
                                enum dlb_twin what)
{
    struct dlb_err err;
    struct dlb_spec *twin = calloc(1, sizeof(*twin)), *spec = calloc(1, sizeof(*spec));
    dlb_twin_spec(cell, sample_bytes, what, twin);
    json_t *flat = dlb_spec_to_json(twin, false);
    if (dlb_spec_from_json(spec, flat, "twin", &err))
        fail_msg("%s", err.what);
    assert_true(dlb_spec_equal(twin, spec));
    json_decref(flat);
    free(twin);
    return spec;
}

static void keeps_all_but_the_data(void **state)
{
    (void)state;
    struct dlb_spec *cell = spec_of(settings);
    for (int what = DLB_TWIN_STEPS; what <= DLB_TWIN_FREE; what++) {
        struct dlb_spec *spec = twin_of(cell, 1234, (enum dlb_twin)what);
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
    free(cell);
}

/* Steps that take forever, and batches of a million, stay within bounds. */
static void its_length_is_bounded(void **state)
{
    (void)state;
    const char *const large[] = {"loader.batch_size=1048576", "device.step_ms=600000",
                                 "loader.pin_memory=true", "accelerators.count=64", NULL};
    struct dlb_spec *cell = spec_of(large), *spec = twin_of(cell, 400, DLB_TWIN_STEPS);
    assert_int_equal(spec->run.max_batches, 20);
    free(spec);
    free(cell);
    const char *const none[] = {"loader.batch_size=1", "device.step_ms=0", NULL};
    cell = spec_of(none);
    spec = twin_of(cell, 1, DLB_TWIN_STEPS);
    assert_int_equal(spec->run.max_batches, 20000);
    free(spec);
    free(cell);
}

static void figures_are_read_off_results(void **state)
{
    (void)state;
    struct dlb_reps reps = {0};
    struct dlb_cell_result one;
    for (unsigned i = 1; i <= 4; i++) { /* the third one was disturbed, the last one failed */
        struct dlb_share *total = &one.loop.total;
        dlb_cell_result_init(&one);
        one.has_loop = i < 4;
        if (one.has_loop) {
            total->window_ns = i < 3 ? 1000 : 9000;
            total->idle_input_ns = i < 3 ? 18 + 2 * i : 8000;
            total->idle_other_ns = 10;
            total->idle_copy_ns = 500;
            total->n_samples = 6;
        }
        one.status = one.has_loop ? DLB_REP_OK : DLB_REP_FAILED;
        dlb_reps_add(&reps, &one);
    }
    assert_true(fabs(dlb_twin_share(&reps) - 0.032) < 1e-12);
    assert_true(fabs(dlb_twin_headroom(&reps, 2e6) - 3) < 1e-12);
    assert_true(isnan(dlb_twin_headroom(&reps, 0)));
    dlb_reps_free(&reps);
    assert_true(isnan(dlb_twin_share(&reps)));
    assert_true(isnan(dlb_twin_headroom(&reps, 2e6)));
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
    const struct dlb_cell_watch unwatched = {.pulse = NULL};
    struct dlb_spec *cell = spec_of(small);
    struct dlb_evidence evidence = {.complete = true, .input_frac = 0.9, .compute_frac = 0.1};
    struct dlb_verdict verdict;
    for (int what = DLB_TWIN_STEPS; what <= DLB_TWIN_FREE; what++) {
        struct dlb_spec *spec = twin_of(cell, 100, (enum dlb_twin)what);
        if (what == DLB_TWIN_STEPS) /* long enough here, and quicker */
            spec->run.max_batches = 20;
        struct dlb_cell_result ran;
        struct dlb_reps reps = {0};
        dlb_cell_run(spec, DLB_MODE_MEASURE, &unwatched, &ran);
        assert_int_equal(ran.status, DLB_REP_OK);
        dlb_reps_add(&reps, &ran);
        assert_true(isfinite(dlb_twin_share(&reps)));
        if (what == DLB_TWIN_FREE) {
            double rate = dlb_twin_headroom(&reps, 1); /* samples/s */
            evidence.harness_headroom = dlb_twin_headroom(&reps, rate / 4);
            dlb_judge(&evidence, &verdict);
            assert_int_equal(verdict.klass, DLB_V_HARNESS_BOUND);
            evidence.harness_headroom = dlb_twin_headroom(&reps, rate / 6);
            dlb_judge(&evidence, &verdict);
            assert_int_equal(verdict.klass, DLB_V_INPUT_BOUND);
        }
        dlb_reps_free(&reps);
        free(spec);
    }
    free(cell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_all_but_the_data),
        cmocka_unit_test(its_length_is_bounded),
        cmocka_unit_test(figures_are_read_off_results),
        cmocka_unit_test(runs_as_a_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

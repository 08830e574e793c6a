/* Which rungs are run, in what order, and how a ladder shrinks to the available memory. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "scenarios/gap/fit.h"
#include "scenarios/gap/pace.h"
#include "scenarios/gap/plan.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/gap/torch/torch_rung.h"
#include "scenarios/spec/embedded.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define GB UINT64_C(1000000000)

static struct dlb_gap_params published(void)
{
    struct dlb_gap_params params;
    struct dlb_err err;
    json_t *none = json_object();
    assert_int_equal(dlb_gap_params_flat(&params, none, "test", &err), DLB_OK);
    json_decref(none);
    params.workers = 2;
    return params;
}

static uint64_t most_bytes(const struct dlb_gap_params *params)
{
    uint64_t most = 0;
    for (const char *const *name = dlb_gap_rung_names; *name; name++)
        most = dlb_gap_rung_bytes(params, *name) > most ? dlb_gap_rung_bytes(params, *name) : most;
    for (const char *const *name = dlb_gap_torch_names; *name; name++)
        most =
            dlb_gap_torch_bytes(params, *name) > most ? dlb_gap_torch_bytes(params, *name) : most;
    return most;
}

static void test_defaults_are_the_published_ones(void **state)
{
    (void)state;
    struct dlb_gap_params params = published();
    assert_int_equal(params.samples, 7000000);
    assert_int_equal(params.features, 100);
    assert_int_equal(params.batch_size, 1048576);
    assert_int_equal(dlb_gap_n_batches(&params), DLB_GAP_MIN_BATCHES);
}

static void test_what_fits_stays(void **state)
{
    (void)state;
    struct dlb_gap_params params = published();
    struct dlb_err err;
    char said[256];
    params.samples = 1000; /* three batches: only a case that shrinks gets at least seven */
    params.batch_size = 400;
    assert_int_equal(dlb_gap_shrink(&params, 8 * GB, true, said, &err), DLB_OK);
    assert_int_equal(params.samples, 1000);
    assert_int_equal(params.batch_size, 400);
    assert_string_equal(said, "");
}

static void test_samples_and_batch_shrink_together(void **state)
{
    (void)state;
    for (uint64_t gb = 2; gb <= 8; gb += 2) {
        struct dlb_gap_params params = published();
        struct dlb_err err;
        char said[256];
        assert_int_equal(dlb_gap_shrink(&params, gb * GB, true, said, &err), DLB_OK);
        assert_in_range(params.samples, 10000, 6999999);
        assert_in_range(most_bytes(&params), 1, gb * GB);
        assert_int_equal(dlb_gap_n_batches(&params), DLB_GAP_MIN_BATCHES);
        double share = (double)params.batch_size / (double)params.samples;
        assert_true(share > 0.149 && share < 0.151); /* 1,048,576 of 7,000,000 */
        assert_int_equal(params.features, 100);
        assert_non_null(strstr(said, "7,000,000"));
        /* And it is not smaller than necessary. */
        params.samples += params.samples / 20 + 20000;
        params.batch_size += params.batch_size / 20 + 3000;
        assert_true(most_bytes(&params) > (uint64_t)((double)gb * 0.8 * (double)GB));
    }
}

static void test_without_torch_more_fits(void **state)
{
    (void)state;
    struct dlb_gap_params with = published(), without = published();
    struct dlb_err err;
    char said[256];
    assert_int_equal(dlb_gap_shrink(&with, 3 * GB, true, said, &err), DLB_OK);
    assert_int_equal(dlb_gap_shrink(&without, 3 * GB, false, said, &err), DLB_OK);
    assert_true(without.samples >= with.samples);
}

static void test_few_batches_become_seven(void **state)
{
    (void)state;
    struct dlb_gap_params params = published();
    struct dlb_err err;
    char said[256];
    params.batch_size = params.samples;
    assert_int_equal(dlb_gap_shrink(&params, 3 * GB, true, said, &err), DLB_OK);
    assert_true(dlb_gap_n_batches(&params) >= DLB_GAP_MIN_BATCHES);
}

static void test_no_memory_at_all(void **state)
{
    (void)state;
    struct dlb_gap_params params = published();
    struct dlb_err err;
    char said[256];
    params.features = 1 << 24; /* rows of 64 MiB */
    assert_int_equal(dlb_gap_shrink(&params, GB / 2, false, said, &err), DLB_E_NOMEM);
    assert_int_equal(err.code, DLB_ERR_GAP_TOO_LARGE);
    assert_non_null(strstr(err.what, "gap.features"));
}

static const struct dlb_device *emulated(void)
{
    for (size_t i = 0; dlb_devices[i]; i++)
        if (dlb_devices[i]->emulated)
            return dlb_devices[i];
    return NULL;
}

static struct dlb_plan planned(struct dlb_gap_python *python, int64_t repeats)
{
    struct dlb_gap_params params = published();
    struct dlb_plan plan;
    json_t *flat =
        json_pack("{sI, sI}", "gap.samples", (json_int_t)7, "gap.features", (json_int_t)2);
    struct dlb_gap_plan_input in = {.params = &params,
                                    .repeats = repeats,
                                    .flat = flat,
                                    .exe = "/bin/dlbench",
                                    .python = python,
                                    .device = emulated()};
    dlb_gap_plan(&in, &plan);
    json_decref(flat);
    return plan;
}

/* Seconds of these paces: the C rungs and PyTorch's, two repetitions. */
static const struct dlb_gap_pace paces[] = {
    {1e-7, 5e-7, 3e-6, 2}, {1e-7, 5e-7, NAN, NAN}, {1e-9, 1e-9, 1e-8, 1}, {1e-6, 5e-6, 3e-5, 5}};

static void test_default_takes_three_minutes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(paces) / sizeof(*paces); i++) {
        struct dlb_gap_params whole = published(), params = whole;
        char said[256];
        dlb_gap_fit_time(&params, true, 2, &paces[i], said);
        double all_s = dlb_gap_seconds(&whole, 2, &paces[i]);
        double seconds = dlb_gap_seconds(&params, 2, &paces[i]);
        if (all_s <= DLB_GAP_DEFAULT_S) {
            assert_int_equal(params.samples, whole.samples);
            assert_string_equal(said, "");
            continue;
        }
        assert_true(strstr(said, "--samples 7000000") != NULL);
        assert_int_equal(dlb_gap_n_batches(&params), DLB_GAP_MIN_BATCHES);
        if (params.samples == 100000) /* the least */
            assert_true(seconds >= DLB_GAP_DEFAULT_S);
        else
            assert_true(seconds <= DLB_GAP_DEFAULT_S && seconds > 0.85 * DLB_GAP_DEFAULT_S);
    }
}

static void test_a_batch_that_is_said_stays(void **state)
{
    (void)state;
    struct dlb_gap_params params = published();
    char said[256];
    params.batch_size = 200000;
    dlb_gap_fit_time(&params, false, 2, &paces[3], said);
    assert_int_equal(params.batch_size, 200000);
    assert_int_equal(params.samples, 1400000);
    assert_true(said[0] != '\0');
}

static void test_an_unknown_pace_changes_nothing(void **state)
{
    (void)state;
    struct dlb_gap_params params = published();
    const struct dlb_gap_pace unknown = {NAN, NAN, NAN, NAN};
    char said[256];
    dlb_gap_fit_time(&params, true, 2, &unknown, said);
    assert_int_equal(params.samples, 7000000);
    assert_string_equal(said, "");
}

static void test_pace_is_measured(void **state)
{
    (void)state;
    struct dlb_gap_params params = published();
    struct dlb_gap_pace pace = {0};
    dlb_gap_pace_measure(&params, &pace);
    assert_true(pace.row_s > 1e-9 && pace.row_s < 1e-3);
    assert_true(pace.array_row_s > 1e-9 && pace.array_row_s < 1e-3);
}

static void test_every_rung_once_a_block(void **state)
{
    (void)state;
    static const char *const names[] = {"floor",
                                        "direct",
                                        "gather",
                                        "dlbench",
                                        "per-sample",
                                        "transport",
                                        "transport-pooled",
                                        "pin-thread",
                                        "pin-thread-pooled",
                                        "torch-direct",
                                        "torch-gather",
                                        "torch-dataloader",
                                        "torch-dataloader-workers",
                                        "torch-batch-sampler",
                                        "torch-out-of-order"};
    struct dlb_gap_python python = {.found = true};
    struct dlb_plan plan = planned(&python, 3);
    assert_int_equal(plan.n_cells, sizeof(names) / sizeof(names[0]));
    assert_int_equal(plan.n_tasks, 3 * plan.n_cells);
    bool other_order = false;
    for (uint32_t i = 0; i < plan.n_cells; i++) {
        uint32_t n = 0;
        assert_string_equal(plan.cells[i].other.name, names[i]);
        assert_string_equal(dlb_json_text(plan.cells[i].other.config, "rung"), names[i]);
        assert_non_null(plan.cells[i].other.program);
        for (uint32_t t = 0; t < plan.n_tasks; t++)
            n += plan.tasks[t].index == i;
        assert_int_equal(n, 3);
        other_order = other_order || plan.tasks[i].index != plan.tasks[plan.n_cells + i].index;
    }
    assert_true(other_order);
    /* The first repetition of a PyTorch rung checks its content. */
    assert_null(plan.cells[0].other.first);
    assert_true(json_is_true(json_object_get(plan.cells[11].other.first, "check")));
    assert_true(json_is_false(json_object_get(plan.cells[11].other.config, "check")));
    dlb_plan_free(&plan);
}

static void test_without_torch_its_rungs_are_skipped(void **state)
{
    (void)state;
    struct dlb_gap_python python = {.found = false};
    (void)snprintf(python.reason, sizeof(python.reason), "no torch");
    struct dlb_plan plan = planned(&python, 2);
    assert_int_equal(plan.n_tasks, 2 * 9);
    for (uint32_t i = 0; i < plan.n_cells; i++) {
        assert_int_equal(plan.cells[i].skipped, i >= 9);
        if (plan.cells[i].skipped)
            assert_string_equal(plan.cells[i].reason, python.reason);
    }
    dlb_plan_free(&plan);
}

static void write_program(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

/* Shell scripts play the interpreters. */
#define HAS_TORCH "#!/bin/sh\necho '{\"status\": \"ok\", \"torch\": \"9.9\"}' >\"$6\"\n"
#define CRASHES "#!/bin/sh\nkill -ABRT $$\n"
#define HANGS "#!/bin/sh\nsleep 600\n"
#define HAS_NONE                                                                                   \
    "#!/bin/sh\necho '{\"status\": \"not-measured\", \"reason\": \"no torch\"}' >\"$6\"\n"

/* A folder with `given` and with `python3`, which PATH finds first. */
struct interpreters {
    char folder[32], given[64], first[64], *kept;
    struct dlb_gap_python python;
    struct dlb_err err;
};

static int find(struct interpreters *t, const char *given, const char *own, const char *first)
{
    char with[4096];
    *t = (struct interpreters){.folder = "/tmp/dlb_gap_XXXXXX", .kept = strdup(getenv("PATH"))};
    assert_non_null(mkdtemp(t->folder));
    (void)snprintf(t->given, sizeof(t->given), "%s/given", t->folder);
    (void)snprintf(t->first, sizeof(t->first), "%s/python3", t->folder);
    (void)snprintf(with, sizeof(with), "%s:%s", t->folder, t->kept);
    write_program(t->given, own);
    write_program(t->first, first);
    assert_int_equal(setenv("PATH", with, 1), 0);
    int rc =
        dlb_gap_python_find(&t->python, given ? given : t->given, 100, t->folder, 1, NULL, &t->err);
    assert_int_equal(setenv("PATH", t->kept, 1), 0);
    free(t->kept);
    return rc;
}

static void close_interpreters(struct interpreters *t)
{
    dlb_gap_python_close(&t->python);
    (void)unlink(t->given);
    (void)unlink(t->first);
    assert_int_equal(rmdir(t->folder), 0); /* no script is left behind */
}

static const char *reason_of(const struct interpreters *t, size_t i)
{
    return dlb_json_text(json_array_get(t->python.tried, i), "reason");
}

static void test_only_the_given_interpreter_is_tried(void **state)
{
    (void)state;
    static const struct {
        const char *own, *says;
        enum dlb_gap_python_failure failure;
    } cases[] = {{CRASHES, "SIGABRT", DLB_GAP_PYTHON_CRASHED},
                 {HANGS, "", DLB_GAP_PYTHON_HUNG},
                 {HAS_NONE, "no torch", DLB_GAP_PYTHON_ANSWERED}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct interpreters t;
        assert_int_equal(find(&t, NULL, cases[i].own, HAS_TORCH), DLB_OK);
        assert_false(t.python.found);
        assert_int_equal(t.python.failure, cases[i].failure);
        assert_int_equal(json_array_size(t.python.tried), 1);
        assert_non_null(strstr(reason_of(&t, 0), cases[i].says));
        assert_non_null(strstr(t.python.reason, t.given));
        assert_null(strstr(t.python.reason, t.first));
        close_interpreters(&t);
    }
    struct interpreters t;
    assert_int_equal(find(&t, NULL, HAS_TORCH, CRASHES), DLB_OK);
    assert_true(t.python.found);
    assert_string_equal(t.python.path, t.given);
    assert_string_equal(t.python.torch, "9.9");
    assert_string_equal(t.python.passed, "");
    close_interpreters(&t);

    assert_int_equal(find(&t, "/no/such/python", HAS_TORCH, HAS_TORCH), DLB_E_CONFIG);
    assert_int_equal(t.err.code, DLB_ERR_PYTHON_NOT_FOUND);
    close_interpreters(&t);
}

static void test_interpreters_are_tried_in_turn(void **state)
{
    (void)state;
    struct interpreters t;
    assert_int_equal(find(&t, "", HAS_TORCH, HAS_TORCH), DLB_OK);
    assert_true(t.python.found);
    assert_string_equal(t.python.path, t.first);
    close_interpreters(&t);

    /* Whether the system's has torch is not known here. */
    assert_int_equal(find(&t, "", HAS_TORCH, CRASHES), DLB_OK);
    assert_int_equal(t.python.failure, DLB_GAP_PYTHON_CRASHED);
    assert_non_null(strstr(reason_of(&t, 0), "SIGABRT"));
    assert_non_null(strstr(t.python.passed, t.first));
    assert_null(strstr(t.python.passed, t.given));
    close_interpreters(&t);
}

static void test_scripts_are_in_the_program(void **state)
{
    (void)state;
    assert_string_equal(dlb_gap_scripts[0].name, "rung.py");
    for (const struct dlb_embedded *script = dlb_gap_scripts; script->name; script++)
        assert_memory_equal(script->bytes, "\"\"\"", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_the_published_ones),
        cmocka_unit_test(test_what_fits_stays),
        cmocka_unit_test(test_samples_and_batch_shrink_together),
        cmocka_unit_test(test_without_torch_more_fits),
        cmocka_unit_test(test_few_batches_become_seven),
        cmocka_unit_test(test_no_memory_at_all),
        cmocka_unit_test(test_default_takes_three_minutes),
        cmocka_unit_test(test_a_batch_that_is_said_stays),
        cmocka_unit_test(test_an_unknown_pace_changes_nothing),
        cmocka_unit_test(test_pace_is_measured),
        cmocka_unit_test(test_every_rung_once_a_block),
        cmocka_unit_test(test_without_torch_its_rungs_are_skipped),
        cmocka_unit_test(test_only_the_given_interpreter_is_tried),
        cmocka_unit_test(test_interpreters_are_tried_in_turn),
        cmocka_unit_test(test_scripts_are_in_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

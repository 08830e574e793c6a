/* Which rungs are run, in what order, and how a ladder shrinks to the available memory. */
#include "core/base/json.h"
#include "scenarios/gap/fit.h"
#include "scenarios/gap/plan.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/gap/torch/torch_rung.h"
#include "scenarios/spec/embedded.h"

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

/* The first interpreter with torch is taken; the answers of the others are kept. Shell scripts play
 * the interpreters. */
static void test_interpreters_are_tried_in_turn(void **state)
{
    (void)state;
    char folder[] = "/tmp/dlb_gap_XXXXXX", given[96], path[96];
    struct dlb_gap_python python;
    struct dlb_err err;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(given, sizeof(given), "%s/given", folder);
    (void)snprintf(path, sizeof(path), "%s/python3", folder);
    char *kept = strdup(getenv("PATH"));
    char with[4096];
    (void)snprintf(with, sizeof(with), "%s:%s", folder, kept);
    write_program(given, "#!/bin/sh\nkill -ABRT $$\n");
    write_program(path, "#!/bin/sh\n"
                        "echo '{\"status\": \"ok\", \"torch\": \"9.9\"}' >\"$6\"\n");
    assert_int_equal(setenv("PATH", with, 1), 0);
    assert_int_equal(dlb_gap_python_find(&python, given, folder, NULL, &err), DLB_OK);
    assert_true(python.found);
    assert_string_equal(python.path, path);
    assert_string_equal(python.torch, "9.9");
    assert_int_equal(json_array_size(python.tried), 2);
    assert_non_null(strstr(dlb_json_text(json_array_get(python.tried, 0), "reason"), "SIGABRT"));
    dlb_gap_python_close(&python);

    assert_int_equal(dlb_gap_python_find(&python, "/no/such/python", folder, NULL, &err),
                     DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_PYTHON_NOT_FOUND);
    assert_int_equal(setenv("PATH", kept, 1), 0);
    free(kept);
    (void)unlink(given);
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0); /* no script is left behind */
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
        cmocka_unit_test(test_every_rung_once_a_block),
        cmocka_unit_test(test_without_torch_its_rungs_are_skipped),
        cmocka_unit_test(test_interpreters_are_tried_in_turn),
        cmocka_unit_test(test_scripts_are_in_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

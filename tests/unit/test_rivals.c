/* Which cells are compared at all: those that are judged, and do the same work. */
#include "scenarios/judge/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/judged.h"

static const char *const workers[] = {"sweep.loader.num_workers=[1, 2, 16]", "device.step_ms=100",
                                      NULL};

/* `n` repetitions of this rate that measured `n_steps` batches. */
static void add_steps(struct judged *t, uint32_t cell, double rate, uint64_t n_steps)
{
    for (uint32_t block = 0; block < 3; block++) {
        struct dlb_cell_result one = rep(rate, 0.5, block, 1000);
        one.loop.total.n_steps = n_steps;
        put(&t->results.cells[cell], one);
    }
}

/* 5 batches of 32 that 16 workers had made before: the rate is that of handing them out. */
static void test_what_is_not_judged_does_not_win(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add_steps(&t, 0, 400, 100);
    add_steps(&t, 1, 800, 100);
    add_steps(&t, 2, 4000, 5);
    judge(&t);
    assert_int_equal(t.j.cells[2].verdict.klass, DLB_V_INCOMPLETE);
    assert_int_equal(t.j.best, 1);
    assert_int_equal(t.j.recommended, 1);
    assert_non_null(strstr(t.j.pytorch, "num_workers=2"));
    assert_non_null(strstr(t.j.text, " 1 cell "));
    close_judged(&t);
    /* Nor is it recommended where it comes close with fewer workers. */
    open_judged(&t, workers);
    add_steps(&t, 1, 999, 2);
    add_steps(&t, 2, 1000, 100);
    judge(&t);
    assert_int_equal(t.j.cells[1].verdict.klass, DLB_V_INCOMPLETE);
    assert_int_equal(t.j.recommended, 2);
    close_judged(&t);
}

/* The best is named, for what is told of it; nothing is recommended. */
static void test_nothing_judged_nothing_recommended(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, workers);
    add_steps(&t, 1, 800, 2);
    add_steps(&t, 2, 4000, 5);
    judge(&t);
    assert_int_equal(t.j.best, 2);
    assert_int_equal(t.j.recommended, -1);
    assert_false(t.j.separable);
    assert_int_equal(t.j.n_set, 0);
    assert_non_null(strstr(t.j.text, "INCOMPLETE"));
    assert_string_equal(t.j.pytorch, "");
    close_judged(&t);

    open_judged(&t, (const char *const[]){"sweep.run.seed=[0]", "loader.num_workers=0", NULL});
    add_steps(&t, 0, 800, 100);
    for (uint32_t i = 0; i < 2; i++)
        rep_of(&t, 0, i)->loop.total.unaccounted_ns = 30000000;
    judge(&t);
    assert_int_equal(t.j.best, 0);
    assert_int_equal(t.j.recommended, -1);
    assert_verdict(&t, 0, "HARNESS_BOUND");
    assert_non_null(strstr(t.j.text, "HARNESS-BOUND"));
    assert_string_equal(t.j.pytorch, "");
    close_judged(&t);
}

/* A shorter step is no better loader. */
static void test_other_work_is_not_compared(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *const[]){"sweep.device.step_ms=[1, 2]",
                                          "sweep.loader.num_workers=[1, 2]", NULL});
    add(&t, 0, (const double[]){900, 900, 900}, 3, 1000);
    add(&t, 1, (const double[]){1000, 1000, 1000}, 3, 1000);
    add(&t, 2, (const double[]){999, 999, 999}, 3, 1000);
    add(&t, 3, (const double[]){500, 500, 500}, 3, 1000);
    judge(&t);
    /* The cell that would be recommended is of another step. */
    assert_int_equal(t.j.best, 1);
    assert_int_equal(t.j.recommended, 1);
    assert_non_null(strstr(t.j.text, "device.step_ms"));
    close_judged(&t);
}

/* Cell 0 is as good with fewer bytes, cell 1 the best: whether they are compared. The option that
 * makes them other work is named; NULL: they do the same. */
static void compares(const char *axis, const char *setting, const char *other_work)
{
    struct judged t;
    const char *const settings[] = {"loader.num_workers=1", axis, setting, NULL};
    open_judged(&t, settings);
    add(&t, 0, (const double[]){999, 999, 999}, 3, 1000);
    add(&t, 1, (const double[]){1000, 1000, 1000}, 3, 2000);
    judge(&t);
    const struct dlb_axis *swept = &t.plan.axes.axis[0];
    bool other = dlb_axis_is_other_work(swept, t.plan.cells[1].spec);
    char another[120];
    (void)snprintf(another, sizeof another, "another %s", swept->key);
    if (t.j.best != 1 || t.j.recommended != (other_work ? 1 : 0) || other != (other_work != NULL) ||
        !strstr(t.j.text, another) != !other_work ||
        (other_work && strcmp(swept->key, other_work) != 0))
        fail_msg("%s, %s: %lld, %s", axis, setting, (long long)t.j.recommended, t.j.text);
    close_judged(&t);
}

static void test_what_is_other_work(void **state)
{
    (void)state;
    compares("sweep.loader.batch_size=[64, 256]", "device.step_ms=10", "loader.batch_size");
    compares("sweep.loader.batch_size=[64, 256]", "device.step_ms=0", NULL);
    compares("sweep.transform.size=[112, 224]", "device.step_ms=10", "transform.size");
    compares("sweep.transform.scaled_decode=[false, true]", "device.step_ms=10", NULL);
    compares("sweep.run.world=[1, 2]", "device.step_ms=10", "run.world");
    compares("sweep.run.cache=[\"warm\", \"as-is\"]", "device.step_ms=10", "run.cache");
    compares("sweep.generate.sample_bytes=[10, 20]", "device.step_ms=10", "generate.sample_bytes");
    compares("sweep.device.prefetch=[0, 1]", "device.step_ms=10", NULL);
    compares("sweep.dataset.codec=[\"jpeg\", \"raw\"]", "device.step_ms=10", "dataset.codec");
    compares("sweep.dataset.access=[\"mmap\", \"pread\"]", "device.step_ms=10", NULL);
    compares("sweep.transform.pixels=[\"f32\", \"u8\"]", "device.step_ms=10", "transform.pixels");
    compares("sweep.tokens.seq_len=[1024, 512]", "dataset.format=tokens", "tokens.seq_len");
    compares("sweep.memory.columns=[200, 100]", "dataset.format=memory", "memory.columns");
    compares("sweep.loader.sample_sleep_us=[9, 0]", "device.step_ms=10", "loader.sample_sleep_us");
    compares("sweep.loader.sample_spin_us=[9, 0]", "device.step_ms=10", "loader.sample_spin_us");
    compares("sweep.loader.worker_init_ms=[9, 0]", "device.step_ms=10", "loader.worker_init_ms");
    compares("sweep.loader.worker_init_mb=[9, 0]", "device.step_ms=10", "loader.worker_init_mb");
    compares("sweep.run.checksum=[true, false]", "device.step_ms=10", "run.checksum");
}

/* What a format's section says is of the data, unless the option's row says otherwise. */
static void test_options_of_formats_are_other_work(void **state)
{
    (void)state;
    if (!dlb_format_by_name("webdataset")->missing) {
        compares("sweep.webdataset.shard_samples=[10, 20]", "dataset.format=webdataset", NULL);
        compares("sweep.webdataset.compression=[\"gz\", \"none\"]", "dataset.format=webdataset",
                 NULL);
    }
    if (!dlb_format_by_name("lmdb")->missing) {
        compares("sweep.lmdb.readahead=[true, false]", "dataset.format=lmdb", NULL);
        compares("sweep.lmdb.prefix=[\"a\", \"b\"]", "dataset.format=lmdb", "lmdb.prefix");
    }
    compares("sweep.memory.rows=[1000, 2000]", "dataset.format=memory", "memory.rows");
    struct dlb_spec *spec = dlb_mem_new(sizeof(*spec));
    dlb_spec_defaults(spec);
    for (size_t i = 0; dlb_formats[i]; i++) {
        const struct dlb_opt_group *group = dlb_formats[i]->opts;
        struct dlb_axes axes = {0};
        for (const struct dlb_opt *opt = group ? group->opts : NULL; opt && opt->key; opt++)
            dlb_axes_add(&axes, group, opt->key, json_array());
        for (uint32_t k = 0; k < axes.n; k++)
            assert_int_equal(dlb_axis_is_other_work(&axes.axis[k], spec),
                             group->opts[k].work != DLB_WORK_SAME);
        dlb_axes_free(&axes);
    }
    free(spec);
}

static void test_all_axes_of_other_work_are_named(void **state)
{
    (void)state;
    struct judged t;
    open_judged(&t, (const char *const[]){"sweep.device.step_ms=[1, 2]",
                                          "sweep.loader.batch_size=[16, 32]", NULL});
    for (uint32_t i = 0; i < 4; i++)
        add(&t, i, (const double[]){900 + i, 900 + i}, 2, 1000);
    judge(&t);
    assert_non_null(strstr(t.j.text, "device.step_ms or loader.batch_size"));
    close_judged(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_judged_does_not_win),
        cmocka_unit_test(test_nothing_judged_nothing_recommended),
        cmocka_unit_test(test_other_work_is_not_compared),
        cmocka_unit_test(test_what_is_other_work),
        cmocka_unit_test(test_options_of_formats_are_other_work),
        cmocka_unit_test(test_all_axes_of_other_work_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

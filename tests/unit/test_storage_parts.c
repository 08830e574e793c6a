/* Bottlenecks, sizes, workloads and fio's pattern: what `storage` decides without measuring. */
#include "core/base/config.h"
#include "scenarios/judge/au_summary.h"
#include "scenarios/spec/spec.h"
#include "scenarios/spec/workload.h"
#include "scenarios/storage/bottleneck.h"
#include "scenarios/storage/fio.h"
#include "scenarios/storage/sizing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SLEPT_NS (1.011e9 - 6e7) /* by the workers below: neither computing nor in a run queue */

/* Workers that wait for bytes, and nothing else. */
static struct dlb_bottleneck_evidence waiting(void)
{
    return (struct dlb_bottleneck_evidence){.measured = true,
                                            .input_frac = 0.3,
                                            .copy_frac = 0,
                                            .other_frac = 0.01,
                                            .read_ns = 1e9,
                                            .decode_ns = 1e7,
                                            .collate_ns = 1e6,
                                            .cpu_ns = 5e7,
                                            .runqueue_ns = 1e7,
                                            .machine_busy_frac = 0.2,
                                            .moved_bytes_per_s = 1e8,
                                            .memcpy_bytes_per_s = 1e10,
                                            .ceiling_known = true,
                                            .reader_bytes_per_s = 1e7,
                                            .first_reader_bytes_per_s = 1e7,
                                            .bytes_per_s = 1e8,
                                            .more_bytes_per_s = (double)NAN,
                                            .most_bytes_per_s = (double)NAN};
}

static enum dlb_bottleneck found(struct dlb_bottleneck_evidence e)
{
    char text[256] = "";
    enum dlb_bottleneck out = dlb_bottleneck_find(&e, text, sizeof(text));
    assert_true(text[0]);
    return out;
}

static void test_storage_is_told_apart(void **state)
{
    (void)state;
    struct dlb_bottleneck_evidence e = waiting();
    assert_int_equal(found(e), DLB_BOTTLENECK_LATENCY);
    e.first_reader_bytes_per_s = 4e7;
    assert_int_equal(found(e), DLB_BOTTLENECK_BANDWIDTH);
    /* With one pool, what the kernel read ahead for idle workers looks the same. */
    e.shared = true;
    assert_int_equal(found(e), DLB_BOTTLENECK_BANDWIDTH);
    e.ahead = true;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e.shared = false;
    assert_int_equal(found(e), DLB_BOTTLENECK_BANDWIDTH);
    e.first_reader_bytes_per_s = 1.35e7; /* neither */
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e.first_reader_bytes_per_s = 0.5e7;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e.more_bytes_per_s = 1.95e8; /* not even one is fed, and two get twice as much */
    assert_int_equal(found(e), DLB_BOTTLENECK_LATENCY);
    e.more_bytes_per_s = 1.1e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_BANDWIDTH);
    e.more_bytes_per_s = 3e8; /* no two can get three times as much as one */
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e.more_bytes_per_s = 0.3e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    /* One pool is as large for two as for one. */
    e.more_bytes_per_s = 1e8;
    e.shared = true;
    e.first_reader_bytes_per_s = (double)NAN;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
}

/* No bandwidth ends where more accelerators are given more. */
static void test_bandwidth_is_the_most_there_is(void **state)
{
    (void)state;
    struct dlb_bottleneck_evidence e = waiting();
    e.first_reader_bytes_per_s = 4e7;
    e.most_bytes_per_s = 1.1e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_BANDWIDTH);
    e.most_bytes_per_s = 1.24e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e.more_bytes_per_s = 1.24e8; /* not even one is fed */
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    /* Reads that each take their time go on doing so. */
    e = waiting();
    e.most_bytes_per_s = 1.24e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_LATENCY);
}

/* Each of these alone takes the blame off the storage. */
static void test_storage_is_not_blamed(void **state)
{
    (void)state;
    struct dlb_bottleneck_evidence e = waiting();
    e.harness_bound = true;
    assert_int_equal(found(e), DLB_BOTTLENECK_HARNESS);
    e = waiting();
    e.warm = true;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e = waiting();
    e.machine_busy_frac = 0.97;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e = waiting();
    e.cpu_ns = 6e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e.moved_bytes_per_s = 8e9;
    assert_int_equal(found(e), DLB_BOTTLENECK_MEMORY);
    e = waiting();
    e.runqueue_ns = 6e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e = waiting();
    e.decode_ns = 2e9;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e = waiting();
    e.copy_frac = 0.4;
    assert_int_equal(found(e), DLB_BOTTLENECK_COPY);
    e = waiting();
    e.other_frac = 0.4;
    assert_int_equal(found(e), DLB_BOTTLENECK_HARNESS);
    e.machine_busy_frac = 0.99;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e = waiting();
    e.stolen_ns = 0.49 * SLEPT_NS;
    assert_int_equal(found(e), DLB_BOTTLENECK_LATENCY);
    e.stolen_ns = 0.51 * SLEPT_NS;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e.more_bytes_per_s = 3e8;
    assert_int_equal(found(e), DLB_BOTTLENECK_CPU);
    e = waiting();
    e.measured = false;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
}

/* What was not measured decides nothing. */
static void test_missing_evidence(void **state)
{
    (void)state;
    struct dlb_bottleneck_evidence e = waiting();
    e.machine_busy_frac = e.cpu_ns = e.runqueue_ns = e.moved_bytes_per_s = e.stolen_ns =
        (double)NAN;
    assert_int_equal(found(e), DLB_BOTTLENECK_LATENCY);
    e.first_reader_bytes_per_s = (double)NAN;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e.first_reader_bytes_per_s = INFINITY;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e = waiting();
    e.read_ns = e.decode_ns = e.collate_ns = (double)NAN;
    assert_int_equal(found(e), DLB_BOTTLENECK_LATENCY);
    e.stolen_ns = 1e7; /* of workers of which nothing is known */
    assert_int_equal(found(e), DLB_BOTTLENECK_LATENCY);
    e.ceiling_known = false; /* how much of it was dlbench */
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
    e.first_reader_bytes_per_s = 1e9;
    assert_int_equal(found(e), DLB_BOTTLENECK_UNKNOWN);
}

static void repeat(struct dlb_reps *reps, enum dlb_rep_status status, uint32_t block,
                   double nominal, double lowest)
{
    struct dlb_cell_result rep;
    dlb_cell_result_init(&rep);
    rep.has_loop = true;
    rep.status = status;
    rep.block = block;
    rep.loop.total.au.nominal = nominal;
    rep.loop.lowest.nominal = lowest;
    dlb_reps_add(reps, &rep);
}

/* As the curve has it: no repetition's own, where they are even in number, and none of those in
 * turns with another program. */
static void test_utilisation_is_the_repetitions_median(void **state)
{
    (void)state;
    struct dlb_reps reps = {0};
    repeat(&reps, DLB_REP_OK, 0, 0.852, 0.83);
    repeat(&reps, DLB_REP_OK, 1, 1.0, 0.97);
    repeat(&reps, DLB_REP_OK, 2, 0.1, 0.1);
    repeat(&reps, DLB_REP_CANCELLED, 1, 0.2, 0.2);
    json_t *au = dlb_au_summary(&reps, &reps.rep[0], 2);
    assert_true(fabs(dlb_json_number(au, "nominal") - 0.926) < 1e-9);
    assert_true(json_is_null(json_object_get(au, "measured")));
    assert_true(fabs(dlb_json_number(json_object_get(au, "lowest"), "nominal") - 0.9) < 1e-9);
    json_decref(au);
    dlb_reps_free(&reps);
    /* Better a part than nothing. */
    repeat(&reps, DLB_REP_CANCELLED, 0, 0.2, 0.2);
    au = dlb_au_summary(&reps, &reps.rep[0], 2);
    assert_true(fabs(dlb_json_number(au, "nominal") - 0.2) < 1e-9);
    json_decref(au);
    dlb_reps_free(&reps);
    au = dlb_au_summary(&reps, NULL, 2);
    assert_true(json_is_null(au));
    json_decref(au);
}

static void test_sizing(void **state)
{
    (void)state;
    struct dlb_sizing s = {.n_samples = 10000,
                           .n_bytes = UINT64_C(10000) * 1000000,
                           .batch_size = 10,
                           .n_accelerators = 2,
                           .ram_bytes = UINT64_C(2000000000),
                           .write_bytes_per_s = 1e9};
    dlb_sizing_fill(&s);
    assert_int_equal(s.steps_per_epoch, 500);
    assert_true(s.covers_steps && s.covers_ram);
    assert_true(s.needed_samples == 10000);
    assert_true(fabs(s.write_s - 10) < 1e-9);
    s.ram_bytes++;
    s.n_accelerators = 3;
    s.write_bytes_per_s = (double)NAN;
    dlb_sizing_fill(&s);
    assert_false(s.covers_steps || s.covers_ram);
    assert_true(s.needed_samples == 15000);
    assert_true(isnan(s.write_s));
    s.ram_bytes = 0;
    dlb_sizing_fill(&s);
    assert_false(s.covers_ram);
    assert_true(isnan(s.ram_multiple));
}

static struct dlb_config *config(const char *workload)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_err err;
    assert_non_null(cfg);
    assert_int_equal(dlb_workload_load(cfg, workload, &err), DLB_OK);
    return cfg;
}

/* Every workload that is built in is one, with a source, and with steps of some accelerator. */
static void test_workloads(void **state)
{
    (void)state;
    const char *const promised[] = {"unet3d",     "resnet50",       "cosmoflow",    "retinanet",
                                    "llm-tokens", "imagenet-files", "imagenet-tar", "hdf5-cosmo"};
    struct dlb_spec *spec = malloc(sizeof(*spec));
    assert_non_null(spec);
    for (size_t i = 0; i < sizeof(promised) / sizeof(promised[0]); i++) {
        struct dlb_config *cfg = config(promised[i]);
        struct dlb_err err;
        assert_int_equal(dlb_workload_apply(cfg, &err), DLB_E_CONFIG);
        assert_int_equal(err.code, DLB_ERR_WORKLOAD_NO_ACCELERATOR);
        assert_non_null(strstr(err.what, "--accelerator"));
        assert_null(strstr(err.what, "none"));
        bool b200 = strcmp(promised[i], "retinanet") == 0;
        assert_int_equal(
            dlb_config_set(cfg, b200 ? "workload.accelerator=b200" : "workload.accelerator=h100",
                           &err),
            DLB_OK);
        assert_int_equal(dlb_workload_apply(cfg, &err), DLB_OK);
        assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
        assert_string_equal(spec->workload.name, promised[i]);
        assert_true(spec->workload.source[0]);
        assert_true(spec->device.step_ms > 0 && spec->device.step_ms < 1000);
        assert_string_equal(dlb_device_profiles[spec->device.profile].name, b200 ? "b200" : "h100");
        dlb_config_free(cfg);
    }
    free(spec);
}

static void test_workload_errors(void **state)
{
    (void)state;
    struct dlb_config *cfg = config("resnet50");
    struct dlb_err err;
    assert_int_equal(dlb_workload_load(cfg, "resnet5O", &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKLOAD_UNKNOWN);
    assert_non_null(strstr(err.what, "\"resnet50\""));
    assert_int_equal(dlb_workload_load(cfg, "something else", &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKLOAD_UNKNOWN);
    assert_non_null(strstr(err.what, "unet3d"));
    assert_int_equal(dlb_workload_load(cfg, "./no/such.toml", &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_CONFIG_UNREADABLE);
    assert_int_equal(dlb_config_set(cfg, "workload.accelerator=h10", &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_CONFIG_UNKNOWN_CHOICE);
    assert_non_null(strstr(err.what, "h100"));
    assert_int_equal(dlb_config_set(cfg, "workload.accelerator=mi355", &err), DLB_OK);
    assert_int_equal(dlb_workload_apply(cfg, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKLOAD_STEP_UNKNOWN);
    assert_non_null(strstr(err.what, "a100"));
    assert_non_null(strstr(err.what, "h100"));
    struct dlb_config *none = dlb_config_new(dlb_spec_groups());
    assert_int_equal(dlb_workload_apply(none, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKLOAD_STEP_UNKNOWN);
    assert_non_null(strstr(err.what, "--workload"));
    assert_int_equal(dlb_config_set(none, "workload.accelerator=h100", &err), DLB_OK);
    assert_int_equal(dlb_workload_apply(none, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKLOAD_STEP_UNKNOWN);
    assert_non_null(strstr(err.what, "--workload"));
    assert_int_equal(dlb_config_set(none, "workload.name=mine", &err), DLB_OK);
    assert_int_equal(dlb_workload_apply(none, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_WORKLOAD_STEP_UNKNOWN);
    assert_null(strstr(err.what, "--workload"));
    dlb_config_free(none);
    /* What was said outright stands. */
    assert_int_equal(dlb_config_set(cfg, "device.step_ms=7", &err), DLB_OK);
    assert_int_equal(dlb_workload_apply(cfg, &err), DLB_OK);
    struct dlb_device_opts device;
    dlb_config_fill(cfg, &dlb_device_group, &device);
    assert_true(device.step_ms == 7);
    dlb_config_free(cfg);
}

static void fill_spec(struct dlb_spec *spec, const char *const *said)
{
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    struct dlb_err err;
    for (; *said; said++)
        assert_int_equal(dlb_config_set(cfg, *said, &err), DLB_OK);
    assert_int_equal(dlb_spec_from_config(spec, cfg, &err), DLB_OK);
    dlb_config_free(cfg);
}

static bool has(const struct dlb_fio_args *args, const char *wanted)
{
    for (size_t i = 0; args->argv[i]; i++)
        if (strcmp(args->argv[i], wanted) == 0)
            return true;
    return false;
}

static void test_fio_reads_as_the_pipeline_does(void **state)
{
    (void)state;
    struct dlb_spec *spec = malloc(sizeof(*spec));
    struct dlb_shape shape = {
        .n_samples = 1000, .total_bytes = 110000000, .max_sample_bytes = 110000};
    struct dlb_fio_args args;
    struct dlb_fio_job job;
    assert_non_null(spec);
    fill_spec(spec, (const char *[]){"dataset.format=files", "dataset.path=/d",
                                     "loader.num_workers=3", "accelerators.count=4",
                                     "loader.pin_memory=true", "loader.shuffle=true", NULL});
    dlb_fio_job_of(spec, &shape, &job);
    assert_int_equal(job.n_jobs, 12);
    assert_false(job.random || job.direct); /* whole files, one after the other */
    assert_int_equal(job.block_bytes, 110000);
    assert_int_equal(job.blocks_per_file, 1);
    shape.max_sample_bytes = 200000; /* sizes spread */
    dlb_fio_job_of(spec, &shape, &job);
    assert_int_equal(job.block_bytes, 55000);
    assert_int_equal(job.blocks_per_file, 2);
    job.folder = "/d";
    job.n_open = 7;
    dlb_fio_args_fill(&job, &args);
    assert_true(has(&args, "--openfiles=7") && has(&args, "--invalidate=0")); /* as it is */
    assert_true(has(&args, "--opendir=/d") && has(&args, "--rw=read"));
    assert_true(has(&args, "--numjobs=12") && has(&args, "--iodepth=1"));
    assert_true(has(&args, "--readonly") && has(&args, "--direct=0"));
    assert_false(has(&args, "--time_based"));
    dlb_fio_args_free(&args);

    fill_spec(spec,
              (const char *[]){"dataset.format=tokens", "dataset.path=/d", "dataset.access=direct",
                               "loader.num_workers=2", "loader.io=io_uring", "loader.io_depth=32",
                               "loader.shuffle=true", "run.cache=cold", NULL});
    shape.total_bytes = 4098 * 1000;
    dlb_fio_job_of(spec, &shape, &job);
    assert_true(job.random && job.direct);
    assert_int_equal(job.block_bytes, 8192);
    assert_int_equal(job.depth, 32);
    job.files = "/d:/e";
    dlb_fio_args_fill(&job, &args);
    assert_true(has(&args, "--filename=/d:/e") && has(&args, "--invalidate=1"));
    assert_true(has(&args, "--rw=randread") && has(&args, "--ioengine=io_uring"));
    assert_true(has(&args, "--time_based"));
    dlb_fio_args_free(&args);

    fill_spec(spec,
              (const char *[]){"dataset.format=webdataset", "dataset.path=/d",
                               "loader.num_workers=2", "accelerators.count=4",
                               "loader.pin_memory=true", "accelerators.shared_workers=true", NULL});
    shape = (struct dlb_shape){
        .n_samples = 1000, .total_bytes = 110000000, .iterable = true, .n_shards = 10};
    dlb_fio_job_of(spec, &shape, &job);
    assert_int_equal(job.n_jobs, 2);
    assert_false(job.random);
    assert_int_equal(job.blocks_per_file, 42); /* 11 MB in blocks of 256 KiB */
    free(spec);
}

static uint64_t three_files(const void *ds, uint64_t number, char *path, size_t n_path)
{
    static const char *const names[] = {"/a", "/b:c", "/d\\e"};
    (void)ds;
    if (number < 3)
        (void)snprintf(path, n_path, "%s", names[number]);
    return 3;
}

static uint64_t many_files(const void *ds, uint64_t number, char *path, size_t n_path)
{
    (void)ds;
    (void)snprintf(path, n_path, "/a/long/name/%llu", (unsigned long long)number);
    return 100000;
}

static void test_fio_is_given_names_where_there_is_no_folder(void **state)
{
    (void)state;
    struct dlb_spec *spec = malloc(sizeof(*spec));
    struct dlb_reader reader = {.files = three_files};
    const struct dlb_format format = {.name = "made-up", .reader = &reader};
    struct dlb_dataset dataset = {.format = &format};
    struct dlb_err err;
    char *files;
    assert_non_null(spec);
    fill_spec(spec, (const char *[]){"dataset.format=webdataset", "dataset.path=/", NULL});
    assert_int_equal(dlb_fio_files(spec, &dataset, &files, &err), DLB_OK);
    assert_null(files);
    fill_spec(spec, (const char *[]){"dataset.format=webdataset", "dataset.path=/{a,b}", NULL});
    assert_int_equal(dlb_fio_files(spec, &dataset, &files, &err), DLB_OK);
    assert_string_equal(files, "/a:/b\\:c:/d\\e");
    free(files);
    reader.files = many_files;
    assert_int_equal(dlb_fio_files(spec, &dataset, &files, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_FIO_TOO_MANY_FILES);
    reader.files = NULL;
    assert_int_equal(dlb_fio_files(spec, &dataset, &files, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_FIO_NO_FILES);
    free(spec);
}

static int parse(const char *text, struct dlb_baseline_result *out, struct dlb_err *err)
{
    return dlb_fio_parse(text, strlen(text), out, err);
}

static void test_fio_output(void **state)
{
    (void)state;
    static const char good[] =
        "fio: a warning\n{\"fio version\": \"fio-3.33\", \"jobs\": [{\"error\": 0, \"read\": "
        "{\"bw_bytes\": 1250000000, \"iops\": 9536.7, \"clat_ns\": {\"percentile\": "
        "{\"50.000000\": "
        "100, \"99.000000\": 200, \"99.900000\": 300}}}}]}\n";
    const char *const bad[] = {"",
                               "fio: nothing",
                               "{",
                               "{}",
                               "[1]",
                               "{\"jobs\": 3}",
                               "{\"jobs\": [{}]}",
                               "{\"jobs\": [{\"read\": {\"bw_bytes\": 0}}]}",
                               "{\"jobs\": [{\"read\": {\"bw_bytes\": \"x\"}}]}",
                               "{\"jobs\": [{\"read\": {\"bw_bytes\": -4}}]}"};
    struct dlb_err err;
    struct dlb_baseline_result out = {0};
    assert_int_equal(parse(good, &out, &err), DLB_OK);
    assert_true(out.bytes_per_s == 1.25e9);
    assert_true(out.iops == 9536.7);
    assert_true(out.p50_ns == 100);
    assert_true(out.p99_ns == 200);
    assert_true(out.p999_ns == 300);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse(bad[i], &out, &err), DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_FIO_OUTPUT);
    }
    assert_int_equal(parse("{\"jobs\": [{\"error\": 5}]}", &out, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_FIO_FAILED);
    /* What it does not say was not measured. */
    assert_int_equal(parse("{\"jobs\": [{\"read\": {\"bw_bytes\": 4}}]}", &out, &err), DLB_OK);
    assert_true(out.bytes_per_s == 4 && isnan(out.iops) && isnan(out.p50_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_is_told_apart),
        cmocka_unit_test(test_bandwidth_is_the_most_there_is),
        cmocka_unit_test(test_storage_is_not_blamed),
        cmocka_unit_test(test_missing_evidence),
        cmocka_unit_test(test_utilisation_is_the_repetitions_median),
        cmocka_unit_test(test_sizing),
        cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_workload_errors),
        cmocka_unit_test(test_fio_reads_as_the_pipeline_does),
        cmocka_unit_test(test_fio_is_given_names_where_there_is_no_folder),
        cmocka_unit_test(test_fio_output),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

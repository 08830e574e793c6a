/* What a cell takes, and what is refused before it runs. */
#include "scenarios/plan/preflight.h"

#include "loaders/slots.h"
#include "tests/support/error.h"
#include "tests/support/planned.h"

#include <math.h>
#include <string.h>

#define GB UINT64_C(1000000000)

/* A plan over data that were looked at. */
static int plan_with(const char *scenario, const char *const *settings, bool iterable,
                     const struct dlb_plan_host *host, struct dlb_plan *plan, struct dlb_err *err)
{
    struct dlb_config *cfg = config_of(settings);
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 4, .iterable = iterable, .host = *host};
    int rc = dlb_scenario_by_name(scenario)->plan(&in, plan, err);
    dlb_config_free(cfg);
    return rc;
}

static struct dlb_need need_with(const char *const *settings, bool iterable,
                                 const struct dlb_plan_host *host)
{
    struct dlb_plan plan;
    struct dlb_err err;
    struct dlb_need need;
    if (plan_with("run", settings, iterable, host, &plan, &err))
        fail_msg("%s", err.what);
    dlb_preflight_need(&plan, 0, &need);
    dlb_plan_free(&plan);
    return need;
}

/* The edge of what can be measured: warm-up, one step, and the one that closes the window. */
static void test_batches_at_the_edge(void **state)
{
    (void)state;
    static const struct {
        const char *samples, *epochs, *warmup, *drop_last;
        bool works;
    } rows[] = {
        {"generate.samples=64", "run.epochs=1", "run.warmup_batches=2", "loader.drop_last=false",
         true},
        {"generate.samples=48", "run.epochs=1", "run.warmup_batches=2", "loader.drop_last=false",
         false},
        {"generate.samples=49", "run.epochs=1", "run.warmup_batches=2", "loader.drop_last=false",
         true},
        {"generate.samples=49", "run.epochs=1", "run.warmup_batches=2", "loader.drop_last=true",
         false},
        {"generate.samples=32", "run.epochs=2", "run.warmup_batches=2", "loader.drop_last=true",
         true},
        {"generate.samples=32", "run.epochs=1", "run.warmup_batches=0", "loader.drop_last=true",
         true},
        {"generate.samples=15", "run.epochs=100", "run.warmup_batches=0", "loader.drop_last=true",
         false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const settings[] = {"dataset.format=synthetic",
                                        "loader.batch_size=16",
                                        rows[i].samples,
                                        rows[i].epochs,
                                        rows[i].warmup,
                                        rows[i].drop_last,
                                        NULL};
        const struct dlb_plan_host host = {.n_samples = 0};
        struct dlb_plan plan;
        struct dlb_err err;
        int rc = plan_with("run", settings, false, &host, &plan, &err);
        if (rc == DLB_OK)
            dlb_plan_free(&plan);
        else
            assert_int_equal(err.code, DLB_ERR_TOO_FEW_BATCHES);
        assert_int_equal(rc == DLB_OK, rows[i].works);
    }
}

/* Each worker makes batches of its own shards: 100, 20, 60, 20 samples in 4 shards. */
static void test_batches_of_shards(void **state)
{
    (void)state;
    static const uint64_t shards[] = {100, 20, 60, 20};
    const struct dlb_plan_host host = {.n_samples = 200,
                                       .n_bytes = 20000,
                                       .n_shards = 4,
                                       .shard_samples = shards,
                                       .max_payload_bytes = 100};
    static const struct {
        const char *workers, *drop_last, *world;
        double epoch;
    } rows[] = {
        {"loader.num_workers=1", "loader.drop_last=true", "run.world=1", 6}, /* 200 / 32 */
        {"loader.num_workers=1", "loader.drop_last=false", "run.world=1", 7},
        {"loader.num_workers=2", "loader.drop_last=true", "run.world=1", 6}, /* 160 and 40 */
        {"loader.num_workers=2", "loader.drop_last=false", "run.world=1", 7},
        {"loader.num_workers=4", "loader.drop_last=true", "run.world=1", 4},  /* 3, 0, 1, 0 */
        {"loader.num_workers=4", "loader.drop_last=false", "run.world=1", 8}, /* 4, 1, 2, 1 */
        {"loader.num_workers=8", "loader.drop_last=false", "run.world=1", 8}, /* four are idle */
        {"loader.num_workers=1", "loader.drop_last=true", "run.world=2", 5},  /* rank 0: 160 */
        {"loader.num_workers=0", "loader.drop_last=true", "run.world=2", 5},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const settings[] = {"dataset.format=webdataset",
                                        "dataset.path=/d",
                                        "dataset.codec=raw",
                                        "loader.batch_size=32",
                                        rows[i].workers,
                                        rows[i].drop_last,
                                        rows[i].world,
                                        "run.epochs=2",
                                        NULL};
        struct dlb_need need = need_with(settings, true, &host);
        assert_true(need.epoch_batches == rows[i].epoch);
        assert_true(need.n_batches == 2 * rows[i].epoch);
    }
}

/* What cannot be told is not refused. */
static void test_unknown_data_pass(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.path=/d", "loader.drop_last=true", NULL};
    const struct dlb_plan_host host = {.available_bytes = 1};
    struct dlb_need need = need_with(settings, false, &host);
    assert_true(isnan(need.n_batches) && isnan(need.slots_bytes) && isnan(need.read_bytes));
}

static void test_slots_and_workers(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.path=/d",
                                    "loader.batch_size=10",
                                    "loader.num_workers=3",
                                    "loader.prefetch_factor=4",
                                    "loader.pin_memory=true",
                                    "loader.pin_mode=thread",
                                    "device.prefetch=1",
                                    "loader.worker_init_mb=5",
                                    "run.max_batches=20",
                                    "run.warmup_batches=4",
                                    "accelerators.count=2",
                                    "device.step_ms=10",
                                    NULL};
    const struct dlb_plan_host host = {.n_samples = 10000,
                                       .n_bytes = 100 * GB,
                                       .max_payload_bytes = 1000000,
                                       .available_bytes = 100 * GB};
    struct dlb_need need = need_with(settings, false, &host);
    /* 4 credits, one in hand and one ahead; a page holds what is beyond 10 MB; a second set for
     * the pin thread; of two loaders. */
    double slot = 10000000 + 4096 - 10000000 % 4096, slots = 2 * 2 * 3 * 6 * slot;
    assert_true(need.slots_bytes == slots);
    assert_true(need.pinned_bytes == slots / 2);
    assert_true(need.workers_bytes == 2 * 3 * 5e6);
    assert_true(need.each_bytes == (slots + 3e7) / 6);
    assert_true(need.n_batches == 2 * 28); /* 6, 21 and 1: whole rounds of 3 workers */
    assert_true(need.read_bytes == 56 * 10 * 1e7);
    assert_true(fabs(need.least_s - 0.28) < 1e-9); /* each trains its half */
}

/* A sample as it is stored and unpacked, for each worker that decodes; nobody decodes bytes. What a
 * reader unpacks at once, for each worker and, without workers, for each loader. */
static void test_decoding(void **state)
{
    (void)state;
    static const struct {
        const char *codec, *workers;
        double n_threads, n_readers;
    } rows[] = {
        {"dataset.codec=raw", "loader.num_workers=3", 0, 6},
        {"dataset.codec=tokens", "loader.num_workers=3", 6, 6},
        {"dataset.codec=tokens", "loader.num_workers=0", 2, 2},
    };
    const struct dlb_plan_host host = {.n_samples = 10000,
                                       .n_bytes = GB,
                                       .max_payload_bytes = 400000,
                                       .max_sample_bytes = 100000,
                                       .max_decoded_bytes = 30000,
                                       .reader_bytes = 7000};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const settings[] = {"dataset.path=/d",
                                        "dataset.format=tokens",
                                        "accelerators.count=2",
                                        "loader.pin_memory=true",
                                        rows[i].codec,
                                        rows[i].workers,
                                        NULL};
        struct dlb_need need = need_with(settings, false, &host);
        assert_true(need.decode_bytes == rows[i].n_threads * 130000);
        assert_true(need.workers_bytes == rows[i].n_readers * 7000);
    }
}

/* A loader maps what was foretold. */
static void test_sizes_are_those_that_are_mapped(void **state)
{
    (void)state;
    struct dlb_loader_opts opts = {.batch_size = 7, .num_workers = 3, .prefetch_factor = 2};
    struct dlb_slots_size size = dlb_slots_size(&opts, 1, 0, 1000);
    struct dlb_slots slots;
    struct dlb_err err;
    assert_int_equal(dlb_slots_open(&slots, (uint32_t)size.n_slots, 7, 1000, false, &err), DLB_OK);
    assert_int_equal(slots.payload_bytes * size.n_slots, size.all_bytes);
    assert_true(slots.payload.n_bytes >= size.all_bytes);
    assert_int_equal(size.n_each, 4);
    dlb_slots_close(&slots);
    opts.num_workers = 0;
    assert_int_equal(dlb_slots_size(&opts, 1, 0, 1000).n_slots, 3);
    assert_true(dlb_slots_size(&opts, 1, 0, UINT64_MAX / 2).all_bytes == UINT64_MAX);
}

/* Of a sweep the cells that cannot work are skipped, with their codes; the rest stay. */
static void test_sweep_skips_what_cannot_work(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.path=/d", "loader.num_workers=2",
                                    "sweep.loader.batch_size=[10, 100, 1000, 2000]",
                                    "loader.drop_last=true", NULL};
    const struct dlb_plan_host host = {
        .n_samples = 1000, .n_bytes = GB, .max_payload_bytes = 1000000, .available_bytes = GB / 2};
    struct dlb_plan plan;
    struct dlb_err err;
    assert_int_equal(plan_with("sweep", settings, false, &host, &plan, &err), DLB_OK);
    assert_false(plan.cells[0].skipped);
    assert_int_equal(plan.cells[0].code, DLB_N_CODES);
    assert_true(plan.cells[1].skipped);
    assert_int_equal(plan.cells[1].code, DLB_ERR_LOADER_SLOTS_MEMORY);
    assert_true(plan.cells[2].skipped && plan.cells[3].skipped);
    assert_int_equal(plan.cells[2].code, DLB_ERR_TOO_FEW_BATCHES);
    assert_non_null(strstr(plan.cells[3].reason, "2000"));
    for (uint32_t i = 0; i < plan.n_tasks; i++)
        assert_true(plan.tasks[i].kind != DLB_TASK_CELL || plan.tasks[i].index == 0);
    dlb_plan_free(&plan);
}

static void test_sweep_without_a_cell_is_refused(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.path=/d", "sweep.loader.num_workers=[1, 2]", NULL};
    const struct dlb_plan_host host = {.n_samples = 1, .n_bytes = 1, .max_payload_bytes = 1};
    struct dlb_plan plan;
    struct dlb_err err;
    assert_int_equal(plan_with("sweep", settings, false, &host, &plan, &err), DLB_E_CONFIG);
    error_is(&err, DLB_ERR_SWEEP_ALL_SKIPPED, "E_TOO_FEW_BATCHES");
}

static void test_workers_own_memory(void **state)
{
    (void)state;
    const char *const settings[] = {"dataset.path=/d", "loader.num_workers=4",
                                    "loader.worker_init_mb=1000", NULL};
    const struct dlb_plan_host host = {.n_samples = 100000,
                                       .n_bytes = GB,
                                       .max_payload_bytes = 1000,
                                       .available_bytes = 4 * GB - 1};
    struct dlb_plan plan;
    struct dlb_err err;
    assert_int_equal(plan_with("run", settings, false, &host, &plan, &err), DLB_E_NOMEM);
    assert_int_equal(err.code, DLB_ERR_LOADER_WORKERS_MEMORY);
}

/* Slots of all loaders and the workers' own memory count together: each alone would fit. */
static void test_memory_of_all_loaders(void **state)
{
    (void)state;
    static const struct {
        const char *init_mb, *shared;
        double n_loaders, own_bytes;
        enum dlb_code code;
    } rows[] = {
        {"loader.worker_init_mb=0", "accelerators.shared_workers=false", 4, 0,
         DLB_ERR_LOADER_SLOTS_MEMORY},
        {"loader.worker_init_mb=10", "accelerators.shared_workers=false", 4, 12e7,
         DLB_ERR_LOADER_SLOTS_MEMORY},
        {"loader.worker_init_mb=100", "accelerators.shared_workers=false", 4, 12e8,
         DLB_ERR_LOADER_WORKERS_MEMORY},
        {"loader.worker_init_mb=10", "accelerators.shared_workers=true", 1, 3e7,
         DLB_ERR_LOADER_SLOTS_MEMORY},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const settings[] = {"dataset.path=/d",        "loader.batch_size=10",
                                        "loader.num_workers=3",   "loader.prefetch_factor=2",
                                        "device.prefetch=1",      "accelerators.count=4",
                                        "loader.pin_memory=true", rows[i].init_mb,
                                        rows[i].shared,           NULL};
        struct dlb_plan_host host = {
            .n_samples = 10000, .n_bytes = 10 * GB, .max_payload_bytes = 1000000};
        struct dlb_need need = need_with(settings, false, &host);
        struct dlb_plan plan;
        struct dlb_err err;
        assert_true(need.workers_bytes == rows[i].own_bytes);
        assert_true(need.slots_bytes > rows[i].n_loaders * 3 * 4 * 1e7);
        host.available_bytes = (uint64_t)(need.slots_bytes + need.workers_bytes);
        assert_int_equal(plan_with("run", settings, false, &host, &plan, &err), DLB_OK);
        dlb_plan_free(&plan);
        host.available_bytes--;
        assert_true(need.slots_bytes / rows[i].n_loaders <= (double)host.available_bytes);
        assert_int_equal(plan_with("run", settings, false, &host, &plan, &err), DLB_E_NOMEM);
        assert_int_equal(err.code, rows[i].code);
    }
}

/* Another data set than the first cell's was not opened: of it nothing is claimed. */
static void test_other_data_are_not_judged(void **state)
{
    (void)state;
    const char *const settings[] = {"sweep.dataset.path=[\"/d\", \"/e\"]", "loader.batch_size=1",
                                    "loader.num_workers=1", NULL};
    const struct dlb_plan_host host = {.n_samples = 100, .n_bytes = 100, .max_payload_bytes = 10};
    struct dlb_plan plan;
    struct dlb_err err;
    struct dlb_need need;
    assert_int_equal(plan_with("sweep", settings, false, &host, &plan, &err), DLB_OK);
    dlb_preflight_need(&plan, 0, &need);
    assert_true(need.epoch_batches == 100);
    dlb_preflight_need(&plan, 1, &need);
    assert_true(isnan(need.epoch_batches) && isnan(need.slots_bytes));
    dlb_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_at_the_edge),
        cmocka_unit_test(test_batches_of_shards),
        cmocka_unit_test(test_unknown_data_pass),
        cmocka_unit_test(test_slots_and_workers),
        cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_sizes_are_those_that_are_mapped),
        cmocka_unit_test(test_sweep_skips_what_cannot_work),
        cmocka_unit_test(test_sweep_without_a_cell_is_refused),
        cmocka_unit_test(test_workers_own_memory),
        cmocka_unit_test(test_memory_of_all_loaders),
        cmocka_unit_test(test_other_data_are_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

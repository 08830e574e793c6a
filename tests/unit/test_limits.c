/* What workers need is asked for all loaders of the process, whatever the machine has. */
#include "loaders/pool/limits.h"
#include "tests/support/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define MB UINT64_C(1000000)

static uint64_t tasks_left, available_bytes;

uint64_t __wrap_dlb_os_tasks_left(const char **by);
uint64_t __wrap_dlb_os_mem_available_bytes(void);

uint64_t __wrap_dlb_os_tasks_left(const char **by)
{
    *by = "the limit";
    return tasks_left;
}

uint64_t __wrap_dlb_os_mem_available_bytes(void)
{
    return available_bytes;
}

static void processes_of_all_loaders(void **state)
{
    struct dlb_loader_opts opts = {.num_workers = 8};
    struct dlb_job job = {.opts = &opts, .n_loaders = 4};
    struct dlb_err err;

    (void)state;
    tasks_left = 4 * 8 + 3;
    assert_int_equal(dlb_limits_job_processes(&job, &err), DLB_E_NOMEM);
    error_is(&err, DLB_ERR_LIMIT_PROCESSES, "32 workers");
    error_is(&err, DLB_ERR_LIMIT_PROCESSES, "36 processes");
    error_is(&err, DLB_ERR_LIMIT_PROCESSES, "35");
    job.first_worker = 8; /* one fork server is there */
    assert_int_equal(dlb_limits_job_processes(&job, &err), DLB_OK);
    job = (struct dlb_job){.opts = &opts};
    tasks_left = 9;
    assert_int_equal(dlb_limits_job_processes(&job, &err), DLB_OK);
    assert_int_equal(dlb_limits_processes(&opts, &err), DLB_OK);
    tasks_left = 8;
    assert_int_equal(dlb_limits_job_processes(&job, &err), DLB_E_NOMEM);
    assert_int_equal(dlb_limits_processes(&opts, &err), DLB_E_NOMEM);
    error_is(&err, DLB_ERR_LIMIT_PROCESSES, "9 processes");
}

static void memory_of_all_loaders(void **state)
{
    struct dlb_dataset dataset = {
        .shape = {
            .iterable = true, .n_shards = 32, .n_samples = 1000000, .total_bytes = 100000 * MB}};
    struct dlb_loader_opts opts = {.num_workers = 8, .worker_init_mb = 10};
    struct dlb_job job = {.dataset = &dataset, .opts = &opts, .world = 4, .n_loaders = 4};
    struct dlb_err err;

    (void)state;
    available_bytes = 4 * 8 * 10 * MB;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_OK);
    available_bytes--;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_E_NOMEM);
    error_is(&err, DLB_ERR_LOADER_WORKERS_MEMORY, "320 MB");
    error_is(&err, DLB_ERR_LOADER_WORKERS_MEMORY, "loader.worker_init_mb");
    assert_null(strstr(err.what, "shuffle_buffer"));

    /* 1000 samples of 100 kB in each. */
    opts.shuffle = true;
    opts.shuffle_buffer = 1000;
    opts.shuffle_buffer_bytes = 1 << 30;
    available_bytes = 4 * 8 * 110 * MB;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_OK);
    available_bytes--;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_E_NOMEM);
    error_is(&err, DLB_ERR_LOADER_WORKERS_MEMORY, "3.52 GB");
    error_is(&err, DLB_ERR_LOADER_WORKERS_MEMORY, "loader.worker_init_mb");
    error_is(&err, DLB_ERR_LOADER_WORKERS_MEMORY, "loader.shuffle_buffer");

    opts.shuffle_buffer_bytes = 20 * (int64_t)MB; /* which caps it */
    available_bytes = 4 * 8 * 30 * MB;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_OK);
    available_bytes--;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_E_NOMEM);

    opts.shuffle_buffer_bytes = 1 << 30; /* nor can they hold more than there is */
    dataset.shape.total_bytes = 100 * MB;
    dataset.shape.n_samples = 1000;
    opts.worker_init_mb = 0;
    available_bytes = 100 * MB;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_OK);
    available_bytes--;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_E_NOMEM);
    error_is(&err, DLB_ERR_LOADER_WORKERS_MEMORY, "100 MB");
    error_is(&err, DLB_ERR_LOADER_WORKERS_MEMORY, "loader.shuffle_buffer");
    assert_null(strstr(err.what, "worker_init_mb"));

    dataset.shape.iterable = false;
    assert_int_equal(dlb_limits_memory(&job, &err), DLB_OK);
}

static void needs_exactly(const struct dlb_job *job, uint64_t n_bytes)
{
    struct dlb_err err;

    available_bytes = n_bytes;
    assert_int_equal(dlb_limits_memory(job, &err), DLB_OK);
    available_bytes--;
    assert_int_equal(dlb_limits_memory(job, &err), DLB_E_NOMEM);
}

/* Samples of 2 MB, a hundred in each buffer. */
static void who_has_no_shard_needs_no_buffer(void **state)
{
    struct dlb_dataset dataset = {
        .shape = {.iterable = true, .n_shards = 1, .n_samples = 10000, .total_bytes = 20000 * MB}};
    struct dlb_loader_opts opts = {
        .num_workers = 64, .shuffle = true, .shuffle_buffer = 100, .shuffle_buffer_bytes = 1 << 30};
    struct dlb_job job = {.dataset = &dataset, .opts = &opts, .world = 1};

    (void)state;
    needs_exactly(&job, 200 * MB);
    dataset.shape.n_shards = 63;
    needs_exactly(&job, 63 * 200 * MB);
    /* Ranks 2 and 3 of 6 have two shards and one, whichever of them starts first. */
    dataset.shape.n_shards = 9;
    job.world = 6;
    job.n_loaders = 2;
    for (job.rank = 2; job.rank < 4; job.rank++)
        needs_exactly(&job, 3 * 200 * MB);
}

/* Of a hundred shards 25, whatever the buffers would hold. */
static void a_process_holds_its_share_at_most(void **state)
{
    struct dlb_dataset dataset = {
        .shape = {.iterable = true, .n_shards = 100, .n_samples = 1000, .total_bytes = 100 * MB}};
    struct dlb_loader_opts opts = {
        .num_workers = 8, .shuffle = true, .shuffle_buffer = 1000, .shuffle_buffer_bytes = 1 << 30};
    struct dlb_job job = {.dataset = &dataset, .opts = &opts, .rank = 3, .world = 4};

    (void)state;
    needs_exactly(&job, 25 * MB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_of_all_loaders),
        cmocka_unit_test(memory_of_all_loaders),
        cmocka_unit_test(who_has_no_shard_needs_no_buffer),
        cmocka_unit_test(a_process_holds_its_share_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Worker processes: a worker that dies or hangs is named at once, and no process stays behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/support/error.h"
#include "tests/support/fake_format.h"
#include "tests/support/pipeline.h"

/* What the test and the workers both see. */
struct shared {
    atomic_bool hang;
    _Atomic int pids[1 + FAKE_MAX_PIDS];
};
static struct shared *shared;

static int setup(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    return munmap(shared, sizeof *shared);
}

static struct fake fake_shared(uint64_t n)
{
    struct fake fake = fake_map(n);
    fake.hang = &shared->hang;
    fake.pids = shared->pids;
    return fake;
}

static struct pipeline by_processes(const struct dlb_dataset *ds, uint32_t n_workers)
{
    (void)fflush(NULL); /* else a worker that calls exit() writes it again */
    return (struct pipeline){
        .dataset = ds, .loader = {.kind = pipeline_kind("processes"), .num_workers = n_workers}};
}

/* Neither a child of ours nor a worker is left. */
static void nobody_is_left(void)
{
    int n = atomic_load(&shared->pids[0]);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_true(n > 0);
    for (int i = 1; i <= n && i <= FAKE_MAX_PIDS; i++) {
        assert_int_equal(kill(atomic_load(&shared->pids[i]), 0), -1);
        assert_int_equal(errno, ESRCH);
    }
}

static void a_death_is_told(void **state)
{
    (void)state;
    const struct {
        int signo;
        const char *how;
    } ends[] = {{SIGKILL, "SIGKILL"}, {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {0, "code 0"}};

    for (int i = 0; i < 16; i++) {
        struct fake fake = fake_shared(50);
        fake.die_at = 17;
        fake.die_by = ends[i % 4].signo;
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = by_processes(&ds, 3);
        p.loader.persistent_workers = i & 4;
        p.loader.order = i & 8 ? DLB_ORDER_ANY : DLB_ORDER_IN_ORDER;
        p.loader.pin_memory = i & 8;
        p.loader.pin_mode = DLB_PIN_THREAD;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_E_WORKER);
        error_is(&p.err, DLB_ERR_WORKER_DIED, "pid");
        error_is(&p.err, DLB_ERR_WORKER_DIED, "sample 17");
        error_is(&p.err, DLB_ERR_WORKER_DIED, ends[i % 4].how);
        assert_string_equal(p.err.path, "fake/17");
        pipeline_free(&p);
        nobody_is_left();
    }
}

static int parent_of(int pid)
{
    char path[64];
    int parent = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%*d (%*[^)]) %*c %d", &parent) != 1)
        parent = 0;
    if (f)
        (void)fclose(f);
    return parent;
}

/* In a process of its own: waits until `n` workers hang, then kills one of them or their server. */
static pid_t killer(int n, bool the_server)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    (void)alarm(60);
    while (atomic_load(&shared->pids[0]) < n || atomic_load(&shared->pids[n]) == 0)
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    (void)dlb_sleep_until_ns(dlb_now_ns() + 60 * DLB_NS_PER_MS);
    int victim = atomic_load(&shared->pids[1]);
    (void)kill(the_server ? parent_of(victim) : victim, SIGKILL);
    _exit(0);
}

static void killed_from_outside(bool the_server, enum dlb_code code)
{
    atomic_store(&shared->hang, true);
    struct fake fake = fake_shared(50);
    struct dlb_dataset ds = fake_dataset(&fake);
    pid_t other = killer(2, the_server);
    struct pipeline p = by_processes(&ds, 2);
    pipeline_run(&p);
    assert_int_equal(p.rc, DLB_E_WORKER);
    error_is(&p.err, code, "pid");
    error_is(&p.err, code, "SIGKILL");
    pipeline_free(&p);
    assert_int_equal(waitpid(other, NULL, 0), other);
}

/* The consumer sleeps, the other worker hangs: it hears of it all the same. */
static void a_killed_worker_wakes_the_consumer(void **state)
{
    (void)state;
    killed_from_outside(false, DLB_ERR_WORKER_DIED);
    nobody_is_left();
}

static void reap_until_gone(int n)
{
    uint64_t deadline_ns = dlb_now_ns() + 20 * DLB_NS_PER_S;
    for (int i = 1; i <= n; i++) {
        while (kill(atomic_load(&shared->pids[i]), 0) == 0) {
            (void)waitpid(-1, NULL, WNOHANG);
            assert_true(dlb_now_ns() < deadline_ns);
        }
    }
    while (waitpid(-1, NULL, 0) > 0) /* the server, which is gone a little later */
        ;
}

static void a_killed_server_takes_its_workers(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1UL), 0);
    killed_from_outside(true, DLB_ERR_FORKSERVER_DIED);
    reap_until_gone(2);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0UL), 0);
}

static void a_killed_parent_takes_its_workers(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1UL), 0);
    atomic_store(&shared->hang, true);
    struct fake fake = fake_shared(50);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct pipeline p = by_processes(&ds, 3);
    pid_t parent = fork();
    if (parent == 0) {
        (void)alarm(60);
        pipeline_run(&p);
        _exit(0);
    }
    while (atomic_load(&shared->pids[3]) == 0)
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    assert_int_equal(kill(parent, SIGKILL), 0);
    reap_until_gone(3);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0UL), 0);
}

static const struct dlb_loader *inner;
static atomic_bool stopping;

static int stop_told(void *ld, struct dlb_err *err)
{
    atomic_store(&stopping, true);
    return inner->stop(ld, err);
}

static void *end_the_hang(void *hang)
{
    while (!atomic_load(&stopping))
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    (void)dlb_sleep_until_ns(dlb_now_ns() + 200 * DLB_NS_PER_MS);
    atomic_store((atomic_bool *)hang, false);
    return NULL;
}

/* A thread cannot be killed: there the reader comes back, while it is waited for. */
static void a_stuck_reader_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < 16; i++) {
        bool processes = i & 1, iterable = i & 4, watched = i & 8;
        struct dlb_pulse pulse = {.stall_ns = 300 * DLB_NS_PER_MS};
        pthread_t rescue;
        atomic_store(&shared->hang, true);
        struct fake fake = fake_shared(50);
        fake.hang_at = 17;
        if (iterable) {
            fake.n_shards = 2;
            fake.shard_samples[0] = fake.shard_samples[1] = 12;
        }
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = by_processes(&ds, 2);
        p.loader.kind = pipeline_kind(processes ? "processes" : "threads");
        p.loader.order = i & 2 ? DLB_ORDER_ANY : DLB_ORDER_IN_ORDER;
        if (watched)
            p.pulse = &pulse;
        else
            p.loader.timeout_s = 0.3;
        inner = dlb_loader_choose(&p.loader, &p.err);
        assert_non_null(inner);
        struct dlb_loader told = *inner;
        told.stop = stop_told;
        p.use_loader = &told;
        atomic_store(&stopping, false);
        if (!processes)
            assert_int_equal(pthread_create(&rescue, NULL, end_the_hang, &shared->hang), 0);
        pipeline_run(&p);
        if (!processes)
            assert_int_equal(pthread_join(rescue, NULL), 0);
        assert_int_equal(p.rc, DLB_E_WORKER);
        error_is(&p.err, DLB_ERR_READER_HANGS, " 0.3 s");
        assert_int_equal(strstr(p.err.what, "loader.timeout_s") != NULL, !watched);
        error_is(&p.err, DLB_ERR_READER_HANGS, iterable ? "sample 5 " : "sample 17");
        assert_string_equal(p.err.path, iterable ? "fake/1" : "fake/17");
        pipeline_free(&p);
        if (processes)
            nobody_is_left();
        memset((void *)shared, 0, sizeof *shared);
    }
}

extern const struct dlb_loader dlb_ld_processes;

/* Waits for the workers of all loaders, and stops one. */
static int stop_when_all_left(void *ld, struct dlb_err *err)
{
    uint64_t give_up_ns = dlb_now_ns() + 10 * DLB_NS_PER_S;
    for (int i = 1; i <= atomic_load(&shared->pids[0]); i++)
        while (kill(atomic_load(&shared->pids[i]), 0) == 0) {
            assert_true(dlb_now_ns() < give_up_ns);
            (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
        }
    return dlb_ld_processes.stop(ld, err);
}

/* Who leaves by himself and who has to be killed: no loader is waited for in the meantime. */
static void dismissed_workers_need_no_waiting(void **state)
{
    (void)state;
    struct dlb_loader loader = dlb_ld_processes;
    loader.stop = stop_when_all_left;
    for (int hangs = 0; hangs <= 1; hangs++) {
        atomic_store(&shared->hang, true);
        struct fake fake = fake_shared(40000);
        fake.hang_at = hangs ? 7 : 39999;
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = by_processes(&ds, 2);
        p.use_loader = &loader;
        p.n_accelerators = 2;
        p.loader.pin_memory = true;
        p.loader.batch_size = 1;
        p.max_batches = 1;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_OK);
        pipeline_free(&p);
        nobody_is_left();
        memset((void *)shared, 0, sizeof *shared);
    }
}

/* Each batch takes longer than the time limit, but no sample does; the watcher sees progress. */
static void slow_is_not_stuck(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers <= 2; workers += 2) {
        struct dlb_pulse pulse = {.stall_ns = 300 * DLB_NS_PER_MS};
        struct fake fake = fake_shared(12);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = by_processes(&ds, workers);
        p.loader.kind = pipeline_kind(workers ? "processes" : "inline");
        p.loader.batch_size = 6;
        p.loader.sample_sleep_us = 100000;
        p.pulse = &pulse;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_OK);
        assert_true(atomic_load(&pulse.n_signs) > 3);
        pipeline_free(&p);
    }
}

static void each_start_pays_for_itself(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool persistent = i & 1;
        struct fake fake = fake_shared(40);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = by_processes(&ds, 2);
        p.loader.kind = pipeline_kind(i & 2 ? "threads" : "processes");
        p.loader.persistent_workers = persistent;
        p.loader.worker_init_ms = 5;
        p.loader.worker_init_mb = 4;
        p.n_epochs = 3;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_OK);
        const struct dlb_hist *init = &p.stats->workers.stage[DLB_WS_INIT];
        assert_int_equal(init->count, persistent ? 2 : 6);
        assert_true(init->sum_ns >= init->count * 5 * DLB_NS_PER_MS);
        if (!(i & 2))
            assert_true(p.stats->private_bytes >= 2 * 4000000);
        for (int e = 0; e < 3; e++)
            assert_int_equal(p.out->epoch[e].n_unique, 40);
        pipeline_free(&p);
        memset((void *)shared, 0, sizeof *shared);
    }
}

/* Each batch's memory is new: its pages are faulted in by the worker that fills it. */
static void fresh_memory_faults(void **state)
{
    (void)state;
    enum { BATCH = 4000, N = 50 * BATCH };
    uint64_t faults[2], bytes = 0;
    for (int fresh = 0; fresh < 2; fresh++) {
        struct fake fake = fake_shared(N);
        struct dlb_dataset ds = fake_dataset(&fake);
        struct pipeline p = by_processes(&ds, 1);
        p.loader.batch_size = BATCH;
        p.loader.transport = fresh ? DLB_TRANSPORT_FRESH : DLB_TRANSPORT_POOLED;
        pipeline_run(&p);
        assert_int_equal(p.rc, DLB_OK);
        assert_int_equal(p.out->epoch[0].n_unique, N);
        faults[fresh] = p.stats->os.minor_faults;
        bytes = p.out->epoch[0].n_bytes;
        pipeline_free(&p);
    }
    /* Reused slots are faulted in once; what else a process faults in is the same for both. */
    assert_true(faults[1] >= faults[0] + bytes / 4096 * 3 / 4);
}

static void short_limits_are_named(void **state)
{
    (void)state;
    struct fake fake = fake_shared(50);
    struct dlb_dataset ds = fake_dataset(&fake);
    struct rlimit old, low;
    struct pipeline p = by_processes(&ds, 2);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){.rlim_cur = 12, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    pipeline_run(&p);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(p.rc, DLB_E_NOMEM);
    error_is(&p.err, DLB_ERR_LIMIT_DESCRIPTORS, "RLIMIT_NOFILE");
    pipeline_free(&p);

    p = by_processes(&ds, 2);
    p.loader.worker_init_mb = 1e6; /* a terabyte each */
    pipeline_run(&p);
    assert_int_equal(p.rc, DLB_E_NOMEM);
    error_is(&p.err, DLB_ERR_LOADER_WORKERS_MEMORY, "2 workers");
    pipeline_free(&p);

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    low = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    p = by_processes(&ds, 2);
    pipeline_run(&p);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(p.rc, DLB_E_IO);
    assert_non_null(strstr(p.err.what, "RLIMIT_FSIZE"));
    pipeline_free(&p);
}

static void fresh_memory_is_not_pinned_in_place(void **state)
{
    (void)state;
    struct dlb_err err;
    struct dlb_loader_opts opts = {.kind = pipeline_kind("processes"),
                                   .num_workers = 1,
                                   .pin_memory = true,
                                   .transport = DLB_TRANSPORT_FRESH};
    assert_null(dlb_loader_choose(&opts, &err));
    error_is(&err, DLB_ERR_LOADER_FRESH_PINNED, "loader.pin_mode");
    opts.pin_mode = DLB_PIN_THREAD;
    assert_non_null(dlb_loader_choose(&opts, &err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_death_is_told),
        TEST(a_killed_worker_wakes_the_consumer),
        TEST(a_killed_server_takes_its_workers),
        TEST(a_killed_parent_takes_its_workers),
        TEST(a_stuck_reader_is_named),
        TEST(dismissed_workers_need_no_waiting),
        TEST(slow_is_not_stuck),
        TEST(each_start_pays_for_itself),
        TEST(fresh_memory_faults),
        TEST(short_limits_are_named),
        TEST(fresh_memory_is_not_pinned_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The readers on made-up /proc and /sys trees of both cgroup versions, then on the machine itself.
 */
#include "core/base/clock.h"
#include "core/host/osacct.h"
#include "core/host/osacct_parse.h"
#include "core/host/strain.h"

#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static int new_root(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof root, "/tmp/dlb_osacct_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int drop_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes a file below the root, folders included. */
static void put(const char *path, const char *text)
{
    char full[512];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void nothing_there_is_not_measured(void **state)
{
    (void)state;
    struct dlb_os_process process;
    dlb_os_io_at(root, &process);
    assert_true(process.read_chars == DLB_NOT_MEASURED);
    assert_true(process.read_device_bytes == DLB_NOT_MEASURED);
    assert_true(dlb_os_pss_bytes_at(root) == DLB_NOT_MEASURED);
    assert_true(dlb_os_mem_available_bytes_at(root) == DLB_NOT_MEASURED);
    assert_true(dlb_cgroup_quota_cores(root) == 0.0);
    struct dlb_os_thread thread;
    dlb_os_schedstat_at("/nonexistent/schedstat", &thread);
    assert_true(thread.run_ns == DLB_NOT_MEASURED && thread.runqueue_ns == DLB_NOT_MEASURED);
}

static void io_file(void **state)
{
    (void)state;
    struct dlb_os_process process;
    put("/proc/self/io",
        "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\nread_bytes: 4096\n"
        "write_bytes: 323932160\ncancelled_write_bytes: 0\n");
    dlb_os_io_at(root, &process);
    assert_int_equal(process.read_chars, 323934931);
    assert_int_equal(process.read_device_bytes, 4096);

    put("/proc/self/io", "rchar: many\nread_bytes: 18446744073709551616\n");
    dlb_os_io_at(root, &process);
    assert_true(process.read_chars == DLB_NOT_MEASURED);
    assert_true(process.read_device_bytes == DLB_NOT_MEASURED);
}

static void schedstat_file(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t run_ns, runqueue_ns;
    } cases[] = {
        {"1234567 89012 42\n", 1234567, 89012},
        {"5 0 1\n", 5, 0},
        {"0 0 0\n", DLB_NOT_MEASURED, DLB_NOT_MEASURED}, /* the kernel does not count */
        {"0 0 1\n", 0, 0},                               /* a thread in its first slice */
        {"123\n", DLB_NOT_MEASURED, DLB_NOT_MEASURED},
        {"", DLB_NOT_MEASURED, DLB_NOT_MEASURED},
        {"-1 -2 3\n", DLB_NOT_MEASURED, DLB_NOT_MEASURED},
        {"12 nonsense\n", DLB_NOT_MEASURED, DLB_NOT_MEASURED},
    };
    char path[128];
    (void)snprintf(path, sizeof path, "%s/schedstat", root);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dlb_os_thread thread;
        put("/schedstat", cases[i].text);
        dlb_os_schedstat_at(path, &thread);
        assert_true(thread.run_ns == cases[i].run_ns);
        assert_true(thread.runqueue_ns == cases[i].runqueue_ns);
    }
}

static void pss_else_rss(void **state)
{
    (void)state;
    put("/proc/self/statm", "1000 250 30 1 0 100 0\n");
    assert_int_equal(dlb_os_pss_bytes_at(root), 250 * (uint64_t)sysconf(_SC_PAGESIZE));
    put("/proc/self/smaps_rollup",
        "55d0-7ffd ---p 00000000 00:00 0    [rollup]\nRss:    888 kB\nPss:    321 kB\n"
        "Pss_Anon:   84 kB\n");
    assert_int_equal(dlb_os_pss_bytes_at(root), 321 * 1024);
    put("/proc/self/smaps_rollup", "Pss_Anon:   84 kB\n"); /* a longer key is another key */
    assert_int_equal(dlb_os_pss_bytes_at(root), 250 * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void peak_pss_adds_what_was_given_back(void **state)
{
    (void)state;
    put("/proc/self/smaps_rollup", "Pss:    300 kB\n");
    assert_int_equal(dlb_os_peak_pss_bytes_at(root), 300 * 1024); /* no status: what there is */
    put("/proc/self/status", "VmPeak:   9999 kB\nVmHWM:    1500 kB\nVmRSS:     500 kB\n");
    assert_int_equal(dlb_os_peak_pss_bytes_at(root), 1300 * 1024);
    put("/proc/self/status", "VmHWM:    400 kB\nVmRSS:     500 kB\n");
    assert_int_equal(dlb_os_peak_pss_bytes_at(root), 300 * 1024);
}

static void put_v2(const char *own_path, const char *mount_root)
{
    char text[512];
    (void)snprintf(text, sizeof text, "0::%s\n", own_path);
    put("/proc/self/cgroup", text);
    (void)snprintf(
        text, sizeof text,
        "22 1 0:20 / /proc rw - proc proc rw\n"
        "30 1 0:26 %s /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
        mount_root);
    put("/proc/self/mountinfo", text);
    put("/proc/meminfo",
        "MemTotal:       16000000 kB\nMemFree:         1000 kB\nMemAvailable:    8000000 kB\n");
}

static void version_2_limits(void **state)
{
    (void)state;
    put_v2("/user.slice/job", "/");
    assert_true(dlb_cgroup_quota_cores(root) == 0.0);
    assert_int_equal(dlb_os_mem_available_bytes_at(root), UINT64_C(8000000) * 1024);

    put("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/user.slice/job/memory.max", "max\n");
    put("/sys/fs/cgroup/user.slice/job/memory.current", "5000\n");
    assert_true(dlb_cgroup_quota_cores(root) == 0.0);
    assert_int_equal(dlb_os_mem_available_bytes_at(root), UINT64_C(8000000) * 1024);

    put("/sys/fs/cgroup/user.slice/job/cpu.max", "250000 100000\n");
    assert_true(dlb_cgroup_quota_cores(root) == 2.5);
    /* A parent may be tighter than we are. */
    put("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    assert_true(dlb_cgroup_quota_cores(root) == 1.5);

    put("/sys/fs/cgroup/user.slice/job/memory.max", "1000000\n");
    put("/sys/fs/cgroup/user.slice/job/memory.current", "700000\n");
    assert_int_equal(dlb_os_mem_available_bytes_at(root), 300000);
    /* File pages count as free. */
    put("/sys/fs/cgroup/user.slice/job/memory.stat",
        "anon 400000\nfile 300000\ninactive_file 200000\nactive_file 100000\n");
    assert_int_equal(dlb_os_mem_available_bytes_at(root), 600000);
    put("/sys/fs/cgroup/user.slice/job/memory.high", "500000\n");
    assert_int_equal(dlb_os_mem_available_bytes_at(root), 100000);
    put("/sys/fs/cgroup/user.slice/memory.max", "1000\n");
    put("/sys/fs/cgroup/user.slice/memory.current", "2000\n");
    assert_int_equal(dlb_os_mem_available_bytes_at(root), 0);
}

static void tasks_that_are_left(void **state)
{
    (void)state;
    put_v2("/user.slice/job", "/");
    assert_true(dlb_cgroup_tasks_left(root) == UINT64_MAX);
    put("/sys/fs/cgroup/user.slice/job/pids.max", "max\n");
    put("/sys/fs/cgroup/user.slice/job/pids.current", "7\n");
    assert_true(dlb_cgroup_tasks_left(root) == UINT64_MAX);
    put("/sys/fs/cgroup/user.slice/job/pids.max", "100\n");
    assert_int_equal(dlb_cgroup_tasks_left(root), 93);
    put("/sys/fs/cgroup/user.slice/pids.max", "50\n"); /* a parent may be tighter */
    put("/sys/fs/cgroup/user.slice/pids.current", "49\n");
    assert_int_equal(dlb_cgroup_tasks_left(root), 1);
    put("/sys/fs/cgroup/user.slice/pids.current", "60\n");
    assert_int_equal(dlb_cgroup_tasks_left(root), 0);
}

static void descriptors_that_are_left(void **state)
{
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    uint64_t before = dlb_os_descriptors_left();
    int fd = open("/dev/null", O_RDONLY);
    assert_true(fd >= 0);
    if (limit.rlim_cur != RLIM_INFINITY)
        assert_int_equal(dlb_os_descriptors_left(), before - 1);
    (void)close(fd);
}

static void sums_of_processes(void **state)
{
    (void)state;
    struct dlb_os_process a = {.utime_ns = 3, .minor_faults = DLB_NOT_MEASURED, .read_chars = 7};
    struct dlb_os_process b = {.utime_ns = 4, .minor_faults = 1, .read_chars = DLB_NOT_MEASURED};
    dlb_os_process_add(&a, &b);
    assert_int_equal(a.utime_ns, 7);
    assert_true(a.minor_faults == DLB_NOT_MEASURED && a.read_chars == DLB_NOT_MEASURED);
    assert_int_equal(a.stime_ns, 0);
}

static void version_2_in_a_container(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    put_v2("/", "/"); /* a cgroup namespace of its own */
    assert_true(dlb_cgroup_quota_cores(root) == 0.5);
    put_v2("/docker/abc", "/docker/abc"); /* only the container's part is mounted */
    assert_true(dlb_cgroup_quota_cores(root) == 0.5);
    put_v2("/../outside", "/"); /* moved out of the namespace */
    assert_true(dlb_cgroup_quota_cores(root) == 0.5);
    put_v2("/not/here", "/");
    assert_true(dlb_cgroup_quota_cores(root) == 0.5);
}

static void version_1_limits(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "9:name=systemd:/x\n4:memory:/job/one\n2:cpu,cpuacct:/job\n0::/\n");
    put("/proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    put("/proc/meminfo", "MemAvailable:    8000000 kB\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/job/one/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    put("/sys/fs/cgroup/memory/job/one/memory.usage_in_bytes", "4096\n");
    assert_true(dlb_cgroup_quota_cores(root) == 0.0);
    assert_int_equal(dlb_os_mem_available_bytes_at(root), UINT64_C(8000000) * 1024);

    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000\n");
    assert_true(dlb_cgroup_quota_cores(root) == 3.0);
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000000\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "900000\n");
    put("/sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\ntotal_inactive_file 50000\ntotal_active_file 10000\n");
    assert_int_equal(dlb_os_mem_available_bytes_at(root), 160000);
}

static void what_others_take(void **state)
{
    (void)state;
    struct dlb_os_strain s;
    dlb_os_strain_at(root, &s);
    assert_true(s.machine.all_ticks == DLB_NOT_MEASURED && s.pressure_ns == DLB_NOT_MEASURED);
    assert_true(s.throttled_ns == DLB_NOT_MEASURED && s.n_hot == DLB_NOT_MEASURED);

    put_v2("/user.slice/job", "/");
    put("/proc/stat", "cpu  10 20 30 400 50 6 7 8 5 5\ncpu0 1 2 3\n");
    put("/proc/pressure/cpu", "some avg10=1.00 avg60=2.00 avg300=3.00 total=1234\n"
                              "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
    put("/sys/fs/cgroup/user.slice/job/cpu.stat",
        "usage_usec 9\nnr_periods 8\nnr_throttled 2\nthrottled_usec 500\n");
    put("/sys/fs/cgroup/user.slice/cpu.stat", "throttled_usec 40\n");
    put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
    put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
    put("/sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count", "5\n");
    dlb_os_strain_at(root, &s);
    assert_int_equal(s.machine.task_ticks, 60);
    assert_int_equal(s.machine.stolen_ticks, 8);
    assert_int_equal(s.machine.busy_ticks, 60 + 6 + 7 + 8);
    assert_int_equal(s.pressure_ns, 1234000);
    assert_int_equal(s.throttled_ns, 540000);
    assert_int_equal(s.n_hot, 12);

    put("/proc/pressure/cpu", "some avg10=1.00\n");
    put("/sys/fs/cgroup/user.slice/job/cpu.stat", "throttled_usec many\n");
    dlb_os_strain_at(root, &s);
    assert_true(s.pressure_ns == DLB_NOT_MEASURED);
    assert_int_equal(s.throttled_ns, 40000);
    assert_true(isnan(dlb_os_rise(5, 4)) && isnan(dlb_os_rise(5, DLB_NOT_MEASURED)));
    assert_true(dlb_os_rise(4, 6) == 2);
}

static void version_1_throttles(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "2:cpu,cpuacct:/job\n0::/\n");
    put("/proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "nr_throttled 1\nthrottled_time 77\n");
    assert_int_equal(dlb_cgroup_throttled_ns(root), 77);
}

static void garbage_is_not_a_limit(void **state)
{
    (void)state;
    put_v2("/a", "/");
    static const char *const odd[] = {"",         "\n",  "100000",     "0 100000",
                                      "100000 0", "x y", "1e5 100000", "-5 100000"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        put("/sys/fs/cgroup/a/cpu.max", odd[i]);
        assert_true(dlb_cgroup_quota_cores(root) == 0.0);
    }
    put("/proc/self/cgroup", "nothing here\n::\n0:\n");
    assert_true(dlb_cgroup_quota_cores(root) == 0.0);
    put_v2("/a", "/");
    put("/proc/self/mountinfo", "30 1 0:26\n\n- - - - - - - - -\n");
    assert_true(dlb_cgroup_quota_cores(root) == 0.0);
}

/* --- this machine --- */

static void burn_ns(uint64_t duration_ns)
{
    uint64_t end_ns = dlb_now_ns() + duration_ns;
    volatile uint64_t sink = 0;
    while (dlb_now_ns() < end_ns)
        sink = sink + 1;
}

static void process_counts_grow(void **state)
{
    (void)state;
    struct dlb_os_process before, after;
    dlb_os_process(&before);
    burn_ns(30 * DLB_NS_PER_MS);
    char *fresh = malloc(4 << 20);
    assert_non_null(fresh);
    for (size_t i = 0; i < 4 << 20; i += 4096)
        ((volatile char *)fresh)[i] = 1;
    free(fresh);
    dlb_os_process(&after);
    assert_true(after.utime_ns + after.stime_ns > before.utime_ns + before.stime_ns);
    assert_true(after.minor_faults > before.minor_faults);
    if (before.read_chars != DLB_NOT_MEASURED) /* reading /proc/self/io itself counts */
        assert_true(after.read_chars > before.read_chars);
}

static void *hog(void *arg)
{
    struct dlb_os_thread *out = arg;
    burn_ns(150 * DLB_NS_PER_MS);
    dlb_os_thread(0, out);
    return NULL;
}

/* Two threads on one core: together they wait for it about as long as they run. */
static void runqueue_wait_is_seen(void **state)
{
    (void)state;
    struct dlb_os_thread self, threads[2];
    dlb_os_thread(0, &self);
    if (self.run_ns == DLB_NOT_MEASURED)
        skip();

    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &old))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pthread_t id[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&id[i], NULL, hog, &threads[i]), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(id[i], NULL), 0);
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);

    uint64_t waited_ns = threads[0].runqueue_ns + threads[1].runqueue_ns;
    uint64_t ran_ns = threads[0].run_ns + threads[1].run_ns;
    assert_true(waited_ns > ran_ns / 4);
}

static void a_dead_thread_is_not_measured(void **state)
{
    (void)state;
    struct dlb_os_thread thread;
    dlb_os_thread(INT32_MAX, &thread);
    assert_true(thread.run_ns == DLB_NOT_MEASURED && thread.runqueue_ns == DLB_NOT_MEASURED);
}

static void memory_of_this_machine(void **state)
{
    (void)state;
    enum { GROW_BYTES = 64 << 20 };
    uint64_t before = dlb_os_pss_bytes_at("");
    if (before == DLB_NOT_MEASURED)
        skip();
    char *block = malloc(GROW_BYTES);
    assert_non_null(block);
    memset(block, 1, GROW_BYTES);
    uint64_t after = dlb_os_pss_bytes_at("");
    assert_true(((volatile char *)block)[GROW_BYTES / 2] == 1);
    free(block);
    assert_true(after >= before + GROW_BYTES / 2);
    assert_true(dlb_os_peak_pss_bytes() >= before + GROW_BYTES / 2); /* though it is given back */
    assert_true(after <= before + 8 * (uint64_t)GROW_BYTES); /* sanitizers keep shadows of it */

    uint64_t available = dlb_os_mem_available_bytes();
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (available != DLB_NOT_MEASURED)
        assert_true(available > 0 && available <= physical);
}

static void cpus_of_this_machine(void **state)
{
    (void)state;
    double quota_cores = -1.0;
    uint32_t all = dlb_os_n_cpus(&quota_cores);
    uint64_t set = dlb_os_cpu_set_hash();
    assert_true(set != 0 && dlb_os_cpu_set_hash() == set);
    assert_true(all >= 1 && all <= (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    assert_true(quota_cores >= 0.0);

    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &old))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(dlb_os_n_cpus(&quota_cores), 1);
    assert_int_equal(dlb_os_cpu_set_hash() == set, CPU_COUNT(&old) == 1);
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
    assert_int_equal(dlb_os_n_cpus(&quota_cores), all);
    assert_true(dlb_os_cpu_set_hash() == set);
}

#define ROOTED(test) cmocka_unit_test_setup_teardown(test, new_root, drop_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROOTED(nothing_there_is_not_measured),
        ROOTED(io_file),
        ROOTED(schedstat_file),
        ROOTED(pss_else_rss),
        ROOTED(peak_pss_adds_what_was_given_back),
        ROOTED(version_2_limits),
        ROOTED(version_2_in_a_container),
        ROOTED(tasks_that_are_left),
        ROOTED(descriptors_that_are_left),
        ROOTED(sums_of_processes),
        ROOTED(version_1_limits),
        ROOTED(version_1_throttles),
        ROOTED(what_others_take),
        ROOTED(garbage_is_not_a_limit),
        cmocka_unit_test(process_counts_grow),
        cmocka_unit_test(runqueue_wait_is_seen),
        cmocka_unit_test(a_dead_thread_is_not_measured),
        cmocka_unit_test(memory_of_this_machine),
        cmocka_unit_test(cpus_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What control groups allow, in a made-up /proc and /sys: form feeds divide the input into files,
 * in the order of `names`. Any texts end; a quota is above zero. */
#include "core/host/osacct_parse.h"
#include "tests/support/memory_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    /* The first two say where the others are: below "/cg" or "/cg/a". */
    static const char *const names[] = {"proc/self/cgroup",
                                        "proc/self/mountinfo",
                                        "cg/cpu.max",
                                        "cg/a/cpu.max",
                                        "cg/cpu.cfs_quota_us",
                                        "cg/cpu.cfs_period_us",
                                        "cg/memory.max",
                                        "cg/a/memory.max",
                                        "cg/memory.high",
                                        "cg/memory.current",
                                        "cg/a/memory.current",
                                        "cg/memory.stat",
                                        "cg/memory.limit_in_bytes",
                                        "cg/memory.usage_in_bytes",
                                        "cg/pids.max",
                                        "cg/pids.current"};
    enum { N = sizeof names / sizeof *names };
    static int fd[N];
    const uint8_t *part;

    for (size_t i = 0; i < N; i++) {
        if (fd[i] == 0)
            fd[i] = memory_files_new(names[i]);
        size_t n_part = memory_files_part(&data, &n_bytes, &part);
        memory_files_set(fd[i], part, n_part);
    }
    if (!(dlb_cgroup_quota_cores(memory_files_folder()) >= 0))
        abort();
    (void)dlb_cgroup_mem_left_bytes(memory_files_folder());
    (void)dlb_cgroup_tasks_left(memory_files_folder());
    return 0;
}

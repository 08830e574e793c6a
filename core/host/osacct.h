/* What the kernel accounts to us.
 *
 * Floor 1. Any thread. Each reader fills what it can and sets the rest to DLB_NOT_MEASURED: never
 * zero for "unknown". */
#ifndef DLB_CORE_HOST_OSACCT_H
#define DLB_CORE_HOST_OSACCT_H

#include "core/base/json.h"

#include <stdint.h>

struct dlb_os_process {
    uint64_t utime_ns, stime_ns; /* getrusage(RUSAGE_SELF) */
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t read_chars; /* /proc/self/io rchar: bytes asked of read(2), page cache included */
    uint64_t read_device_bytes; /* /proc/self/io read_bytes: bytes fetched from storage for us */
};
void dlb_os_process(struct dlb_os_process *out);

/* Adds field by field; what one of them has not measured the sum has not either. */
void dlb_os_process_add(struct dlb_os_process *into, const struct dlb_os_process *from);

struct dlb_os_thread {
    uint64_t run_ns;      /* /proc/self/task/<tid>/schedstat, first field: time on a core */
    uint64_t runqueue_ns; /* second field: runnable, but no core */
};
void dlb_os_thread(int32_t tid, struct dlb_os_thread *out); /* tid 0: the caller */

/* All that the kernel tells of the calling thread, with the time at which it did. Blocked is what
 * is left of a stretch of time: not on a core, and not waiting for one. */
struct dlb_os_self {
    uint64_t now_ns, cpu_ns; /* CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID */
    uint64_t runqueue_ns;    /* schedstat: runnable, but no core */
    uint64_t minor_faults, major_faults, voluntary_switches,
        involuntary_switches; /* getrusage(RUSAGE_THREAD) */
};
void dlb_os_self(struct dlb_os_self *out);

/* Its minor faults alone: a fraction of a microsecond. */
uint64_t dlb_os_self_minor_faults(void);

/* Proportional set size of this process: /proc/self/smaps_rollup, else rss. DLB_NOT_MEASURED when
 * neither can be read. */
uint64_t dlb_os_pss_bytes(void);

/* Its peak since the process began. The kernel keeps a peak of the resident set only (VmHWM), so
 * this is what is held now, and what the resident set has fallen by since its own peak. */
uint64_t dlb_os_peak_pss_bytes(void);

/* Resident set size; DLB_NOT_MEASURED when it cannot be read. */
uint64_t dlb_os_rss_bytes(void);

/* Resident anonymous memory of this process; a forked one begins with its parent's pages, shared
 * until written. DLB_NOT_MEASURED when it cannot be read. */
uint64_t dlb_os_anon_bytes(void);

/* MemAvailable of /proc/meminfo, held within the cgroup's limit. */
uint64_t dlb_os_mem_available_bytes(void);

/* MemTotal of /proc/meminfo: what the page cache of the machine may grow to, whoever fills it. 0
 * when it cannot be read. */
uint64_t dlb_os_ram_bytes(void);

/* Ticks of all CPUs since the machine started (/proc/stat), those in which they did something
 * (waiting for I/O is nothing), and of these the ones that a hypervisor gave to others while
 * something here was ready to run ("steal"). DLB_NOT_MEASURED when it cannot be read. */
struct dlb_os_machine {
    uint64_t busy_ticks, stolen_ticks, all_ticks;
};
void dlb_os_machine(struct dlb_os_machine *out);
struct dlb_os_machine dlb_os_machine_parse(const char *proc_stat);

/* The busy and the stolen share between two of them, and the stolen time, summed over all CPUs; NaN
 * where there is none. The stolen share: also NaN below DLB_OS_STOLEN_TICKS, of which one tick is
 * 1%. */
#define DLB_OS_STOLEN_TICKS 100
#define DLB_OS_STOLEN_NOTED 0.02 /* a reader is told */
double dlb_os_busy_frac(const struct dlb_os_machine *before, const struct dlb_os_machine *after);
double dlb_os_stolen_frac(const struct dlb_os_machine *before, const struct dlb_os_machine *after);
double dlb_os_stolen_ns(const struct dlb_os_machine *before, const struct dlb_os_machine *after);

/* Threads and processes that may still be started: the least of what the cgroup's pids.max and, for
 * an ordinary user, RLIMIT_NPROC leave. DLB_NOT_MEASURED without a limit. *by (static): which one
 * it is. */
uint64_t dlb_os_tasks_left(const char **by);

/* Descriptors that this process may still open under RLIMIT_NOFILE; DLB_NOT_MEASURED without a
 * limit or a count. */
uint64_t dlb_os_descriptors_left(void);

/* CPUs by affinity, held within the cgroup's quota (cpu.max, v1's cfs too); *quota is cores, 0.0
 * for none. */
uint32_t dlb_os_n_cpus(double *quota_cores);

#endif

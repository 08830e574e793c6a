/* What the kernel accounts to this process and its threads.
 *
 * Floor 1. Any thread. Each function fills what it can and sets the rest to DLB_NOT_MEASURED,
 * never to zero. */
#ifndef DLB_CORE_HOST_OSACCT_H
#define DLB_CORE_HOST_OSACCT_H

#include "core/base/json.h"

#include <stdint.h>
#include <sys/types.h>

struct dlb_os_process {
    uint64_t utime_ns, stime_ns; /* getrusage(RUSAGE_SELF) */
    uint64_t minor_faults, major_faults;
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t read_chars; /* /proc/self/io rchar: bytes asked of read(2), page cache included */
    uint64_t read_device_bytes; /* /proc/self/io read_bytes: bytes fetched from storage for this
                                   process */
};
void dlb_os_process(struct dlb_os_process *out);

/* Adds field by field; a field that one of them has not measured is not measured in the sum. */
void dlb_os_process_add(struct dlb_os_process *into, const struct dlb_os_process *from);

struct dlb_os_thread {
    uint64_t run_ns;      /* /proc/self/task/<tid>/schedstat, first field: time on a core */
    uint64_t runqueue_ns; /* second field: runnable, but no core */
};
void dlb_os_thread(int32_t tid, struct dlb_os_thread *out); /* tid 0: the caller */

/* Of another process's first thread, by the numbers that /proc has. A wait counts when it ends. */
void dlb_os_first_thread(pid_t pid, struct dlb_os_thread *out);

/* Everything that the kernel accounts to the calling thread, with the time of the reading.
 * Between two readings, blocked time is what remains: neither on a core nor waiting for one. */
struct dlb_os_self {
    uint64_t now_ns, cpu_ns; /* CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID */
    uint64_t runqueue_ns;    /* schedstat: runnable, but no core */
    uint64_t minor_faults, major_faults, voluntary_switches,
        involuntary_switches; /* getrusage(RUSAGE_THREAD) */
};
void dlb_os_self(struct dlb_os_self *out);

/* Only the minor faults of the calling thread; takes a fraction of a microsecond. */
uint64_t dlb_os_self_minor_faults(void);

/* Peak of the process's proportional set size: what it holds now (/proc/self/smaps_rollup, else its
 * resident set), and what its resident set has fallen by since its own peak, because the kernel
 * keeps a peak of the resident set only (VmHWM). DLB_NOT_MEASURED when neither can be read. */
uint64_t dlb_os_peak_pss_bytes(void);

/* Resident set size; DLB_NOT_MEASURED when it cannot be read. */
uint64_t dlb_os_rss_bytes(void);

/* Resident anonymous memory of this process; a forked one begins with its parent's pages, shared
 * until written. DLB_NOT_MEASURED when it cannot be read. */
uint64_t dlb_os_anon_bytes(void);

/* MemAvailable of /proc/meminfo, or what the cgroup's limit leaves if that is less. */
uint64_t dlb_os_mem_available_bytes(void);

/* MemTotal of /proc/meminfo: an upper bound for the page cache of the machine. 0 when it cannot
 * be read. */
uint64_t dlb_os_ram_bytes(void);

/* Ticks of all CPUs since the machine started (/proc/stat): all of them; the busy ones (waiting
 * for I/O is not busy); and of the busy ones those that a hypervisor gave to other guests while
 * a task here was ready to run ("steal"). DLB_NOT_MEASURED when it cannot be read. */
struct dlb_os_machine {
    uint64_t busy_ticks, stolen_ticks, all_ticks;
    uint64_t task_ticks; /* of the busy ones, those of tasks: not of interrupts, nor stolen */
};
void dlb_os_machine(struct dlb_os_machine *out);
struct dlb_os_machine dlb_os_machine_parse(const char *proc_stat);

/* The busy share and the stolen share between two readings, and the stolen time summed over all
 * CPUs; NaN when not measured. The stolen share is also NaN below DLB_OS_STOLEN_TICKS in all,
 * where one tick is more than 1%. */
#define DLB_OS_STOLEN_TICKS 100
#define DLB_OS_STOLEN_NOTED 0.02 /* from here on a note tells the reader */
double dlb_os_busy_frac(const struct dlb_os_machine *before, const struct dlb_os_machine *after);
double dlb_os_stolen_frac(const struct dlb_os_machine *before, const struct dlb_os_machine *after);
double dlb_os_stolen_ns(const struct dlb_os_machine *before, const struct dlb_os_machine *after);

/* Threads and processes that may still be started: the least of what the cgroup's pids.max and,
 * for an ordinary user, RLIMIT_NPROC leave. DLB_NOT_MEASURED without a limit. *by (static) names
 * the limit. */
uint64_t dlb_os_tasks_left(const char **by);

/* Descriptors that this process may still open under RLIMIT_NOFILE; DLB_NOT_MEASURED without a
 * limit or a count. */
uint64_t dlb_os_descriptors_left(void);

/* CPUs by affinity, or by the cgroup's quota if that is less (cpu.max, also v1's cfs).
 * *quota_cores: the quota; 0.0 for none. */
uint32_t dlb_os_n_cpus(double *quota_cores);

/* The same for processes of a machine that may run on the same CPUs. 0: not known. */
uint64_t dlb_os_cpu_set_hash(void);

#endif

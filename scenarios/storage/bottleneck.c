#include "scenarios/storage/bottleneck.h"

#include <math.h>
#include <stdio.h>

const char *dlb_bottleneck_name(enum dlb_bottleneck bottleneck)
{
    static const char *const names[] = {
        [DLB_BOTTLENECK_NONE] = "none",
        [DLB_BOTTLENECK_UNKNOWN] = "unknown",
        [DLB_BOTTLENECK_HARNESS] = "harness",
        [DLB_BOTTLENECK_CPU] = "cpu",
        [DLB_BOTTLENECK_MEMORY] = "memory-bandwidth",
        [DLB_BOTTLENECK_COPY] = "host-to-device copy",
        [DLB_BOTTLENECK_LATENCY] = "storage-latency",
        [DLB_BOTTLENECK_BANDWIDTH] = "storage-bandwidth",
    };
    return names[bottleneck];
}

const char *dlb_bottleneck_code(enum dlb_bottleneck bottleneck)
{
    static const char *const codes[] = {
        [DLB_BOTTLENECK_NONE] = "NO_BOTTLENECK",
        [DLB_BOTTLENECK_UNKNOWN] = "UNKNOWN_BOTTLENECK",
        [DLB_BOTTLENECK_HARNESS] = "HARNESS_BOUND",
        [DLB_BOTTLENECK_CPU] = "CPU_BOUND",
        [DLB_BOTTLENECK_MEMORY] = "MEMORY_BANDWIDTH",
        [DLB_BOTTLENECK_COPY] = "H2D_COPY",
        [DLB_BOTTLENECK_LATENCY] = "STORAGE_LATENCY",
        [DLB_BOTTLENECK_BANDWIDTH] = "STORAGE_BANDWIDTH",
    };
    return codes[bottleneck];
}

static double zero_if_nan(double value)
{
    return isfinite(value) ? value : 0;
}

static double work_ns(const struct dlb_bottleneck_evidence *e)
{
    return zero_if_nan(e->read_ns) + zero_if_nan(e->decode_ns) + zero_if_nan(e->collate_ns);
}

/* Share of the workers' working time that they computed or waited for a core. In the rest they
 * slept in a read, or a hypervisor had their core; no kernel reports that per thread. */
static double cpu_share(const struct dlb_bottleneck_evidence *e)
{
    double work = work_ns(e);
    return work > 0 ? fmin((zero_if_nan(e->cpu_ns) + zero_if_nan(e->runqueue_ns)) / work, 1) : 0;
}

/* Whether time that a hypervisor took can explain what looks like waiting for bytes. */
static bool stolen(const struct dlb_bottleneck_evidence *e, double share, char *text, size_t n_text)
{
    double slept_ns = work_ns(e) * (1 - share);
    if (!(slept_ns > 0 && e->stolen_ns >= DLB_STOLEN_CLEAR * slept_ns))
        return false;
    (void)snprintf(
        text, n_text,
        "the workers neither computed nor waited for a core for %.2g s, and meanwhile "
        "a hypervisor took up to %.2g s of their CPUs' time: what the storage would give "
        "is not to be known here",
        slept_ns / 1e9, e->stolen_ns / 1e9);
    return true;
}

/* Names what uses the CPUs. */
static enum dlb_bottleneck computing(const struct dlb_bottleneck_evidence *e, double share,
                                     char *text, size_t n_text)
{
    double moved = e->moved_bytes_per_s / e->memcpy_bytes_per_s;
    if (moved >= DLB_MEMORY_CLEAR) {
        (void)snprintf(text, n_text,
                       "the CPUs moved %.1f GB/s through memory, %.0f%% of what memcpy moves here "
                       "with all of them",
                       e->moved_bytes_per_s / 1e9, moved * 100);
        return DLB_BOTTLENECK_MEMORY;
    }
    const char *stage = e->decode_ns >= e->read_ns && e->decode_ns >= e->collate_ns
                            ? "decoding and transforming"
                        : e->collate_ns > e->read_ns ? "collating"
                                                     : "reading, which is copying and system calls";
    if (e->warm)
        (void)snprintf(text, n_text,
                       "the data were in the page cache, so that nothing was asked of the storage; "
                       "most of the workers' time went into %s",
                       stage);
    else if (e->machine_busy_frac >= DLB_MACHINE_BUSY)
        (void)snprintf(text, n_text,
                       "%.0f%% of all CPUs were busy, most of the workers' time with %s: what the "
                       "storage would give beyond is not to be known here",
                       e->machine_busy_frac * 100, stage);
    else
        (void)snprintf(text, n_text,
                       "%.0f%% of the workers' time went into computing or waiting for a core, "
                       "most of it %s",
                       share * 100, stage);
    return DLB_BOTTLENECK_CPU;
}

/* Not even one accelerator keeps the gate: whether two get more together. */
static enum dlb_bottleneck by_scaling(double more, char *text, size_t n_text)
{
    if (!(more >= DLB_SCALING_LEAST && more <= DLB_SCALING_MOST)) {
        (void)snprintf(text, n_text,
                       "the workers waited for bytes; two accelerators were given %.2f times the "
                       "bytes of one, which is noise",
                       more);
        return DLB_BOTTLENECK_UNKNOWN;
    }
    bool scales = more >= DLB_QUEUE_CLEAR;
    (void)snprintf(text, n_text,
                   "two accelerators together were given %.2f times the bytes of one: %s", more,
                   scales ? "each read takes its time, and there are too few at once"
                          : "there is no more to be had");
    return scales ? DLB_BOTTLENECK_LATENCY : DLB_BOTTLENECK_BANDWIDTH;
}

static enum dlb_bottleneck by_queueing(const struct dlb_bottleneck_evidence *e, double slower,
                                       char *text, size_t n_text)
{
    bool queued = slower >= DLB_QUEUE_CLEAR;
    if (queued && e->shared && e->ahead) {
        (void)snprintf(text, n_text,
                       "the workers of one pool waited for bytes; with one accelerator they had "
                       "time to spare, in which the kernel reads ahead: more of "
                       "loader.num_workers would tell latency from bandwidth");
        return DLB_BOTTLENECK_UNKNOWN;
    }
    if (!queued && !(slower >= 1 / DLB_QUEUE_NONE && slower <= DLB_QUEUE_NONE)) {
        (void)snprintf(text, n_text,
                       "the workers waited for bytes, and got them %.2f times as slowly as with "
                       "one accelerator: neither clearly latency nor bandwidth",
                       slower);
        return DLB_BOTTLENECK_UNKNOWN;
    }
    (void)snprintf(text, n_text,
                   "the workers waited for bytes, and each got them %.2f times as slowly as with "
                   "one accelerator: %s",
                   slower,
                   queued ? "reads wait for each other"
                          : "each read takes its time, and there are too few at once");
    return queued ? DLB_BOTTLENECK_BANDWIDTH : DLB_BOTTLENECK_LATENCY;
}

/* If a larger number got clearly more, bandwidth is not the limit. */
static enum dlb_bottleneck unless_more_was_had(const struct dlb_bottleneck_evidence *e,
                                               enum dlb_bottleneck found, char *text, size_t n_text)
{
    double more = e->most_bytes_per_s / e->bytes_per_s;
    if (found != DLB_BOTTLENECK_BANDWIDTH || !(more >= DLB_MORE_CLEAR))
        return found;
    (void)snprintf(text, n_text,
                   "the workers waited for bytes, but a larger number of accelerators was given "
                   "%.2f times as many a second: the storage has more to give",
                   more);
    return DLB_BOTTLENECK_UNKNOWN;
}

static enum dlb_bottleneck waiting(const struct dlb_bottleneck_evidence *e, char *text,
                                   size_t n_text)
{
    double more = e->more_bytes_per_s / e->bytes_per_s;
    double slower = e->first_reader_bytes_per_s / e->reader_bytes_per_s;

    if (!e->ceiling_known) {
        (void)snprintf(text, n_text,
                       "the workers waited for bytes, but the harness's own ceiling was not "
                       "measured: the storage cannot be judged");
        return DLB_BOTTLENECK_UNKNOWN;
    }
    if (isfinite(more) && !e->shared)
        return unless_more_was_had(e, by_scaling(more, text, n_text), text, n_text);
    if (isfinite(slower))
        return unless_more_was_had(e, by_queueing(e, slower, text, n_text), text, n_text);
    (void)snprintf(text, n_text,
                   "the workers waited for bytes; there is nothing to compare with that would tell "
                   "latency from bandwidth");
    return DLB_BOTTLENECK_UNKNOWN;
}

enum dlb_bottleneck dlb_bottleneck_find(const struct dlb_bottleneck_evidence *e, char *text,
                                        size_t n_text)
{
    double input = zero_if_nan(e->input_frac), copy = zero_if_nan(e->copy_frac),
           other = zero_if_nan(e->other_frac), share = cpu_share(e);
    bool saturated = zero_if_nan(e->machine_busy_frac) >= DLB_MACHINE_BUSY;

    if (!e->measured) {
        (void)snprintf(text, n_text, "it was not measured");
        return DLB_BOTTLENECK_UNKNOWN;
    }
    if (e->harness_bound) {
        (void)snprintf(text, n_text, "dlbench itself is the limit: the storage cannot be judged");
        return DLB_BOTTLENECK_HARNESS;
    }
    if (copy > input && copy > other) {
        (void)snprintf(text, n_text,
                       "the accelerators waited for copies over their host link for %.0f%% of the "
                       "time",
                       copy * 100);
        return DLB_BOTTLENECK_COPY;
    }
    if (other > input && !saturated) {
        (void)snprintf(text, n_text,
                       "the accelerators stood idle for %.0f%% of the time with their batches "
                       "there: late wake-ups, epoch starts",
                       other * 100);
        return DLB_BOTTLENECK_HARNESS;
    }
    if (saturated || e->warm || share >= DLB_CPU_CLEAR ||
        zero_if_nan(e->decode_ns) + zero_if_nan(e->collate_ns) > zero_if_nan(e->read_ns))
        return computing(e, share, text, n_text);
    if (stolen(e, share, text, n_text))
        return DLB_BOTTLENECK_CPU;
    return waiting(e, text, n_text);
}

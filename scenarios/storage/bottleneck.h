/* What limits the storage measurement at N + 1 accelerators.
 *
 * Floor 4. Pure. The evidence is of the number that misses the gate. Storage is blamed only after
 * all of these are excluded: dlbench itself (which must have been measured), reads from the page
 * cache, workers that mostly computed or waited for a core, and CPU time that a hypervisor took.
 * Only the remaining time is waiting for bytes. */
#ifndef DLB_SCENARIOS_STORAGE_BOTTLENECK_H
#define DLB_SCENARIOS_STORAGE_BOTTLENECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_bottleneck {
    DLB_BOTTLENECK_NONE,    /* the gate was never missed */
    DLB_BOTTLENECK_UNKNOWN, /* not measured, or the measurements do not decide */
    DLB_BOTTLENECK_HARNESS,
    DLB_BOTTLENECK_CPU, /* mostly decoding: `text` names the stage, or what else used the CPUs */
    DLB_BOTTLENECK_MEMORY,
    DLB_BOTTLENECK_COPY, /* from host to device */
    DLB_BOTTLENECK_LATENCY,
    DLB_BOTTLENECK_BANDWIDTH,
};

#define DLB_CPU_CLEAR 0.5 /* of the workers' working time: computing, or waiting for a core */
/* Busy share of all CPUs from which storage cannot be judged. */
#define DLB_MACHINE_BUSY 0.95
/* The same for CPU time that a hypervisor took, divided by the time that workers seem to have
 * slept. */
#define DLB_STOLEN_CLEAR 0.5
#define DLB_MEMORY_CLEAR 0.7 /* bytes moved / what memcpy moves with every CPU */
/* Ratio of a worker's bytes per second of reading, with one accelerator and beyond the border:
 * from here on reads wait for each other ... */
#define DLB_QUEUE_CLEAR 1.5
#define DLB_QUEUE_NONE 1.25 /* ... and up to here each read takes its own time */
/* What two accelerators can get at most is twice what one gets; beyond is noise, as is less than
 * half of it. */
#define DLB_SCALING_MOST 2.5
#define DLB_SCALING_LEAST 0.5

/* Bytes that more accelerators were given, over those of the number that misses the gate: from here
 * on the storage had more to give. Beyond what the rate of one repetition wavers by. */
#define DLB_MORE_CLEAR 1.2

/* NaN: not measured. */
struct dlb_bottleneck_evidence {
    bool measured;
    bool harness_bound;
    bool warm;                                /* the reads were from the page cache */
    double input_frac, copy_frac, other_frac; /* of the window: what the accelerators waited for */
    double read_ns, decode_ns, collate_ns;    /* sums over workers; decode: with transform */
    double cpu_ns, runqueue_ns;               /* of the workers */
    double machine_busy_frac;                 /* all CPUs, used by any program */
    double stolen_ns; /* by a hypervisor, of as many CPUs as the workers and the training loop can
                         have been on */
    double moved_bytes_per_s; /* by the CPUs, through memory */
    double memcpy_bytes_per_s;
    bool ceiling_known; /* null-source twins ran: the harness's own share is known */
    bool shared;        /* one pool of workers for all accelerators */
    /* Shards are read through the page cache from start to end, so that readahead continues
     * while a worker is idle. */
    bool ahead;
    /* Per second of a worker's reading, here and with one accelerator. Not the time of a request:
     * where blocks are served from memory or the kernel reads ahead, most take none. */
    double reader_bytes_per_s, first_reader_bytes_per_s;
    /* Where even one accelerator is too many, `more` is what two got together. */
    double bytes_per_s, more_bytes_per_s;
    double most_bytes_per_s; /* that any larger number was given */
};

/* `text`: one sentence with the figures that decided. */
enum dlb_bottleneck dlb_bottleneck_find(const struct dlb_bottleneck_evidence *evidence, char *text,
                                        size_t n_text);

/* "storage-latency", "storage-bandwidth", "cpu", "memory-bandwidth", "host-to-device copy",
 * "harness", "none", "unknown". Static. */
const char *dlb_bottleneck_name(enum dlb_bottleneck bottleneck);

/* "STORAGE_LATENCY", "STORAGE_BANDWIDTH", "CPU_BOUND", "MEMORY_BANDWIDTH", "H2D_COPY",
 * "HARNESS_BOUND", "NO_BOTTLENECK", "UNKNOWN_BOTTLENECK": stable. Static. */
const char *dlb_bottleneck_code(enum dlb_bottleneck bottleneck);

#endif

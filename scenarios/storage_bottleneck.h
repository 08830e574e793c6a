/* What stands in the way of one accelerator more.
 *
 * Floor 4. Pure. The evidence is of the number that misses the gate. Nothing is blamed on the
 * storage while dlbench itself is in the way, or while the workers were mostly computing, or
 * waiting for a core; only what remains is waiting for bytes. */
#ifndef DLB_SCENARIOS_STORAGE_BOTTLENECK_H
#define DLB_SCENARIOS_STORAGE_BOTTLENECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_bottleneck {
    DLB_BOTTLENECK_NONE,    /* the gate was never missed */
    DLB_BOTTLENECK_UNKNOWN, /* not measured */
    DLB_BOTTLENECK_HARNESS,
    DLB_BOTTLENECK_CPU, /* decoding, mostly: `text` says which stage */
    DLB_BOTTLENECK_MEMORY,
    DLB_BOTTLENECK_COPY, /* from host to device */
    DLB_BOTTLENECK_LATENCY,
    DLB_BOTTLENECK_BANDWIDTH,
};

#define DLB_CPU_CLEAR 0.5 /* of the workers' working time: computing, or waiting for a core */
#define DLB_MACHINE_BUSY                                                                           \
    0.95                     /* of all CPUs: what the storage would have given is not to be known */
#define DLB_MEMORY_CLEAR 0.7 /* bytes moved / what memcpy moves with every CPU */
#define DLB_QUEUE_CLEAR                                                                            \
    1.5 /* reads that take this much longer than those of the first point wait for each other */

/* NaN: not measured. */
struct dlb_bottleneck_evidence {
    bool measured;
    bool harness_bound;
    double input_frac, copy_frac, other_frac; /* of the window: what the accelerators waited for */
    double read_ns, decode_ns, collate_ns;    /* sums over workers; decode: with transform */
    double cpu_ns, runqueue_ns;               /* of the workers */
    double machine_busy_frac;                 /* all CPUs, whoever used them */
    double moved_bytes_per_s;                 /* by the CPUs, through memory */
    double memcpy_bytes_per_s;
    double read_p50_ns, first_read_p50_ns; /* here, and with one accelerator */
    /* Where even one accelerator is too many, `more` is what two got together. */
    double bytes_per_s, more_bytes_per_s;
};

/* `text`: one sentence with the figures that it rests on. */
enum dlb_bottleneck dlb_bottleneck_find(const struct dlb_bottleneck_evidence *evidence, char *text,
                                        size_t n_text);

/* "storage-latency", "storage-bandwidth", "cpu", "memory-bandwidth", "host-to-device copy",
 * "harness", "none", "unknown". Static. */
const char *dlb_bottleneck_name(enum dlb_bottleneck bottleneck);

#endif

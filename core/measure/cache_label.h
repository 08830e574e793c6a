/* Where the bytes of a run came from: storage or the page cache.
 *
 * Floor 1. Pure functions, any thread.
 *
 * Neither witness is believed alone. What lay in the page cache before says nothing of a file
 * system that keeps data elsewhere; bytes from a device say nothing when readahead fetches more
 * than was asked for. So cold is both: next to nothing resident beforehand, and a device that gave
 * at least what was delivered. Reads past the page cache (O_DIRECT) are judged by bytes alone. */
#ifndef DLB_CORE_MEASURE_CACHE_LABEL_H
#define DLB_CORE_MEASURE_CACHE_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_COLD_RESIDENT_MAX 0.01 /* of the data, before a cold run */
#define DLB_WARM_RESIDENT_MIN 0.99 /* of the data, before a warm one */
/* Of the bytes delivered: what a cold run's device may give less, a warm run's more. */
#define DLB_CACHE_BYTES_TOLERANCE 0.05
/* What a process may fetch for itself: its program, libraries, a driver's. */
#define DLB_CACHE_OWN_BYTES 1048576.0

enum dlb_cache_label { DLB_CACHE_UNKNOWN, DLB_CACHE_MIXED, DLB_CACHE_WARM, DLB_CACHE_COLD };

/* What is not finite was not measured. */
struct dlb_cache_evidence {
    bool in_memory; /* the file system is memory: tmpfs, ramfs */
    bool elsewhere; /* it keeps data in memory, but not in the page cache: ZFS */
    bool direct;    /* reads went past the page cache */
    bool counted;   /* the kernel charges its reads to the process; else process_bytes are not its
                       own */
    double resident_before_frac;
    double process_bytes;   /* fetched from storage for the process and its workers */
    double device_bytes;    /* read from the device meanwhile, by whomever */
    double delivered_bytes; /* asked of the files, and given */
};

/* *why: the figures that decided, as a sentence. */
enum dlb_cache_label dlb_cache_judge(const struct dlb_cache_evidence *evidence, char *why,
                                     size_t n_why);

/* The label of a cell by those of its repetitions: theirs, if all agree; else unknown when one of
 * them is, else mixed. Of none: unknown. */
enum dlb_cache_label dlb_cache_over(const enum dlb_cache_label *labels, uint32_t n);

/* Of names and attributes: directories, inodes. `held`: files of the data were open or mapped when
 * the caches were dropped. */
enum dlb_cache_label dlb_cache_metadata(bool dropped, bool held, bool looked_up, bool remote);

/* "cold", "warm", "mixed", "unknown". Static. */
const char *dlb_cache_label_name(enum dlb_cache_label label);
/* Its label; UNKNOWN for any other text, or NULL. */
enum dlb_cache_label dlb_cache_label_of(const char *name);

#endif

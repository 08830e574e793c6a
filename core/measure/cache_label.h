/* Where the bytes of a run came from: storage or the page cache.
 *
 * Floor 1. Pure functions, any thread.
 *
 * Two measurements are combined, because each alone can mislead. Residency before the run says
 * nothing about a file system that keeps data elsewhere. Bytes read from a device say nothing
 * when readahead fetches more than was asked for. So cold means both: hardly anything resident
 * before, and at least as many bytes read from the device as were delivered. Reads past the page
 * cache (O_DIRECT) are judged by bytes alone. */
#ifndef DLB_CORE_MEASURE_CACHE_LABEL_H
#define DLB_CORE_MEASURE_CACHE_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DLB_COLD_RESIDENT_MAX 0.01 /* share of the data that may be resident before a cold run */
#define DLB_WARM_RESIDENT_MIN 0.99 /* share that must be resident before a warm run */
/* Share of the bytes delivered by which a cold run's device may read less, and that a warm run's
 * may read. */
#define DLB_CACHE_BYTES_TOLERANCE 0.05
/* Bytes that a process may fetch for itself: its program and libraries. */
#define DLB_CACHE_OWN_BYTES 1048576.0

enum dlb_cache_label { DLB_CACHE_UNKNOWN, DLB_CACHE_MIXED, DLB_CACHE_WARM, DLB_CACHE_COLD };

/* A figure that is not finite was not measured. */
struct dlb_cache_evidence {
    bool in_memory; /* the file system is memory: tmpfs, ramfs */
    bool elsewhere; /* it keeps data in memory, but not in the page cache: ZFS */
    bool direct;    /* reads bypassed the page cache */
    bool counted;   /* the kernel charges reads to the process; else process_bytes say nothing */
    double resident_before_frac;
    double process_bytes;   /* fetched from storage for the process and its workers */
    double device_bytes;    /* read from the device meanwhile, by all programs */
    double delivered_bytes; /* read from the files by the workers */
};

/* *why: a sentence with the figures that decided. */
enum dlb_cache_label dlb_cache_judge(const struct dlb_cache_evidence *evidence, char *why,
                                     size_t n_why);

/* The label of a cell from those of its repetitions: the common one if all agree; else unknown
 * if one is unknown; else mixed. Unknown for n == 0. */
enum dlb_cache_label dlb_cache_over(const enum dlb_cache_label *labels, uint32_t n);

/* The label of names and attributes (directories, inodes). `held`: files of the data were open
 * or mapped when the caches were dropped. */
enum dlb_cache_label dlb_cache_metadata(bool dropped, bool held, bool looked_up, bool remote);

/* "cold", "warm", "mixed", "unknown". Static. */
const char *dlb_cache_label_name(enum dlb_cache_label label);
/* The label of that name; UNKNOWN for any other text, or NULL. */
enum dlb_cache_label dlb_cache_label_of(const char *name);

#endif

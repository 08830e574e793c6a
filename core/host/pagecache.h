/* How much of a file is in the page cache, and how to evict it.
 *
 * Floor 1. Any thread. By cachestat(2) (Linux 6.5), else mincore(2). For files that the caller
 * may not write, mincore reports every page as resident; then the answer is "unknown". */
#ifndef DLB_CORE_HOST_PAGECACHE_H
#define DLB_CORE_HOST_PAGECACHE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum dlb_residency_how { DLB_RESIDENCY_UNKNOWN, DLB_RESIDENCY_CACHESTAT, DLB_RESIDENCY_MINCORE };

/* Sums over the files that were added; all zero: none was. */
struct dlb_residency {
    enum dlb_residency_how how;           /* UNKNOWN: no file answered */
    uint64_t resident_bytes, total_bytes; /* of the files that answered */
    uint64_t n_files;                     /* that answered */
    uint64_t
        n_unknown; /* that did not: not readable, not a regular file, or not open to this user */
    uint64_t n_sparse;    /* that take less room than they are long: holes, compression, inlining */
    uint64_t n_elsewhere; /* on another device than the file before */
    uint64_t device;      /* of the last one: st_dev */
};

/* Adds an open, readable regular file. It is not an error when the kernel does not report its
 * pages. */
int dlb_residency_fd(int fd, struct dlb_residency *into, struct dlb_err *err);

/* Adds a file by its path, following links. `evict`: evicts it first (dlb_pagecache_evict). */
void dlb_residency_file(const char *path, bool evict, struct dlb_residency *into);

/* Evicts a file's pages from the page cache as far as the kernel allows: dirty pages are written
 * first, and pages that a process has mapped stay. The file's residency afterwards shows what
 * stayed. */
void dlb_pagecache_evict(int fd);

/* Drops the page cache, dentries and inodes of the whole machine, which affects every program on
 * it. */
int dlb_pagecache_drop_all(struct dlb_err *err);

/* "cachestat", "mincore", "unknown". Static. */
const char *dlb_residency_name(enum dlb_residency_how how);

#endif

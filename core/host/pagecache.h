/* What of a file lies in the page cache, and how to get it out of there.
 *
 * Floor 1. Any thread. By cachestat(2) (Linux 6.5), else mincore(2), which reports everything
 * resident on files that one may not write: then the answer is "unknown", never a guess. */
#ifndef DLB_CORE_HOST_PAGECACHE_H
#define DLB_CORE_HOST_PAGECACHE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum dlb_residency_how { DLB_RESIDENCY_UNKNOWN, DLB_RESIDENCY_CACHESTAT, DLB_RESIDENCY_MINCORE };

/* Of as many files as were added; all zero: none was. */
struct dlb_residency {
    enum dlb_residency_how how;           /* UNKNOWN: no file answered */
    uint64_t resident_bytes, total_bytes; /* of the files that answered */
    uint64_t n_files;                     /* that answered */
    uint64_t n_unknown;   /* that did not: not readable, no plain file, or not ours to know */
    uint64_t n_sparse;    /* that take less room than they are long: holes, compression, inlining */
    uint64_t n_elsewhere; /* on another device than the file before */
    uint64_t device;      /* of the last one: st_dev */
};

/* Adds one open regular file, readable. That the kernel does not tell is no error. */
int dlb_residency_fd(int fd, struct dlb_residency *into, struct dlb_err *err);

/* Adds one file by its path, with links followed; `evict`: after dlb_pagecache_evict. */
void dlb_residency_file(const char *path, bool evict, struct dlb_residency *into);

/* Takes a file's pages out of the page cache as far as the kernel lets anyone: dirty ones are
 * written first, those that a process has mapped stay. What stayed shows in its residency. */
void dlb_pagecache_evict(int fd);

/* Empties the page cache, dentries and inodes of the whole machine, for every program on it. */
int dlb_pagecache_drop_all(struct dlb_err *err);

/* "cachestat", "mincore", "unknown". Static. */
const char *dlb_residency_name(enum dlb_residency_how how);

#endif

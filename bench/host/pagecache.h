/* What of a file lies in the page cache.
 *
 * Floor 1. Any thread. By cachestat(2) (Linux 6.5), else mincore(2), which reports everything
 * resident on files that one may not write: then the answer is "unknown", never a guess. */
#ifndef DLB_HOST_PAGECACHE_H
#define DLB_HOST_PAGECACHE_H

#include "bench/base/err.h"

#include <stdint.h>

enum dlb_residency_how { DLB_RESIDENCY_UNKNOWN, DLB_RESIDENCY_CACHESTAT, DLB_RESIDENCY_MINCORE };

struct dlb_residency {
    enum dlb_residency_how how; /* UNKNOWN: no file could be asked, or nothing is in them */
    uint64_t resident_bytes, total_bytes; /* of the files that answered */
    uint32_t n_files;                     /* that answered */
    uint32_t n_unknown; /* that were asked and did not: not readable, or not ours to know */
};

/* One open regular file, readable. That the kernel does not tell is UNKNOWN, not an error. */
int dlb_residency_fd(int fd, struct dlb_residency *out, struct dlb_err *err);

/* A file, or a folder walked to its leaves: at most max_files of them, evenly spread by a seeded
 * choice, are asked. Links are followed, hidden files count, folders that cannot be read count as
 * one unknown. DLB_E_IO when `path` itself is not there. */
int dlb_residency_path(const char *path, uint32_t max_files, struct dlb_residency *out,
                       struct dlb_err *err);

/* "cachestat", "mincore", "unknown". Static. */
const char *dlb_residency_name(enum dlb_residency_how how);

#endif

/* Storage with a latency of one's own choosing: a file system of made-up files, each of whose reads
 * takes as long as was asked, however many there are at a time.
 *
 * FUSE, spoken without its library; needs root and /dev/fuse. Nothing is kept in the page cache, so
 * that each read comes here. The server is a process of its own. */
#ifndef DLB_TESTS_PERF_SLOWFS_H
#define DLB_TESTS_PERF_SLOWFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_slowfs {
    uint32_t n_folders, n_files; /* in each */
    uint32_t file_bytes;
    uint64_t read_ns; /* of a read; opening takes what the way through the kernel takes */
    char path[64];
    pid_t server;
};

/* Mounts it at a new folder, whose path it sets. False, with the reason in why, where it cannot. */
bool perf_slowfs_open(struct perf_slowfs *fs, char *why, size_t n_why);
void perf_slowfs_close(struct perf_slowfs *fs);

#endif

/* Storage with a latency and a bandwidth of one's own choosing: a file system of made-up files, or
 * of those of a folder, each of whose reads takes as long as was asked, and all of whose reads
 * together bring no more bytes a second than was asked. A read of more than SLOWFS_REQUEST_BYTES
 * reaches it in pieces, one after the other.
 *
 * FUSE, spoken without its library; needs root and /dev/fuse. Nothing is kept in the page cache, so
 * that each read comes here. The server is a process of its own. */
#ifndef DLB_TESTS_SUPPORT_SLOWFS_H
#define DLB_TESTS_SUPPORT_SLOWFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SLOWFS_REQUEST_BYTES (1 << 17) /* the kernel's own without FUSE_MAX_PAGES */
#define SLOWFS_MAX_DEPTH 64
#define SLOWFS_MAX_SOURCES 256

struct slowfs {
    const char *source; /* a folder whose files stand in the root; NULL: files are made up */
    uint32_t n_folders, n_files; /* in each */
    uint32_t file_bytes;
    uint64_t read_ns;     /* of a request; opening takes what the way through the kernel takes */
    uint64_t bytes_per_s; /* 0: no limit */
    uint32_t depth;       /* requests that are served at a time; 0: SLOWFS_MAX_DEPTH */
    char path[64];
    pid_t server;
};

/* Mounts it at a new folder, whose path it sets. False, with the reason in why, where it cannot. */
bool slowfs_open(struct slowfs *fs, char *why, size_t n_why);
void slowfs_close(struct slowfs *fs);

#endif

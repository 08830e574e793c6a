/* What storage a file lies on, how its reads are counted, and which of its caches cannot be
 * observed.
 *
 * Floor 1. Any thread. */
#ifndef DLB_CORE_HOST_BACKING_H
#define DLB_CORE_HOST_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the name of a file system says about it. */
struct dlb_fs_traits {
    bool in_memory;  /* tmpfs, ramfs: the page cache is the storage */
    bool layered;    /* overlay: the files lie in another file system, which may not be visible */
    bool remote;     /* a server holds the files */
    bool by_process; /* FUSE: a program on this machine serves the files */
    bool elsewhere;  /* keeps data in memory, but not in the page cache: ZFS */
    bool compresses; /* may store less than it delivers */
    bool many;       /* may lie on several devices: Btrfs */
    bool counted;    /* the kernel charges reads to the process that asked for them */
};

struct dlb_backing {
    char type[64];   /* "ext4"; empty: not known */
    char device[64]; /* whose diskstats count the reads: "vda1", "dm-3"; empty: no device is visible
                      */
    unsigned major, minor;
    struct dlb_fs_traits traits;
};

/* `path`: any file of the data. What cannot be found out stays empty. */
void dlb_backing_of(const char *path, struct dlb_backing *out);

/* Bytes read from its device since the machine started, by all programs; DLB_NOT_MEASURED
 * (osacct.h) when no device is known. */
uint64_t dlb_backing_read_bytes(const struct dlb_backing *backing);

/* A type of mountinfo(5), "fuse.sshfs". Unknown types count as file systems on a block device if
 * `on_device`. */
struct dlb_fs_traits dlb_fs_traits_of(const char *type, bool on_device);

/* Writes sentences about what weakens the proof that caches were cold; returns how many. */
enum { DLB_BACKING_LIMITS = 6, DLB_BACKING_LIMIT_BYTES = 200 };
uint32_t dlb_backing_limits(const struct dlb_backing *backing,
                            char text[DLB_BACKING_LIMITS][DLB_BACKING_LIMIT_BYTES]);

#endif

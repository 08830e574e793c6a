/* What storage a file lies on, how its reads are counted, and what cannot be seen of it from here.
 *
 * Floor 1. Any thread. */
#ifndef DLB_CORE_HOST_BACKING_H
#define DLB_CORE_HOST_BACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is known of a kind of file system by its name. */
struct dlb_fs_traits {
    bool in_memory;  /* tmpfs, ramfs: the page cache is the storage */
    bool layered;    /* overlay: files lie in another file system, which need not be visible */
    bool remote;     /* a server has them */
    bool by_process; /* FUSE: a program of this machine has them */
    bool elsewhere;  /* keeps data in memory, but not in the page cache: ZFS */
    bool compresses; /* may store less than it delivers */
    bool many;       /* may lie on several devices: Btrfs */
    bool counted;    /* the kernel charges what it reads to the process that wants it */
};

struct dlb_backing {
    char type[64];   /* "ext4"; empty: not known */
    char device[64]; /* whose diskstats count: "vda1", "dm-3"; empty: none can be seen */
    unsigned major, minor;
    struct dlb_fs_traits traits;
};

/* By any file's path. Whatever cannot be found out stays empty. */
void dlb_backing_of(const char *path, struct dlb_backing *out);

/* What its device has read since the machine started, for whomever; DLB_NOT_MEASURED (osacct.h)
 * when there is none. */
uint64_t dlb_backing_read_bytes(const struct dlb_backing *backing);

/* A type of mountinfo(5), "fuse.sshfs". Kinds that are not known are taken for file systems on a
 * block device if `on_device`. */
struct dlb_fs_traits dlb_fs_traits_of(const char *type, bool on_device);

/* Writes sentences about what limits the proof that its cache was cold; returns how many. */
enum { DLB_BACKING_LIMITS = 6, DLB_BACKING_LIMIT_BYTES = 200 };
uint32_t dlb_backing_limits(const struct dlb_backing *backing,
                            char text[DLB_BACKING_LIMITS][DLB_BACKING_LIMIT_BYTES]);

#endif

/* /proc/self/mountinfo: where paths lie.
 *
 * Floor 1, private to core/host. Any thread. */
#ifndef DLB_CORE_HOST_MOUNTS_H
#define DLB_CORE_HOST_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

/* One mount, octal escapes taken out; borrowed until the visit returns. */
struct dlb_mount {
    const char *device; /* "259:1" */
    const char *root;  /* the part of the file system that is mounted: "/" except for bind mounts */
    const char *point; /* where */
    const char *options;       /* of the mount */
    const char *type;          /* "ext4" */
    const char *source;        /* "/dev/nvme0n1p1", "nas:/export" */
    const char *super_options; /* of the filesystem */
};

/* Calls `visit` for every well-formed line, in the kernel's order, until it returns false. False
 * when the file cannot be read. */
bool dlb_mounts_each(const char *mountinfo_path,
                     bool (*visit)(void *ctx, const struct dlb_mount *mount), void *ctx);

struct dlb_mount_found {
    char point[1024], type[64], source[1024],
        options[1024]; /* options: mount's, then filesystem's */
    char device[32];
};

/* Finds the mount that an absolute path without links lies on: the longest mount point that is a
 * parent of it. Of equal ones it is the last, which hides the others. */
bool dlb_mount_of(const char *mountinfo_path, const char *path, struct dlb_mount_found *out);

/* Whether `path` is `parent` or lies below it: "/database" is not below "/data". */
bool dlb_path_is_below(const char *path, const char *parent);

/* Whether a comma-separated list contains the item. */
bool dlb_list_has(const char *list, const char *item);

#endif

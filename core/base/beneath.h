/* Reaching a path below a folder without following a link on the way.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_BENEATH_H
#define DLB_CORE_BASE_BENEATH_H

/* Opens the folder that holds the last part of `path`, which lies below the open folder `root`;
 * *name is that part. -1 and errno: EINVAL if the path is absolute or has an empty part or "..",
 * ENOTDIR if a part before the last is a link or a file. The descriptor serves as the folder of
 * openat, fstatat, unlinkat and renameat alone. */
int dlb_beneath(int root, const char *path, const char **name);

#endif

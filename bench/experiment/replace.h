/* Replacing all files of a result at once: the folder is exchanged for another that holds the new
 * ones (renameat2, RENAME_EXCHANGE), so that a kill at any moment leaves the old files or the new.
 *
 * The new folder is written to <scratch>/new, renamed to <name>.next-<process>, and exchanged for
 * the result's folder; then the old one has that name and is emptied. Files of the user's are hard
 * links in the new folder before the exchange. What cannot be linked (folders) is moved after it.
 * Both folders hold the mark .cells-<process>, so that dlb_replace_recover knows what a kill left.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_REPLACE_H
#define DLB_BENCH_EXPERIMENT_REPLACE_H

#include "core/base/err.h"

#include <stdbool.h>

/* Writes the new files to a folder. */
typedef int dlb_replace_write(const void *ctx, const char *folder, struct dlb_err *err);

/* Replaces the result in `path`, whose open and locked folder is *lock_fd; then that is the new
 * folder's. `scratch` is this process's scratch folder on the same file system. False: the result
 * is as it was, and may be replaced file by file. That is so where the file system cannot exchange,
 * where the folder is a link, a mount point or of another owner, where it has an ACL, where its
 * parent is not writable, or where a folder in it cannot be moved; and if writing failed. */
bool dlb_replace_folder(const char *path, const char *scratch, dlb_replace_write *write,
                        const void *ctx, int *lock_fd);

/* In all of `results`: what a process left that was killed while it replaced. The files of the user
 * are moved back to the result's folder, ours are removed. */
void dlb_replace_recover(const char *results);

#endif

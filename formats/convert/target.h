/* Where a conversion writes: a temporary folder beside its target, and how that becomes the target.
 *
 * Floor 2. Control thread. The temporary folder is TARGET.part-PID. It holds the data under the
 * target's own name, and a mark that the converting process keeps locked. A later conversion to the
 * same target removes such folders when their process is dead. When memory is short the process
 * ends, and removes it first. */
#ifndef DLB_FORMATS_CONVERT_TARGET_H
#define DLB_FORMATS_CONVERT_TARGET_H

#include "core/base/err.h"

#include <stdbool.h>

struct dlb_convert_target {
    char *path;   /* the target, without slashes at its end; owned */
    char *parent; /* the folder that holds it; owned */
    char *part;   /* the temporary folder; owned */
    char *inside; /* the data: part/NAME; owned */
    int mark_fd;  /* -1: the folder was not made yet */
    bool replace;
};

/* Checks the target against the source, removes leftovers of killed conversions (each reported by
 * `removed`, which may be NULL) and makes the temporary folder. Close it in any case. */
int dlb_convert_target_open(struct dlb_convert_target *target, const char *path, const char *source,
                            bool replace, void (*removed)(void *ctx, const char *path), void *ctx,
                            struct dlb_err *err);

/* Writes the data to the disk. */
int dlb_convert_target_sync(const struct dlb_convert_target *target, struct dlb_err *err);

/* Puts `inside` in the target's place, in one step where the file system can. */
int dlb_convert_target_commit(struct dlb_convert_target *target, struct dlb_err *err);

/* Removes the temporary folder and what is in it. */
void dlb_convert_target_close(struct dlb_convert_target *target);

#endif

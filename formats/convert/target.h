/* Where a conversion writes: a temporary folder beside its target, and how that becomes the target.
 *
 * Floor 2. Control thread. The temporary is TARGET.part-PID: a folder that holds what is written
 * under the target's own name, and a mark that is locked while its maker lives. Whoever converts to
 * the same target later removes those whose maker is dead. */
#ifndef DLB_FORMATS_CONVERT_TARGET_H
#define DLB_FORMATS_CONVERT_TARGET_H

#include "core/base/err.h"

#include <stdbool.h>

struct dlb_convert_target {
    char *path;   /* the target, without slashes at its end; owned */
    char *parent; /* the folder that holds it; owned */
    char *part;   /* the temporary folder; owned */
    char *inside; /* what is written: part/NAME; owned */
    int mark_fd;  /* -1: nothing was made yet */
    bool replace;
};

/* Checks the target against the source, removes what killed ones left (told by `removed`, which may
 * be NULL) and makes the temporary folder. Close it in any case. */
int dlb_convert_target_open(struct dlb_convert_target *target, const char *path, const char *source,
                            bool replace, void (*removed)(void *ctx, const char *path), void *ctx,
                            struct dlb_err *err);

/* All that was written is on the disk. */
int dlb_convert_target_sync(const struct dlb_convert_target *target, struct dlb_err *err);

/* Puts `inside` in the target's place, in one step where the file system can. */
int dlb_convert_target_commit(struct dlb_convert_target *target, struct dlb_err *err);

/* Removes the temporary folder and what is in it. */
void dlb_convert_target_close(struct dlb_convert_target *target);

#endif

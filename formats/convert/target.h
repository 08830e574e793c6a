/* Where a conversion writes: a temporary folder beside its target, and how that becomes the target.
 *
 * Floor 2. Control thread. The temporary folder is TARGET.part-PID (part.h). A later conversion
 * to the same target removes such folders when their process is dead (leftover.h). When memory is
 * short the process ends, and removes it first. Processes that write to the folder of another one
 * are its guests. */
#ifndef DLB_FORMATS_CONVERT_TARGET_H
#define DLB_FORMATS_CONVERT_TARGET_H

#include "core/base/err.h"
#include "formats/convert/convert.h"
#include "formats/convert/leftover.h"
#include "formats/format.h"
#include "formats/generate/mark.h"

#include <stdbool.h>

struct dlb_convert_target {
    char *path;           /* the target, without slashes at its end; owned */
    char *parent;         /* the folder that holds it; owned */
    char *part;           /* the temporary folder; owned */
    char *inside;         /* the data: part/NAME; owned */
    int mark_fd;          /* -1: the folder was not made yet */
    char id[DLB_MARK_ID]; /* in the mark, drawn for it */
    bool replace, guest;
    dlb_convert_left_fn *left; /* may be NULL */
    void *ctx;
};

/* Checks the target against the source, and that dlbench wrote what is to be replaced: else
 * DLB_ERR_TARGET_FOREIGN. Takes leftovers of killed conversions (each told to the watch's `left`)
 * and makes the temporary folder. Close it in any case. */
int dlb_convert_target_open(struct dlb_convert_target *target, const struct dlb_convert *how,
                            struct dlb_err *err);

/* As a guest, in the folder `part` of the process that converts to `path`. DLB_ERR_RANKS_DATA if
 * its mark does not have this id. Close it in any case. */
int dlb_convert_target_visit(struct dlb_convert_target *target, const char *path, const char *part,
                             const char *id, struct dlb_err *err);

/* Writes the data to the disk; a guest's machine may have to write more than its own. */
int dlb_convert_target_sync(const struct dlb_convert_target *target, struct dlb_err *err);

/* Lists the files of `inside`, which the format made, and puts it in the target's place, in one
 * step where the file system can. */
int dlb_convert_target_commit(struct dlb_convert_target *target, const struct dlb_format *format,
                              struct dlb_err *err);

/* Removes the temporary folder and what is in it; a guest leaves it. */
void dlb_convert_target_close(struct dlb_convert_target *target);

#endif

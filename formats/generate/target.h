/* The folder that gen writes into: whether gen may write there, whether the data are complete, and
 * the lock against a second gen.
 *
 * Floor 2. Control thread. Uses the manifest, the mark and what knows the files (manifest.h,
 * mark.h, made.h, owned.h). */
#ifndef DLB_FORMATS_GENERATE_TARGET_H
#define DLB_FORMATS_GENERATE_TARGET_H

#include "core/base/err.h"
#include "formats/generate/made.h"
#include "formats/generate/mark.h"
#include "formats/generator.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct dlb_gen_target {
    json_t *params;       /* owned */
    int mark_fd;          /* locked while gen runs; -1: none */
    char id[DLB_MARK_ID]; /* of the mark */
    bool complete;        /* data of these parameters exist, and each file has its length */
    struct dlb_made made; /* files of an earlier gen, compared with its list */
    bool suspect; /* incomplete, and the machine was restarted since: existing files may never have
                     reached the disk */
};

/* Makes the folder, marks it incomplete and removes what a killed gen left beside the data
 * (stale.h), or finds that it is complete. DLB_E_CONFIG when it holds other files or data of other
 * parameters, or another gen writes to it. Close it in any case. */
int dlb_gen_target_open(struct dlb_gen_target *target, const struct dlb_gen *gen,
                        struct dlb_err *err);

/* Another process has made the folder and goes on with it; this one is to write there, too.
 * DLB_ERR_RANKS_DATA if the folder does not hold the mark of this id. */
int dlb_gen_target_is_shared(const struct dlb_gen *gen, const char *id, struct dlb_err *err);

/* Syncs the data, writes the manifest (`describe` adds to it) and removes the mark, in this order.
 */
int dlb_gen_target_finish(struct dlb_gen_target *target, const struct dlb_gen *gen,
                          struct dlb_err *err);

void dlb_gen_target_close(struct dlb_gen_target *target);

#endif

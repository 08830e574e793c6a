/* The folder that gen writes into: whether it may, whether it is done, and who else is at it.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_GENERATE_TARGET_H
#define DLB_FORMATS_GENERATE_TARGET_H

#include "core/base/err.h"
#include "formats/generate/file.h"
#include "formats/generate/made.h"
#include "formats/generator.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct dlb_gen_target {
    json_t *params;       /* owned */
    int mark_fd;          /* locked while gen is at work; -1: none */
    bool complete;        /* these very data are there, and each file has its length */
    struct dlb_made made; /* what an earlier gen made, against what is there */
    bool suspect; /* half-written, and the machine was restarted since: what is there may never have
                     reached the disk */
};

/* Makes the folder and marks it incomplete, or finds that it is complete. DLB_E_CONFIG when it
 * holds something else or other parameters, or another gen works on it. Close it in any case. */
int dlb_gen_target_open(struct dlb_gen_target *target, const struct dlb_gen *gen,
                        struct dlb_err *err);

/* Syncs the data, writes the manifest (describe adds to it) and takes the mark away: in this order.
 */
int dlb_gen_target_finish(struct dlb_gen_target *target, const struct dlb_gen *gen,
                          struct dlb_err *err);

void dlb_gen_target_close(struct dlb_gen_target *target);

/* mkdir -p. */
int dlb_gen_make_folder(const char *path, struct dlb_err *err);

#endif

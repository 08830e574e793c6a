/* The folder that gen writes into: whether it may, whether it is done, and who else is at it.
 *
 * Floor 2. Control thread, but for dlb_gen_write_file. */
#ifndef DLB_FORMATS_GEN_TARGET_H
#define DLB_FORMATS_GEN_TARGET_H

#include "bench/base/err.h"
#include "formats/generate.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct dlb_gen_target {
    json_t *params; /* owned */
    int mark_fd;    /* locked while gen is at work; -1: none */
    bool complete;  /* these very data are there */
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

/* A failed system call while writing data: as dlb_fail_errno, with advice when the disk is full. */
int dlb_gen_fail_write(struct dlb_err *err, const char *path, uint64_t offset_bytes,
                       const char *doing);

/* Whole or not at all, but not synced: a data set is synced once, at its end. Any thread, each path
 * by one. */
int dlb_gen_write_file(const char *path, const void *data, size_t n_bytes, struct dlb_err *err);

/* The same for what is written piece by piece: between the two, write to `fd`. A failed open leaves
 * nothing to finish. finish takes how the writing went, keeps the file only if all went well, and
 * returns the first failure. */
struct dlb_gen_file {
    int fd;
    const char *path; /* borrowed */
    char *temporary;  /* owned */
};
int dlb_gen_file_open(struct dlb_gen_file *file, const char *path, struct dlb_err *err);
int dlb_gen_file_finish(struct dlb_gen_file *file, int rc, struct dlb_err *err);

/* The temporary that becomes `path` (hidden, beside it), malloced; NULL when memory is short. */
char *dlb_gen_temporary(const char *path);

#endif

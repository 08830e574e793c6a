/* Writes a result's files.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_WRITE_H
#define DLB_BENCH_EXPERIMENT_WRITE_H

#include "core/base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

/* FOLDER/NAME; DLB_ERR_RESULT_PATH if it is too long. */
int dlb_result_join(char out[PATH_MAX], const char *folder, const char *name, struct dlb_err *err);

/* A result that is to be replaced as a whole. */
struct dlb_replaced {
    const char *scratch;
    int *lock_fd; /* of the result's folder */
};

/* Whether a result was written without its page, and why. */
struct dlb_spared {
    bool is;
    struct dlb_err why;
};

/* Writes the documents and their reports, all of them or none. Either document may be NULL. `old`:
 * what the folder held is replaced; may be NULL.
 *
 * The page is the largest file, and can be made again. If not all files can be written, those that
 * the result needs are. Then *spared says so, and no page of an earlier result stays beside them.
 * `spared` may be NULL. */
int dlb_result_write(const char *folder, const struct dlb_replaced *old, const json_t *environment,
                     const json_t *doc, struct dlb_spared *spared, struct dlb_err *err);

/* Writes the document of a run that goes on, and its reports without the page: it is the largest,
 * and would be made anew after each block. None of an earlier document stays beside them. */
int dlb_result_write_part(const char *folder, const json_t *doc, struct dlb_err *err);

#endif

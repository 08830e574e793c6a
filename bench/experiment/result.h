/* A result's folder: <results>/<run name>/.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_RESULT_H
#define DLB_BENCH_EXPERIMENT_RESULT_H

#include "bench/cli/verb.h"
#include "core/base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

struct dlb_result_folder {
    char path[PATH_MAX];    /* as the user wrote it: "results/first" */
    char scratch[PATH_MAX]; /* inside it, of this process alone, while cells run */
    char name[256];
    char written[PATH_MAX]; /* where dlb_result_finish put it; "": nowhere */
    bool made;              /* this process made it: an empty one is taken away again */
    bool replaces;          /* there is a result, which stays until this one is whole */
    int lock_fd;            /* locked while this process writes there */
};

/* Names it (`verb` and the time, and a number where that is taken, where the user gave no name),
 * makes it and its scratch folder, and takes away what killed runs left there. DLB_E_CONFIG when it
 * holds a result, without --overwrite, or anything else, with and without, or another dlbench
 * writes there; DLB_E_IO when it cannot be written. Close it in any case. */
int dlb_result_open(const struct dlb_args *args, const char *verb, struct dlb_result_folder *out,
                    struct dlb_err *err);

/* Removes the scratch folder; and the folder itself when it is empty and was made here. */
void dlb_result_close(const struct dlb_result_folder *folder);

/* environment.json; of a result that replaces another it comes with the rest. */
int dlb_result_begin(const struct dlb_result_folder *folder, const json_t *environment,
                     struct dlb_err *err);

/* What there is so far, unless a result is there already. */
void dlb_result_save(const struct dlb_result_folder *folder, const json_t *doc);

enum dlb_result_part { DLB_RESULT_NOTHING, DLB_RESULT_PART, DLB_RESULT_WHOLE };

/* Every report that keeps a file, each whole or not at all. A result that was there is only
 * replaced by one that was measured to its end: a part goes beside it, to <its name>.partial, and
 * of nothing measured nothing is kept, DLB_E_CANCELLED, which says so. */
int dlb_result_finish(struct dlb_result_folder *folder, const json_t *environment,
                      const json_t *doc, enum dlb_result_part part, struct dlb_err *err);

/* On stderr: that it was interrupted, and where what there is can be found. */
void dlb_result_say_interrupted(const struct dlb_result_folder *folder);

/* The terminal report on stdout, or the document with `json`. */
int dlb_result_print(const json_t *doc, const char *folder, bool json, struct dlb_err *err);

#endif

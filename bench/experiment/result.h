/* A result's folder: <results>/<run name>/.
 *
 * Floor 5. Control thread; one open folder at a time. */
#ifndef DLB_BENCH_EXPERIMENT_RESULT_H
#define DLB_BENCH_EXPERIMENT_RESULT_H

#include "bench/cli/verb.h"
#include "bench/experiment/write.h"
#include "core/base/err.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct dlb_result_folder {
    char path[PATH_MAX];    /* as the user wrote it: "results/first" */
    char scratch[PATH_MAX]; /* inside it, for this process alone, while cells run */
    char name[256];
    char written[PATH_MAX];   /* where dlb_result_finish wrote the result; "" until then */
    struct dlb_spared spared; /* set by dlb_result_finish */
    bool made;                /* this process made the folder: it is removed if it stays empty */
    bool replaces;            /* the folder holds a result, which is kept until this one is whole */
    int lock_fd;              /* open, and if `locked` locked, while this process writes there */
    bool locked;              /* false where the file system cannot lock */
    pid_t owner;              /* the process that made the scratch folder; 0: there is none */
};

/* Chooses the name (from `verb` and the time, if the user gave none), makes the folder and its
 * scratch folder, and removes what killed runs of this machine left in all folders of --results
 * (contents.h, replace.h). DLB_E_CONFIG if the folder
 * holds a result and --overwrite was not given (DLB_ERR_RESULT_EXISTS), holds anything else
 * (_FOREIGN), or is in use by another dlbench (_LOCKED); DLB_E_IO if it cannot be written.
 *
 * Until dlb_result_close `*out` must stay in its place: if memory is exhausted meanwhile, the
 * scratch folder is removed before the process ends (dlb_mem_at_exhaustion). Close it after an
 * error, too. */
int dlb_result_open(const struct dlb_args *args, const char *verb, struct dlb_result_folder *out,
                    struct dlb_err *err);

/* Whether dlb_result_open would take the folder that the user named, by what it holds; its errors.
 * Makes and removes nothing. */
int dlb_result_may_open(const struct dlb_args *args, struct dlb_err *err);

/* Opens the folder of a run that did not end, to go on with it: the folder's own path, as --resume
 * names it. DLB_ERR_RESUME_NOTHING where it holds no journal. out->replaces:
 * there is a summary, which may be the run's own. Else as dlb_result_open. */
int dlb_result_reopen(const char *dir, struct dlb_result_folder *out, struct dlb_err *err);

/* The path of the journal that the folder has until its run has ended. */
int dlb_result_journal(const struct dlb_result_folder *folder, char path[PATH_MAX],
                       struct dlb_err *err);

/* Removes the journal: the run has ended, and its result is written. */
void dlb_result_end_journal(const struct dlb_result_folder *folder);

/* Removes the journal of a run that did not end if it has no repetition. False: it has one, or the
 * folder cannot be examined; the journal stays. */
bool dlb_result_end_empty_journal(const struct dlb_result_folder *folder);

/* Prints on stderr how to go on with the run, unless its journal has no repetition. */
void dlb_result_say_resume(const struct dlb_result_folder *folder, const struct dlb_args *args,
                           const char *verb);

/* Removes the scratch folder, and the folder itself if it is empty and was made here. */
void dlb_result_close(const struct dlb_result_folder *folder);

/* Writes environment.json, unless the folder holds an earlier result: then dlb_result_finish does.
 */
int dlb_result_begin(const struct dlb_result_folder *folder, const json_t *environment,
                     struct dlb_err *err);

/* Writes what was measured so far, but no page, unless the folder holds an earlier result. */
void dlb_result_save(const struct dlb_result_folder *folder, const json_t *doc);

enum dlb_result_part { DLB_RESULT_NOTHING, DLB_RESULT_PART, DLB_RESULT_WHOLE };

/* Writes every report that is kept as a file, all of them or none. If only the page cannot be
 * written, the result is whole without it: DLB_OK, and folder->spared says why. An earlier result
 * is only replaced by one that was measured to its end. A part is written beside it, to
 * <name>.partial, or to <name>.partial-2 and so on where that holds anything but an earlier part.
 * If nothing was measured nothing is written, and DLB_ERR_RESULT_KEPT (DLB_E_CANCELLED) says so. */
int dlb_result_finish(struct dlb_result_folder *folder, const json_t *environment,
                      const json_t *doc, enum dlb_result_part part, struct dlb_err *err);

/* Prints on stderr that the run was interrupted, and where its result is. */
void dlb_result_say_interrupted(const struct dlb_result_folder *folder);

/* Columns that tables on stdout may have. */
uint32_t dlb_result_columns(void);

/* Prints the terminal report on stdout, or the document if args->json. */
void dlb_result_print(const json_t *doc, const char *folder, const struct dlb_args *args);

/* The same for two results of dlbench.watch beside each other. */
void dlb_result_print_pair(const json_t *const docs[2]);

#endif

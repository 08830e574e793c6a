/* A result's folder: <results>/<run name>/.
 *
 * Floor 5. Control thread. */
#ifndef DLB_CLI_RESULT_H
#define DLB_CLI_RESULT_H

#include "bench/base/err.h"
#include "bench/cli/verb.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>

struct dlb_result_folder {
    char path[PATH_MAX];    /* as the user wrote it: "results/first" */
    char scratch[PATH_MAX]; /* inside it, while cells run */
    char name[256];
    bool made; /* this process made it: an empty one is taken away again */
};

/* Names it (`verb` and the time, where the user gave no name), makes it and its scratch folder.
 * DLB_E_CONFIG when it is there already, without --overwrite; DLB_E_IO when it cannot be written.
 */
int dlb_result_open(const struct dlb_args *args, const char *verb, struct dlb_result_folder *out,
                    struct dlb_err *err);

/* Takes away what an earlier result left there. */
void dlb_result_clear(const struct dlb_result_folder *folder);

/* Removes the scratch folder; and the folder itself when it is empty and was made here. */
void dlb_result_close(const struct dlb_result_folder *folder);

/* environment.json. */
int dlb_result_write_json(const struct dlb_result_folder *folder, const char *file,
                          const json_t *doc, struct dlb_err *err);

/* Every report that keeps a file, each whole or not at all. */
int dlb_result_write(const struct dlb_result_folder *folder, const json_t *doc,
                     struct dlb_err *err);

/* The terminal report on stdout, or the document with `json`. */
int dlb_result_print(const json_t *doc, const char *folder, bool json, struct dlb_err *err);

#endif

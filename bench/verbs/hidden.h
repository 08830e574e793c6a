/* What hidden verbs share. dlbench starts its child processes by them: the parent writes a JSON
 * file that says what to do, the child writes another one with what it measured.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_VERBS_HIDDEN_H
#define DLB_BENCH_VERBS_HIDDEN_H

#include "bench/cli/verb.h"
#include "core/base/err.h"
#include "core/base/pulse.h"

#include <jansson.h>
#include <stdbool.h>

struct dlb_hidden_flag {
    const char *name; /* "--spec"; NULL ends the list */
    const char **value;
    bool needed;
};

/* Sets *value of each flag that was given. DLB_E_CONFIG, naming the verb. */
int dlb_hidden_flags(const struct dlb_args *args, const char *verb,
                     const struct dlb_hidden_flag *flags, struct dlb_err *err);

/* Maps memory that this process shares with the one that started it, for the rest of its life. `fd`
 * is the value of --heartbeat-fd or --meet-fd. NULL if it is NULL or cannot be mapped: nobody
 * watches then. */
void *dlb_hidden_shared(const char *fd, size_t n_bytes);

/* Reads a JSON object of at most 1 MiB; *out: new reference. */
int dlb_hidden_read(const char *path, json_t **out, struct dlb_err *err);

/* Writes the document, whole or not at all. The process ends if doc is NULL (no memory). */
int dlb_hidden_write(const char *path, const json_t *doc, struct dlb_err *err);

/* Prints the error, if rc says that there is one. Returns the exit code, by which the parent knows
 * that there was no space for the result. */
int dlb_hidden_exit(int rc, struct dlb_err *err);

#endif

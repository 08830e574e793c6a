/* What hidden verbs share: words without a parser of their own, a JSON file in, another out.
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

/* Sets the values that were said. DLB_E_CONFIG that names the verb. */
int dlb_hidden_flags(const struct dlb_args *args, const char *verb,
                     const struct dlb_hidden_flag *flags, struct dlb_err *err);

/* The memory behind a descriptor's number that the watcher gave (--heartbeat-fd), until the process
 * ends; NULL where none was given, or it cannot be mapped. */
struct dlb_pulse *dlb_hidden_heartbeat(const char *fd);

/* One JSON object; *out: new reference. */
int dlb_hidden_read(const char *path, json_t **out, struct dlb_err *err);

/* Whole or not at all; doc may be NULL, when memory was short for it. */
int dlb_hidden_write(const char *path, const json_t *doc, struct dlb_err *err);

#endif

/* Reading summary.json back: whoever wrote it, what passes here can be rendered.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_LOAD_H
#define DLB_REPORTS_LOAD_H

#include "core/base/err.h"

#include <jansson.h>
#include <stddef.h>

#define DLB_SUMMARY_MAX_BYTES ((size_t)256 << 20)
#define DLB_SUMMARY_VERSION 1 /* the schema_version that this build reads */

/* Every field that reports read has the type that summary.schema.json gives it; DLB_E_FORMAT names
 * the first that has not, as in "cells[3].samples_per_s.median". `path` is for messages. */
int dlb_summary_check(const json_t *doc, const char *path, struct dlb_err *err);

/* Parses and checks; *out: new reference. */
int dlb_summary_parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                      struct dlb_err *err);

/* `path`: the file, or the folder that holds it. */
int dlb_summary_load(const char *path, json_t **out, struct dlb_err *err);

#endif

/* Reads summary.json back, from this version of dlbench or another, from anywhere. Every report can
 * render what passes here.
 *
 * Floor 4. Any thread. */
#ifndef DLB_REPORTS_LOAD_H
#define DLB_REPORTS_LOAD_H

#include "core/base/err.h"

#include <jansson.h>
#include <stddef.h>

#define DLB_SUMMARY_MAX_BYTES ((size_t)256 << 20)
#define DLB_SUMMARY_VERSION 2 /* the schema_version that this build reads */

/* summary.schema.json, which is in the program; new reference. */
json_t *dlb_summary_schema(void);

/* That, or watch.schema.json if the document is of a watched training loop; new reference. */
json_t *dlb_summary_schema_of(const json_t *doc);

/* The document, if dlbench wrote it, whichever version; else NULL. New reference. */
json_t *dlb_summary_recognise(const char *text, size_t n_bytes);

/* Checks that reports can read the document (DLB_SCHEMA_READABLE of reports/schema.h). `path` is
 * for messages. DLB_E_FORMAT: SUMMARY_VERSION, SUMMARY_FIELD_MISSING or SUMMARY_FIELD_BAD, which
 * names the field as in "cells[3].samples_per_s.median". */
int dlb_summary_check(const json_t *doc, const char *path, struct dlb_err *err);

/* Parses and checks; *out: new reference. SUMMARY_NOT_JSON names the line. */
int dlb_summary_parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                      struct dlb_err *err);

/* `path`: the file, or the folder that holds it. SUMMARY_NOT_WRITTEN: the folder is that of a run
 * that was killed. */
int dlb_summary_load(const char *path, json_t **out, struct dlb_err *err);

/* The same for reports that also render documents of earlier versions (reports/report.h). Of these
 * it is only known that dlbench wrote them. */
int dlb_summary_load_older(const char *path, json_t **out, struct dlb_err *err);

#endif

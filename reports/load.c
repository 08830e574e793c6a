#include "reports/load.h"

#include "core/base/embedded.h"
#include "core/base/io.h"
#include "reports/schema.h"
#include "reports/watch.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { KIND_SUMMARY, KIND_WATCH, N_KINDS };
extern const struct dlb_embedded dlb_summary_schemas[]; /* by enum kind */

static json_t *schema_of(enum kind kind)
{
    const struct dlb_embedded *file = &dlb_summary_schemas[kind];
    json_t *schema = json_loadb(file->bytes, file->n_bytes, 0, NULL);
    if (!schema)
        DLB_BUG("a schema is not JSON");
    return schema;
}

static enum kind kind_of(const json_t *doc)
{
    return dlb_watch_is(doc) ? KIND_WATCH : KIND_SUMMARY;
}

json_t *dlb_summary_schema(void)
{
    return schema_of(KIND_SUMMARY);
}

json_t *dlb_summary_schema_of(const json_t *doc)
{
    return schema_of(kind_of(doc));
}

json_t *dlb_summary_recognise(const char *text, size_t n_bytes)
{
    json_t *doc = json_loadb(text, n_bytes, 0, NULL);
    if (json_is_integer(json_object_get(doc, "schema_version")) &&
        json_is_string(json_object_get(doc, "run_name")) &&
        json_is_object(json_object_get(doc, "dlbench")))
        return doc;
    json_decref(doc);
    return NULL;
}

/* Is kept until the process ends: a command may check many documents. */
static json_t *kept_schemas[N_KINDS];

static void keep_schemas(void)
{
    for (int kind = 0; kind < N_KINDS; kind++)
        kept_schemas[kind] = schema_of((enum kind)kind);
}

int dlb_summary_check(const json_t *doc, const char *path, struct dlb_err *err)
{
    const json_t *version = json_object_get(doc, "schema_version");
    if (!version && json_is_object(json_object_get(doc, "compare")))
        return dlb_fail(err, DLB_ERR_SUMMARY_FIELD_MISSING, path, DLB_NO_OFFSET,
                        "is what `dlbench compare --json` printed, and no result: name the results "
                        "that it compares");
    if (json_is_integer(version) && json_integer_value(version) != DLB_SUMMARY_VERSION)
        return dlb_fail(err, DLB_ERR_SUMMARY_VERSION, path, DLB_NO_OFFSET,
                        "has schema_version %lld; this dlbench reads %d",
                        (long long)json_integer_value(version), DLB_SUMMARY_VERSION);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, keep_schemas);
    return dlb_schema_check(kept_schemas[kind_of(doc)], doc, DLB_SCHEMA_READABLE, path, err);
}

int dlb_summary_parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                      struct dlb_err *err)
{
    json_error_t why;
    json_t *doc = json_loadb(text, n_bytes, 0, &why);
    if (!doc)
        return dlb_fail(err, DLB_ERR_SUMMARY_NOT_JSON, path, DLB_NO_OFFSET, "line %d: %s", why.line,
                        why.text);
    int rc = dlb_summary_check(doc, path, err);
    if (rc)
        json_decref(doc);
    else
        *out = doc;
    return rc;
}

/* Whether a run started to write its result to the folder. */
static bool was_begun(const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/environment.json", folder);
    return n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0;
}

/* A document of an earlier version, or as dlb_summary_parse. */
static int parse_older(const char *text, size_t n_bytes, const char *path, json_t **out,
                       struct dlb_err *err)
{
    json_t *doc = dlb_summary_recognise(text, n_bytes);
    json_int_t version = json_integer_value(json_object_get(doc, "schema_version"));
    if (version >= 1 && version < DLB_SUMMARY_VERSION) {
        *out = doc;
        return DLB_OK;
    }
    json_decref(doc);
    return dlb_summary_parse(text, n_bytes, path, out, err);
}

typedef int parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                  struct dlb_err *err);

static int load(const char *path, parse *parse_text, json_t **out, struct dlb_err *err)
{
    char file[PATH_MAX], *text = NULL;
    struct stat st;
    size_t n_bytes = 0;
    bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    int n = snprintf(file, sizeof(file), folder ? "%s/summary.json" : "%s", path);
    if (n < 0 || (size_t)n >= sizeof(file))
        return dlb_fail(err, DLB_ERR_PATH_TOO_LONG, path, DLB_NO_OFFSET, "path is too long");
    int rc = dlb_read_file(file, DLB_SUMMARY_MAX_BYTES, &text, &n_bytes, err);
    if (rc && folder && err->code == DLB_ERR_NOT_FOUND && was_begun(path))
        return dlb_fail(err, DLB_ERR_SUMMARY_NOT_WRITTEN, path, DLB_NO_OFFSET,
                        "no summary there: the run was killed before its end; measure again");
    if (!rc)
        rc = parse_text(text, n_bytes, file, out, err);
    free(text);
    return rc;
}

int dlb_summary_load(const char *path, json_t **out, struct dlb_err *err)
{
    return load(path, dlb_summary_parse, out, err);
}

int dlb_summary_load_older(const char *path, json_t **out, struct dlb_err *err)
{
    return load(path, parse_older, out, err);
}

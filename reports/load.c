#include "reports/load.h"

#include "core/base/io.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEXT = 1 << 0,
    INTEGER = 1 << 1,
    REAL = 1 << 2,
    BOOL = 1 << 3,
    NUL = 1 << 4,
    OBJECT = 1 << 5,
    ARRAY = 1 << 6,
    NUMBER = INTEGER | REAL,
    SCALAR = TEXT | NUMBER | BOOL | NUL,
};

struct field {
    const char *key;
    unsigned types;
    const struct field *inside; /* fields of an object, or of each object in an array */
    unsigned each; /* types of the values of an object without fixed keys, or of an array */
    bool optional;
};

static const struct field spread[] = {
    {"median", NUMBER | NUL, NULL, 0, false}, {"max", NUMBER | NUL, NULL, 0, false}, {0}};
static const struct field estimate[] = {
    {"median", NUMBER | NUL, NULL, 0, false},     {"low", NUMBER | NUL, NULL, 0, false},
    {"high", NUMBER | NUL, NULL, 0, false},       {"interval", TEXT, NULL, 0, false},
    {"values", ARRAY, NULL, NUMBER | NUL, false}, {0}};
static const struct field verdict[] = {{"class", TEXT, NULL, 0, false},
                                       {"cause", TEXT, NULL, 0, false},
                                       {"severity", TEXT, NULL, 0, false},
                                       {"text", TEXT, NULL, 0, false},
                                       {"input_wait_frac", NUMBER | NUL, NULL, 0, false},
                                       {"ceiling_ratio", NUMBER | NUL, NULL, 0, false},
                                       {0}};
static const struct field epoch[] = {{"first_batch_ns", NUMBER | NUL, NULL, 0, false}, {0}};
static const struct field cell[] = {{"index", INTEGER, NULL, 0, false},
                                    {"config", OBJECT, NULL, SCALAR, false},
                                    {"status", TEXT, NULL, 0, false},
                                    {"reason", TEXT | NUL, NULL, 0, false},
                                    {"samples_per_s", OBJECT, estimate, 0, false},
                                    {"read_bytes_per_s", NUMBER | NUL, NULL, 0, false},
                                    {"gpu_idle_frac", OBJECT, spread, 0, false},
                                    {"input_wait_frac", OBJECT, spread, 0, false},
                                    {"epochs", ARRAY, epoch, OBJECT, false},
                                    {"verdict", OBJECT, verdict, 0, false},
                                    {0}};
static const struct field data[] = {{"id", TEXT, NULL, 0, false},
                                    {"format", TEXT, NULL, 0, false},
                                    {"samples", NUMBER, NULL, 0, false},
                                    {"bytes", NUMBER, NULL, 0, false},
                                    {0}};
static const struct field device[] = {{"kind", TEXT | NUL, NULL, 0, false},
                                      {"name", TEXT | NUL, NULL, 0, false},
                                      {"why", TEXT | NUL, NULL, 0, false},
                                      {0}};
static const struct field point[] = {
    {"accelerators", INTEGER, NULL, 0, false},       {"au", NUMBER | NUL, NULL, 0, false},
    {"au_low", NUMBER | NUL, NULL, 0, true},         {"au_high", NUMBER | NUL, NULL, 0, true},
    {"samples_per_s", NUMBER | NUL, NULL, 0, false}, {"bytes_per_s", NUMBER | NUL, NULL, 0, false},
    {"read_p50_ns", NUMBER | NUL, NULL, 0, false},   {"read_p99_ns", NUMBER | NUL, NULL, 0, false},
    {"read_p999_ns", NUMBER | NUL, NULL, 0, false},  {0}};
static const struct field share[] = {{"median", NUMBER | NUL, NULL, 0, false},
                                     {"low", NUMBER | NUL, NULL, 0, false},
                                     {"high", NUMBER | NUL, NULL, 0, false},
                                     {0}};
static const struct field baseline[] = {{"program", TEXT, NULL, 0, false},
                                        {"command", TEXT | NUL, NULL, 0, true},
                                        {"reason", TEXT | NUL, NULL, 0, true},
                                        {"bytes_per_s", NUMBER | NUL, NULL, 0, false},
                                        {"pipeline_bytes_per_s", NUMBER | NUL, NULL, 0, false},
                                        {"share", OBJECT, share, 0, false},
                                        {0}};
static const struct field storage[] = {
    {"max_accelerators", INTEGER, NULL, 0, false}, {"low", INTEGER | NUL, NULL, 0, false},
    {"high", INTEGER | NUL, NULL, 0, false},       {"gate", NUMBER, NULL, 0, false},
    {"bottleneck", TEXT, NULL, 0, false},          {"headroom_frac", NUMBER | NUL, NULL, 0, true},
    {"iops", NUMBER | NUL, NULL, 0, true},         {"baseline", OBJECT | NUL, baseline, 0, true},
    {"curve", ARRAY, point, OBJECT, false},        {0}};
static const struct field calls[] = {{"count", NUMBER, NULL, 0, false},
                                     {"p50_ns", NUMBER | NUL, NULL, 0, false},
                                     {"max_ns", NUMBER | NUL, NULL, 0, false},
                                     {0}};
static const struct field faults[] = {{"ns", NUMBER | NUL, NULL, 0, false}, {0}};
static const struct field gap_process[] = {{"voluntary_switches", NUMBER | NUL, NULL, 0, false},
                                           {"involuntary_switches", NUMBER | NUL, NULL, 0, false},
                                           {"cpu_ns", NUMBER | NUL, NULL, 0, false},
                                           {"runqueue_wait_ns", NUMBER | NUL, NULL, 0, false},
                                           {"blocked_ns", NUMBER | NUL, NULL, 0, false},
                                           {"minor_faults", NUMBER | NUL, NULL, 0, false},
                                           {0}};
static const struct field gap_os[] = {{"process", OBJECT | NUL, gap_process, 0, false},
                                      {"threads", ARRAY | NUL, gap_process, OBJECT, false},
                                      {"faults", OBJECT | NUL, faults, 0, false},
                                      {"copy_calls", OBJECT | NUL, calls, 0, false},
                                      {"sync_calls", OBJECT | NUL, calls, 0, false},
                                      {0}};
static const struct field gap_rung[] = {{"rung", TEXT, NULL, 0, false},
                                        {"status", TEXT, NULL, 0, false},
                                        {"reason", TEXT | NUL, NULL, 0, false},
                                        {"seconds", OBJECT, estimate, 0, false},
                                        {"ratio_to_direct", NUMBER | NUL, NULL, 0, false},
                                        {"ratio_to_floor", NUMBER | NUL, NULL, 0, false},
                                        {"step_seconds", NUMBER | NUL, NULL, 0, false},
                                        {"os", OBJECT, gap_os, 0, false},
                                        {0}};
static const struct field gap_part[] = {{"part", TEXT, NULL, 0, false},
                                        {"seconds", NUMBER | NUL, NULL, 0, false},
                                        {"frac", NUMBER | NUL, NULL, 0, false},
                                        {"removed_by", TEXT | NUL, NULL, 0, true},
                                        {0}};
static const struct field gap[] = {{"rungs", ARRAY, gap_rung, OBJECT, false},
                                   {"decomposition", ARRAY, gap_part, OBJECT, false},
                                   {"text", TEXT, NULL, 0, false},
                                   {0}};
static const struct field document[] = {{"schema_version", INTEGER, NULL, 0, false},
                                        {"command", TEXT, NULL, 0, false},
                                        {"run_name", TEXT, NULL, 0, false},
                                        {"partial", BOOL, NULL, 0, false},
                                        {"dataset", OBJECT, data, 0, false},
                                        {"config", OBJECT, NULL, SCALAR, false},
                                        {"device", OBJECT, device, 0, false},
                                        {"verdict", OBJECT, verdict, 0, false},
                                        {"best_cell", INTEGER | NUL, NULL, 0, false},
                                        {"recommended_cell", INTEGER | NUL, NULL, 0, false},
                                        {"recommendation", TEXT, NULL, 0, true},
                                        {"pytorch", TEXT, NULL, 0, false},
                                        {"not_modelled", ARRAY, NULL, TEXT, false},
                                        {"notes", ARRAY, NULL, TEXT, true},
                                        {"axes", OBJECT, NULL, ARRAY, true},
                                        {"cells", ARRAY, cell, OBJECT, false},
                                        {"storage", OBJECT, storage, 0, true},
                                        {"gap", OBJECT, gap, 0, true},
                                        {0}};

static unsigned type_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return OBJECT;
    case JSON_ARRAY:
        return ARRAY;
    case JSON_STRING:
        return TEXT;
    case JSON_INTEGER:
        return INTEGER;
    case JSON_REAL:
        return REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return BOOL;
    case JSON_NULL:
        break;
    }
    return NUL;
}

static const char *type_name(unsigned types)
{
    return types & TEXT      ? "a string"
           : types & OBJECT  ? "an object"
           : types & ARRAY   ? "a list"
           : types & BOOL    ? "true or false"
           : types & REAL    ? "a number"
           : types & INTEGER ? "a whole number"
                             : "null";
}

/* Where in the document, for messages. */
struct place {
    const char *path;
    char at[120];
};

static int offence(const struct place *place, unsigned wanted, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FORMAT, place->path, DLB_NO_OFFSET,
                    "is no summary that can be read: %s is not %s", place->at, type_name(wanted));
}

static int check_fields(const json_t *object, const struct field *fields, struct place *place,
                        struct dlb_err *err);

static int check_each(const json_t *value, const struct field *field, struct place *place,
                      struct dlb_err *err)
{
    size_t len = strlen(place->at), i;
    const char *key;
    json_t *entry;
    int rc = DLB_OK;
    json_array_foreach(value, i, entry)
    {
        (void)snprintf(place->at + len, sizeof(place->at) - len, "[%zu]", i);
        if (!(type_of(entry) & field->each))
            return offence(place, field->each, err);
        if (field->inside)
            rc = check_fields(entry, field->inside, place, err);
        if (rc)
            return rc;
    }
    json_object_foreach((json_t *)value, key, entry)
    {
        (void)snprintf(place->at + len, sizeof(place->at) - len, ".%s", key);
        if (!(type_of(entry) & field->each))
            return offence(place, field->each, err);
    }
    place->at[len] = '\0';
    return DLB_OK;
}

static int check_fields(const json_t *object, const struct field *fields, struct place *place,
                        struct dlb_err *err)
{
    size_t len = strlen(place->at);
    for (const struct field *field = fields; field->key; field++) {
        const json_t *value = json_object_get(object, field->key);
        (void)snprintf(place->at + len, sizeof(place->at) - len, "%s%s", len ? "." : "",
                       field->key);
        if (!value && field->optional)
            continue;
        if (!value)
            return dlb_fail(err, DLB_ERR_FORMAT, place->path, DLB_NO_OFFSET,
                            "is no summary that can be read: %s is not there", place->at);
        if (!(type_of(value) & field->types))
            return offence(place, field->types, err);
        int rc = DLB_OK;
        if (field->each)
            rc = check_each(value, field, place, err);
        else if (field->inside && json_is_object(value))
            rc = check_fields(value, field->inside, place, err);
        if (rc)
            return rc;
    }
    place->at[len] = '\0';
    return DLB_OK;
}

int dlb_summary_check(const json_t *doc, const char *path, struct dlb_err *err)
{
    struct place place = {.path = path};
    if (!json_is_object(doc))
        return dlb_fail(err, DLB_ERR_FORMAT, path, DLB_NO_OFFSET,
                        "is no summary that can be read: it is not a JSON object");
    const json_t *version = json_object_get(doc, "schema_version");
    if (json_is_integer(version) && json_integer_value(version) != DLB_SUMMARY_VERSION)
        return dlb_fail(err, DLB_ERR_FORMAT, path, DLB_NO_OFFSET,
                        "has schema_version %lld; this dlbench reads %d",
                        (long long)json_integer_value(version), DLB_SUMMARY_VERSION);
    return check_fields(doc, document, &place, err);
}

int dlb_summary_parse(const char *text, size_t n_bytes, const char *path, json_t **out,
                      struct dlb_err *err)
{
    json_error_t why;
    json_t *doc = json_loadb(text, n_bytes, 0, &why);
    if (!doc)
        return dlb_fail(err, DLB_ERR_FORMAT, path, DLB_NO_OFFSET, "line %d: %s", why.line,
                        why.text);
    int rc = dlb_summary_check(doc, path, err);
    if (rc)
        json_decref(doc);
    else
        *out = doc;
    return rc;
}

int dlb_summary_load(const char *path, json_t **out, struct dlb_err *err)
{
    char file[PATH_MAX], *text = NULL;
    struct stat st;
    size_t n_bytes = 0;
    bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    int n = snprintf(file, sizeof(file), folder ? "%s/summary.json" : "%s", path);
    if (n < 0 || (size_t)n >= sizeof(file))
        return dlb_fail(err, DLB_ERR_IO, path, DLB_NO_OFFSET, "path is too long");
    int rc = dlb_read_file(file, DLB_SUMMARY_MAX_BYTES, &text, &n_bytes, err);
    char begun[PATH_MAX];
    if (rc && folder && err->sys_errno == ENOENT &&
        snprintf(begun, sizeof(begun), "%s/environment.json", path) < PATH_MAX &&
        access(begun, F_OK) == 0)
        return dlb_fail(err, DLB_ERR_IO, path, DLB_NO_OFFSET,
                        "no summary there: the run was killed before its end; measure again");
    if (!rc)
        rc = dlb_summary_parse(text, n_bytes, file, out, err);
    free(text);
    return rc;
}

#include "core/base/opt_value.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/opt_table.h"
#include "core/base/quoted.h"
#include "core/base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void append(char *text, size_t n_text, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void append(char *text, size_t n_text, const char *fmt, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text + len, n_text - len, fmt, args);
    va_end(args);
}

/* "64 KiB" where that is exact, so that a user can type the limit. */
static const char *limit_text(const struct dlb_opt *opt, int64_t limit, char *text, size_t n_text)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    size_t i = 0;

    if (opt->type != DLB_OPT_BYTES) {
        (void)snprintf(text, n_text, "%" PRId64, limit);
        return text;
    }
    while (limit != 0 && limit % 1024 == 0 && i + 1 < sizeof units / sizeof *units) {
        limit /= 1024;
        i++;
    }
    (void)snprintf(text, n_text, "%" PRId64 "%s", limit, units[i]);
    return text;
}

const char *dlb_opt_range_text(const struct dlb_opt *opt, char *text, size_t n_text)
{
    const char *unit = opt->unit ? opt->unit : "";
    char low[40], high[40];

    text[0] = '\0';
    switch (opt->type) {
    case DLB_OPT_BOOL:
        append(text, n_text, "true or false");
        break;
    case DLB_OPT_STRING:
        append(text, n_text, "text");
        break;
    case DLB_OPT_TABLE:
        append(text, n_text, "names with text, numbers, true, false, or lists of these");
        break;
    case DLB_OPT_CHOICE:
        for (size_t i = 0; opt->choices[i]; i++)
            append(text, n_text, "%s%s",
                   i == 0                ? ""
                   : opt->choices[i + 1] ? ", "
                                         : " or ",
                   opt->choices[i]);
        break;
    case DLB_OPT_INT:
    case DLB_OPT_FLOAT:
    case DLB_OPT_BYTES:
        (void)limit_text(opt, opt->min, low, sizeof low);
        (void)limit_text(opt, opt->max, high, sizeof high);
        if (opt->max == INT64_MAX)
            append(text, n_text, "at least %s", low);
        else
            append(text, n_text, "%s to %s", low, high);
        if (*unit && opt->type != DLB_OPT_BYTES)
            append(text, n_text, " %s", unit);
        break;
    }
    return text;
}

static const char *wanted_text(const struct dlb_opt *opt)
{
    switch (opt->type) {
    case DLB_OPT_BOOL:
        return "true or false";
    case DLB_OPT_INT:
        return "a whole number";
    case DLB_OPT_FLOAT:
        return "a number";
    case DLB_OPT_BYTES:
        return "a number of bytes (65536, \"64 KiB\")";
    case DLB_OPT_CHOICE:
        return "one of its choices";
    case DLB_OPT_STRING:
    case DLB_OPT_TABLE: /* reports its own errors */
        return "text";
    }
    return "";
}

static const char *given_text(const json_t *value, char *text, size_t n_text)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        (void)snprintf(text, n_text, "the text \"%.*s\"", DLB_CUT(json_string_value(value), 40));
        break;
    case JSON_INTEGER:
        (void)snprintf(text, n_text, "the number %" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        (void)snprintf(text, n_text, "the fraction %g%s", json_real_value(value),
                       json_real_value(value) == floor(json_real_value(value)) ? ".0" : "");
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        (void)snprintf(text, n_text, "%s", json_is_true(value) ? "true" : "false");
        break;
    case JSON_ARRAY:
        (void)snprintf(text, n_text, "a list");
        break;
    default:
        (void)snprintf(text, n_text, "a table");
        break;
    }
    return text;
}

static int wrong_type(const struct dlb_opt *opt, const char *key, const json_t *value,
                      const char *origin, struct dlb_err *err)
{
    char given[80];

    if (json_is_array(value))
        return dlb_fail(err, DLB_ERR_CONFIG_WRONG_TYPE, origin, DLB_NO_OFFSET,
                        "%s takes one value, not a list; to try several write sweep.%s = [...]",
                        key, key);
    return dlb_fail(err, DLB_ERR_CONFIG_WRONG_TYPE, origin, DLB_NO_OFFSET, "%s wants %s, not %s",
                    key, wanted_text(opt), given_text(value, given, sizeof given));
}

static int out_of_range(const struct dlb_opt *opt, const char *key, const char *given,
                        const char *origin, struct dlb_err *err)
{
    char range[120];
    return dlb_fail(err, DLB_ERR_CONFIG_OUT_OF_RANGE, origin, DLB_NO_OFFSET,
                    "%s = %s is out of range: it may be %s", key, given,
                    dlb_opt_range_text(opt, range, sizeof range));
}

static int check_int(const struct dlb_opt *opt, const char *key, int64_t value, const char *origin,
                     json_t **out, struct dlb_err *err)
{
    char given[40];

    if (value < opt->min || value > opt->max) {
        (void)snprintf(given, sizeof given, "%" PRId64, value);
        return out_of_range(opt, key, given, origin, err);
    }
    *out = dlb_json_made(json_integer(value));
    return DLB_OK;
}

static int check_float(const struct dlb_opt *opt, const char *key, double value, const char *origin,
                       json_t **out, struct dlb_err *err)
{
    char given[40];

    (void)snprintf(given, sizeof given, "%.10g", value);
    if (!isfinite(value))
        return dlb_fail(err, DLB_ERR_CONFIG_OUT_OF_RANGE, origin, DLB_NO_OFFSET,
                        "%s = %s is not a finite number", key, given);
    if (value < (double)opt->min || value > (double)opt->max)
        return out_of_range(opt, key, given, origin, err);
    *out = dlb_json_made(json_real(value));
    return DLB_OK;
}

static int check_bytes_text(const struct dlb_opt *opt, const char *key, const char *text,
                            const char *origin, json_t **out, struct dlb_err *err)
{
    struct dlb_err why;
    int64_t value;

    if (dlb_bytes_parse(text, &value, &why) != DLB_OK)
        return dlb_fail(err, why.code, origin, DLB_NO_OFFSET, "%s: %s", key, why.what);
    return check_int(opt, key, value, origin, out, err);
}

static int check_choice(const struct dlb_opt *opt, const char *key, const char *text,
                        const char *origin, json_t **out, struct dlb_err *err)
{
    char range[120];
    const char *nearest = NULL;
    size_t nearest_edits = 3;

    for (size_t i = 0; opt->choices[i]; i++) {
        size_t edits = dlb_edit_distance(text, opt->choices[i], nearest_edits);
        if (edits == 0) {
            *out = dlb_json_made(json_string(text));
            return DLB_OK;
        }
        if (edits < nearest_edits) {
            nearest = opt->choices[i];
            nearest_edits = edits;
        }
    }
    (void)dlb_opt_range_text(opt, range, sizeof range);
    if (nearest)
        return dlb_fail(err, DLB_ERR_CONFIG_UNKNOWN_CHOICE, origin, DLB_NO_OFFSET,
                        "%s = \"%.*s\": did you mean \"%s\"? It may be %s", key, DLB_CUT(text, 40),
                        nearest, range);
    return dlb_fail(err, DLB_ERR_CONFIG_UNKNOWN_CHOICE, origin, DLB_NO_OFFSET,
                    "%s = \"%.*s\": it may be %s", key, DLB_CUT(text, 40), range);
}

/* Whose text C would cut. */
static bool has_zero(const char *key, const char *text, size_t len, const char *origin,
                     struct dlb_err *err)
{
    return strlen(text) != len && dlb_fail(err, DLB_ERR_CONFIG_BAD_TEXT, origin, DLB_NO_OFFSET,
                                           "%s holds a zero byte", key);
}

static int check_string(const char *key, const char *text, size_t len, const char *origin,
                        json_t **out, struct dlb_err *err)
{
    if (len >= DLB_OPT_STRING_CAP)
        return dlb_fail(err, DLB_ERR_CONFIG_BAD_TEXT, origin, DLB_NO_OFFSET,
                        "%s is %zu bytes long: at most %d fit", key, len, DLB_OPT_STRING_CAP - 1);
    if (has_zero(key, text, len, origin, err))
        return (int)err->status;
    *out = json_stringn(text, len);
    if (!*out)
        return dlb_fail(err, DLB_ERR_CONFIG_BAD_TEXT, origin, DLB_NO_OFFSET,
                        "%s is not valid UTF-8", key);
    return DLB_OK;
}

int dlb_opt_from_json(const struct dlb_opt *opt, const char *key, const json_t *value,
                      const char *origin, json_t **out, struct dlb_err *err)
{
    const char *text = json_string_value(value); /* NULL unless it is a string */
    int status = -1;

    *out = NULL;
    if (text && has_zero(key, text, json_string_length(value), origin, err))
        return (int)err->status;
    switch (opt->type) {
    case DLB_OPT_BOOL:
        if (json_is_boolean(value)) {
            *out = json_boolean(json_is_true(value));
            status = DLB_OK;
        }
        break;
    case DLB_OPT_INT:
        if (json_is_integer(value))
            status = check_int(opt, key, json_integer_value(value), origin, out, err);
        break;
    case DLB_OPT_FLOAT:
        if (json_is_number(value))
            status = check_float(opt, key, json_number_value(value), origin, out, err);
        break;
    case DLB_OPT_BYTES:
        if (json_is_integer(value))
            status = check_int(opt, key, json_integer_value(value), origin, out, err);
        else if (text)
            status = check_bytes_text(opt, key, text, origin, out, err);
        break;
    case DLB_OPT_CHOICE:
        if (text)
            status = check_choice(opt, key, text, origin, out, err);
        break;
    case DLB_OPT_STRING:
        if (text)
            status = check_string(key, text, json_string_length(value), origin, out, err);
        break;
    case DLB_OPT_TABLE:
        status = dlb_opt_named_from_json(key, value, origin, out, err);
        break;
    }
    if (status == -1)
        return wrong_type(opt, key, value, origin, err);
    return status;
}

/* The quote to print around what the user typed; none when it has quotes already. */
static const char *quote(const char *text)
{
    return *text == '"' ? "" : "\"";
}

static int number_from_text(const struct dlb_opt *opt, const char *key, const char *text,
                            const char *origin, json_t **out, struct dlb_err *err)
{
    char *end = NULL;
    bool is_int = opt->type == DLB_OPT_INT;

    errno = 0;
    long long whole = is_int ? strtoll(text, &end, 10) : 0;
    double real = is_int ? 0.0 : strtod(text, &end);
    bool lost = errno == ERANGE && (is_int || isinf(real) || real == 0);
    if (end == text || *end != '\0' || strpbrk(text, "xX")) /* strtod takes 0x10 */
        return dlb_fail(err, DLB_ERR_CONFIG_WRONG_TYPE, origin, DLB_NO_OFFSET,
                        "%s wants %s, not %s%.*s%s", key, wanted_text(opt), quote(text),
                        DLB_CUT(text, 40), quote(text));
    if (lost)
        return out_of_range(opt, key, text, origin, err);
    if (is_int)
        return check_int(opt, key, (int64_t)whole, origin, out, err);
    return check_float(opt, key, real, origin, out, err);
}

/* `bare`: the text without its quotes, of len bytes. */
static int from_bare(const struct dlb_opt *opt, const char *key, const char *bare, size_t len,
                     const char *origin, json_t **out, struct dlb_err *err)
{
    if (len >= DLB_OPT_STRING_CAP || strlen(bare) != len)
        return check_string(key, bare, len, origin, out, err);
    switch (opt->type) {
    case DLB_OPT_BOOL:
        if (strcasecmp(bare, "true") != 0 && strcasecmp(bare, "false") != 0) /* True: Python's */
            return dlb_fail(err, DLB_ERR_CONFIG_WRONG_TYPE, origin, DLB_NO_OFFSET,
                            "%s wants true or false, not %s%.*s%s", key, quote(bare),
                            DLB_CUT(bare, 40), quote(bare));
        *out = json_boolean(strcasecmp(bare, "true") == 0);
        return DLB_OK;
    case DLB_OPT_INT:
    case DLB_OPT_FLOAT:
        return number_from_text(opt, key, bare, origin, out, err);
    case DLB_OPT_BYTES:
        return check_bytes_text(opt, key, bare, origin, out, err);
    case DLB_OPT_CHOICE:
        return check_choice(opt, key, bare, origin, out, err);
    case DLB_OPT_STRING:
    case DLB_OPT_TABLE:
        break;
    }
    return check_string(key, bare, len, origin, out, err);
}

int dlb_opt_from_text(const struct dlb_opt *opt, const char *key, const char *text,
                      const char *origin, json_t **out, struct dlb_err *err)
{
    bool is_text =
        opt->type == DLB_OPT_BYTES || opt->type == DLB_OPT_CHOICE || opt->type == DLB_OPT_STRING;

    *out = NULL;
    if (opt->type == DLB_OPT_TABLE)
        return dlb_opt_named_from_text(key, text, origin, out, err);
    if (!is_text || !dlb_is_quoted(text))
        return from_bare(opt, key, text, strlen(text), origin, out, err);
    char *bare = dlb_mem_text(text);
    size_t len = 0;
    const char *wrong = dlb_unquote(bare, &len);
    int status = wrong ? dlb_opt_not_a_string(key, text, wrong, origin, err)
                       : from_bare(opt, key, bare, len, origin, out, err);
    free(bare);
    return status;
}

void dlb_opt_store(const struct dlb_opt *opt, const json_t *value, void *base)
{
    char *field = (char *)base + opt->offset;
    int64_t whole = json_integer_value(value);
    double real = json_number_value(value);
    bool truth = json_is_true(value);
    int place = 0;

    switch (opt->type) {
    case DLB_OPT_BOOL:
        memcpy(field, &truth, sizeof truth);
        break;
    case DLB_OPT_INT:
    case DLB_OPT_BYTES:
        memcpy(field, &whole, sizeof whole);
        break;
    case DLB_OPT_FLOAT:
        memcpy(field, &real, sizeof real);
        break;
    case DLB_OPT_CHOICE:
        while (opt->choices[place] && strcmp(opt->choices[place], json_string_value(value)) != 0)
            place++;
        memcpy(field, &place, sizeof place);
        break;
    case DLB_OPT_STRING:
        (void)snprintf(field, DLB_OPT_STRING_CAP, "%s", json_string_value(value));
        break;
    case DLB_OPT_TABLE:
        dlb_opt_table_store(value, field);
        break;
    }
}

int dlb_opt_place(const char *const *choices, const char *name)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(choices[i], name) == 0)
            return i;
    return -1;
}

json_t *dlb_opt_load(const struct dlb_opt *opt, const void *base)
{
    const void *field = (const char *)base + opt->offset;
    int64_t whole = 0;
    double real = 0;
    bool truth = false;
    int place = 0;

    switch (opt->type) {
    case DLB_OPT_BOOL:
        memcpy(&truth, field, sizeof truth);
        return json_boolean(truth);
    case DLB_OPT_INT:
    case DLB_OPT_BYTES:
        memcpy(&whole, field, sizeof whole);
        return dlb_json_made(json_integer(whole));
    case DLB_OPT_FLOAT:
        memcpy(&real, field, sizeof real);
        return dlb_json_made(json_real(real));
    case DLB_OPT_CHOICE:
        memcpy(&place, field, sizeof place);
        return dlb_json_made(json_string(opt->choices[place]));
    case DLB_OPT_TABLE:
        return dlb_opt_table_load(field);
    case DLB_OPT_STRING:
        break;
    }
    json_t *said = json_string(field); /* as it was set: a child's configuration reads it again */
    return said ? said : dlb_json_safe_text(field);
}

bool dlb_opt_equal(const struct dlb_opt *opt, const void *a, const void *b)
{
    const char *x = (const char *)a + opt->offset, *y = (const char *)b + opt->offset;

    switch (opt->type) {
    case DLB_OPT_BOOL:
        return memcmp(x, y, sizeof(bool)) == 0;
    case DLB_OPT_INT:
    case DLB_OPT_BYTES:
        return memcmp(x, y, sizeof(int64_t)) == 0;
    case DLB_OPT_FLOAT:
        return *(const double *)(const void *)x == *(const double *)(const void *)y;
    case DLB_OPT_CHOICE:
        return memcmp(x, y, sizeof(int)) == 0;
    case DLB_OPT_STRING:
    case DLB_OPT_TABLE:
        break;
    }
    return strcmp(x, y) == 0;
}

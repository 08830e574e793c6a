#include "core/base/opt_table.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/quoted.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_CAP 128 /* of a dotted key, its end included */

static bool is_identifier(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char others[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return *name && strchr(letters, *name) && name[strspn(name, others)] == '\0';
}

const char *dlb_opt_name_in(const struct dlb_opt *opt, const char *key)
{
    size_t n = strlen(opt->key);
    if (opt->type != DLB_OPT_TABLE || strncmp(key, opt->key, n) != 0 || key[n] != '.')
        return NULL;
    const char *name = key + n + 1;
    return is_identifier(name) && strlen(name) < DLB_OPT_NAME_CAP ? name : NULL;
}

static int bad_text(const char *key, const char *what, const char *origin, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_CONFIG_BAD_TEXT, origin, DLB_NO_OFFSET, "%s %s", key, what);
}

static int check_plain(const char *key, const json_t *value, const char *origin,
                       struct dlb_err *err)
{
    const char *text = json_string_value(value); /* NULL unless it is a string */
    if (text && strlen(text) != json_string_length(value))
        return bad_text(key, "holds a zero byte", origin, err);
    if (text || json_is_number(value) || json_is_boolean(value))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_CONFIG_WRONG_TYPE, origin, DLB_NO_OFFSET,
                    "%s may be text, a number, true or false, or a list of these, not %s", key,
                    json_is_array(value)    ? "a list of lists"
                    : json_is_object(value) ? "a table"
                                            : "nothing");
}

int dlb_opt_named_from_json(const char *key, const json_t *value, const char *origin, json_t **out,
                            struct dlb_err *err)
{
    const json_t *element;
    size_t i;
    int rc = DLB_OK;

    *out = NULL;
    if (!json_is_array(value))
        rc = check_plain(key, value, origin, err);
    json_array_foreach((json_t *)(json_is_array(value) ? value : NULL), i, element) {
        rc = rc ? rc : check_plain(key, element, origin, err);
    }
    if (rc == DLB_OK)
        *out = dlb_json_made(json_deep_copy(value));
    return rc;
}

int dlb_opt_not_a_string(const char *key, const char *text, const char *what, const char *origin,
                         struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_CONFIG_BAD_TEXT, origin, DLB_NO_OFFSET,
                    "%s = %.*s %s: a value in quotes is a string as in TOML, \"...\" with "
                    "\\\\ for a backslash and \\\" for a quote, or '...' without escapes",
                    key, DLB_CUT(text, 40), what);
}

/* True where the text is a number. NULL in *out: it is beyond *limit. */
static bool number_of(const char *text, json_t **out, const char **limit)
{
    char *end;
    const char *digits = text + strspn(text, "+-");

    if (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') /* TOML has no such number */
        return false;
    if (!text[strcspn(text, "0123456789")] || text[strspn(text, "+-.0123456789eE")])
        return false;
    errno = 0;
    long long whole = strtoll(text, &end, 10);
    if (!*end) {
        *out = errno == ERANGE ? NULL : dlb_json_made(json_integer(whole));
        *limit = "64 bits, the most that a whole number has";
        return true;
    }
    double real = strtod(text, &end);
    if (*end)
        return false;
    *out = isfinite(real) ? dlb_json_made(json_real(real)) : NULL;
    *limit = DLB_OPT_LARGEST_FLOAT;
    return true;
}

static int quoted_from_text(const char *key, const char *text, const char *origin, json_t **out,
                            struct dlb_err *err)
{
    char *copy = dlb_mem_text(text);
    size_t len = 0;
    const char *wrong = dlb_unquote(copy, &len);
    int rc = DLB_OK;

    if (wrong)
        rc = dlb_opt_not_a_string(key, text, wrong, origin, err);
    else if (strlen(copy) != len)
        rc = bad_text(key, "holds a zero byte", origin, err);
    else if (!(*out = json_stringn(copy, len)))
        rc = bad_text(key, "is not valid UTF-8", origin, err);
    free(copy);
    return rc;
}

static int plain_from_text(const char *key, const char *text, const char *origin, json_t **out,
                           struct dlb_err *err)
{
    const char *limit = NULL;

    *out = NULL;
    if (dlb_is_quoted(text))
        return quoted_from_text(key, text, origin, out, err);
    if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
        *out = json_boolean(strcasecmp(text, "true") == 0); /* True: Python's */
    else if (number_of(text, out, &limit))
        return *out ? DLB_OK
                    : dlb_fail(err, DLB_ERR_CONFIG_OUT_OF_RANGE, origin, DLB_NO_OFFSET,
                               "%s = %.*s is a number beyond %s: if it is text, put it in quotes "
                               "that the shell leaves: '\"%.*s\"'",
                               key, DLB_CUT(text, 40), limit, DLB_CUT(text, 40));
    else
        *out = json_string(text);
    return *out ? DLB_OK : bad_text(key, "is not valid UTF-8", origin, err);
}

static int no_list(const char *key, const char *text, const char *origin, struct dlb_err *err)
{
    return dlb_fail(
        err, DLB_ERR_CONFIG_WRONG_TYPE, origin, DLB_NO_OFFSET,
        "%s = %.*s is not a list of single values; put a text that begins with [ in quotes", key,
        DLB_CUT(text, 40));
}

int dlb_opt_named_from_text(const char *key, const char *text, const char *origin, json_t **out,
                            struct dlb_err *err)
{
    char *copy = dlb_mem_text(text);
    size_t len = strlen(copy);
    json_t *one = NULL;
    int rc = DLB_OK;

    *out = NULL;
    if (copy[0] != '[') {
        rc = plain_from_text(key, copy, origin, out, err);
        goto out;
    }
    if (copy[len - 1] != ']') {
        rc = no_list(key, text, origin, err);
        goto out;
    }
    *out = dlb_json_made(json_array());
    copy[len - 1] = '\0';
    for (char *list = copy + 1, *element; list && rc == DLB_OK;) {
        element = dlb_list_trimmed(dlb_list_next(&list));
        if (*element == '\0' && !list) /* "[]" and "[1, 2,]", as in TOML */
            break;
        rc = *element == '[' ? no_list(key, text, origin, err)
                             : plain_from_text(key, element, origin, &one, err);
        if (rc == DLB_OK)
            dlb_json_append(*out, one);
    }
out:
    if (rc != DLB_OK) {
        json_decref(*out);
        *out = NULL;
    }
    free(copy);
    return rc;
}

static char *dumped(const json_t *table)
{
    return dlb_json_dumped(table, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);
}

bool dlb_opt_table_fits(const json_t *table)
{
    char *text = dumped(table);
    bool fits = strlen(text) < DLB_OPT_TABLE_CAP;
    free(text);
    return fits;
}

void dlb_opt_table_store(const json_t *table, char field[DLB_OPT_TABLE_CAP])
{
    char *text = dumped(table);
    if (strlen(text) >= DLB_OPT_TABLE_CAP)
        DLB_BUG("a table that was not checked");
    memcpy(field, text, strlen(text) + 1);
    free(text);
}

json_t *dlb_opt_table_load(const char field[DLB_OPT_TABLE_CAP])
{
    return dlb_json_made(field[0] ? json_loads(field, 0, NULL) : json_object());
}

void dlb_opt_put_flat(json_t *out, const char *key, const struct dlb_opt *opt, json_t *value)
{
    const char *name;
    json_t *one;
    char full[KEY_CAP];

    if (opt->type != DLB_OPT_TABLE) {
        dlb_json_put(out, key, value);
        return;
    }
    json_object_foreach(value, name, one) {
        (void)snprintf(full, sizeof full, "%s.%s", key, name);
        dlb_json_put(out, full, json_incref(one));
    }
    json_decref(value);
}

char *dlb_list_next(char **list)
{
    char *start = *list, *at = start + strspn(start, " \t");

    if (dlb_is_quoted(at)) /* a comma in it is its own */
        at += dlb_quoted_bytes(at);
    at += strcspn(at, ",");
    *list = *at ? at + 1 : NULL;
    *at = '\0';
    return start;
}

char *dlb_list_trimmed(char *text)
{
    size_t len;

    text += strspn(text, " \t");
    len = strlen(text);
    while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
        text[--len] = '\0';
    return text;
}

#include "reports/schema.h"

#include "core/base/escape.h"

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEFS "#/$defs/"

struct check {
    const json_t *root;
    enum dlb_schema_strictness strictness;
    const char *path;
    char at[200]; /* where in the document; "" at its root */
    struct dlb_err *err;
};

static int offence(const struct check *c, const char *what, const char *which)
{
    return dlb_fail(c->err, DLB_ERR_SUMMARY_FIELD_BAD, c->path, DLB_NO_OFFSET,
                    "cannot be read as a summary: %s %s%.*s", c->at[0] ? c->at : "the document",
                    what, DLB_CUT(which, 200));
}

static bool is_whole(const json_t *value)
{
    return json_is_integer(value) ||
           (json_is_real(value) && floor(json_real_value(value)) == json_real_value(value));
}

static const struct {
    const char *name, *words;
} types[] = {{"object", "an object"}, {"array", "a list"},
             {"string", "a string"},  {"integer", "a whole number"},
             {"number", "a number"},  {"boolean", "true or false"},
             {"null", "null"}};

static const char *type_words(const char *name)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].words;
    return name;
}

static bool is_of_type(const json_t *value, const char *type)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return strcmp(type, "object") == 0;
    case JSON_ARRAY:
        return strcmp(type, "array") == 0;
    case JSON_STRING:
        return strcmp(type, "string") == 0;
    case JSON_INTEGER:
    case JSON_REAL:
        return strcmp(type, "number") == 0 || (strcmp(type, "integer") == 0 && is_whole(value));
    case JSON_TRUE:
    case JSON_FALSE:
        return strcmp(type, "boolean") == 0;
    case JSON_NULL:
        break;
    }
    return strcmp(type, "null") == 0;
}

/* `wanted`: a type's name, or an array of them. */
static int check_type(const struct check *c, const json_t *wanted, const json_t *value)
{
    char words[160] = "";
    const json_t *type;
    size_t i;
    if (json_is_string(wanted))
        return is_of_type(value, json_string_value(wanted))
                   ? DLB_OK
                   : offence(c, "is not ", type_words(json_string_value(wanted)));
    json_array_foreach(wanted, i, type) {
        if (is_of_type(value, json_string_value(type)))
            return DLB_OK;
        size_t len = strlen(words);
        (void)snprintf(words + len, sizeof(words) - len, "%s%s", i == 0 ? "" : " or ",
                       type_words(json_string_value(type)));
    }
    return offence(c, "is not ", words);
}

static int check_enum(const struct check *c, const json_t *list, const json_t *value)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i, entry) {
        if (json_equal((json_t *)entry, (json_t *)value))
            return DLB_OK;
    }
    return offence(c, "is none of the values that it may have", "");
}

static int check_pattern(const struct check *c, const char *pattern, const json_t *value)
{
    regex_t regex;
    if (!json_is_string(value))
        return DLB_OK;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return offence(c, "has a pattern that cannot be compiled: ", pattern);
    bool ok = regexec(&regex, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&regex);
    return ok ? DLB_OK : offence(c, "does not match ", pattern);
}

static int check_value(struct check *c, const json_t *schema, const json_t *value);

static int check_keys_present(const struct check *c, const json_t *keys, const json_t *object)
{
    const json_t *key;
    size_t i;
    json_array_foreach(keys, i, key) {
        if (!json_object_get(object, json_string_value(key)))
            return dlb_fail(c->err, DLB_ERR_SUMMARY_FIELD_MISSING, c->path, DLB_NO_OFFSET,
                            "cannot be read as a summary: %s%s%s is missing", c->at,
                            c->at[0] ? "." : "", json_string_value(key));
    }
    return DLB_OK;
}

static int check_object(struct check *c, const json_t *schema, const json_t *object)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    bool exact = c->strictness == DLB_SCHEMA_EXACT;
    size_t len = strlen(c->at);
    const char *key;
    json_t *value;
    int rc = check_keys_present(c, json_object_get(schema, exact ? "required" : "needed"), object);
    json_object_foreach((json_t *)object, key, value) {
        const json_t *own = json_object_get(properties, key);
        if (rc)
            return rc;
        if (!own && exact && json_is_false(others))
            return offence(c, "has a key that the schema does not name: ", key);
        if (!own && json_is_object(others))
            own = others;
        if (!own)
            continue;
        (void)snprintf(c->at + len, sizeof(c->at) - len, "%s%.*s", len ? "." : "",
                       DLB_CUT(key, 60));
        rc = check_value(c, own, value);
        c->at[len] = '\0';
    }
    return rc;
}

static int check_items(struct check *c, const json_t *schema, const json_t *array)
{
    const json_t *value;
    size_t i, len = strlen(c->at);
    int rc = DLB_OK;
    json_array_foreach(array, i, value) {
        (void)snprintf(c->at + len, sizeof(c->at) - len, "[%zu]", i);
        rc = check_value(c, schema, value);
        c->at[len] = '\0';
        if (rc)
            break;
    }
    return rc;
}

static int check_ref(struct check *c, const char *name, const json_t *value)
{
    const json_t *target = NULL;
    if (strncmp(name, DEFS, strlen(DEFS)) == 0)
        target = json_object_get(json_object_get(c->root, "$defs"), name + strlen(DEFS));
    return target ? check_value(c, target, value)
                  : offence(c, "has a schema that refers to nothing: ", name);
}

/* Keywords that check_object handles, and annotations. */
static bool is_silent(const char *word)
{
    static const char *const silent[] = {
        "$schema",    "$defs",    "title",  "description",
        "properties", "required", "needed", "additionalProperties"};
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
        if (strcmp(word, silent[i]) == 0)
            return true;
    return false;
}

/* The keywords that restrict a value of the right type. */
static int check_restriction(const struct check *c, const char *word, const json_t *argument,
                             const json_t *value)
{
    bool exact = c->strictness == DLB_SCHEMA_EXACT;
    double number = json_number_value(value), bound = json_number_value(argument);
    if (strcmp(word, "enum") == 0)
        return exact ? check_enum(c, argument, value) : DLB_OK;
    if (strcmp(word, "pattern") == 0)
        return exact ? check_pattern(c, json_string_value(argument), value) : DLB_OK;
    if (strcmp(word, "minimum") == 0)
        return exact && json_is_number(value) && number < bound ? offence(c, "is below its ", word)
                                                                : DLB_OK;
    if (strcmp(word, "maximum") == 0)
        return exact && json_is_number(value) && number > bound ? offence(c, "is above its ", word)
                                                                : DLB_OK;
    if (strcmp(word, "minItems") == 0)
        return exact && json_is_array(value) && (double)json_array_size(value) < bound
                   ? offence(c, "has fewer entries than its ", word)
                   : DLB_OK;
    return is_silent(word) ? DLB_OK
                           : offence(c, "has a keyword in its schema that is not known: ", word);
}

static int check_value(struct check *c, const json_t *schema, const json_t *value)
{
    const char *word;
    json_t *argument;
    int rc = DLB_OK;
    json_object_foreach((json_t *)schema, word, argument) {
        if (strcmp(word, "type") == 0)
            rc = check_type(c, argument, value);
        else if (strcmp(word, "$ref") == 0)
            rc = check_ref(c, json_string_value(argument), value);
        else if (strcmp(word, "items") == 0)
            rc = check_items(c, argument, value);
        else
            rc = check_restriction(c, word, argument, value);
        if (rc)
            return rc;
    }
    return json_is_object(value) ? check_object(c, schema, value) : DLB_OK;
}

int dlb_schema_check(const json_t *schema, const json_t *value,
                     enum dlb_schema_strictness strictness, const char *path, struct dlb_err *err)
{
    struct check c = {.root = schema, .strictness = strictness, .path = path, .err = err};
    return check_value(&c, schema, value);
}

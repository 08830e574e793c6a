/* JSON Schema, as much of it as reports/summary.schema.json uses: type, properties, required,
 * additionalProperties, items, enum, minimum, maximum, pattern, $ref into $defs. A keyword that it
 * does not know is an offence of the schema: nothing goes unchecked.
 *
 * Header-only, for tests. */
#ifndef DLB_TESTS_SUPPORT_SCHEMA_H
#define DLB_TESTS_SUPPORT_SCHEMA_H

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct schema_check {
    const json_t *root;
    char where[200], what[1024];
};

static bool schema_offence(struct schema_check *c, const char *what, const char *which)
{
    if (!c->what[0])
        (void)snprintf(c->what, sizeof(c->what), "%s: %s %.200s",
                       c->where[0] ? c->where : "document", what, which);
    return false;
}

static bool schema_is(const json_t *value, const char *type)
{
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(value);
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "object") == 0)
        return json_is_object(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    return strcmp(type, "null") == 0 && json_is_null(value);
}

static bool schema_type(struct schema_check *c, const json_t *types, const json_t *value)
{
    const json_t *type;
    size_t i;
    if (json_is_string(types) && schema_is(value, json_string_value(types)))
        return true;
    json_array_foreach(types, i, type) if (schema_is(value, json_string_value(type))) return true;
    return schema_offence(c, "is of another type than",
                          json_is_string(types) ? json_string_value(types) : "its list");
}

static bool schema_enum(struct schema_check *c, const json_t *list, const json_t *value)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i,
                       entry) if (json_equal((json_t *)entry, (json_t *)value)) return true;
    return schema_offence(c, "is none of its", "enum");
}

static bool schema_pattern(struct schema_check *c, const char *pattern, const json_t *value)
{
    regex_t regex;
    if (!json_is_string(value))
        return true;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return schema_offence(c, "has a bad pattern", pattern);
    bool ok = regexec(&regex, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&regex);
    return ok || schema_offence(c, "does not match", pattern);
}

static bool schema_value(struct schema_check *c, const json_t *schema, const json_t *value);

static bool schema_inside(struct schema_check *c, const json_t *schema, const char *name,
                          const json_t *value)
{
    size_t len = strlen(c->where);
    (void)snprintf(c->where + len, sizeof(c->where) - len, "%s%.60s", len ? "." : "", name);
    bool ok = schema_value(c, schema, value);
    c->where[len] = '\0';
    return ok;
}

static bool schema_object(struct schema_check *c, const json_t *schema, const json_t *value)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *rest = json_object_get(schema, "additionalProperties"), *name;
    const char *key;
    json_t *entry;
    size_t i;
    json_array_foreach(
        json_object_get(schema, "required"), i,
        name) if (!json_object_get(value,
                                   json_string_value(
                                       name))) return schema_offence(c, "misses",
                                                                     json_string_value(name));
    json_object_foreach((json_t *)value, key, entry)
    {
        const json_t *own = json_object_get(properties, key);
        if (!own && json_is_false(rest))
            return schema_offence(c, "has a key that is not its own:", key);
        if (!own && json_is_object(rest))
            own = rest;
        if (own && !schema_inside(c, own, key, entry))
            return false;
    }
    return true;
}

static bool schema_items(struct schema_check *c, const json_t *items, const json_t *value)
{
    const json_t *entry;
    char name[32];
    size_t i;
    json_array_foreach(value, i, entry)
    {
        (void)snprintf(name, sizeof(name), "[%zu]", i);
        if (!schema_inside(c, items, name, entry))
            return false;
    }
    return true;
}

static bool schema_keyword(struct schema_check *c, const json_t *schema, const char *word,
                           const json_t *argument, const json_t *value)
{
    static const char *const silent[] = {"$schema",
                                         "$defs",
                                         "title",
                                         "description",
                                         "properties",
                                         "required",
                                         "additionalProperties"};
    if (strcmp(word, "type") == 0)
        return schema_type(c, argument, value);
    if (strcmp(word, "enum") == 0)
        return schema_enum(c, argument, value);
    if (strcmp(word, "pattern") == 0)
        return schema_pattern(c, json_string_value(argument), value);
    if (strcmp(word, "items") == 0)
        return schema_items(c, argument, value);
    if (strcmp(word, "minimum") == 0)
        return !json_is_number(value) || json_number_value(value) >= json_number_value(argument) ||
               schema_offence(c, "is below its", word);
    if (strcmp(word, "maximum") == 0)
        return !json_is_number(value) || json_number_value(value) <= json_number_value(argument) ||
               schema_offence(c, "is above its", word);
    if (strcmp(word, "$ref") == 0) {
        const char *name = json_string_value(argument);
        const json_t *target = NULL;
        if (strncmp(name, "#/$defs/", 8) == 0)
            target = json_object_get(json_object_get(c->root, "$defs"), name + 8);
        return target ? schema_value(c, target, value)
                      : schema_offence(c, "refers to nothing:", name);
    }
    (void)schema;
    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
        if (strcmp(word, silent[i]) == 0)
            return true;
    return schema_offence(c, "has an unknown keyword in its schema:", word);
}

static bool schema_value(struct schema_check *c, const json_t *schema, const json_t *value)
{
    const char *word;
    json_t *argument;
    json_object_foreach(
        (json_t *)schema, word,
        argument) if (!schema_keyword(c, schema, word, argument, value)) return false;
    return !json_is_object(value) || schema_object(c, schema, value);
}

/* Whether `value` is what `root` describes; else c->what says where and why not. */
static inline bool schema_check(struct schema_check *c, const json_t *root, const json_t *value)
{
    *c = (struct schema_check){.root = root};
    return schema_value(c, root, value);
}

#endif

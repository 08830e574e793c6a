/* The JSON Schema of configuration files, for editors, from the same tables as --help. */
#include "bench/cli/verb.h"

#include "bench/cli/args.h"
#include "bench/cli/help.h"
#include "bench/cli/print.h"
#include "bench/cli/version.h"
#include "core/base/json.h"
#include "core/base/opt_value.h"
#include "scenarios/spec/spec.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void put_text(json_t *object, const char *key, const char *text)
{
    dlb_json_put(object, key, dlb_json_safe_text(text));
}

static void put_range(json_t *schema, const struct dlb_opt *opt)
{
    dlb_json_put(schema, "minimum", dlb_json_made(json_integer(opt->min)));
    if (opt->max < INT64_MAX)
        dlb_json_put(schema, "maximum", dlb_json_made(json_integer(opt->max)));
}

/* What one value must be. */
static json_t *value_schema(const struct dlb_opt *opt)
{
    json_t *schema = dlb_json_made(json_object());
    switch (opt->type) {
    case DLB_OPT_BOOL:
        put_text(schema, "type", "boolean");
        break;
    case DLB_OPT_INT:
        put_text(schema, "type", "integer");
        put_range(schema, opt);
        break;
    case DLB_OPT_FLOAT:
        put_text(schema, "type", "number");
        put_range(schema, opt);
        break;
    case DLB_OPT_BYTES: /* 1000000, or "1 MB" */
        dlb_json_put(schema, "type", dlb_json_made(json_pack("[s, s]", "integer", "string")));
        put_range(schema, opt);
        break;
    case DLB_OPT_CHOICE:
        dlb_json_put(schema, "enum", dlb_json_made(json_array()));
        for (const char *const *choice = opt->choices; *choice; choice++)
            dlb_json_append(json_object_get(schema, "enum"), dlb_json_safe_text(*choice));
        break;
    case DLB_OPT_STRING:
        put_text(schema, "type", "string");
        dlb_json_put(schema, "maxLength", dlb_json_made(json_integer(DLB_OPT_STRING_CAP - 1)));
        break;
    case DLB_OPT_TABLE: /* of single values and lists of them */
        put_text(schema, "type", "object");
        dlb_json_put(schema, "additionalProperties",
                     dlb_json_made(json_pack("{s:[s, s, s, s]}", "type", "string", "number",
                                             "boolean", "array")));
        break;
    }
    return schema;
}

static json_t *key_schema(const struct dlb_opt *opt)
{
    char value[256], text[1024];
    struct dlb_err ignored;
    json_t *def = NULL, *schema = value_schema(opt);
    (void)snprintf(text, sizeof text, "%s (%s)", opt->help,
                   dlb_help_value_text(opt, value, sizeof value));
    put_text(schema, "description", text);
    if (opt->type != DLB_OPT_TABLE &&
        dlb_opt_from_text(opt, opt->key, opt->def, "", &def, &ignored) == DLB_OK)
        dlb_json_put(schema, "default", def);
    return schema;
}

static json_t *array_of(json_t *items)
{
    return dlb_json_made(
        json_pack("{s:s, s:o, s:i}", "type", "array", "items", items, "minItems", 1));
}

/* The list of values that a sweep tries; of a table, a list for each of its names. */
static json_t *list_schema(const struct dlb_opt *opt)
{
    json_t *schema;
    if (opt->type == DLB_OPT_TABLE)
        schema = dlb_json_made(json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
                                         array_of(dlb_json_made(json_object()))));
    else
        schema = array_of(value_schema(opt));
    put_text(schema, "description", opt->help);
    return schema;
}

static json_t *table_schema(const char *title)
{
    return dlb_json_made(json_pack("{s:s, s:o, s:b, s:{}}", "type", "object", "description",
                                   dlb_json_safe_text(title), "additionalProperties", 0,
                                   "properties"));
}

static json_t *below(json_t *schema, const char *name, const char *title)
{
    json_t *sections = json_object_get(schema, "properties");
    if (!json_object_get(sections, name))
        dlb_json_put(sections, name, table_schema(title));
    return json_object_get(sections, name);
}

/* The properties of a section of `schema`, which is added where it is not. "workload.step_ms" is a
 * section of a section. */
static json_t *section_of(json_t *schema, const struct dlb_opt_group *group)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s", group->section);
    char *dot = strchr(name, '.');
    if (dot) {
        *dot = '\0';
        schema = below(schema, name, group->title);
    }
    return json_object_get(below(schema, dot ? dot + 1 : name, group->title), "properties");
}

static void put_group(json_t *schema, const struct dlb_opt_group *group)
{
    json_t *keys = section_of(schema, group);
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++)
        if (!json_object_get(keys, opt->key))
            dlb_json_put(keys, opt->key, key_schema(opt));
}

static void put_lists(json_t *schema, const struct dlb_opt_group *group)
{
    json_t *keys = section_of(schema, group);
    for (const struct dlb_opt *opt = group->opts; opt->key; opt++)
        if (!json_object_get(keys, opt->key))
            dlb_json_put(keys, opt->key, list_schema(opt));
}

static int run(const struct dlb_args *args)
{
    static const struct dlb_opt none = DLB_OPT_END;
    static const struct dlb_opt_group sweep = {"sweep", "What a sweep tries, and how", &none, 0};
    char title[80];
    (void)args;
    (void)snprintf(title, sizeof title, "Configuration of dlbench %s", DLB_VERSION);
    json_t *schema = table_schema(title);
    put_text(schema, "$schema", "http://json-schema.org/draft-07/schema#");
    for (const struct dlb_verb *const *verb = dlb_verbs; *verb; verb++)
        if ((*verb)->flags & DLB_FLAG_CONFIG)
            for (const struct dlb_opt_group *const *g = dlb_verb_groups(*verb); *g; g++)
                put_group(schema, *g);
    (void)section_of(schema, &sweep);
    json_t *lists = json_object_get(json_object_get(schema, "properties"), "sweep");
    for (const struct dlb_opt_group *const *g = dlb_spec_groups(); *g; g++)
        if (strcmp((*g)->section, "sweep") != 0)
            put_lists(lists, *g);
    dlb_print_json(schema);
    json_decref(schema);
    return DLB_EXIT_OK;
}

const struct dlb_verb dlb_verb_schema = {
    .name = "schema",
    .summary = "Print the JSON Schema of configuration files, for editors",
    .usage = "dlbench schema",
    .details =
        "Editors that know JSON Schema (Even Better TOML, Taplo) complete and check the keys of a "
        "configuration. Its first line names the file:\n\n"
        "  dlbench schema >dlbench.schema.json\n"
        "  #:schema ./dlbench.schema.json",
    .run = run,
};

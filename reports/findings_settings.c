/* The settings to paste: DataLoader's arguments, and other settings that were swept. */
#include "reports/findings.h"

#include "core/base/json.h"
#include "reports/ranked.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_text(const json_t *object, const char *key, const char *text)
{
    const char *own = json_string_value(json_object_get(object, key));
    return own && strcmp(own, text) == 0;
}

/* Whether DataLoader, or its sampler, takes this setting. */
static bool is_argument(const char *key)
{
    static const char *const keys[] = {
        "loader.batch_size",
        "loader.num_workers",
        "loader.prefetch_factor",
        "loader.pin_memory",
        "loader.shuffle",
        "loader.drop_last",
        "loader.persistent_workers",
        "loader.timeout_s",
        "loader.order",
        "run.world",
        "accelerators.count",
        "python.start_method",
        "python.threads",
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static bool is_left_out(const json_t *doc, const char *key)
{
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(doc, "recommendation_detail"), "left_out"),
                       i, name) {
        if (json_is_string(name) && strcmp(json_string_value(name), key) == 0)
            return true;
    }
    return false;
}

/* The name of the user's function that made the cell's loader; "": DataLoader did. Borrowed. */
static const char *own_loader(const json_t *cell)
{
    const char *file =
        json_string_value(json_object_get(json_object_get(cell, "config"), "python.loader"));
    const char *colon = file && is_text(cell, "pipeline", "pytorch") ? strrchr(file, ':') : NULL;
    return colon ? colon + 1 : "";
}

static void add_other(const char *key, const json_t *value, struct dlb_text *line)
{
    char *text = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    dlb_text_printf(line, line->len_bytes ? ", " : "and with: ");
    dlb_text_plain(line, key, strlen(key));
    dlb_text_printf(line, " = %s", text);
    free(text);
}

/* Swept settings of the cell that DataLoader does not take, and what else a loader of the user's
 * own is given. */
static void write_others(const json_t *doc, const json_t *cell, uint32_t n_columns,
                         struct dlb_text *out)
{
    const json_t *config = json_object_get(cell, "config"), *axes = json_object_get(doc, "axes");
    const char *key;
    json_t *value;
    struct dlb_text line = {0};
    json_object_foreach((json_t *)axes, key, value) {
        const json_t *own = json_object_get(config, key);
        if (!is_argument(key) && !is_left_out(doc, key) && own && !json_is_null(own))
            add_other(key, own, &line);
    }
    json_object_foreach((json_t *)config, key, value) {
        bool args = strncmp(key, "python.args.", strlen("python.args.")) == 0;
        if (args && own_loader(cell)[0] && !json_object_get(axes, key))
            add_other(key, value, &line);
    }
    if (line.len_bytes)
        dlb_text_fold(out, line.data, 2, n_columns);
    dlb_text_free(&line);
}

/* python.start_method = "spawn" or "forkserver" */
static void add_values(const char *key, const json_t *values, struct dlb_text *line)
{
    const json_t *value;
    size_t i;
    dlb_text_printf(line, line->len_bytes ? ", " : "unmeasured: ");
    dlb_text_plain(line, key, strlen(key));
    json_array_foreach(values, i, value) {
        char *text = dlb_json_dumped(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        dlb_text_printf(line, i ? " or " : " = ");
        dlb_text_plain(line, text, strlen(text));
        free(text);
    }
}

/* Of a run, whose settings were compared with none. */
static bool is_pinned_in_vain(const json_t *doc)
{
    const json_t *note;
    size_t i;
    json_array_foreach(json_object_get(doc, "not_modelled"), i, note)
        if (is_text(note, "code", "PIN_MEMORY_UNMEASURED"))
            return true;
    return false;
}

static void write_unmeasured(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *detail = json_object_get(doc, "recommendation_detail"), *key;
    const char *name;
    json_t *values;
    struct dlb_text line = {0};
    size_t i;
    json_array_foreach(json_object_get(detail, "unmeasured"), i, key)
        add_values(json_is_string(key) ? json_string_value(key) : "-", NULL, &line);
    json_object_foreach((json_t *)json_object_get(detail, "unmeasured_values"), name, values)
        add_values(name, values, &line);
    if (!json_is_object(detail) && is_pinned_in_vain(doc))
        add_values("loader.pin_memory", NULL, &line);
    if (line.len_bytes)
        dlb_text_fold(out, line.data, 2, n_columns);
    dlb_text_free(&line);
}

/* Whose loader the settings were measured with, where the result says it. */
static void write_title(const json_t *doc, const json_t *cell, struct dlb_text *out)
{
    bool tried = !is_text(doc, "command", "run") && !is_text(doc, "command", "storage");
    bool best = tried && json_is_null(json_object_get(doc, "recommended_cell"));
    /* Where no others were tried they are what was measured, and no advice. */
    dlb_text_printf(out, "\n%s%s", tried ? "Settings to paste" : "Settings measured",
                    best ? " (the best cell's)" : "");
    if (is_text(cell, "pipeline", "pytorch")) {
        dlb_text_printf(out, "%s with ", tried ? ", measured" : "");
        if (own_loader(cell)[0]) {
            dlb_text_printf(out, "your own ");
            dlb_text_plain(out, own_loader(cell), 60);
        } else {
            dlb_text_printf(out, "PyTorch's own DataLoader");
        }
    } else if (is_text(cell, "pipeline", "hardware")) {
        dlb_text_printf(out, ", for a loader as fast as dlbench's (PyTorch's not measured)");
    }
    dlb_text_printf(out, ":\n");
}

void dlb_findings_settings(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const char *pytorch = json_string_value(json_object_get(doc, "pytorch"));
    const json_t *verdict = json_object_get(doc, "verdict"), *cell = dlb_ranked_offered(doc);
    bool unjudged =
        json_is_null(json_object_get(doc, "recommended_cell")) &&
        (is_text(verdict, "class", "INCOMPLETE") || is_text(verdict, "class", "HARNESS-BOUND"));

    if (!pytorch || !pytorch[0] || unjudged)
        return;
    write_title(doc, cell, out);
    dlb_text_printf(out, "  ");
    dlb_text_plain(out, pytorch, strlen(pytorch)); /* one line, so that it can be copied */
    dlb_text_printf(out, "\n");
    if (cell)
        write_others(doc, cell, n_columns, out);
    write_unmeasured(doc, n_columns, out);
}

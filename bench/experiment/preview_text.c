/* The text of a preview. */
#include "bench/cli/print.h"
#include "bench/experiment/preview.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/say.h"
#include "core/base/units.h"
#include "reports/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 7, MAX_REASONS = 4 }; /* so that a usual sweep fills a terminal of 24 lines */

static const char *bytes_text(const json_t *object, const char *key, char *text, size_t n_text)
{
    double value = dlb_json_number(object, key);
    if (!isfinite(value))
        (void)snprintf(text, n_text, "-");
    else
        (void)dlb_bytes_text((uint64_t)value, text, n_text);
    return text;
}

static const char *seconds_text(const json_t *object, const char *key, char *text, size_t n_text)
{
    double value = dlb_json_number(object, key);
    if (!isfinite(value))
        (void)snprintf(text, n_text, "-");
    else
        (void)dlb_duration_text(value, text, n_text);
    return text;
}

static const char *count_text(const json_t *object, const char *key, char *text, size_t n_text)
{
    double value = dlb_json_number(object, key);
    if (!isfinite(value))
        (void)snprintf(text, n_text, "-");
    else
        (void)dlb_count_text(value, text, n_text);
    return text;
}

/* "workers" for loader.num_workers, as reports call it. */
static const char *title_of(const char *key)
{
    static const char *const usual[][2] = {{"loader.num_workers", "workers"},
                                           {"loader.pin_memory", "pin"},
                                           {"loader.prefetch_factor", "prefetch"},
                                           {"loader.persistent_workers", "persistent"}};
    const char *dot = strrchr(key, '.');
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (strcmp(usual[i][0], key) == 0)
            return usual[i][1];
    return dot ? dot + 1 : key;
}

static void print_torch(const json_t *torch)
{
    struct dlb_text line = {.data = NULL};
    const json_t *key;
    char time[40];
    size_t i;
    if (!json_is_object(torch))
        return;
    if (!dlb_json_is_true(torch, "follows")) {
        const char *reason = dlb_json_text(torch, "reason");
        dlb_text_printf(&line, "not measured: ");
        dlb_text_plain(&line, reason, strlen(reason));
    } else {
        dlb_text_printf(&line, "then %.0f cells at most (", dlb_json_number(torch, "most_cells"));
        json_array_foreach(json_object_get(torch, "keys"), i, key) {
            const char *title = title_of(json_string_value(key));
            dlb_text_printf(&line, "%s", i ? ", " : "");
            dlb_text_plain(&line, title, strlen(title));
        }
        dlb_text_printf(&line, ")%s%s", isfinite(dlb_json_number(torch, "to_s")) ? ", until " : "",
                        isfinite(dlb_json_number(torch, "to_s"))
                            ? seconds_text(torch, "to_s", time, sizeof(time))
                            : "");
    }
    uint32_t column = (uint32_t)fprintf(stdout, "  pytorch");
    dlb_print_folded(stdout, line.data, 11, column, dlb_print_width(stdout));
    dlb_text_free(&line);
}

/* Beside what is counted: memory.not_counted in words. */
static void print_memory(const json_t *memory, double n_cells)
{
    static const char *const words[][2] = {{"python", "PyTorch's interpreters"},
                                           {"pixels", "pixels of images that are decoded"},
                                           {"other_data", "cells of other data sets"}};
    char a[40], b[40];
    double cell = dlb_json_number(memory, "cell"), cached;
    const json_t *names = json_object_get(memory, "not_counted"), *name;
    struct dlb_text line = {.data = NULL};
    size_t i;
    cached = dlb_json_number(memory, "page_cache_bytes");
    dlb_text_printf(&line, "at most %s", bytes_text(memory, "cell_bytes", a, sizeof(a)));
    if (n_cells > 1 && isfinite(cell))
        dlb_text_printf(&line, " (cell %.0f)", cell);
    if (cached > 0)
        dlb_text_printf(&line, ", and %s of data in the page cache",
                        bytes_text(memory, "page_cache_bytes", a, sizeof(a)));
    json_array_foreach(names, i, name) {
        for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
            if (strcmp(words[k][0], json_string_value(name)) == 0)
                dlb_text_printf(&line, "%s%s", i ? ", " : "; not counted: ", words[k][1]);
    }
    dlb_text_printf(&line, "; %s is available",
                    bytes_text(memory, "available_bytes", b, sizeof(b)));
    uint32_t column = (uint32_t)fprintf(stdout, "  memory");
    dlb_print_folded(stdout, line.data, 11, column, dlb_print_width(stdout));
    dlb_text_free(&line);
}

static void print_head(const json_t *doc)
{
    const json_t *data = json_object_get(doc, "dataset");
    char a[40], b[40], c[40];
    double n = dlb_json_number(doc, "n_cells"), n_skipped = dlb_json_number(doc, "n_skipped");
    dlb_say(stdout, "%s, not run: %.0f cell%s, %.0f of them skipped; %.0f process%s%s",
            dlb_json_text(doc, "command"), n, n == 1 ? "" : "s", n_skipped,
            dlb_json_number(doc, "runs"), dlb_json_number(doc, "runs") == 1 ? "" : "es",
            dlb_json_is_true(doc, "grows") ? " at first" : "");
    const char *path = dlb_json_text(data, "path");
    dlb_say(stdout, "  data     %s samples, %s, %s%s%s", count_text(data, "samples", a, sizeof(a)),
            bytes_text(data, "bytes", b, sizeof(b)), dlb_json_text(data, "format"),
            path[0] ? " " : "", path);
    if (dlb_json_number(doc, "world") > 1)
        dlb_say(stdout, "  ranks    %.0f: time, memory and bytes are those of one",
                dlb_json_number(doc, "world"));
    dlb_say(stdout, "  time     %s or more: %s of steps, %s of starts",
            seconds_text(doc, "estimate_s", a, sizeof(a)),
            seconds_text(doc, "least_s", b, sizeof(b)), seconds_text(doc, "start_s", c, sizeof(c)));
    if (isfinite(dlb_json_number(doc, "max_s")))
        dlb_say(stdout, "           for the first block; sweep.max_minutes ends it after %s",
                seconds_text(doc, "max_s", a, sizeof(a)));
    else if (dlb_json_is_true(doc, "grows"))
        dlb_say(stdout, "           for the first block");
    print_torch(json_object_get(doc, "pytorch"));
    print_memory(json_object_get(doc, "memory"), n);
    dlb_say(stdout, "  to read  %s%s%s", bytes_text(doc, "read_bytes", a, sizeof(a)),
            dlb_json_is_true(doc, "grows") ? " in the first block" : "",
            dlb_json_number(doc, "warm_passes") > 0 ? ", warm passes included" : "");
}

static void put(struct dlb_table *table, uint32_t row, uint32_t *column, const char *text)
{
    if (*column < table->n_columns)
        (void)snprintf(table->cell[row * table->n_columns + (*column)++], DLB_TABLE_CELL_CAP, "%s",
                       text);
}

static void put_value(struct dlb_table *table, uint32_t row, uint32_t *column, const json_t *value)
{
    char *text = json_is_string(value) ? dlb_mem_text(json_string_value(value))
                                       : json_dumps(value, JSON_ENCODE_ANY);
    put(table, row, column, text ? text : "-");
    free(text);
}

static void fill_row(struct dlb_table *table, uint32_t row, const json_t *axes, const json_t *cell)
{
    char text[40];
    uint32_t column = 0;
    const char *key;
    json_t *values;
    put(table, row, &column, count_text(cell, "index", text, sizeof(text)));
    json_object_foreach((json_t *)axes, key, values) {
        put_value(table, row, &column, json_object_get(json_object_get(cell, "config"), key));
    }
    put(table, row, &column, count_text(cell, "batches", text, sizeof(text)));
    put(table, row, &column, bytes_text(cell, "slots_bytes", text, sizeof(text)));
    put(table, row, &column, bytes_text(cell, "pinned_bytes", text, sizeof(text)));
    put(table, row, &column, bytes_text(cell, "bytes_per_worker", text, sizeof(text)));
    put(table, row, &column, bytes_text(cell, "read_bytes", text, sizeof(text)));
    put(table, row, &column, seconds_text(cell, "least_s", text, sizeof(text)));
}

static void print_cells(const json_t *doc)
{
    const json_t *cells = json_object_get(doc, "cells"), *axes = json_object_get(doc, "axes");
    double n_planned = dlb_json_number(doc, "n_cells") - dlb_json_number(doc, "n_skipped");
    struct dlb_table table = {.n_rows = n_planned > MAX_ROWS ? MAX_ROWS : (uint32_t)n_planned};
    struct dlb_text text = {.data = NULL};
    uint32_t row = 0;
    const char *key;
    json_t *values;
    size_t i;
    (void)dlb_table_add(&table, "cell", 0, false);
    json_object_foreach((json_t *)axes, key, values) {
        (void)dlb_table_add(&table, title_of(key), 0, false);
    }
    (void)dlb_table_add(&table, "batches", 2, false);
    (void)dlb_table_add(&table, "slots", 1, false);
    (void)dlb_table_add(&table, "pinned", 4, false);
    (void)dlb_table_add(&table, "per worker", 5, false);
    (void)dlb_table_add(&table, "reads", 3, false);
    (void)dlb_table_add(&table, "at least", 1, false);
    table.cell = dlb_mem_array((size_t)table.n_rows * table.n_columns, sizeof(*table.cell));
    json_array_foreach(cells, i, values) {
        if (row < table.n_rows && strcmp(dlb_json_text(values, "status"), "planned") == 0)
            fill_row(&table, row++, axes, values);
    }
    (void)dlb_table_render(&table, dlb_print_width(stdout), &text);
    (void)fputc('\n', stdout);
    dlb_print_out(text.data ? text.data : "", text.len_bytes);
    if (n_planned > table.n_rows)
        dlb_say(stdout, "%.0f more cells; --json lists all", n_planned - table.n_rows);
    dlb_text_free(&text);
    free(table.cell);
}

/* How many skipped cells have the reason of cell `first`; 0 if an earlier cell has it, too. */
static uint32_t n_like(const json_t *cells, size_t first)
{
    const char *reason = dlb_json_text(json_array_get(cells, first), "reason");
    uint32_t n = 0;
    for (size_t i = 0; i < json_array_size(cells); i++) {
        bool same = strcmp(dlb_json_text(json_array_get(cells, i), "reason"), reason) == 0;
        if (same && i < first)
            return 0;
        n += same;
    }
    return n;
}

static void print_skipped(const json_t *doc)
{
    const json_t *cells = json_object_get(doc, "cells"), *cell;
    uint32_t n_told = 0, n_reasons = 0;
    size_t i;
    json_array_foreach(cells, i, cell) {
        char head[80];
        uint32_t n = dlb_json_text(cell, "reason")[0] ? n_like(cells, i) : 0;
        const char *code = dlb_json_text(cell, "code");
        if (n == 0 || ++n_reasons > MAX_REASONS)
            continue;
        n_told++;
        (void)snprintf(head, sizeof(head), "skipped (%u, first %zu)%s%s: ", n, i,
                       code[0] ? " " : "", code);
        struct dlb_text text = {.data = NULL};
        dlb_text_printf(&text, "%s%s", head, dlb_json_text(cell, "reason"));
        struct dlb_text folded = {.data = NULL};
        dlb_text_fold(&folded, text.data, 2, dlb_print_width(stdout));
        dlb_print_out(folded.data, folded.len_bytes);
        dlb_text_free(&text);
        dlb_text_free(&folded);
    }
    if (n_reasons > n_told)
        dlb_say(stdout, "%u more reasons; --json lists all", n_reasons - n_told);
}

void dlb_preview_print(const json_t *doc)
{
    print_head(doc);
    print_cells(doc);
    print_skipped(doc);
}

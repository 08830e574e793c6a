/* Of a run on several ranks: the machines, their clocks, and what one repetition sends. */
#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "reports/findings.h"
#include "reports/nodes.h"
#include "reports/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ROWS 64 /* of more machines, the first ones and those that are unlike most */

static const char *bytes(const json_t *value, char *text, size_t n_text)
{
    double n_bytes = json_is_number(value) ? json_number_value(value) : -1;
    if (n_bytes >= 0 && n_bytes < 1e19)
        return dlb_bytes_text((uint64_t)n_bytes, text, n_text);
    (void)snprintf(text, n_text, "-");
    return text;
}

static const char *count(const json_t *value, char *text, size_t n_text)
{
    if (json_is_number(value))
        return dlb_count_text(round(json_number_value(value)), text, n_text);
    (void)snprintf(text, n_text, "-");
    return text;
}

static const char *shown(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && text[0] ? text : "-";
}

/* "2 each", "1 to 3 each". */
static void ranks_each(const json_t *each, char *text, size_t n_text)
{
    double low = INFINITY, high = -INFINITY;
    const json_t *node;
    size_t i;
    json_array_foreach(each, i, node) {
        low = fmin(low, dlb_json_number(node, "ranks"));
        high = fmax(high, dlb_json_number(node, "ranks"));
    }
    if (low > high) /* of none it is known */
        (void)snprintf(text, n_text, "- each");
    else
        (void)snprintf(text, n_text, low < high ? "%.0f to %.0f each" : "%.0f each", low, high);
}

/* What all machines have. */
static void alike_line(const struct dlb_nodes *nodes, size_t n_ranks, char *line, size_t n_line)
{
    const json_t *const *usual = nodes->usual;
    size_t n = json_array_size(nodes->each);
    char where[400], each[60], cpus[24], there[24], ram[40];
    ranks_each(nodes->each, each, sizeof(each));
    if (n == 1)
        (void)snprintf(where, sizeof(where), "one machine, %.*s",
                       DLB_CUT(dlb_text_shown(json_array_get(nodes->each, 0), "node"), 300));
    else
        (void)snprintf(where, sizeof(where), "%zu machines alike, %s", n, each);
    (void)snprintf(
        line, n_line, "ranks:  %zu on %s: %s of %s CPUs, %s of memory, program %.*s, data set %.*s",
        n_ranks, where, count(usual[DLB_NODE_CPUS], cpus, sizeof(cpus)),
        count(usual[DLB_NODE_THERE], there, sizeof(there)),
        bytes(usual[DLB_NODE_RAM], ram, sizeof(ram)), DLB_CUT(shown(usual[DLB_NODE_PROGRAM]), 20),
        DLB_CUT(shown(usual[DLB_NODE_DATA]), 20));
}

static void nodes_line(const struct dlb_nodes *nodes, size_t n_ranks, uint32_t n_columns,
                       struct dlb_text *out)
{
    char line[1024];
    if (nodes->n_unlike == 0)
        alike_line(nodes, n_ranks, line, sizeof(line));
    else
        (void)snprintf(
            line, sizeof(line),
            "ranks:  %zu on %zu machines that DIFFER: %zu %s unlike the others, in the table of "
            "machines",
            n_ranks, json_array_size(nodes->each), nodes->n_unlike,
            nodes->n_unlike == 1 ? "is" : "are");
    dlb_text_fold(out, line, 0, n_columns);
}

static void clocks_line(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *clocks = json_object_get(doc, "clock_offset_us");
    double max = dlb_json_number(clocks, "max"), error = dlb_json_number(clocks, "error");
    char line[200], texts[2][24];
    if (!isfinite(max) || !isfinite(error))
        return;
    (void)snprintf(line, sizeof(line),
                   "clocks: up to %s off rank 0's, with an error of %s; no figure depends on it",
                   dlb_duration_text(max / 1e6, texts[0], sizeof(texts[0])),
                   dlb_duration_text(error / 1e6, texts[1], sizeof(texts[1])));
    dlb_text_fold(out, line, 0, n_columns);
}

static void traffic_line(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    const json_t *traffic = json_object_get(doc, "ranks_traffic");
    double cpu_s = dlb_json_number(traffic, "cpu_s");
    char line[240], calls[24], n_bytes[40], cpu[24];
    if (!json_is_object(traffic))
        return;
    (void)snprintf(
        line, sizeof(line),
        "MPI:    %s calls, %s of buffers and %s of CPU time in one repetition, at rank 0",
        count(json_object_get(traffic, "calls"), calls, sizeof(calls)),
        bytes(json_object_get(traffic, "bytes"), n_bytes, sizeof(n_bytes)),
        isfinite(cpu_s) ? dlb_duration_text(cpu_s, cpu, sizeof(cpu)) : "-");
    dlb_text_fold(out, line, 0, n_columns);
}

void dlb_findings_nodes(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    struct dlb_nodes nodes;
    if (!dlb_nodes_of(doc, &nodes))
        return;
    nodes_line(&nodes, json_array_size(json_object_get(doc, "ranks")), n_columns, out);
    clocks_line(doc, n_columns, out);
    traffic_line(doc, n_columns, out);
}

enum { ALWAYS, THERE, RANKS, DATA, PROGRAM };

static void fill_row(const struct dlb_nodes *nodes, const json_t *node,
                     char (*row)[DLB_TABLE_CELL_CAP])
{
    char text[80];
    const char *unlike = dlb_nodes_unlike(nodes, node, text, sizeof(text));
    (void)snprintf(row[0], sizeof(row[0]), "%.*s", DLB_CUT(dlb_text_shown(node, "node"), 30));
    (void)count(json_object_get(node, "ranks"), row[1], sizeof(row[1]));
    (void)count(json_object_get(node, "cpus"), row[2], sizeof(row[2]));
    (void)count(json_object_get(node, "cpus_there"), row[3], sizeof(row[3]));
    (void)bytes(json_object_get(node, "ram_bytes"), row[4], sizeof(row[4]));
    (void)snprintf(row[5], sizeof(row[5]), "%.*s", DLB_CUT(dlb_text_shown(node, "program"), 20));
    (void)snprintf(row[6], sizeof(row[6]), "%.*s", DLB_CUT(dlb_text_shown(node, "data_id"), 20));
    (void)snprintf(row[7], sizeof(row[7]), "%s%.30s", unlike[0] ? "DIFFERS: " : "", unlike);
}

void dlb_findings_nodes_table(const json_t *doc, uint32_t n_columns, struct dlb_text *out)
{
    struct dlb_nodes nodes;
    const json_t *node;
    char text[80];
    size_t i;
    if (!dlb_nodes_of(doc, &nodes) || nodes.n_unlike == 0)
        return;
    struct dlb_table *table = dlb_mem_new(sizeof(*table));
    (void)dlb_table_add(table, "machine", ALWAYS, true);
    (void)dlb_table_add(table, "ranks", RANKS, false);
    (void)dlb_table_add(table, "CPUs", ALWAYS, false);
    (void)dlb_table_add(table, "there", THERE, false);
    (void)dlb_table_add(table, "memory", ALWAYS, false);
    (void)dlb_table_add(table, "program", PROGRAM, true);
    (void)dlb_table_add(table, "data set", DATA, true);
    (void)dlb_table_add(table, "", ALWAYS, true);
    table->cell =
        dlb_mem_array(json_array_size(nodes.each) * table->n_columns, sizeof(*table->cell));
    json_array_foreach(nodes.each, i, node)
        if (i < MAX_ROWS || dlb_nodes_unlike(&nodes, node, text, sizeof(text))[0])
            fill_row(&nodes, node, &table->cell[(size_t)table->n_rows++ * table->n_columns]);
    dlb_text_printf(out, "\n");
    (void)dlb_table_render(table, n_columns, out);
    if (table->n_rows < json_array_size(nodes.each))
        dlb_text_printf(out, "(summary.json has all %zu machines)\n", json_array_size(nodes.each));
    free(table->cell);
    free(table);
}

#include "reports/table.h"

#include "core/base/escape.h"
#include "core/base/units.h"

#include <stdio.h>
#include <string.h>

#define GAP 2

bool dlb_table_add(struct dlb_table *table, const char *title, uint32_t rank, bool left)
{
    if (table->n_columns == DLB_TABLE_MAX_COLUMNS)
        return false;
    struct dlb_table_column *column = &table->column[table->n_columns++];
    dlb_cut_text(column->title, sizeof(column->title), title);
    column->rank = rank;
    column->left = left;
    return true;
}

const char *dlb_table_count(double count, size_t max, char *text, size_t n_text)
{
    if (strlen(dlb_count_text(count, text, n_text)) > max)
        (void)snprintf(text, n_text, "%.4g", count);
    return text;
}

static const char *cell_at(const struct dlb_table *table, uint32_t row, uint32_t column)
{
    return table->cell[(size_t)row * table->n_columns + column];
}

static uint32_t total(const struct dlb_table *table, const uint32_t *width, const bool *out)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < table->n_columns; i++)
        sum += out[i] ? 0 : width[i] + GAP;
    return sum > GAP ? sum - GAP : 0;
}

/* Drops whole columns: the highest rank first, and the last of equal ones first. */
static uint32_t choose(const struct dlb_table *table, const uint32_t *width, uint32_t limit,
                       bool *out)
{
    uint32_t n_out = 0;
    while (limit > 0 && total(table, width, out) > limit) {
        uint32_t worst = table->n_columns;
        for (uint32_t i = 0; i < table->n_columns; i++)
            if (!out[i] && table->column[i].rank > 0 &&
                (worst == table->n_columns || table->column[i].rank >= table->column[worst].rank))
                worst = i;
        if (worst == table->n_columns)
            break;
        out[worst] = true;
        n_out++;
    }
    return n_out;
}

static void measure(const struct dlb_table *table, uint32_t *widths)
{
    for (uint32_t i = 0; i < table->n_columns; i++) {
        widths[i] = (uint32_t)dlb_text_width(table->column[i].title, DLB_TABLE_CELL_CAP);
        for (uint32_t row = 0; row < table->n_rows; row++) {
            uint32_t n = (uint32_t)dlb_text_width(cell_at(table, row, i), DLB_TABLE_CELL_CAP);
            widths[i] = n > widths[i] ? n : widths[i];
        }
    }
}

bool dlb_table_fits(const struct dlb_table *table, uint32_t width, uint32_t rank)
{
    uint32_t widths[DLB_TABLE_MAX_COLUMNS] = {0};
    bool out[DLB_TABLE_MAX_COLUMNS] = {false};
    measure(table, widths);
    for (uint32_t i = 0; i < table->n_columns; i++)
        out[i] = table->column[i].rank > rank;
    return width == 0 || total(table, widths, out) <= width;
}

static void put(struct dlb_text *out, const char *words, uint32_t width, bool left, bool last)
{
    int pad = (int)(width - (uint32_t)dlb_text_width(words, DLB_TABLE_CELL_CAP));
    if (!left)
        dlb_text_printf(out, "%*s", pad, "");
    dlb_text_plain(out, words, DLB_TABLE_CELL_CAP);
    if (last)
        dlb_text_append(out, "\n", 1);
    else
        dlb_text_printf(out, "%*s", (left ? pad : 0) + GAP, "");
}

uint32_t dlb_table_render(const struct dlb_table *table, uint32_t width, struct dlb_text *out)
{
    uint32_t widths[DLB_TABLE_MAX_COLUMNS] = {0}, last = 0;
    bool left_out[DLB_TABLE_MAX_COLUMNS] = {false};
    measure(table, widths);
    uint32_t n_out = choose(table, widths, width, left_out);
    for (uint32_t i = 0; i < table->n_columns; i++)
        last = left_out[i] ? last : i;
    for (uint32_t row = 0; row <= table->n_rows && table->n_columns > 0; row++)
        for (uint32_t i = 0; i <= last; i++)
            if (!left_out[i])
                put(out, row == 0 ? table->column[i].title : cell_at(table, row - 1, i), widths[i],
                    table->column[i].left, i == last);
    return n_out;
}

/* A table of short texts that fits a width.
 *
 * Floor 4. One thread. */
#ifndef DLB_REPORTS_TABLE_H
#define DLB_REPORTS_TABLE_H

#include "reports/text.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_TABLE_MAX_COLUMNS 64
#define DLB_TABLE_CELL_CAP 48 /* bytes, with the terminating zero */

struct dlb_table_column {
    char title[DLB_TABLE_CELL_CAP];
    uint32_t
        rank;  /* columns of the highest rank are dropped first when the width is short; 0: never */
    bool left; /* aligned; else right */
};

struct dlb_table {
    struct dlb_table_column column[DLB_TABLE_MAX_COLUMNS];
    uint32_t n_columns, n_rows;
    char (*cell)[DLB_TABLE_CELL_CAP]; /* [n_rows * n_columns]; owned by the caller */
};

/* Adds a column; false when there are too many. */
bool dlb_table_add(struct dlb_table *table, const char *title, uint32_t rank, bool left);

/* A count as dlb_count_text shows it, or with four digits ("1.235e+17") where that has more than
 * `max` bytes. Returns `text`. */
const char *dlb_table_count(double count, size_t max, char *text, size_t n_text);

/* Whether it fits `width` characters (0: no limit) with all columns of at most that rank. */
bool dlb_table_fits(const struct dlb_table *table, uint32_t width, uint32_t rank);

/* Renders the title line and rows. Drops columns until lines have at most `width` characters, as
 * far as ranks allow (0: drops none). Returns how many columns were dropped. */
uint32_t dlb_table_render(const struct dlb_table *table, uint32_t width, struct dlb_text *out);

#endif

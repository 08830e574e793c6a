/* A table of a result, and what a chart needs to know of it. The page draws each chart from the
 * table that stands below it; Markdown shows the table alone. So there is one source of figures.
 *
 * Floor 4. One thread. A zeroed struct is empty. When memory is short the process ends
 * (core/base/mem.h). */
#ifndef DLB_REPORTS_SHEET_H
#define DLB_REPORTS_SHEET_H

#include "reports/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_SHEET_NO_CELL (-1)

/* How a sheet is drawn. */
enum dlb_chart {
    DLB_CHART_NONE,      /* a table */
    DLB_CHART_LINES,     /* Y against X, a line for each SERIES, with the interval LOW to HIGH */
    DLB_CHART_BARS,      /* Y for each LABEL, from zero, with the interval */
    DLB_CHART_STACK,     /* all PARTs of a LABEL, one behind the other */
    DLB_CHART_GROUPS,    /* all PARTs of a LABEL, beside each other */
    DLB_CHART_RANGES,    /* LOW to HIGH of each LABEL; a line at Y; a dot at each PART */
    DLB_CHART_WATERFALL, /* each Y begins where the one before it ends; the last is their sum */
    DLB_CHART_HEAT,      /* cells of the table are coloured by their value, 0 to 1 */
};

/* What a column is to the chart. */
enum dlb_role {
    DLB_ROLE_NONE,
    DLB_ROLE_LABEL,
    DLB_ROLE_SERIES,
    DLB_ROLE_X,
    DLB_ROLE_Y,
    DLB_ROLE_LOW,
    DLB_ROLE_HIGH,
    DLB_ROLE_PART,
};

/* Of a column's numbers. Values are in the unit that the document has. */
enum dlb_unit {
    DLB_UNIT_TEXT,
    DLB_UNIT_COUNT,       /* 1,234 */
    DLB_UNIT_FRAC,        /* 0 to 1; shown in percent */
    DLB_UNIT_NS,          /* shown as a duration */
    DLB_UNIT_S,           /* the same, of seconds */
    DLB_UNIT_MS,          /* milliseconds */
    DLB_UNIT_RATIO,       /* 3.2x */
    DLB_UNIT_BYTES,       /* 1.43 GB */
    DLB_UNIT_BYTES_PER_S, /* 1.43 GB/s */
};

struct dlb_sheet_column {
    char *title; /* owned */
    enum dlb_role role;
    enum dlb_unit unit;
};

struct dlb_sheet_value {
    char *text;    /* owned; as the document has it; a renderer escapes it */
    double number; /* NaN: there is none */
    int64_t cell;  /* that it is of, in a row of several; or DLB_SHEET_NO_CELL */
};

/* A line across a chart, such as what the accelerator asks for. */
struct dlb_sheet_mark {
    char *text; /* owned */
    double at;  /* in the unit of Y, or of X where `across` */
    bool across;
};

struct dlb_sheet {
    enum dlb_chart chart;
    bool log;             /* the axis of the figures is logarithmic */
    const char *axis;     /* title of the axis of the figures; static */
    struct dlb_text note; /* what else a reader must know: sentences */
    struct dlb_sheet_column *column;
    struct dlb_sheet_value *value; /* [n_rows * n_columns] */
    int64_t *cell; /* [n_rows]: the cell that a row is about, or DLB_SHEET_NO_CELL */
    struct dlb_sheet_mark *mark;
    uint32_t n_columns, n_rows, n_values, n_marks;
};

void dlb_sheet_free(struct dlb_sheet *sheet);

/* All columns come before the first row. */
void dlb_sheet_column(struct dlb_sheet *sheet, const char *title, enum dlb_role role,
                      enum dlb_unit unit);

/* Begins a row; exactly n_columns values follow. */
void dlb_sheet_row(struct dlb_sheet *sheet, int64_t cell);
void dlb_sheet_text(struct dlb_sheet *sheet, const char *text);

/* As the unit of its column is shown; NaN: "-", which means not measured. */
void dlb_sheet_number(struct dlb_sheet *sheet, double number);

/* The median and both ends of an estimate (reports/estimate.h): three values. */
void dlb_sheet_estimate(struct dlb_sheet *sheet, const json_t *estimate);

/* As dlb_sheet_number, of one cell among those of the row. */
void dlb_sheet_of_cell(struct dlb_sheet *sheet, double number, int64_t cell);

/* A number with words of its own. */
void dlb_sheet_both(struct dlb_sheet *sheet, double number, const char *text);

/* Nothing if `at` is not finite. */
void dlb_sheet_mark(struct dlb_sheet *sheet, const char *text, double at, bool across);

/* A number as a unit is shown: "1,234", "45.6%", "1.2 ms"; "-" for NaN. */
const char *dlb_unit_text(enum dlb_unit unit, double number, char *text, size_t n_text);

#endif

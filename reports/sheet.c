#include "reports/sheet.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/units.h"
#include "reports/estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SOON_BYTES 1e19 /* more than a count of bytes can be */

void dlb_sheet_free(struct dlb_sheet *sheet)
{
    for (uint32_t i = 0; i < sheet->n_columns; i++)
        free(sheet->column[i].title);
    for (uint32_t i = 0; i < sheet->n_values; i++)
        free(sheet->value[i].text);
    for (uint32_t i = 0; i < sheet->n_marks; i++)
        free(sheet->mark[i].text);
    free(sheet->column);
    free(sheet->value);
    free(sheet->cell);
    free(sheet->mark);
    dlb_text_free(&sheet->note);
    memset(sheet, 0, sizeof(*sheet));
}

/* Room for one more than n elements, doubled when a power of two is reached. */
static void *grown(void *memory, uint32_t n, size_t n_bytes)
{
    return (n & (n - 1)) == 0 ? dlb_mem_grow(memory, n ? (size_t)n * 2 : 1, n_bytes) : memory;
}

void dlb_sheet_column(struct dlb_sheet *sheet, const char *title, enum dlb_role role,
                      enum dlb_unit unit)
{
    sheet->column = grown(sheet->column, sheet->n_columns, sizeof(*sheet->column));
    sheet->column[sheet->n_columns++] = (struct dlb_sheet_column){dlb_mem_text(title), role, unit};
}

void dlb_sheet_row(struct dlb_sheet *sheet, int64_t cell)
{
    sheet->cell = grown(sheet->cell, sheet->n_rows, sizeof(*sheet->cell));
    sheet->cell[sheet->n_rows++] = cell;
}

void dlb_sheet_both(struct dlb_sheet *sheet, double number, const char *text)
{
    sheet->value = grown(sheet->value, sheet->n_values, sizeof(*sheet->value));
    sheet->value[sheet->n_values++] =
        (struct dlb_sheet_value){dlb_mem_text(text), number, DLB_SHEET_NO_CELL};
}

void dlb_sheet_text(struct dlb_sheet *sheet, const char *text)
{
    dlb_sheet_both(sheet, (double)NAN, text[0] ? text : "-");
}

void dlb_sheet_number(struct dlb_sheet *sheet, double number)
{
    char text[64];
    uint32_t column = sheet->n_values % sheet->n_columns;
    dlb_sheet_both(sheet, number,
                   dlb_unit_text(sheet->column[column].unit, number, text, sizeof(text)));
}

void dlb_sheet_estimate(struct dlb_sheet *sheet, const json_t *estimate)
{
    dlb_sheet_number(sheet, dlb_json_number(estimate, "median"));
    dlb_sheet_number(sheet, dlb_estimate_end(estimate, "low"));
    dlb_sheet_number(sheet, dlb_estimate_end(estimate, "high"));
}

void dlb_sheet_of_cell(struct dlb_sheet *sheet, double number, int64_t cell)
{
    dlb_sheet_number(sheet, number);
    sheet->value[sheet->n_values - 1].cell = cell;
}

void dlb_sheet_mark(struct dlb_sheet *sheet, const char *text, double at, bool across)
{
    if (!isfinite(at))
        return;
    sheet->mark = grown(sheet->mark, sheet->n_marks, sizeof(*sheet->mark));
    sheet->mark[sheet->n_marks++] = (struct dlb_sheet_mark){dlb_mem_text(text), at, across};
}

static const char *duration(double seconds, char *text, size_t n_text)
{
    char plain[48];
    (void)dlb_duration_text(fabs(seconds), plain, sizeof(plain));
    (void)snprintf(text, n_text, "%s%s", seconds < 0 ? "-" : "", plain);
    return text;
}

const char *dlb_unit_text(enum dlb_unit unit, double number, char *text, size_t n_text)
{
    bool is_bytes = unit == DLB_UNIT_BYTES || unit == DLB_UNIT_BYTES_PER_S;
    (void)snprintf(text, n_text, "-");
    if (!isfinite(number) || (is_bytes && (number < 0 || number >= SOON_BYTES)))
        return text;
    switch (unit) {
    case DLB_UNIT_COUNT:
        return dlb_count_text(fabs(number) < 100 ? number : round(number), text, n_text);
    case DLB_UNIT_FRAC:
        return dlb_text_percent(fabs(number) < 10 ? DLB_PERCENT_TENTHS : DLB_PERCENT_WHOLE, number,
                                text, n_text);
    case DLB_UNIT_NS:
        return duration(number * 1e-9, text, n_text);
    case DLB_UNIT_S:
        return duration(number, text, n_text);
    case DLB_UNIT_RATIO:
        (void)snprintf(text, n_text, fabs(number) < 99.95 ? "%.2fx" : "%.0fx", number);
        return text;
    case DLB_UNIT_BYTES:
        return dlb_bytes_text((uint64_t)number, text, n_text);
    case DLB_UNIT_BYTES_PER_S:
        return dlb_rate_text(number, text, n_text);
    case DLB_UNIT_MS:
        (void)snprintf(text, n_text, "%.4g ms", number);
        return text;
    case DLB_UNIT_TEXT:
        break;
    }
    (void)snprintf(text, n_text, "%.4g", number);
    return text;
}

/* What a result can be shown as: a list of figures, each a sheet with a title and how to read it.
 *
 * Floor 4. Control thread. A figure that the document has nothing for has a sheet without rows. */
#ifndef DLB_REPORTS_SHEETS_FIGURES_H
#define DLB_REPORTS_SHEETS_FIGURES_H

#include "reports/sheet.h"

struct dlb_figure {
    const char *id, *title;
    const char *text; /* what it shows: sentences */
    bool brief;       /* Markdown has it, too */
    bool aside;       /* the page shows it closed */
    void (*fill)(const json_t *doc, struct dlb_sheet *out);
};

extern const struct dlb_figure dlb_figures[]; /* ends with id == NULL; in the order of a page */

/* A row for each result, with its number from 1, because names can be the same: machine, data,
 * verdict, rates, accelerators that are fed. `text` says what must not be compared. */
void dlb_sheet_beside(const json_t *const *docs, uint32_t n, struct dlb_sheet *out);

#endif

/* Elements of the page: text, facts, and a sheet as a figure with its table.
 *
 * Floor 4. Control thread. Words of a document are inert (reports/markup.h). */
#ifndef DLB_REPORTS_HTML_ELEMENTS_H
#define DLB_REPORTS_HTML_ELEMENTS_H

#include "reports/sheet.h"
#include "reports/sheets/figures.h"

/* <TAG ATTRIBUTES>words</TAG>; `attributes` is markup, "" or with a space before it. Nothing for
 * empty words. */
void dlb_html_element(struct dlb_text *out, const char *tag, const char *attributes,
                      const char *words);

/* The lines of a text, each an element; spaces before a line are left out. */
void dlb_html_lines(struct dlb_text *out, const char *tag, const char *lines);

/* Lines "name: words" as a list of terms. */
void dlb_html_facts(struct dlb_text *out, const char *lines);

/* The result in the page that rows lead to. */
struct dlb_html_place {
    uint32_t result; /* its number */
    size_t n_cells; /* rows of the table of cells; a document that somebody cut names others, too */
};
void dlb_html_figure(struct dlb_text *out, const struct dlb_figure *figure,
                     const struct dlb_sheet *sheet, struct dlb_html_place place);

#endif

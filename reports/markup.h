/* Text of a document inside HTML or Markdown, where it is inert: no markup of its own, no control
 * characters, and no characters that change the direction of the text behind them.
 *
 * Floor 4. Any thread, each its own text. */
#ifndef DLB_REPORTS_MARKUP_H
#define DLB_REPORTS_MARKUP_H

#include "reports/text.h"

enum dlb_markup {
    DLB_MARKUP_HTML, /* for elements, and for attributes in double quotes */
    DLB_MARKUP_MARKDOWN,
    DLB_MARKUP_NONE, /* CSV: only control and direction characters are shown by name */
};

/* Appends the words, or their first n_bytes. A control character becomes \xHH
 * (core/base/escape.h). One that changes the direction, or ends a line of JavaScript, becomes
 * "[U+202E]". */
void dlb_markup_words(struct dlb_text *out, const char *words, size_t n_bytes, enum dlb_markup how);
void dlb_markup_text(struct dlb_text *out, const char *words, enum dlb_markup how);

/* A document as JSON for a <script> element of HTML, in ASCII: nothing in it ends the element or
 * begins a comment. */
void dlb_markup_json(struct dlb_text *out, const json_t *doc);

#endif

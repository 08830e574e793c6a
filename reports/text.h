/* Text that grows; reports write to it.
 *
 * Floor 4. One thread. A zeroed struct is empty. When memory is short the process ends
 * (core/base/mem.h). */
#ifndef DLB_REPORTS_TEXT_H
#define DLB_REPORTS_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_text {
    char *data; /* terminated when not NULL; owned */
    size_t len_bytes, cap_bytes;
};

void dlb_text_free(struct dlb_text *text);
void dlb_text_append(struct dlb_text *text, const char *data, size_t n_bytes);

/* Never cut. No argument may point into the text itself, which may move. */
void dlb_text_printf(struct dlb_text *text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends words folded at spaces to `width` columns (0: not folded), every line after `indent`
 * spaces, and ends the line. Control characters, which a document's names may hold, are escaped
 * (DLB_ESCAPE_CONTROLS of core/base/escape.h), newlines as well. */
void dlb_text_fold(struct dlb_text *text, const char *words, uint32_t indent, uint32_t width);

/* The same, but "\n" ends a line: for words of dlbench itself. */
void dlb_text_fold_lines(struct dlb_text *text, const char *words, uint32_t indent, uint32_t width);

/* A string of a document as it is shown: "-" when it is absent, null or empty. Borrowed. */
const char *dlb_text_shown(const json_t *object, const char *key);

/* A setting's value in at most 30 characters: of a long string the end, "-" for null. */
void dlb_text_value(const json_t *value, char *out, size_t n);

enum dlb_percent {
    DLB_PERCENT_BARE,   /* "12.3": a column has the unit */
    DLB_PERCENT_TENTHS, /* "12.3%" */
    DLB_PERCENT_WHOLE,  /* "12%" */
    DLB_PERCENT_SHORT,  /* three digits: "12.3%", "0.123%" */
    DLB_PERCENT_CHANGE, /* "+12.3%" */
};

/* A fraction in percent; "-" where the percentage is not finite. From 1e9 on it has three digits
 * and an exponent. Returns `text`. */
const char *dlb_text_percent(enum dlb_percent how, double frac, char *text, size_t n_text);

/* Appends at most `max` bytes of a document's string, with control characters escaped as above. It
 * is cut between two characters. `words` ends with a zero byte, here or behind. */
void dlb_text_plain(struct dlb_text *text, const char *words, size_t max);

/* How many bytes dlb_text_plain appends. */
size_t dlb_text_width(const char *words, size_t max);

#endif

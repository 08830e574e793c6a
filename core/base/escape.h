/* Names from outside, as they are shown and stored.
 *
 * Floor 0. Any thread. Names of files, shards, fields, data sets and keys may hold any bytes. In
 * memory they stay as they are. Where they leave the program they are escaped, once:
 *
 * - A byte that is not part of a UTF-8 character becomes \xHH, with two hex digits in lower case.
 * - DLB_ESCAPE_BACKSLASH: a backslash before an x becomes \x5c, so that dlb_unescape gives back the
 *   name. Other backslashes stay.
 * - DLB_ESCAPE_CONTROLS: every byte of a control character (below U+0020, U+007F to U+009F, newline
 *   and tab included) becomes \xHH.
 *
 * JSON strings have the first two (core/base/json.h): JSON has its own escapes for control
 * characters. Lines for people have all three (core/base/say.h). A report shows strings of a
 * document, which have the first two already, so it adds the third. */
#ifndef DLB_CORE_BASE_ESCAPE_H
#define DLB_CORE_BASE_ESCAPE_H

#include <stddef.h>

enum {
    DLB_ESCAPE_BACKSLASH = 1 << 0,
    DLB_ESCAPE_CONTROLS = 1 << 1,
    DLB_ESCAPE_NAME = DLB_ESCAPE_BACKSLASH | DLB_ESCAPE_CONTROLS,
};

/* Bytes of the UTF-8 character that starts the text, of which n_bytes are given; 0: it does not
 * start with one.
 */
size_t dlb_utf8_bytes(const char *text, size_t n_bytes);

/* How many bytes of a text to show, max_bytes at most: a longer one is cut between two characters.
 * Bytes that are no UTF-8 count as characters. NULL: 0. */
size_t dlb_cut(const char *text, size_t max_bytes);

/* The two arguments of "%.*s" that print at most max_bytes of a text, or of n_bytes that no zero
 * byte ends. They evaluate `text` twice. */
#define DLB_CUT(text, max_bytes) (int)dlb_cut((text), (max_bytes)), (text)
#define DLB_CUT_KEY(text, n_bytes, max_bytes)                                                      \
    (int)((n_bytes) <= (max_bytes) ? (n_bytes) : dlb_cut((text), (max_bytes))), (text)

/* Copies the text; one that does not fit is cut in the same way. */
void dlb_cut_text(char *out, size_t n_out, const char *text);

/* Escapes n_bytes of text, which a zero byte may end earlier. `out` is always terminated if n_out
 * is not 0; what does not fit is left out, but no escape or character is cut. Returns the length of
 * the whole, as snprintf does. */
size_t dlb_escape(const char *text, size_t n_bytes, unsigned how, char *out, size_t n_out);

/* Of a whole text; owned by the caller, never NULL (core/base/mem.h). */
char *dlb_escaped(const char *text, unsigned how);

/* Writes the bytes that \xHH stand for in their place. Returns `text`. */
char *dlb_unescape(char *text);

#endif

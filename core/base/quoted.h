/* Texts in quotes as a value of --set has them: strings of TOML, of one line.
 *
 * Floor 0. Any thread. Between double quotes a backslash begins an escape: \b \t \n \f \r \" \\
 * \uXXXX \UXXXXXXXX. Between single quotes it is a character as any other. */
#ifndef DLB_CORE_BASE_QUOTED_H
#define DLB_CORE_BASE_QUOTED_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the text begins with a quote, and so is such a string or wrong. */
bool dlb_is_quoted(const char *text);

/* Of such a text: its bytes up to and with the closing quote; 0: it has none. */
size_t dlb_quoted_bytes(const char *text);

/* Replaces such a text by what it stands for, in place; *n_bytes: of that, and a zero byte follows.
 * It may hold zero bytes and may be no UTF-8. NULL, or what is wrong: the end of a sentence that
 * begins with the text, static. Then what is in `text` is undefined. */
const char *dlb_unquote(char *text, size_t *n_bytes);

#endif

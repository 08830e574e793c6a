/* stdout and stderr of the program.
 *
 * Floor 5. Control thread. dlb_print_err is declared in verb.h. */
#ifndef DLB_BENCH_CLI_PRINT_H
#define DLB_BENCH_CLI_PRINT_H

#include "core/base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Before anything else: a closed standard stream must not become the first file that is opened, and
 * a reader that goes away must not kill a measurement. */
void dlb_streams_prepare(void);

/* After all else: whether everything that was printed got out. A reader that left early (head) is
 * no error. */
int dlb_streams_finish(struct dlb_err *err);

/* Text on stdout, at once; dlb_streams_finish tells whether it got out, and why not. */
void dlb_print_out(const char *text, size_t n_bytes);

/* Columns to fold text for: the terminal's, within reason; 80 where it goes elsewhere. */
uint32_t dlb_print_width(FILE *out);

/* The document and a newline on stdout. False when memory is short. */
bool dlb_print_json(const json_t *document);

/* `text` folded at spaces to `width` columns, every line after `indent` spaces. "\n" in the text
 * ends a line; a line that starts with a space is an example and stays as it is. The cursor is at
 * `column`: the text starts there if that is left of `indent`, else on a line of its own. */
void dlb_print_folded(FILE *out, const char *text, uint32_t indent, uint32_t column,
                      uint32_t width);

#endif

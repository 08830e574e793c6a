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

/* Call first. A closed standard stream is opened to /dev/null, so that no data file gets its
 * number. SIGPIPE is ignored: a reader that goes away must not kill a measurement. */
void dlb_streams_prepare(void);

/* Call last: reports whether everything printed reached stdout. A reader that left early (head) is
 * no error. */
int dlb_streams_finish(struct dlb_err *err);

/* Writes text to stdout at once. A failure is reported by dlb_streams_finish. */
void dlb_print_out(const char *text, size_t n_bytes);

/* Columns to fold text at: the terminal's, between 50 and 110; 80 when `out` is no terminal. */
uint32_t dlb_print_width(FILE *out);

/* Prints the document and a newline on stdout. */
void dlb_print_json(const json_t *document);

/* For --json: prints the first error given to dlb_print_err as {"error": {"code", "text", "path",
 * "offset"}} on stdout. Prints nothing if there was no error, or if the command has already printed
 * its document: stdout holds one document at most. */
void dlb_print_error_json(void);

/* Prints `text` folded at spaces to `width` columns, every line after `indent` spaces. "\n" ends a
 * line. A line that starts with a space is an example and is printed as it is. The cursor is at
 * `column`: the text starts there if that is left of `indent`, else on a new line. */
void dlb_print_folded(FILE *out, const char *text, uint32_t indent, uint32_t column,
                      uint32_t width);

#endif

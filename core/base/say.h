/* Lines for people, on stdout or stderr.
 *
 * Floor 0. Control thread. Each call writes one line and ends it. Whatever a name in it holds, the
 * terminal gets one line of UTF-8 without control characters: the composed line is escaped
 * (DLB_ESCAPE_NAME of core/base/escape.h). A line that is too long is cut. */
#ifndef DLB_CORE_BASE_SAY_H
#define DLB_CORE_BASE_SAY_H

#include <stdarg.h>
#include <stdio.h>

/* Called with each line before it is written, so that what is drawn on the terminal can make room;
 * NULL: nothing is. */
void dlb_say_tell(void (*told)(FILE *out, const char *line));

void dlb_say(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dlb_vsay(FILE *out, const char *fmt, va_list args) __attribute__((format(printf, 2, 0)));

/* "dlbench: note: ..." on stderr: a remark, not an error. */
void dlb_say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif

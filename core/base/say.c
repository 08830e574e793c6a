#include "core/base/say.h"

#include "core/base/escape.h"

#include <limits.h>
#include <string.h>

#define LINE_CAP (3 * PATH_MAX) /* two paths and their escapes */

static void (*tell)(FILE *out, const char *line);

void dlb_say_tell(void (*told)(FILE *out, const char *line))
{
    tell = told;
}

static void say(FILE *out, const char *lead, const char *fmt, va_list args)
{
    char line[LINE_CAP], shown[LINE_CAP];
    size_t n_lead = strlen(lead);

    (void)vsnprintf(line, sizeof line, fmt, args);
    (void)snprintf(shown, sizeof shown, "%s", lead);
    (void)dlb_escape(line, sizeof line, DLB_ESCAPE_NAME, shown + n_lead, sizeof shown - n_lead);
    if (tell)
        tell(out, shown);
    (void)fprintf(out, "%s\n", shown);
}

void dlb_vsay(FILE *out, const char *fmt, va_list args)
{
    say(out, "", fmt, args);
}

void dlb_say(FILE *out, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(out, "", fmt, args);
    va_end(args);
}

void dlb_say_note(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say(stderr, "dlbench: note: ", fmt, args);
    va_end(args);
}

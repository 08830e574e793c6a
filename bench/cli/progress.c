#include "bench/cli/progress.h"

#include "core/base/clock.h"
#include "core/base/escape.h"
#include "core/base/say.h"
#include "core/base/units.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LIVE_EVERY_NS (100 * DLB_NS_PER_MS)
#define PLAIN_EVERY_NS (3 * DLB_NS_PER_S)
#define ETA_AFTER_NS DLB_NS_PER_S /* an earlier guess is noise */
#define LINE_CAP 512

static struct dlb_progress *current; /* the one that owns the terminal's live line */

static bool stderr_is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

/* Read at every drawing, so that a resized window needs no signal handler. */
static uint32_t terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* The last column stays free: a cursor beyond it wraps on some terminals. */
static uint32_t line_columns(void)
{
    uint32_t n_columns = terminal_columns();
    return n_columns > 1 ? n_columns - 1 : 1;
}

/* Cuts to n_columns characters, counting a UTF-8 sequence as one; returns how many are left. */
static uint32_t cut(char *line, uint32_t n_columns)
{
    uint32_t n = 0;
    char *at = line;

    for (; *at; at++) {
        if (((unsigned char)*at & 0xc0) == 0x80)
            continue;
        if (n == n_columns)
            break;
        n++;
    }
    *at = '\0';
    return n;
}

double dlb_progress_eta_s(const struct dlb_progress *progress, double frac, uint64_t now_ns)
{
    double done = frac - progress->first_frac;

    if (!progress->has_first || !(done > 0.0) || frac > 1.0 ||
        now_ns < progress->start_ns + ETA_AFTER_NS)
        return NAN;
    return (double)(now_ns - progress->start_ns) * 1e-9 * (1.0 - frac) / done;
}

const char *dlb_progress_line(const struct dlb_progress *progress, double frac, const char *text,
                              uint64_t now_ns, uint32_t n_columns, char *line, size_t n_line)
{
    double eta_s = dlb_progress_eta_s(progress, frac, now_ns);
    char eta[56] = "", duration[40];

    if (eta_s < 60.0)
        (void)snprintf(eta, sizeof eta, "  ETA %.0f s", eta_s);
    else if (isfinite(eta_s))
        (void)snprintf(eta, sizeof eta, "  ETA %s",
                       dlb_duration_text(round(eta_s), duration, sizeof duration));
    size_t n_eta = strlen(eta);
    int n = snprintf(line, n_line, "%s: ", progress->title);
    size_t len = n < 0 ? 0 : (size_t)n < n_line ? (size_t)n : n_line - 1;
    (void)dlb_escape(text, SIZE_MAX, DLB_ESCAPE_NAME, line + len, n_line - len);
    len = strlen(line);
    /* The ETA matters most: cut the text to make room for it. */
    if (len + n_eta >= n_line && n_eta < n_line)
        len = n_line - 1 - n_eta;
    line[len] = '\0';
    if (n_columns > n_eta)
        (void)cut(line, n_columns - (uint32_t)n_eta);
    len = strlen(line);
    (void)snprintf(line + len, n_line - len, "%s", eta);
    if (n_columns > 0)
        (void)cut(line, n_columns);
    return line;
}

/* The cursor is at the end of the live line. In a window that became narrower the line fills
 * several rows. */
static void erase(struct dlb_progress *progress)
{
    uint32_t n_rows;

    if (progress->n_columns == 0)
        return;
    n_rows = (progress->n_columns - 1) / terminal_columns();
    if (n_rows > 0)
        (void)fprintf(stderr, "\033[%uA", n_rows);
    (void)fputs("\r\033[J", stderr);
    progress->n_columns = 0;
}

static void draw(struct dlb_progress *progress, const char *line)
{
    char shown[LINE_CAP];

    if (!progress->live) {
        (void)fprintf(stderr, "%s\n", line);
        return;
    }
    (void)snprintf(shown, sizeof shown, "%s", line);
    erase(progress);
    progress->n_columns = cut(shown, line_columns());
    (void)fputs(shown, stderr);
    (void)fflush(stderr);
}

void dlb_progress_begin(struct dlb_progress *progress, const char *title)
{
    char line[LINE_CAP];

    *progress = (struct dlb_progress){
        .start_ns = dlb_now_ns(), .has_first = true, .live = stderr_is_terminal()};
    (void)snprintf(progress->title, sizeof progress->title, "%s", title);
    progress->drawn_ns = progress->start_ns;
    current = progress;
    (void)snprintf(line, sizeof line, "%s: starting", progress->title);
    draw(progress, line);
}

void dlb_progress_update(struct dlb_progress *progress, double frac, const char *text)
{
    uint64_t now_ns = dlb_now_ns();
    char line[LINE_CAP];

    if (!progress->has_first && isfinite(frac)) {
        progress->first_frac = frac;
        progress->has_first = true;
    }
    if (now_ns - progress->drawn_ns < (progress->live ? LIVE_EVERY_NS : PLAIN_EVERY_NS))
        return;
    progress->drawn_ns = now_ns;
    draw(progress, dlb_progress_line(progress, frac, text, now_ns,
                                     progress->live ? line_columns() : 0, line, sizeof line));
}

void dlb_progress_restart(struct dlb_progress *progress)
{
    progress->start_ns = dlb_now_ns();
    progress->has_first = false;
}

void dlb_progress_note(struct dlb_progress *progress, const char *fmt, ...)
{
    va_list args;

    erase(progress);
    va_start(args, fmt);
    dlb_vsay(stderr, fmt, args);
    va_end(args);
    progress->drawn_ns = 0; /* the live line comes back with the next update */
}

void dlb_progress_end(struct dlb_progress *progress, const char *last)
{
    erase(progress);
    if (last)
        (void)fprintf(stderr, "%s: %s\n", progress->title, last);
    (void)fflush(stderr);
    if (current == progress)
        current = NULL;
}

void dlb_progress_clear(void)
{
    if (current)
        erase(current);
}

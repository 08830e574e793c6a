#include "bench/cli/progress.h"

#include "bench/cli/verb.h"
#include "bench/live/screen.h"
#include "bench/live/terminal.h"
#include "core/base/clock.h"
#include "core/base/escape.h"
#include "core/base/say.h"
#include "core/base/units.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LIVE_EVERY_NS (250 * DLB_NS_PER_MS)
#define PLAIN_EVERY_NS (3 * DLB_NS_PER_S)
#define ETA_AFTER_NS DLB_NS_PER_S /* an earlier guess is noise */
#define LINE_CAP 512

static struct dlb_progress *current; /* the one that owns the terminal */

double dlb_progress_eta_s(const struct dlb_progress *progress, double frac, uint64_t now_ns)
{
    double done = frac - progress->first_frac;

    if (!progress->has_first || !(done > 0.0) || frac > 1.0 ||
        now_ns < progress->start_ns + ETA_AFTER_NS)
        return NAN;
    return (double)(now_ns - progress->start_ns) * 1e-9 * (1.0 - frac) / done;
}

const char *dlb_progress_line(const struct dlb_progress *progress, double frac, const char *text,
                              uint64_t now_ns, char *line, size_t n_line)
{
    double eta_s = dlb_progress_eta_s(progress, frac, now_ns);
    char eta[56] = "", duration[40];

    if (eta_s < 60.0)
        (void)snprintf(eta, sizeof eta, "  ETA %.0f s", eta_s);
    else if (isfinite(eta_s))
        (void)snprintf(eta, sizeof eta, "  ETA %s",
                       dlb_duration_text(round(eta_s), duration, sizeof duration));
    size_t n_eta = strlen(eta);
    int n = snprintf(line, n_line, "%s: ", progress->view.title);
    size_t len = n < 0 ? 0 : (size_t)n < n_line ? (size_t)n : n_line - 1;
    (void)dlb_escape(text, SIZE_MAX, DLB_ESCAPE_NAME, line + len, n_line - len);
    len = strlen(line);
    /* The ETA matters most: cut the text to make room for it. */
    if (len + n_eta >= n_line && n_eta < n_line)
        len = dlb_cut(line, n_line - 1 - n_eta);
    (void)snprintf(line + len, n_line - len, "%s", eta);
    return line;
}

/* Before dlb_say writes a line: it goes where it lasts. */
static void on_said(FILE *out, const char *line)
{
    dlb_screen_leave();
    if (current && out == stderr)
        dlb_view_note(&current->view, line);
}

static void print_line(const struct dlb_progress *progress, double frac, const char *text,
                       uint64_t now_ns)
{
    char line[LINE_CAP];
    (void)fprintf(stderr, "%s\n",
                  dlb_progress_line(progress, frac, text, now_ns, line, sizeof line));
}

/* False: the screen cannot be entered. */
static bool draw(struct dlb_progress *progress, double frac, const char *text, uint64_t now_ns)
{
    static struct dlb_frame frame;
    struct dlb_view *view = &progress->view;
    uint32_t n_rows, n_columns;

    if (!dlb_terminal_flows())
        return true; /* the next drawing shows it */
    dlb_terminal_size(&n_rows, &n_columns);
    view->frac = frac;
    view->eta_s = dlb_progress_eta_s(progress, frac, now_ns);
    view->gone_s = (double)(now_ns - progress->begun_ns) * 1e-9;
    view->ending = atomic_load(&dlb_interrupted);
    view->reads = dlb_terminal_has_keys();
    (void)snprintf(view->text, sizeof view->text, "%s", text);
    dlb_view_draw(view, n_rows, n_columns, &frame);
    if (!dlb_screen_draw(&frame, n_rows, n_columns))
        return false;
    if (dlb_screen_asked_to_end() && !view->ending) /* a second one would kill */
        (void)raise(SIGINT);
    return true;
}

void dlb_progress_begin(struct dlb_progress *progress, const char *title, bool quiet)
{
    uint64_t now_ns = dlb_now_ns();

    *progress = (struct dlb_progress){
        .begun_ns = now_ns, .start_ns = now_ns, .has_first = true, .quiet = quiet};
    (void)snprintf(progress->view.title, sizeof progress->view.title, "%s", title);
    progress->view.demand_per_s = (double)NAN;
    progress->live = !quiet && dlb_screen_possible() && dlb_terminal_in_front();
    current = progress;
    dlb_say_tell(on_said);
    if (quiet)
        return;
    progress->live = progress->live && draw(progress, (double)NAN, "starting", now_ns);
    if (!progress->live) {
        progress->drawn_ns = now_ns;
        print_line(progress, (double)NAN, "starting", now_ns);
    }
}

void dlb_progress_update(struct dlb_progress *progress, double frac, const char *text)
{
    uint64_t now_ns = dlb_now_ns();
    uint64_t gone_ns = now_ns - progress->drawn_ns;

    if (!progress->has_first && isfinite(frac)) {
        progress->first_frac = frac;
        progress->has_first = true;
    }
    if (progress->quiet || gone_ns < (progress->live ? LIVE_EVERY_NS : PLAIN_EVERY_NS))
        return;
    bool in_front = progress->live && dlb_terminal_in_front();
    if (!in_front && gone_ns < PLAIN_EVERY_NS)
        return;
    progress->drawn_ns = now_ns;
    if (in_front)
        progress->live = draw(progress, frac, text, now_ns);
    if (!in_front || !progress->live) {
        dlb_screen_leave(); /* it may be held: no signal tells of a stop by SIGSTOP */
        print_line(progress, frac, text, now_ns);
    }
}

void dlb_progress_restart(struct dlb_progress *progress)
{
    progress->start_ns = dlb_now_ns();
    progress->has_first = false;
}

void dlb_progress_end(struct dlb_progress *progress)
{
    dlb_screen_leave();
    dlb_say_tell(NULL);
    (void)fflush(stderr);
    if (current == progress)
        current = NULL;
}

#include "bench/live/view.h"

#include "core/base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LABEL_COLUMNS 10 /* "samples/s " */
#define WORKER_COLUMNS 34
#define WORKER_BAR 26
#define BAR_MAX 60
#define BAR_TEXT 26 /* columns behind a bar: "1,234 of 1,786 asked for" */

void dlb_view_note(struct dlb_view *view, const char *text)
{
    char *note = view->note[view->n_notes++ % DLB_VIEW_NOTES];
    (void)snprintf(note, DLB_VIEW_TEXT, "%s", text);
}

/* Of a bar with brackets that leaves `right` columns free. */
static uint32_t bar_cells(const struct dlb_frame *frame, uint32_t left, uint32_t right)
{
    uint32_t taken = left + right + 2;
    uint32_t n = frame->n_columns > taken ? frame->n_columns - taken : 0;
    return n < BAR_MAX ? n : BAR_MAX;
}

static uint32_t cells_of(double frac, uint32_t n)
{
    return frac > 0 ? (uint32_t)lround(fmin(frac, 1) * n) : 0;
}

/* "[####----]" */
static void bar(struct dlb_frame *frame, enum dlb_style style, double frac, uint32_t n)
{
    uint32_t full = cells_of(frac, n);
    dlb_frame_put(frame, DLB_STYLE_FAINT, "[");
    dlb_frame_fill(frame, style, '#', full);
    dlb_frame_fill(frame, DLB_STYLE_FAINT, '-', n - full);
    dlb_frame_put(frame, DLB_STYLE_FAINT, "] ");
}

/* "5 s", "3 min 20 s" */
static const char *whole_seconds(double seconds, char *text, size_t n_text)
{
    if (seconds >= 60)
        return dlb_duration_text(floor(seconds), text, n_text);
    (void)snprintf(text, n_text, "%.0f s", floor(seconds));
    return text;
}

/* Three digits where a whole number has fewer. */
static const char *rate_text(double rate, char *text, size_t n_text)
{
    return dlb_count_text(rate < 100 ? rate : round(rate), text, n_text);
}

static void draw_title(const struct dlb_view *view, struct dlb_frame *frame)
{
    static const struct dlb_view_end usual = {"end with what was measured",
                                              "what was measured is kept"};
    const struct dlb_view_end *end = view->end.offer ? &view->end : &usual;
    char gone[40];
    dlb_frame_put(frame, DLB_STYLE_STRONG, "dlbench %s", view->title);
    dlb_frame_put(frame, DLB_STYLE_FAINT, "  for %s",
                  whole_seconds(view->gone_s, gone, sizeof gone));
    if (view->ending)
        dlb_frame_put(frame, DLB_STYLE_WARN, "  ending: %s", end->ending);
    else if (view->reads)
        dlb_frame_put(frame, DLB_STYLE_FAINT, "  q: %s", end->offer);
    dlb_frame_next(frame);
}

static void draw_progress(const struct dlb_view *view, struct dlb_frame *frame)
{
    char eta[40];
    if (isfinite(view->frac)) {
        bar(frame, DLB_STYLE_GOOD, view->frac, bar_cells(frame, 0, 24));
        dlb_frame_put(frame, DLB_STYLE_PLAIN, "%3.0f%%", floor(fmin(view->frac, 1) * 100));
        if (isfinite(view->eta_s))
            dlb_frame_put(frame, DLB_STYLE_PLAIN, "  ETA %s",
                          whole_seconds(view->eta_s + 0.5, eta, sizeof eta));
        dlb_frame_next(frame);
    }
    dlb_frame_put(frame, DLB_STYLE_PLAIN, "%s", view->text);
    dlb_frame_next(frame);
}

static void draw_race(const struct dlb_view_race *race, struct dlb_frame *frame)
{
    if (!race->there)
        return;
    dlb_frame_put(frame, DLB_STYLE_STRONG, "race");
    dlb_frame_pad(frame, LABEL_COLUMNS);
    dlb_frame_put(frame, DLB_STYLE_PLAIN, "%u of %u cells still run", race->n_left, race->n_all);
    dlb_frame_next(frame);
    if (!race->leader[0] || !isfinite(race->probability))
        return;
    dlb_frame_pad(frame, LABEL_COLUMNS);
    dlb_frame_put(frame, DLB_STYLE_PLAIN, "%.1f%% that it is %s (an answer has %.1f%%)",
                  race->probability * 100, race->leader, race->needed * 100);
    dlb_frame_next(frame);
}

static void draw_rate(const struct dlb_view *view, struct dlb_frame *frame)
{
    double rate = view->rates.samples_per_s, demand = view->demand_per_s;
    char number[40], asked[40], text[100];
    dlb_frame_put(frame, DLB_STYLE_STRONG, "samples/s");
    dlb_frame_pad(frame, LABEL_COLUMNS);
    if (!isfinite(rate)) {
        dlb_frame_put(frame, DLB_STYLE_FAINT, "not measured yet");
    } else if (!(demand > 0)) {
        dlb_frame_put(frame, DLB_STYLE_PLAIN, "%s", rate_text(rate, number, sizeof number));
    } else {
        int n = snprintf(text, sizeof text, "%s of %s asked for",
                         rate_text(rate, number, sizeof number),
                         rate_text(demand, asked, sizeof asked));
        bar(frame, rate < demand * 0.98 ? DLB_STYLE_WARN : DLB_STYLE_GOOD, rate / demand,
            bar_cells(frame, LABEL_COLUMNS, (uint32_t)n > BAR_TEXT ? (uint32_t)n : BAR_TEXT));
        dlb_frame_put(frame, DLB_STYLE_PLAIN, "%s", text);
    }
    dlb_frame_next(frame);
}

/* The row is there before anything is known, so that those below it do not jump. */
static void draw_idle(const struct dlb_view *view, struct dlb_frame *frame)
{
    dlb_frame_put(frame, DLB_STYLE_STRONG, "idle");
    dlb_frame_pad(frame, LABEL_COLUMNS);
    if (isfinite(view->rates.idle_frac)) {
        bar(frame, DLB_STYLE_BAD, view->rates.idle_frac, bar_cells(frame, LABEL_COLUMNS, BAR_TEXT));
        dlb_frame_put(frame, DLB_STYLE_PLAIN, "%.0f%% of the device's time",
                      view->rates.idle_frac * 100);
    } else {
        dlb_frame_put(frame, DLB_STYLE_FAINT, "no step has begun");
    }
    dlb_frame_next(frame);
}

/* " 3 [####===....]": busy, blocked, waiting. Each is rounded by itself; waiting has the cells that
 * are left. */
static void draw_worker(const struct dlb_rates_worker *w, uint32_t number, struct dlb_frame *frame)
{
    uint32_t busy = cells_of(1 - w->blocked_frac - w->waiting_frac, WORKER_BAR);
    uint32_t blocked = cells_of(w->blocked_frac, WORKER_BAR);
    if (busy + blocked > WORKER_BAR)
        blocked = WORKER_BAR - busy;
    dlb_frame_put(frame, DLB_STYLE_PLAIN, "%3u ", number);
    dlb_frame_put(frame, DLB_STYLE_FAINT, "[");
    dlb_frame_fill(frame, DLB_STYLE_GOOD, '#', busy);
    dlb_frame_fill(frame, DLB_STYLE_WARN, '=', blocked);
    dlb_frame_fill(frame, DLB_STYLE_FAINT, '.', WORKER_BAR - busy - blocked);
    dlb_frame_put(frame, DLB_STYLE_FAINT, "]");
}

static void draw_legend(const struct dlb_rates *rates, struct dlb_frame *frame)
{
    dlb_frame_put(frame, DLB_STYLE_STRONG, "workers");
    dlb_frame_pad(frame, LABEL_COLUMNS);
    dlb_frame_put(frame, DLB_STYLE_GOOD, "# busy");
    dlb_frame_put(frame, DLB_STYLE_WARN, "  = blocked in reads");
    dlb_frame_put(frame, DLB_STYLE_FAINT, "  . waiting for the training loop");
    if (rates->n_workers > rates->n_shown)
        dlb_frame_put(frame, DLB_STYLE_FAINT, "  (%u of %u)", rates->n_shown, rates->n_workers);
    dlb_frame_next(frame);
}

/* Number by number from left to right, in as many columns as fit, and not below `spare` rows. */
static void draw_workers(const struct dlb_rates *rates, uint32_t spare, struct dlb_frame *frame)
{
    uint32_t n_across = frame->n_columns / WORKER_COLUMNS;
    uint32_t n_rows = dlb_frame_rows_left(frame);
    n_across = n_across > 0 ? n_across : 1;
    if (rates->n_shown == 0 || n_rows <= spare)
        return;
    draw_legend(rates, frame);
    uint32_t n_fit = (n_rows - spare) * n_across;
    bool all = rates->n_shown <= n_fit;
    uint32_t n = all ? rates->n_shown : n_fit > n_across ? n_fit - n_across : 0;
    for (uint32_t i = 0; i < n; i++) {
        dlb_frame_pad(frame, i % n_across * WORKER_COLUMNS);
        draw_worker(&rates->worker[i], i, frame);
        if (i % n_across == n_across - 1 || i + 1 == n)
            dlb_frame_next(frame);
    }
    if (!all) {
        dlb_frame_put(frame, DLB_STYLE_FAINT, "    and %u more", rates->n_shown - n);
        dlb_frame_next(frame);
    }
}

static void draw_elsewhere(const struct dlb_rates *rates, struct dlb_frame *frame)
{
    if (rates->n_workers == 0)
        return;
    dlb_frame_put(frame, DLB_STYLE_STRONG, "workers");
    dlb_frame_pad(frame, LABEL_COLUMNS);
    dlb_frame_put(frame, DLB_STYLE_FAINT, "%u of PyTorch's DataLoader, which are not watched",
                  rates->n_workers);
    dlb_frame_next(frame);
}

/* The last ones that fit, the newest at the bottom. */
static void draw_notes(const struct dlb_view *view, struct dlb_frame *frame)
{
    uint32_t n = view->n_notes < DLB_VIEW_NOTES ? view->n_notes : DLB_VIEW_NOTES;
    uint32_t n_fit = frame->n_rows - frame->at;
    n = n < n_fit ? n : n_fit;
    for (uint32_t i = view->n_notes - n; i < view->n_notes; i++) {
        dlb_frame_put_escaped(frame, DLB_STYLE_FAINT, view->note[i % DLB_VIEW_NOTES]);
        dlb_frame_next(frame);
    }
}

void dlb_view_draw(const struct dlb_view *view, uint32_t n_rows, uint32_t n_columns,
                   struct dlb_frame *frame)
{
    dlb_frame_begin(frame, n_rows, n_columns);
    draw_title(view, frame);
    draw_progress(view, frame);
    draw_race(&view->race, frame);
    if (view->measures) {
        draw_rate(view, frame);
        if (view->demand_per_s > 0)
            draw_idle(view, frame);
        if (view->elsewhere)
            draw_elsewhere(&view->rates, frame);
        else
            draw_workers(&view->rates, view->n_notes > 0 ? 2 : 0, frame);
    }
    draw_notes(view, frame);
}

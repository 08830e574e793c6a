/* Progress on stderr.
 *
 * Floor 5. Control thread; one progress at a time. On a terminal it is the live view (bench/live),
 * drawn at once and redrawn at most four times a second. Elsewhere, and while the program is in the
 * background, it is plain lines: the first at once, then one every few seconds. Lines of dlb_say
 * leave the view first, so that they last, and the next update shows it again, with the last of
 * them. */
#ifndef DLB_BENCH_CLI_PROGRESS_H
#define DLB_BENCH_CLI_PROGRESS_H

#include "bench/live/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_progress {
    struct dlb_view view; /* title, notes, and what the caller adds: rates, the race */
    uint64_t begun_ns;
    uint64_t start_ns; /* of dlb_progress_begin or _restart: the pace is counted from here */
    double first_frac; /* done at start_ns: 0, or that of the first update after a restart */
    uint64_t drawn_ns; /* of the last line or drawing; 0: the next update is due at once */
    bool live;         /* the view is shown, not lines, while the program is in front */
    bool quiet, has_first;
};

/* `title` names the work. With `quiet` nothing is shown, and what dlb_say says is still said. */
void dlb_progress_begin(struct dlb_progress *progress, const char *title, bool quiet);

/* May be called at any rate: draws only when a new line is due. frac in [0, 1]; NaN if unknown,
 * then there is no ETA. `text` goes between title and ETA. Asks the program to end, as Ctrl-C does,
 * if `q` was typed. */
void dlb_progress_update(struct dlb_progress *progress, double frac, const char *text);

/* Counts the pace anew from the next update on, because what was done before took no work. */
void dlb_progress_restart(struct dlb_progress *progress);

/* Seconds left at the pace so far; NaN if it is too early to tell. `now_ns` on the clock of
 * dlb_now_ns. */
double dlb_progress_eta_s(const struct dlb_progress *progress, double frac, uint64_t now_ns);

/* Writes the plain line without its newline: "title: text  ETA 12 s". If n_line is too small the
 * text is cut and the ETA kept. Returns `line`. */
const char *dlb_progress_line(const struct dlb_progress *progress, double frac, const char *text,
                              uint64_t now_ns, char *line, size_t n_line);

/* Leaves the view for good. */
void dlb_progress_end(struct dlb_progress *progress);

#endif

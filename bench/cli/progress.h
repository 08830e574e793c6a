/* What happens now, on stderr.
 *
 * Floor 5. Control thread; one progress at a time. On a terminal: one live line, redrawn in place,
 * cut to the window's width as it is at each drawing. In a pipe or a file: plain lines, the first
 * at once and then one every few seconds. */
#ifndef DLB_BENCH_CLI_PROGRESS_H
#define DLB_BENCH_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_progress {
    char title[64];    /* "gen" */
    uint64_t start_ns; /* of dlb_progress_begin or _restart: what the pace is counted from */
    double
        first_frac; /* what was done at start_ns: 0, or that of the first update after a restart */
    uint64_t drawn_ns;  /* of the last line */
    uint32_t n_columns; /* of the live line that stands on the terminal; 0: none does */
    bool live, has_first;
};

/* Prints the first line. `title` names the work. */
void dlb_progress_begin(struct dlb_progress *progress, const char *title);

/* As often as the caller likes: draws when it is time to. frac in [0, 1], NaN when unknown (then
 * there is no ETA); `text` is what the line says between title and ETA. */
void dlb_progress_update(struct dlb_progress *progress, double frac, const char *text);

/* The pace is counted anew from the next update on: what was done until now took no work. */
void dlb_progress_restart(struct dlb_progress *progress);

/* Seconds left by the pace so far; NaN when there is no saying yet. `now_ns` on the clock of
 * dlb_now_ns. */
double dlb_progress_eta_s(const struct dlb_progress *progress, double frac, uint64_t now_ns);

/* The live line without its end: "title: text  ETA 12 s", in n_columns characters (0: as many as it
 * takes): the text is cut, the ETA stays. Returns `line`. */
const char *dlb_progress_line(const struct dlb_progress *progress, double frac, const char *text,
                              uint64_t now_ns, uint32_t n_columns, char *line, size_t n_line);

/* A line that stays, above the live one. */
void dlb_progress_note(struct dlb_progress *progress, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Takes the live line away; with `last` not NULL prints it as a line that stays. */
void dlb_progress_end(struct dlb_progress *progress, const char *last);

/* Takes away the live line, whoever draws it, so that an error can be printed; the next update
 * draws it again. */
void dlb_progress_clear(void);

#endif

/* Progress on stderr.
 *
 * Floor 5. Control thread; one progress at a time. On a terminal it is one live line, redrawn in
 * place and cut to the window's current width. In a pipe or a file it is plain lines: the first at
 * once, then one every few seconds. */
#ifndef DLB_BENCH_CLI_PROGRESS_H
#define DLB_BENCH_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_progress {
    char title[64];     /* "gen" */
    uint64_t start_ns;  /* of dlb_progress_begin or _restart: the pace is counted from here */
    double first_frac;  /* done at start_ns: 0, or that of the first update after a restart */
    uint64_t drawn_ns;  /* of the last line */
    uint32_t n_columns; /* of the live line on the terminal; 0 if there is none */
    bool live, has_first;
};

/* Prints the first line. `title` names the work. */
void dlb_progress_begin(struct dlb_progress *progress, const char *title);

/* May be called at any rate: draws only when a new line is due. frac in [0, 1]; NaN if unknown,
 * then there is no ETA. `text` goes between title and ETA. */
void dlb_progress_update(struct dlb_progress *progress, double frac, const char *text);

/* Counts the pace anew from the next update on, because what was done before took no work. */
void dlb_progress_restart(struct dlb_progress *progress);

/* Seconds left at the pace so far; NaN if it is too early to tell. `now_ns` on the clock of
 * dlb_now_ns. */
double dlb_progress_eta_s(const struct dlb_progress *progress, double frac, uint64_t now_ns);

/* Writes the live line without its newline: "title: text  ETA 12 s", in at most n_columns
 * characters (0: no limit). If it is too long the text is cut and the ETA kept. Returns `line`. */
const char *dlb_progress_line(const struct dlb_progress *progress, double frac, const char *text,
                              uint64_t now_ns, uint32_t n_columns, char *line, size_t n_line);

/* Prints a lasting line above the live one. */
void dlb_progress_note(struct dlb_progress *progress, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes the live line and, if `last` is not NULL, prints it as a lasting line. */
void dlb_progress_end(struct dlb_progress *progress, const char *last);

/* Removes the live line of the current progress, if any, so that an error can be printed. The next
 * update draws it again. */
void dlb_progress_clear(void);

#endif

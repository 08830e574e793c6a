/* A terminal's screen, drawn by ncurses on stderr.
 *
 * Floor 5. Control thread; a process has one screen. It is the terminal's alternate screen where it
 * has one: what stood there before comes back. stdout is never written to. Nothing is drawn, and no
 * key read, in the background: the caller asks dlb_terminal_in_front before. */
#ifndef DLB_BENCH_LIVE_SCREEN_H
#define DLB_BENCH_LIVE_SCREEN_H

#include "bench/live/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether there can be one: stderr is a terminal that this program has for itself, whose cursor can
 * be moved (TERM), and this build has ncurses. */
bool dlb_screen_possible(void);

/* Draws on a terminal of this size, and enters the screen if it is not held. False: it cannot be
 * entered. */
bool dlb_screen_draw(const struct dlb_frame *frame, uint32_t n_rows, uint32_t n_columns);

/* Whether `q` was typed, and meant for the view (bench/live/typed.h): to be asked after each
 * drawing. */
bool dlb_screen_asked_to_end(void);

/* Leaves the screen, so that lines can be written to stderr and stdout; dlb_screen_draw enters it
 * again. */
void dlb_screen_leave(void);

#endif

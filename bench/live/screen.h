/* A terminal's screen, drawn by ncurses on stderr.
 *
 * Floor 5. Control thread; a process has one screen. It is the terminal's alternate screen where it
 * has one: what stood there before comes back. stdout is never written to. */
#ifndef DLB_BENCH_LIVE_SCREEN_H
#define DLB_BENCH_LIVE_SCREEN_H

#include "bench/live/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether there can be one: stderr is a terminal whose cursor can be moved (TERM), and this build
 * has ncurses. */
bool dlb_screen_possible(void);

/* The terminal's size now, so that a resized window needs no signal. False: this process is in the
 * background, and must not draw. */
bool dlb_screen_size(uint32_t *n_rows, uint32_t *n_columns);

/* Draws, and enters the screen if it was not shown. Sets *wants_end if `q` was typed since. False:
 * it cannot be entered. */
bool dlb_screen_draw(const struct dlb_frame *frame, bool *wants_end);

/* Leaves the screen, so that lines can be written to stderr and stdout; dlb_screen_draw enters it
 * again. */
void dlb_screen_leave(void);

#endif

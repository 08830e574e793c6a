/* The terminal that stderr is.
 *
 * Floor 5. All but the size are async-signal-safe. */
#ifndef DLB_BENCH_LIVE_TERMINAL_H
#define DLB_BENCH_LIVE_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* This process controls it now: it may draw, set modes and read keys. False in the background, and
 * for a terminal of another session. */
bool dlb_terminal_in_front(void);

/* Another program may write to it at the same time: stdout is a pipe, whose reader may be a pager;
 * or a script started this program with `&`, which ignores SIGQUIT. */
bool dlb_terminal_shared(void);

/* It takes output now: nobody typed Ctrl-S, and the connection is not stalled. */
bool dlb_terminal_flows(void);

/* Keys that are typed on it reach stdin. */
bool dlb_terminal_has_keys(void);

/* Now, so that a resized window needs no signal. 24 x 80 if it is not known. */
void dlb_terminal_size(uint32_t *n_rows, uint32_t *n_columns);

#endif

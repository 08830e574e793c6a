/* Gives the terminal back as it was found, however the program ends, but for SIGKILL.
 *
 * Floor 5. A process has one such terminal: stderr. The screen arms it; exit(), signals that end or
 * stop the program, and last words (core/base/last.h) restore. A process that was forked from it
 * never does. From the background the modes are left alone: they are those of another program. */
#ifndef DLB_BENCH_LIVE_RESTORE_H
#define DLB_BENCH_LIVE_RESTORE_H

#include <stdbool.h>
#include <stddef.h>

/* Remembers the bytes that leave what the screen is about to enter. Signals whose default ends the
 * program are caught from then on, until their first delivery; so are SIGTSTP, which still stops
 * it, and SIGCONT. Signals that are ignored stay so. False: `leave` is too long. */
bool dlb_restore_arm(const char *leave, size_t n_leave);

/* The screen is about to be entered (again): the terminal's modes now are those to restore. False:
 * it has none that can be read. */
bool dlb_restore_hold(void);

/* Whether the screen is still held: nothing has restored since. */
bool dlb_restore_holds(void);

/* Whether the program was continued since this was last asked. Meanwhile others used the terminal.
 */
bool dlb_restore_continued(void);

/* Restores, if held. Async-signal-safe. */
void dlb_restore_now(void);

#endif

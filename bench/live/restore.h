/* Gives the terminal back as it was found, however the program ends, but for SIGKILL.
 *
 * Floor 5. A process has one such terminal. The screen arms it; exit() and signals that end the
 * program restore. A process that was forked from it never does. */
#ifndef DLB_BENCH_LIVE_RESTORE_H
#define DLB_BENCH_LIVE_RESTORE_H

#include <stdbool.h>
#include <stddef.h>

/* Remembers the terminal's modes, and the bytes that leave what the screen is about to enter.
 * Signals whose default is the program's end are caught from then on, until their first delivery.
 * False: fd is no terminal whose modes can be read. */
bool dlb_restore_arm(int fd, const char *leave, size_t n_leave);

/* The screen has been entered (again), or was left in order. */
void dlb_restore_wanted(bool wanted);

/* Restores, if wanted. Async-signal-safe. */
void dlb_restore_now(void);

#endif

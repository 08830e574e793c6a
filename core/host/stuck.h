/* Where a process hangs, for a message: the system call that one of its threads waits in, and the
 * file that the call is about.
 *
 * Floor 1. Any thread. Read from /proc, of a process that this one may look into, as its child. */
#ifndef DLB_CORE_HOST_STUCK_H
#define DLB_CORE_HOST_STUCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* "in open() of /data/a.tar", "in a page fault", or "stopped by a signal" (SIGSTOP, a debugger).
 * Looks at the process, then at its descendants, for the first thread that waits for a file: others
 * wait for that one. False: none does, or it is not known. A path holds the bytes that the process
 * gave. Takes 2 s at the longest: what cannot be seen by then is not known. */
bool dlb_stuck_in(pid_t pid, char *text, size_t n_text);

/* Whether the process itself is stopped by a signal or a debugger. */
bool dlb_is_stopped(pid_t pid);

#endif

/* Takes from the calling process what reading a file does not need, for good. For libraries that
 * trust the bytes they read: an attacker's file that takes such a process over can read what the
 * user can, and answer wrongly. It cannot write, create, rename or remove a file, start a program
 * or a process, use the network, signal another process, control the terminal, or take more than
 * half of the machine's memory. docs/security.md has the whole list.
 *
 * Floor 0. A process with one thread. */
#ifndef DLB_CORE_BASE_SANDBOX_H
#define DLB_CORE_BASE_SANDBOX_H

/* NULL, or why this build does not filter system calls. The other limits hold in any build. */
extern const char *const dlb_sandbox_missing;

/* Files that are open for writing stay so, as does the memory that the process shares. Returns 0;
 * or an errno if calls are not filtered, because this build or the kernel does not: the rest holds
 * then. */
int dlb_sandbox_reader(void);

#endif

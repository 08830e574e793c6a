/* Other programs and processes: where a program lies, and how a child process is ended.
 *
 * Floor 0. Any thread. */
#ifndef DLB_CORE_BASE_PROCESS_H
#define DLB_CORE_BASE_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DLB_NO_LIMIT UINT64_MAX

/* The path of a program: `name` itself if it has a slash, else the first file of that name in the
 * folders of PATH that may be run. False: there is none. An empty folder of PATH is passed over,
 * not taken for the current one. */
bool dlb_find_program(const char *name, char path[PATH_MAX]);

/* Where a Python interpreter is looked for: bin/python3 of the active virtual environment
 * (VIRTUAL_ENV), then of conda's (CONDA_PREFIX), python3 on PATH, /usr/bin/python3. False: none is
 * at this place. Two places may hold the same one. */
enum { DLB_N_PYTHON_PLACES = 4 };
bool dlb_find_python(uint32_t place, char path[PATH_MAX]);

/* Waits for a child and reaps it. False: it still runs after limit_ns. *status is 0 where the
 * system reaped it itself, because SIGCHLD is ignored. */
bool dlb_process_reap(pid_t pid, uint64_t limit_ns, int *status);

/* Ends a child: asks by SIGTERM, kills it after patience_ns (0: at once), and reaps it. False: it
 * still runs 2 s after the kill, because it hangs in the kernel. It then ends later, and is not
 * reaped. */
bool dlb_process_end(pid_t pid, uint64_t patience_ns, int *status);

/* Whether the process ignores this signal, as nohup has it ignore SIGHUP. */
bool dlb_signal_is_ignored(int number);

#endif

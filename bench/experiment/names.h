/* The names of the files that a result has, also while they are written.
 *
 * Floor 5. Pure functions, any thread. */
#ifndef DLB_BENCH_EXPERIMENT_NAMES_H
#define DLB_BENCH_EXPERIMENT_NAMES_H

#include <stdbool.h>

/* summary.json, environment.json, summary.txt, report.html, and the journal of a run that has not
 * ended, which is the last; ends with NULL. */
extern const char *const dlb_result_names[];
#define DLB_N_RESULT_NAMES 5
#define DLB_JOURNAL_NAME "journal.jsonl"

/* Whether a result's file has this name. */
bool dlb_is_result_name(const char *name);

/* Whether a result's file has this name, or one that is being written. */
bool dlb_is_result_file(const char *name);

/* Whether the name is that of a file while it is written, FILE.<process>.tmp, as
 * dlb_write_file_atomic names it; then *process is where the number begins. `files` ends with
 * NULL. */
bool dlb_is_temporary(const char *name, const char *const *files, const char **process);

/* The number of a process that the text begins with; *end is what follows it. 0: it begins with
 * none. */
long dlb_process_number(const char *text, const char **end);

#endif

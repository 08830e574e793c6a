/* Files that a verb writes for its user (--write FILE): they replace nothing that it did not write.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_CLI_OWN_FILE_H
#define DLB_BENCH_CLI_OWN_FILE_H

#include "core/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* `mark` is how each file of the verb begins: "# dlbench VERB: ". TARGET_EXISTS if there is a file,
 * unless `overwrite`; TARGET_FOREIGN if it does not begin with the mark, or is no regular file:
 * a link is the user's, whatever it leads to. */
int dlb_own_file_may(const char *path, const char *mark, bool overwrite, struct dlb_err *err);

/* Asks that again, and writes the file whole or not at all. */
int dlb_own_file_write(const char *path, const char *mark, bool overwrite, const char *text,
                       size_t n_bytes, struct dlb_err *err);

#endif

/* Keeps what one cell of a sweep found out about the device for later cells: small files in a
 * folder of the runner. A lost file only costs the time to measure again, so no function here
 * fails.
 *
 * Floor 3. Control thread. */
#ifndef DLB_LOADERS_DEVICE_MEMO_H
#define DLB_LOADERS_DEVICE_MEMO_H

#include <stdbool.h>
#include <stddef.h>

/* `about` names everything that the value depends on. `folder` NULL: nothing is kept or found. */
bool dlb_memo_recall(const char *folder, const char *about, void *value, size_t n_bytes);
void dlb_memo_keep(const char *folder, const char *about, const void *value, size_t n_bytes);

/* Removes the files. */
void dlb_memo_clear(const char *folder);

#endif

/* What one cell of a sweep found out about the device, for the cells after it: small files in a
 * folder of the runner's. To lose one costs its time again and nothing else, so nothing here fails.
 *
 * Floor 3. Control thread. */
#ifndef DLB_LOADERS_DEVICE_MEMO_H
#define DLB_LOADERS_DEVICE_MEMO_H

#include <stdbool.h>
#include <stddef.h>

/* `about` says of what: the whole of what the value depends on. `folder` may be NULL: nothing is
 * kept. */
bool dlb_memo_recall(const char *folder, const char *about, void *value, size_t n_bytes);
void dlb_memo_keep(const char *folder, const char *about, const void *value, size_t n_bytes);

/* Removes what was kept. */
void dlb_memo_clear(const char *folder);

#endif

/* The files of a data set of tokens, as far as they stay open.
 *
 * Floor 2. Opened and closed on the control thread; the rest on any thread.
 *
 * A map needs its file's descriptor to find that the file was cut. Where a data set has more files
 * than three quarters of the descriptors that the process may have, the first stay open (and
 * mapped), and the others are opened for each read. */
#ifndef DLB_FORMATS_TOKENS_OPENED_H
#define DLB_FORMATS_TOKENS_OPENED_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/mapguard.h"
#include "formats/tokens/tokens.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_tokens_kept {
    int64_t handle;
    struct dlb_map map; /* DLB_ACCESS_MMAP only */
};

struct dlb_tokens_opened {
    const struct dlb_io *io;
    const struct dlb_tokens_files *files; /* borrowed */
    int access;                           /* enum dlb_access */
    size_t align_bytes;                   /* of DLB_ACCESS_DIRECT; else 0 */
    struct dlb_tokens_kept *kept;         /* of the first n_kept files; owned */
    uint32_t n_kept;
};

/* Opens every file once, so that what cannot be opened is found. `io` and `files` outlive it. Close
 * it in any case. */
int dlb_tokens_opened_make(struct dlb_tokens_opened *opened, const struct dlb_io *io,
                           const struct dlb_tokens_files *files, int access, struct dlb_err *err);
void dlb_tokens_opened_free(struct dlb_tokens_opened *opened);

/* For a read of file `number`; release it behind the read. */
int dlb_tokens_opened_take(const struct dlb_tokens_opened *opened, uint32_t number, int64_t *handle,
                           struct dlb_err *err);
void dlb_tokens_opened_release(const struct dlb_tokens_opened *opened, uint32_t number,
                               int64_t handle);

/* NULL: the file is not mapped. */
static inline const struct dlb_map *dlb_tokens_opened_map(const struct dlb_tokens_opened *opened,
                                                          uint32_t number)
{
    return opened->access == DLB_ACCESS_MMAP && number < opened->n_kept ? &opened->kept[number].map
                                                                        : NULL;
}

#endif

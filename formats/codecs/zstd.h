/* zstd frames through libzstd; zstd.c is the only file that includes it.
 *
 * Floor 2. One thread for each struct. A build without libzstd returns DLB_E_MISSING. A frame's
 * claims are checked before memory is allocated: it may not unpack to more than
 * DLB_UNZSTD_EXPANSION times its size plus DLB_UNZSTD_FREE_BYTES, nor to more than the caller's
 * limit. A stream without its size may not need a window above 128 MiB (libzstd's own limit for
 * unpacking). */
#ifndef DLB_FORMATS_CODECS_ZSTD_H
#define DLB_FORMATS_CODECS_ZSTD_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stddef.h>
#include <stdint.h>

#define DLB_UNZSTD_EXPANSION 1000
#define DLB_UNZSTD_FREE_BYTES (UINT64_C(1) << 20)
#define DLB_UNZSTD_WINDOW_LOG 27

/* A zeroed struct is empty. The context is made once and reused for every frame. */
struct dlb_unzstd {
    void *context;
    struct dlb_bytes out; /* of the last call */
};

/* All frames of `data`, one after the other, into unzstd->out. `limit_bytes` 0: only the limits
 * above. DLB_E_FORMAT, without a path, for anything but whole frames. */
int dlb_unzstd(struct dlb_unzstd *unzstd, const uint8_t *data, size_t n_bytes, uint64_t limit_bytes,
               struct dlb_err *err);
void dlb_unzstd_free(struct dlb_unzstd *unzstd);

/* One frame with its size and checksum, at libzstd's default level; appended to out. */
int dlb_zstd_append(struct dlb_bytes *out, const void *data, size_t n_bytes, struct dlb_err *err);

#endif

/* The directory of a ZIP file: where its members lie, so that they can be read at random.
 *
 * Floor 2. Opened on the control thread, read-only afterwards. An own reader and no library: rows
 * of a stored member are read by pread at their place, which libraries do not give away. ZIP64,
 * stored and deflated members (APPNOTE.TXT 6.3.10, 4.3 and 4.5.3); no encryption, no archive in
 * parts. */
#ifndef DLB_FORMATS_NUMPY_ZIP_H
#define DLB_FORMATS_NUMPY_ZIP_H

#include "core/base/err.h"
#include "core/base/io.h"

#include <stddef.h>
#include <stdint.h>

enum { DLB_ZIP_STORED = 0, DLB_ZIP_DEFLATED = 8 }; /* 4.4.5 */

/* More than any archive of arrays has: a directory beyond is refused, not read. */
#define DLB_ZIP_MAX_DIRECTORY_BYTES (UINT64_C(256) << 20)

struct dlb_zip_member {
    const char *name; /* ends with zero; in the archive's names */
    uint32_t method, crc;
    uint64_t stored_bytes, n_bytes; /* in the file, and inflated */
    uint64_t header_at;             /* of the local header */
};

struct dlb_zip {
    struct dlb_zip_member *member; /* in the directory's order; owned */
    uint64_t n;
    uint64_t directory_at; /* members end before it */
    char *names;           /* owned */
};

/* DLB_E_FORMAT with the offset for what is no ZIP, or lies about itself. Free it in any case. */
int dlb_zip_open(struct dlb_zip *zip, const struct dlb_io *io, int64_t handle, const char *path,
                 struct dlb_err *err);
void dlb_zip_free(struct dlb_zip *zip);

/* Where the member's bytes begin, by its local header; all stored_bytes of them lie in the file.
 * DLB_E_FORMAT for an encrypted one, or a local header that is none. */
int dlb_zip_locate(const struct dlb_zip *zip, const struct dlb_zip_member *member,
                   const struct dlb_io *io, int64_t handle, const char *path, uint64_t *data_at,
                   struct dlb_err *err);

#endif

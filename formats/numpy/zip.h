/* The directory of a ZIP file: where its members lie, so that they can be read in any order.
 *
 * Floor 2. Opened on the control thread, read-only afterwards. No library is used, because rows of
 * a stored member are read by pread at their offsets, which libraries do not tell. ZIP64, stored
 * and deflated members are known (APPNOTE.TXT 6.3.10, 4.3 and 4.5.3); encrypted or split archives
 * are not. */
#ifndef DLB_FORMATS_NUMPY_ZIP_H
#define DLB_FORMATS_NUMPY_ZIP_H

#include "core/base/err.h"
#include "core/base/io.h"

#include <stddef.h>
#include <stdint.h>

enum { DLB_ZIP_STORED = 0, DLB_ZIP_DEFLATED = 8 }; /* 4.4.5 */

/* More than any archive of arrays needs. A larger directory is refused. */
#define DLB_ZIP_MAX_DIRECTORY_BYTES (UINT64_C(256) << 20)

/* The open file that holds the archive. */
struct dlb_zip_file {
    const struct dlb_io *io;
    int64_t handle;
    const char *path; /* for messages; borrowed */
};

struct dlb_zip_member {
    const char *name; /* zero-terminated; borrowed from the archive's names */
    uint32_t method, crc;
    uint64_t stored_bytes, n_bytes; /* in the file, and after inflating */
    uint64_t header_at;             /* of the local header */
};

struct dlb_zip {
    struct dlb_zip_member *member; /* [n] in the directory's order; owned */
    uint64_t n;
    uint64_t directory_at; /* offset of the directory; members lie before it */
    char *names;           /* owned */
};

/* DLB_E_FORMAT, with the offset, when it is not a ZIP file or contradicts itself. Free *zip in any
 * case. */
int dlb_zip_open(struct dlb_zip *zip, const struct dlb_zip_file *file, struct dlb_err *err);
void dlb_zip_free(struct dlb_zip *zip);

/* Reads the member's local header: *data_at is where its bytes begin. All stored_bytes of them lie
 * in the file. DLB_E_FORMAT when it is encrypted or has no valid header. */
int dlb_zip_locate(const struct dlb_zip *zip, const struct dlb_zip_member *member,
                   const struct dlb_zip_file *file, uint64_t *data_at, struct dlb_err *err);

#endif

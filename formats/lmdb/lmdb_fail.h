/* Errors of liblmdb.
 *
 * Floor 2. Any thread. Only the files that call liblmdb include it. */
#ifndef DLB_FORMATS_LMDB_LMDB_FAIL_H
#define DLB_FORMATS_LMDB_LMDB_FAIL_H

#include "core/base/err.h"

/* `code` is liblmdb's (negative), or an errno: its code is then the one that errno calls for.
 * DLB_ERR_LMDB_DAMAGED for codes that say so, else DLB_ERR_LMDB_FAILED. */
int dlb_lmdb_fail(struct dlb_err *err, const char *path, int code, const char *doing);

#endif

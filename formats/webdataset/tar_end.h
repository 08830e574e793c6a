/* Reading a tar archive to the end of its file, behind the end-of-archive mark: what tar.c and
 * tar_end.c need of each other.
 *
 * Floor 2. As tar.h. */
#ifndef DLB_FORMATS_WEBDATASET_TAR_END_H
#define DLB_FORMATS_WEBDATASET_TAR_END_H

#include "formats/webdataset/tar.h"

/* The next piece of an archive that is being unpacked; *n_bytes 0 at its end. An error is in
 * tar->io_err. */
int dlb_tar_unpack(struct dlb_tar *tar, const void **piece, size_t *n_bytes);

/* Padding follows the end mark of an unpacked archive, and then the stream's checksum: reads to its
 * end. DLB_END, or how unpacking failed. */
int dlb_tar_drain(struct dlb_tar *tar, struct dlb_err *err);

#endif

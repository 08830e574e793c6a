/* How a whole tar archive is compressed, told by its first bytes.
 *
 * Floor 2. Pure functions. */
#ifndef DLB_FORMATS_WEBDATASET_PACK_H
#define DLB_FORMATS_WEBDATASET_PACK_H

#include <stddef.h>
#include <stdint.h>

enum dlb_tar_pack { DLB_TAR_PLAIN, DLB_TAR_GZ, DLB_TAR_ZST };
extern const char *const dlb_tar_pack_names[]; /* "none", "gz", "zst"; ends with NULL */

enum dlb_tar_pack dlb_tar_pack_of(const uint8_t *data, size_t n_bytes);

/* RFC 8878: a frame that carries no data. The length of the one that begins here; 0: none does. */
uint64_t dlb_tar_skippable_bytes(const uint8_t *data, size_t n_bytes);

#endif

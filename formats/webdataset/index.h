/* Where the members of a plain shard lie, so that its samples can be read at random.
 *
 * Floor 2. Filled by one thread while the data set opens, read by any afterwards. 12 bytes a field
 * and 4 a sample: 36 MB for ImageNet's training images with their labels. */
#ifndef DLB_FORMATS_WEBDATASET_INDEX_H
#define DLB_FORMATS_WEBDATASET_INDEX_H

#include "core/base/err.h"
#include "formats/reader.h"
#include "formats/webdataset/tar.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_wds_entry; /* a field, packed */

struct dlb_wds_index {
    struct dlb_wds_entry *entries;
    uint32_t *first; /* entry of each sample; one more element: n_entries */
    char (*names)[DLB_FIELD_NAME_BYTES];
    uint32_t n_entries, n_samples, n_names;
    uint32_t cap_entries, cap_samples, cap_names;
};

/* A field, unpacked. */
struct dlb_wds_where {
    uint64_t at_bytes, n_bytes;
    const char *name; /* the index's own */
};

/* Adds the next member of the shard; `starts`: it is the first of a sample. DLB_E_FORMAT beyond the
 * index's limits: 1,024 field names, members of 256 TiB, shards of 2 TiB. */
int dlb_wds_index_add(struct dlb_wds_index *index, const struct dlb_tar_member *member,
                      const char *field_name, bool starts, const char *path, struct dlb_err *err);
/* Completes the index, and frees memory that it does not need. */
int dlb_wds_index_finish(struct dlb_wds_index *index, const char *path, struct dlb_err *err);
void dlb_wds_index_free(struct dlb_wds_index *index);

/* The fields of a sample, in the archive's order; returns how many (at most DLB_MAX_FIELDS). */
uint32_t dlb_wds_index_fields(const struct dlb_wds_index *index, uint32_t sample,
                              struct dlb_wds_where *fields);

#endif

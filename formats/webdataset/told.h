/* What a manifest tells of a shard, against what is in it.
 *
 * Floor 2. Counts from a manifest spare reading all headers when a data set opens. A few shards are
 * looked at then; the others are compared as they are read. Any thread. */
#ifndef DLB_FORMATS_WEBDATASET_TOLD_H
#define DLB_FORMATS_WEBDATASET_TOLD_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/webdataset/scan.h"

#include <stdbool.h>
#include <stdint.h>

/* What was read of a shard so far, from its start. */
struct dlb_wds_read {
    uint64_t n_samples, n_bytes, max_sample_bytes;
};

static inline void dlb_wds_read_add(struct dlb_wds_read *read, uint64_t n_bytes)
{
    read->n_samples++;
    read->n_bytes += n_bytes;
    if (n_bytes > read->max_sample_bytes)
        read->max_sample_bytes = n_bytes;
}

/* DLB_OK unless the shard's counts are a manifest's and do not fit what was read; `ended`: it is
 * all that the shard holds. The error names the manifest, and how to go on without it. */
int dlb_wds_told_check(const struct dlb_wds_shard *shard, const struct dlb_wds_read *read,
                       bool ended, struct dlb_err *err);

/* Looks at the first samples of some of the shards. Returns false, and *err as above, if a
 * manifest's counts do not fit one of them. Shards that cannot be read count as fitting: readers
 * report those. */
bool dlb_wds_told_fits(const struct dlb_wds_shard *shards, uint32_t n_shards,
                       const struct dlb_io *io, struct dlb_err *err);

#endif

#include "formats/webdataset/told.h"

#include "core/base/escape.h"

#ifdef DLB_HAVE_LIBARCHIVE

#include "formats/generate/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that inspect looks at, so that it shows no figure that what it read disproves. */
enum { LOOK_SHARDS = 8, LOOK_SAMPLES = 64, LOOK_BLOCK_BYTES = 4096 };
#define LOOK_UNPACKED_BYTES                                                                        \
    (UINT64_C(1) << 20) /* of a compressed shard; each process that opens it                       \
                            pays for that */

int dlb_wds_told_check(const struct dlb_wds_shard *shard, const struct dlb_wds_read *read,
                       bool ended, struct dlb_err *err)
{
    if (!shard->told)
        return DLB_OK;
    bool fits = read->n_samples <= shard->n_samples && read->n_bytes <= shard->n_bytes &&
                read->max_sample_bytes <= shard->max_sample_bytes;
    if (ended)
        fits = fits && read->n_samples == shard->n_samples && read->n_bytes == shard->n_bytes &&
               read->max_sample_bytes == shard->max_sample_bytes;
    if (fits)
        return DLB_OK;
    const char *slash = strrchr(shard->path, '/'), *name = slash ? slash + 1 : shard->path;
    char *manifest = NULL;
    if (asprintf(&manifest, "%.*s%s", (int)(name - shard->path), shard->path, DLB_MANIFEST_NAME) <
        0)
        return dlb_fail_memory(err, shard->path, strlen(shard->path) + sizeof DLB_MANIFEST_NAME);
    (void)dlb_fail(err, DLB_ERR_SOURCE_CHANGED, manifest, DLB_NO_OFFSET,
                   "does not fit the data: %.*s has %s%llu samples of %llu bytes in all, the "
                   "largest of %llu, not %llu of %llu, the largest of %llu. Delete this file, or "
                   "write the data again",
                   DLB_CUT(name, 100), ended ? "" : "at least ",
                   (unsigned long long)read->n_samples, (unsigned long long)read->n_bytes,
                   (unsigned long long)read->max_sample_bytes, (unsigned long long)shard->n_samples,
                   (unsigned long long)shard->n_bytes, (unsigned long long)shard->max_sample_bytes);
    free(manifest);
    return (int)err->status;
}

struct looking {
    struct dlb_tar tar;
    struct dlb_wds_group group;
};

/* DLB_OK: nothing says that the counts are wrong. */
static int look_at(struct looking *looking, const struct dlb_wds_shard *shard, uint64_t n_samples,
                   const struct dlb_io *io, struct dlb_err *err)
{
    struct dlb_wds_read read = {.n_samples = 0};
    struct dlb_tar_member member;
    struct dlb_err ignored;
    uint64_t n_bytes = 0;
    int rc = dlb_tar_open(&looking->tar, io, shard->path, LOOK_BLOCK_BYTES, true, &ignored);

    if (rc != DLB_OK)
        return DLB_OK;
    dlb_wds_group_reset(&looking->group);
    while (read.n_samples < n_samples &&
           !(looking->tar.in.unpacker && looking->tar.in.at_bytes > LOOK_UNPACKED_BYTES) &&
           (rc = dlb_wds_next_member(&looking->tar, &member, NULL, &ignored)) == DLB_OK) {
        if (looking->group.n_fields && dlb_wds_group_starts(&looking->group, &member)) {
            dlb_wds_read_add(&read, n_bytes);
            dlb_wds_group_reset(&looking->group);
            n_bytes = 0;
        }
        if (dlb_wds_group_add(&looking->group, &member, shard->path, &ignored) != DLB_OK ||
            dlb_tar_check(&looking->tar, &member, &ignored) != DLB_OK)
            return DLB_OK;
        n_bytes += member.n_bytes;
    }
    if (rc == DLB_END && looking->group.n_fields)
        dlb_wds_read_add(&read, n_bytes);
    return rc == DLB_OK || rc == DLB_END ? dlb_wds_told_check(shard, &read, rc == DLB_END, err)
                                         : DLB_OK;
}

bool dlb_wds_told_fits(const struct dlb_wds_shard *shards, uint32_t n_shards,
                       const struct dlb_io *io, struct dlb_err *err)
{
    struct looking looking = {.tar = {.in.handle = -1}};
    uint64_t n = n_shards < LOOK_SHARDS ? n_shards : LOOK_SHARDS;
    bool fits = true;

    for (uint64_t i = 0; i < n && fits; i++) {
        const struct dlb_wds_shard *shard = &shards[i * n_shards / n];
        fits = !shard->told || look_at(&looking, shard, LOOK_SAMPLES / n + 1, io, err) == DLB_OK;
    }
    dlb_tar_free(&looking.tar);
    dlb_wds_group_free(&looking.group);
    return fits;
}

#endif

/* The shards of a WebDataset: found, in their order, and counted.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_WEBDATASET_LIST_H
#define DLB_FORMATS_WEBDATASET_LIST_H

#include "core/base/err.h"
#include "formats/format.h"
#include "formats/webdataset/scan.h"

struct dlb_wds_list {
    struct dlb_wds_shard *shards;
    uint32_t n_shards, cap_shards;
    uint32_t n_left_out;           /* .tar.xz and the like */
    struct dlb_wds_index *indexes; /* one for each shard; NULL when nobody asked */
};

/* `path`: a folder of shards, one shard, or a list of either (formats/webdataset/braces.h); shards
 * of a folder are sorted by name, those of a list stay in its order. What a manifest beside a shard
 * of the same size knows is taken from it, the rest is scanned. Adds what is odd, and the number of
 * classes where it is known, to *shape. `indexed`: their members are noted too; compressed or
 * damaged shards are refused. */
int dlb_wds_list_make(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                      bool indexed, struct dlb_shape *shape, struct dlb_err *err);
void dlb_wds_list_free(struct dlb_wds_list *list);

/* How a shard is compressed by its name; -1: it is none. */
int dlb_wds_pack_of_name(const char *name);

int dlb_wds_probe(const char *path, const struct dlb_io *io);

#endif

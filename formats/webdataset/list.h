/* The shards of a WebDataset: finds, sorts and counts them.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_WEBDATASET_LIST_H
#define DLB_FORMATS_WEBDATASET_LIST_H

#include "core/base/err.h"
#include "formats/format.h"
#include "formats/left_out.h"
#include "formats/webdataset/scan.h"

struct dlb_wds_list {
    struct dlb_wds_shard *shards;
    uint32_t n_shards, cap_shards;
    uint32_t n_left_out;           /* .tar.xz and the like */
    struct dlb_wds_index *indexes; /* one for each shard; NULL unless `indexed` */
};

/* `path`: a folder of shards, one shard, or a list of either (formats/webdataset/braces.h). Shards
 * of a folder are sorted by name, those of a list keep its order. Counts are taken from a manifest
 * beside the shard if it lists the shard with its present size; other shards are scanned. Adds
 * oddities, and the number of classes where it is known, to *shape. `indexed`: the members are
 * indexed too, and compressed or damaged shards are refused. */
int dlb_wds_list_make(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                      bool indexed, struct dlb_shape *shape, struct dlb_err *err);
void dlb_wds_list_free(struct dlb_wds_list *list);

/* A shard's compression (enum dlb_tar_pack) by its name; -1: not a shard. */
int dlb_wds_pack_of_name(const char *name);

int dlb_wds_probe(const char *path, const struct dlb_io *io);

#endif

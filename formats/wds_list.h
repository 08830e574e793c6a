/* The shards of a WebDataset: found, sorted by name, and counted.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_WDS_LIST_H
#define DLB_FORMATS_WDS_LIST_H

#include "bench/base/err.h"
#include "formats/format.h"
#include "formats/wds_scan.h"

struct dlb_wds_list {
    struct dlb_wds_shard *shards;
    uint32_t n_shards, cap_shards;
    uint32_t n_compressed; /* .tar.gz and the like, left out */
};

/* `path`: a folder of *.tar, or one archive. What the manifest knows of a shard of the same size is
 * taken from it, the rest is scanned. Adds what is odd, and the number of classes where it is
 * known, to *shape. */
int dlb_wds_list_make(struct dlb_wds_list *list, const char *path, const struct dlb_io *io,
                      struct dlb_shape *shape, struct dlb_err *err);
void dlb_wds_list_free(struct dlb_wds_list *list);

int dlb_wds_probe(const char *path, const struct dlb_io *io);

#endif

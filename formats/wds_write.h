/* WebDataset shards, written: shard-000042.tar with 00042000.jpg, 00042000.cls, ...; a unit is a
 * shard.
 *
 * Floor 2. Threads as in formats/format.h. */
#ifndef DLB_FORMATS_WDS_WRITE_H
#define DLB_FORMATS_WDS_WRITE_H

#include "formats/format.h"

/* The `webdataset` section. */
struct dlb_wds_opts {
    int64_t shard_samples;
};
extern const struct dlb_opt_group dlb_wds_group_opts;

uint64_t dlb_wds_gen_units(const struct dlb_gen *gen);
int dlb_wds_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_wds_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err);
/* "shards": name -> {file_bytes, samples, bytes, max_sample_bytes}, so that open need not scan
 * them. */
int dlb_wds_gen_describe(const struct dlb_gen *gen, json_t *manifest, struct dlb_err *err);

#endif

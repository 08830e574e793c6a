/* How gen writes WebDataset shards: shard-000042.tar (or .tar.gz, .tar.zst) with 00042000.jpg,
 * 00042000.cls, ...; a unit is a shard.
 *
 * Floor 2. Threads as in formats/generator.h. */
#ifndef DLB_FORMATS_WEBDATASET_WRITE_H
#define DLB_FORMATS_WEBDATASET_WRITE_H

#include "formats/format.h"
#include "formats/webdataset/scan.h"
#include "formats/webdataset/tar.h"

/* The `webdataset` section. */
struct dlb_wds_opts {
    int64_t shard_samples;
    int compression; /* enum dlb_tar_pack */
};
extern const struct dlb_opt_group dlb_wds_group_opts;

/* "folder/shard-000042.tar.zst", one of n_shards; malloced; NULL when memory is short. */
char *dlb_wds_shard_path(const char *folder, uint64_t number, uint64_t n_shards,
                         enum dlb_tar_pack pack);
/* Adds a shard's counts under its name to the manifest's "shards", where opening finds them:
 * file_bytes, samples, bytes, max_sample_bytes. */
void dlb_wds_note_shard(json_t *shards, const struct dlb_wds_shard *shard);

uint64_t dlb_wds_gen_units(const struct dlb_gen *gen);
bool dlb_wds_gen_makes(const struct dlb_gen *gen, const char *name);
bool dlb_wds_gen_compresses(const struct dlb_gen *gen);
int dlb_wds_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_wds_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err);
/* Lists all shards, so that opening need not scan them. */
int dlb_wds_gen_describe(const struct dlb_gen *gen, json_t *manifest, struct dlb_err *err);

#endif

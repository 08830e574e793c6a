/* Writes the samples of another format to WebDataset shards (struct dlb_writer): a key and a shard
 * by the sample's number in the source, a member for each field, the label as "cls" where a sample
 * has a label and no such field, and a manifest with the shards' counts.
 *
 * Floor 2. One thread. */
#ifndef DLB_FORMATS_WEBDATASET_CONVERT_H
#define DLB_FORMATS_WEBDATASET_CONVERT_H

#include "formats/format.h"
#include "formats/webdataset/scan.h"
#include "formats/webdataset/tar_write.h"

#include <jansson.h>

struct dlb_wds_writer {
    char *folder;
    char *list_folder; /* where the manifest is written */
    uint64_t shard_samples, n_samples, shard_number;
    uint64_t n_shards; /* at most: samples may be left out */
    enum dlb_tar_pack pack;
    int n_digits;
    uint64_t n_classes;
    json_t *shards;             /* of the manifest */
    struct dlb_wds_shard shard; /* being written; path NULL: none */
    struct dlb_tar_writer tar;
    int fd; /* -1: none */
};

int dlb_wds_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err);
int dlb_wds_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err);
int dlb_wds_writer_finish(void *wr, struct dlb_err *err);
void dlb_wds_writer_close(void *wr);
uint64_t dlb_wds_writer_unit_samples(const void *opts);
int dlb_wds_writer_join(const struct dlb_write *how, const char *const *aside, uint32_t n,
                        struct dlb_err *err);

#endif

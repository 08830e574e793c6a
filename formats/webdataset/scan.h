/* Which members of a tar archive make a sample, and how many samples a shard has.
 *
 * Floor 2. Any thread. The rules are webdataset's (tariterators.py). A sample is a run of adjacent
 * members with the same key. The key is the path up to the first dot of the basename; the rest, in
 * lower case, is the field. Members without either, members below or named `__...__`, and members
 * that are not regular files are skipped. One exception: webdataset reads dir/.name.ext as
 * the key "dir/" and the field "name.ext". Here such a member is skipped, as one without a key:
 * archives of macOS hold dir/._name.ext beside each dir/name.ext. Members behind the end-of-archive
 * mark are not read. A field that occurs twice in a sample is an error. */
#ifndef DLB_FORMATS_WEBDATASET_SCAN_H
#define DLB_FORMATS_WEBDATASET_SCAN_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/format.h"
#include "formats/webdataset/index.h"
#include "formats/webdataset/tar.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the key in `name`, and the field after its dot; 0 when the member belongs to no sample.
 */
size_t dlb_wds_key(const char *name, const char **field);

/* The sample that is being assembled. */
struct dlb_wds_group {
    struct dlb_bytes key;
    uint64_t field_hash[DLB_MAX_FIELDS]; /* of whole names, in lower case */
    uint32_t n_fields;
    char field_name[DLB_MAX_FIELDS + 1][DLB_FIELD_NAME_BYTES]; /* in lower case, cut; the last is of
                                                                  one too many */
};

/* Whether the member is the first of a new sample (the one before is complete). */
bool dlb_wds_group_starts(const struct dlb_wds_group *group, const struct dlb_tar_member *member);
void dlb_wds_group_reset(struct dlb_wds_group *group);
/* Adds a member. DLB_E_FORMAT for a field that occurs twice, or too many fields. */
int dlb_wds_group_add(struct dlb_wds_group *group, const struct dlb_tar_member *member,
                      const char *path, struct dlb_err *err);
void dlb_wds_group_free(struct dlb_wds_group *group);

/* Members that belong to no sample. */
struct dlb_wds_left_out {
    uint64_t n_special;  /* links, pipes and devices */
    uint64_t n_nameless; /* files whose names have no dot, or begin with it */
    uint64_t n_meta;     /* files below or named `__...__` */
    char nameless[64];   /* the first of them */
    char meta[64];
};

/* The next member that belongs to a sample; DLB_END. Adds those before it to *left_out, unless that
 * is NULL. */
int dlb_wds_next_member(struct dlb_tar *tar, struct dlb_tar_member *member,
                        struct dlb_wds_left_out *left_out, struct dlb_err *err);

struct dlb_wds_shard {
    char *path; /* owned by the maker of the struct */
    uint64_t file_bytes;
    uint64_t n_samples, n_bytes, max_sample_bytes; /* complete samples before the first error */
    bool known;                                    /* the three above */
    bool told;                                     /* by a manifest; else counted */
    struct dlb_wds_left_out left_out;
    uint64_t n_again;       /* samples with the key of an earlier one of the shard */
    char again[64];         /* the first of these keys */
    uint64_t behind_at;     /* data behind the end-of-archive mark; 0: none were seen */
    uint64_t padding_bytes; /* from the mark to the end, if it is more than padding explains */
    enum dlb_tar_pack pack; /* by its name; after a scan, by its content */
    bool lacks_end;         /* no end-of-archive mark: perhaps cut between two members */
    struct dlb_err problem; /* the error where reading will fail; status DLB_OK: none */
};

/* Fills in the shards that are not known, several at a time. Of plain shards only the headers are
 * read; compressed shards are unpacked. `indexes`, one for each shard, or NULL: indexes the members
 * of plain shards, and leaves compressed shards alone. Damage is stored in the shard's `problem`;
 * only a lack of memory fails. */
int dlb_wds_scan(const struct dlb_io *io, struct dlb_wds_shard *shards, uint32_t n_shards,
                 struct dlb_wds_index *indexes, struct dlb_err *err);

#endif

/* What the listing of a folder of shards leaves out, so that a data set names it as odd.
 *
 * Floor 2. Control thread. The shards of a data set lie in its folder. Files that look like shards
 * but are hidden, unfinished or in folders below are not read. They are counted here, each kind
 * with its first path. A link that leads nowhere, a pipe or a device that is named as a shard
 * counts as a shard: opening it fails, as for any shard that cannot be read. A probe counts only
 * regular files, so that such a name alone does not make a folder one of shards. */
#ifndef DLB_FORMATS_LEFT_OUT_H
#define DLB_FORMATS_LEFT_OUT_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a visible file of this name is a shard, as the format has it. Unfinished ones are told
 * from these before, so it may also take "a.tfrecord.tmp". */
typedef bool dlb_is_shard(const char *name);

enum dlb_left_out_kind {
    DLB_LEFT_OUT_HIDDEN,     /* ".a.tar" */
    DLB_LEFT_OUT_UNFINISHED, /* "a.tar.part" */
    DLB_LEFT_OUT_FOLDER,     /* a folder that is named as a shard */
    DLB_LEFT_OUT_BELOW,      /* shards in folders below */
    DLB_LEFT_OUT_UNSEEN,     /* folders below that were not looked through to their end */
    DLB_LEFT_OUT_KINDS,
};

/* A file of a numbered set, such as train-00003-of-00128.tar. */
struct dlb_left_out_numbered {
    char *set; /* its name, with * for the number */
    uint32_t number, of;
};

struct dlb_left_out {
    const struct dlb_io *io;
    const char *folder; /* borrowed */
    dlb_is_shard *is_shard;
    bool probes; /* only regular files are shards */
    uint64_t n[DLB_LEFT_OUT_KINDS];
    char *first[DLB_LEFT_OUT_KINDS]; /* the path that sorts first */
    struct dlb_left_out_numbered *numbered;
    size_t n_numbered, cap_numbered;
    char **below; /* names of folders below, at least of those that are looked into */
    size_t n_below, cap_below;
    uint32_t n_looked; /* these and their entries */
};

enum dlb_entry_role {
    DLB_ENTRY_SHARD, /* to be read */
    DLB_ENTRY_NOTED, /* counted here, or a folder or a hidden file that holds no shard */
    DLB_ENTRY_OTHER, /* a visible file, link or pipe that is not named as a shard */
};

/* What an entry of the folder is, for the callback of its listing. */
int dlb_left_out_see(struct dlb_left_out *left_out, const struct dlb_io_entry *entry,
                     enum dlb_entry_role *role, struct dlb_err *err);

/* After the listing, if the data set opens: looks into folders below, four levels deep and up to
 * 1,024 folders and files in all, which a probe need not do. It enters neither links nor other file
 * systems. Then adds a sentence for each kind to shape->odd, and one for numbers that are missing.
 */
void dlb_left_out_tell(struct dlb_left_out *left_out, struct dlb_shape *shape);

void dlb_left_out_free(struct dlb_left_out *left_out);

#endif

/* The temporary folder of a conversion: TARGET.part-PID.
 *
 * Floor 2. Control thread. It holds the data under the target's own name, folders of shares
 * (share.h), and a mark that the converting process keeps locked. It is this program's if its mark
 * can be read. */
#ifndef DLB_FORMATS_CONVERT_PART_H
#define DLB_FORMATS_CONVERT_PART_H

#include "core/base/err.h"
#include "formats/generate/mark.h"
#include "formats/generate/stays.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_PART_WORD ".part-"
#define DLB_PART_SHARE ".share-" /* NAME.share-RANK: the folder of a share */

/* The machine is known by its boot, or, after another one, by its name: that of a container differs
 * each time. */
struct dlb_part_mark {
    char id[DLB_MARK_ID], boot[DLB_MARK_ID], node[256];
};

/* Makes the folder and its mark, locked. DLB_ERR_TARGET_BUSY if another process has taken it. `id`:
 * drawn for it. */
int dlb_part_make(const char *part, char id[DLB_MARK_ID], int *mark_fd, struct dlb_err *err);

/* The mark in an open folder; -1 with errno. */
int dlb_part_open_mark(int part, int flags);
bool dlb_part_read_mark(int mark_fd, struct dlb_part_mark *mark);

/* NFS may not lock across machines, so that a lock taken here says nothing of that process. */
bool dlb_part_is_elsewhere(const struct dlb_part_mark *mark);

/* Which folders or files change places: noted before they do, where that takes two steps, so that
 * what a kill leaves in between is known by its inodes. */
struct dlb_part_swap {
    uint64_t old_inode, new_inode;
};
int dlb_part_note_swap(const char *part, const struct dlb_part_swap *swap, struct dlb_err *err);
bool dlb_part_read_swap(int part, struct dlb_part_swap *swap);

/* Removes what a conversion to `name` puts into `part`, a path below the open folder `at`, and then
 * the folder. The mark goes last. Anything else stays, with the mark and the folder: then false,
 * and *stays has the reason. Allocates nothing. */
bool dlb_part_remove(int at, const char *part, const char *name, struct dlb_stays *stays);

/* Removes the folder if it holds nothing but the mark, or nothing at all. */
bool dlb_part_remove_empty(int at, const char *part);

#endif

#include "formats/convert/part.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "core/base/remove.h"
#include "formats/generate/names.h"
#include "formats/generate/owned.h"
#include "formats/generate/stays.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_NAME ".dlbench-convert"
#define SWAP_NAME ".dlbench-swap"
#define SWAP_TEXT "old %" PRIu64 "\nnew %" PRIu64 "\n"
/* As core/base/io_write.c names files that are being written. */
#define SWAP_NAMES SWAP_NAME " " SWAP_NAME ".#.tmp " SWAP_NAME ".#-#.tmp"
/* In the folder of a share: kept.c, and the list of webdataset's shards. */
#define SHARE_NAMES                                                                                \
    "keys kept written read .dlbench-manifest.json .dlbench-manifest.json.#.tmp "                  \
    ".dlbench-manifest.json.#-#.tmp"

static void name_machine(struct dlb_part_mark *mark)
{
    dlb_gen_mark_uuid("boot_id", mark->boot);
    (void)gethostname(mark->node, sizeof mark->node - 1);
}

int dlb_part_open_mark(int part, int flags)
{
    return openat(part, MARK_NAME, flags | O_CLOEXEC | O_NOFOLLOW);
}

bool dlb_part_read_mark(int mark_fd, struct dlb_part_mark *mark)
{
    return pread(mark_fd, mark, sizeof *mark, 0) == (ssize_t)sizeof *mark;
}

bool dlb_part_is_elsewhere(const struct dlb_part_mark *mark)
{
    struct dlb_part_mark here = {.id = ""};

    name_machine(&here);
    return memcmp(mark->boot, here.boot, sizeof here.boot) != 0 &&
           memcmp(mark->node, here.node, sizeof here.node) != 0;
}

/* Synced, so that other machines see it. */
static int write_mark(int mark_fd, char id[DLB_MARK_ID], const char *path, struct dlb_err *err)
{
    struct dlb_part_mark mark = {.id = ""};

    dlb_gen_mark_uuid("uuid", mark.id);
    name_machine(&mark);
    memcpy(id, mark.id, DLB_MARK_ID);
    int rc = dlb_write_all(mark_fd, path, &mark, sizeof mark, err);
    if (rc == DLB_OK && fsync(mark_fd) != 0)
        rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "syncing to disk");
    return rc;
}

int dlb_part_make(const char *part, char id[DLB_MARK_ID], int *mark_fd, struct dlb_err *err)
{
    char *mark = dlb_mem_check(dlb_path_join(part, MARK_NAME));
    int rc = DLB_OK;

    if (mkdir(part, 0777) != 0) {
        rc = dlb_fail_errno(err, part, DLB_NO_OFFSET, "making the temporary folder");
        goto out;
    }
    *mark_fd = open(mark, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*mark_fd < 0) {
        rc = dlb_fail_errno(err, mark, DLB_NO_OFFSET, "marking the temporary folder");
        (void)rmdir(part);
        goto out;
    }
    if (flock(*mark_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        rc = dlb_fail(err, DLB_ERR_TARGET_BUSY, part, DLB_NO_OFFSET,
                      "another convert to the same target has just started: wait for it");
    else
        rc = write_mark(*mark_fd, id, mark, err);
out:
    free(mark);
    return rc;
}

int dlb_part_note_swap(const char *part, const struct dlb_part_swap *swap, struct dlb_err *err)
{
    char text[80], *path = dlb_mem_check(dlb_path_join(part, SWAP_NAME));
    int n = snprintf(text, sizeof text, SWAP_TEXT, swap->old_inode, swap->new_inode);
    int rc = dlb_write_file_atomic(path, text, (size_t)n, err);

    free(path);
    return rc;
}

bool dlb_part_read_swap(int part, struct dlb_part_swap *swap)
{
    char text[80] = "";
    int fd = openat(part, SWAP_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    return n > 0 && sscanf(text, SWAP_TEXT, &swap->old_inode, &swap->new_inode) == 2;
}

/* What a removal is in, at depth 1. */
struct removal {
    const char *name; /* of the target */
    bool is_data;     /* else a share */
    size_t n_above;   /* letters of `path` at depth 1 */
    char path[512];   /* below the temporary folder */
    struct dlb_owned_walk walk;
    struct dlb_stays *stays;
};

static bool is_share(const char *entry, const char *name)
{
    size_t len = strlen(name);
    return strncmp(entry, name, len) == 0 && dlb_names_fit(DLB_PART_SHARE "#", entry + len);
}

static bool is_own(struct removal *removal, int folder, const char *name, int depth)
{
    struct stat st;

    if (depth > 1 && removal->is_data)
        return dlb_owned_goes(&removal->walk, folder, name, depth - 1);
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (depth > 1)
        return S_ISREG(st.st_mode) && dlb_names_fit(SHARE_NAMES, name);
    removal->is_data = strcmp(name, removal->name) == 0;
    if (S_ISDIR(st.st_mode))
        return removal->is_data || is_share(name, removal->name);
    return S_ISREG(st.st_mode) && (removal->is_data || dlb_names_fit(SWAP_NAMES, name));
}

/* Of an entry that is_own looked at. */
static void set_path(struct removal *removal, const char *name, int depth)
{
    if (depth == 1) {
        (void)snprintf(removal->path, sizeof removal->path, "%s", name);
        removal->n_above = strlen(removal->path);
        return;
    }
    (void)snprintf(removal->path + removal->n_above, sizeof removal->path - removal->n_above, "/%s",
                   removal->is_data ? removal->walk.path : name);
}

static bool goes(void *ctx, int folder, const char *name, int depth)
{
    struct removal *removal = ctx;
    bool own = is_own(removal, folder, name, depth);

    if (depth == 1 && strcmp(name, MARK_NAME) == 0)
        return false; /* it goes last */
    set_path(removal, name, depth);
    if (own)
        return dlb_stays_enter(removal->stays, folder, name, removal->path);
    dlb_stays_foreign(removal->stays, folder, name, removal->path);
    return false;
}

struct seen {
    bool mark, others;
};

static bool see(void *ctx, int folder, const char *name, int depth)
{
    struct seen *seen = ctx;
    bool is_mark = strcmp(name, MARK_NAME) == 0;

    (void)folder, (void)depth;
    seen->mark = seen->mark || is_mark;
    seen->others = seen->others || !is_mark;
    return false;
}

static int open_folder(int at, const char *part)
{
    return (int)TEMP_FAILURE_RETRY(
        openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool dlb_part_remove_empty(int at, const char *part)
{
    struct stat st;
    struct seen seen = {.mark = false};
    int fd = open_folder(at, part);

    if (fd < 0)
        return false;
    dlb_remove_entries(fd, see, &seen); /* which sees nothing where the folder cannot be listed */
    if (seen.mark && !seen.others && fstatat(fd, MARK_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode))
        (void)unlinkat(fd, MARK_NAME, 0);
    (void)close(fd);
    if (!seen.others)
        return unlinkat(at, part, AT_REMOVEDIR) == 0;
    errno = ENOTEMPTY;
    return false;
}

/* Whether an open folder can be listed, which takes another descriptor; else errno. */
static bool can_list(int folder)
{
    int fd = open_folder(folder, ".");

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static bool remove_part(int at, const char *part, struct removal *removal)
{
    int fd = open_folder(at, part);

    if (fd < 0)
        return false;
    bool listed = can_list(fd);
    if (listed)
        dlb_remove_entries(fd, goes, removal);
    else
        dlb_stays_note(removal->stays, "", errno);
    (void)close(fd);
    return listed && dlb_part_remove_empty(at, part);
}

bool dlb_part_remove(int at, const char *part, const char *name, struct dlb_stays *stays)
{
    struct removal removal = {.name = name, .stays = stays};

    *stays = (struct dlb_stays){.any = false};
    bool gone = remove_part(at, part, &removal);
    if (!gone)
        dlb_stays_note(stays, "", errno);
    return gone;
}

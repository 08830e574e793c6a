#include "formats/generate/owned.h"

#include "core/base/io.h"
#include "core/base/remove.h"
#include "formats/generate/listed.h"
#include "formats/generate/manifest.h"
#include "formats/generate/mark.h"
#include "formats/generate/names.h"
#include "formats/generate/remade.h"
#include "formats/generate/stays.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a conversion leaves beside the data, whole or half written. */
#define BESIDE                                                                                     \
    DLB_FILES_NAME                                                                                 \
    " " DLB_MANIFEST_NAME                                                                          \
    " " DLB_NAMES_TEMPORARY(DLB_FILES_NAME) " " DLB_NAMES_TEMPORARY(DLB_MANIFEST_NAME)
/* What a gen that was killed leaves before it has a mark. */
#define BEFORE DLB_NAMES_TEMPORARY(DLB_INCOMPLETE_MARK) " .dlbench-speed-# " DLB_FILES_NAME
#define LOST "lost+found" /* a file system's own folder */

bool dlb_owned_beside(const char *name)
{
    return strncmp(name, ".dlbench-", 9) == 0 &&
           dlb_names_fit(BESIDE " " BEFORE " " DLB_INCOMPLETE_MARK, name);
}

/* The way through a folder. *n_root: how many letters of each path are the folder's. */
static FTS *walk(const char *folder, int options, size_t *n_root, struct dlb_err *err)
{
    char *roots[] = {(char *)(uintptr_t)folder, NULL}; /* fts does not change them */
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | options, NULL);

    *n_root = strlen(folder) + (folder[strlen(folder) - 1] != '/');
    if (!tree)
        (void)dlb_fail_errno(err, folder, DLB_NO_OFFSET, "reading the folder");
    return tree;
}

static bool is_unreadable(const FTSENT *entry)
{
    return entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS;
}

struct owned {
    struct dlb_listed list;
    json_t *manifest;         /* NULL: there is none */
    bool by_gen;              /* the manifest says what gen wrote */
    struct dlb_remade remade; /* that */
};

static int load(struct owned *owned, const char *folder, struct dlb_err *err)
{
    struct dlb_err ignored;

    *owned = (struct owned){.manifest = NULL};
    (void)dlb_manifest_load(folder, &owned->manifest, &ignored);
    owned->by_gen = dlb_remade_from(owned->manifest, &owned->remade);
    return dlb_listed_load(folder, &owned->list, err);
}

static void unload(struct owned *owned)
{
    dlb_listed_free(&owned->list);
    dlb_remade_free(&owned->remade);
    json_decref(owned->manifest);
}

/* The list and the manifest, if they are that. */
static bool is_beside(const struct owned *owned, const char *name)
{
    return (strcmp(name, DLB_FILES_NAME) == 0 && owned->list.there) ||
           (strcmp(name, DLB_MANIFEST_NAME) == 0 && owned->manifest);
}

/* NULL: it is ours, or what is in it decides. */
static const char *why_foreign(const struct owned *owned, const FTSENT *entry, const char *name)
{
    if (is_unreadable(entry))
        return "which cannot be read";
    if (entry->fts_info == FTS_D)
        return *entry->fts_name == '.' ? "which dlbench does not make" : NULL;
    if (entry->fts_info == FTS_DP)
        return dlb_names_made_folder(name) || strcmp(name, LOST) == 0
                   ? NULL
                   : "which dlbench does not make";
    if (entry->fts_info != FTS_F)
        return "which is no regular file";
    if (is_beside(owned, name))
        return NULL;
    const struct dlb_listed_file *file = dlb_listed_find(&owned->list, name);
    if (!file)
        return owned->list.there ? "which is not in dlbench's list of what it wrote there"
                                 : "and no list by dlbench of what it wrote there (older versions "
                                   "made none)";
    if (owned->by_gen && !dlb_names_of_gen(&owned->remade.gen, name))
        return "which is in the list of an older dlbench, but not what gen makes";
    return file->n_bytes == (uint64_t)entry->fts_statp->st_size
               ? NULL
               : "which has another length than dlbench gave it";
}

int dlb_owned_check(const char *folder, char *name, size_t n_name, const char **why,
                    struct dlb_err *err)
{
    struct owned owned;
    size_t n_root;
    int rc = load(&owned, folder, err);
    FTS *tree = rc == DLB_OK ? walk(folder, 0, &n_root, err) : NULL;

    if (rc == DLB_OK && !tree)
        rc = (int)err->status;
    for (FTSENT *entry; rc == DLB_OK && (entry = fts_read(tree));) {
        if (entry->fts_level == 0 && is_unreadable(entry)) {
            errno = entry->fts_errno;
            rc = dlb_fail_errno(err, folder, DLB_NO_OFFSET, "reading the folder");
        } else if (entry->fts_level > 0 &&
                   (*why = why_foreign(&owned, entry, entry->fts_path + n_root))) {
            (void)snprintf(name, n_name, "%s", entry->fts_path + n_root);
            rc = DLB_END;
        }
    }
    if (tree)
        (void)fts_close(tree);
    unload(&owned);
    return rc;
}

static bool is_before(int folder, const char *name)
{
    struct stat st;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return true;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    return S_ISDIR(st.st_mode) ? strcmp(name, LOST) == 0
                               : S_ISREG(st.st_mode) && dlb_names_fit(BEFORE, name);
}

int dlb_owned_check_fresh(const char *folder, char *name, size_t n_name, struct dlb_err *err)
{
    DIR *dir = opendir(folder);
    int rc = dir ? DLB_OK : dlb_fail_errno(err, folder, DLB_NO_OFFSET, "reading the folder");

    while (rc == DLB_OK) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry && errno != 0)
            rc = dlb_fail_errno(err, folder, DLB_NO_OFFSET, "reading the folder");
        if (!entry)
            break;
        if (is_before(dirfd(dir), entry->d_name))
            continue;
        (void)snprintf(name, n_name, "%s", entry->d_name);
        rc = DLB_END;
    }
    if (dir)
        (void)closedir(dir);
    return rc;
}

int dlb_owned_check_links(const char *folder, char *name, size_t n_name, struct dlb_err *err)
{
    size_t n_root;
    FTS *tree = walk(folder, FTS_COMFOLLOW, &n_root, err);
    int rc = tree ? DLB_OK : (int)err->status;

    for (FTSENT *entry; rc == DLB_OK && (entry = fts_read(tree));) {
        if (entry->fts_info != FTS_SL && entry->fts_info != FTS_SLNONE)
            continue;
        (void)snprintf(name, n_name, "%s", entry->fts_path + n_root);
        rc = DLB_END;
    }
    if (tree)
        (void)fts_close(tree);
    return rc;
}

bool dlb_owned_goes(struct dlb_owned_walk *walk, int folder, const char *name, int depth)
{
    size_t n_before = depth > 1 ? walk->len[depth - 1] : 0, room = sizeof walk->path - n_before;
    struct stat st;

    int n = snprintf(walk->path + n_before, room, "%s", name);
    if (n < 0 || (size_t)n + 1 >= room || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (S_ISREG(st.st_mode))
        return dlb_names_made(walk->path) || (depth == 1 && dlb_names_fit(BESIDE, name));
    if (!S_ISDIR(st.st_mode) || depth >= (int)(sizeof walk->len / sizeof *walk->len) ||
        (!dlb_names_made_folder(walk->path) && !(depth == 1 && strcmp(name, LOST) == 0)))
        return false;
    walk->path[n_before + (size_t)n] = '/';
    walk->len[depth] = n_before + (size_t)n + 1;
    walk->path[walk->len[depth]] = '\0';
    return true;
}

struct removal {
    struct dlb_owned_walk walk;
    struct dlb_stays *stays;
};

static bool goes(void *ctx, int folder, const char *name, int depth)
{
    struct removal *removal = ctx;

    if (dlb_owned_goes(&removal->walk, folder, name, depth))
        return dlb_stays_enter(removal->stays, folder, name, removal->walk.path);
    dlb_stays_foreign(removal->stays, folder, name, removal->walk.path);
    return false;
}

static bool remove_folder(int at, const char *name, struct dlb_stays *stays)
{
    struct removal removal = {.stays = stays};
    int fd =
        (int)TEMP_FAILURE_RETRY(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));

    if (fd < 0)
        return false;
    dlb_remove_entries(fd, goes, &removal);
    (void)close(fd);
    return unlinkat(at, name, AT_REMOVEDIR) == 0;
}

bool dlb_owned_remove(int at, const char *name, struct dlb_stays *stays)
{
    struct stat st;
    bool gone;

    *stays = (struct dlb_stays){.any = false};
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        gone = errno == ENOENT;
    else
        gone = S_ISREG(st.st_mode) ? unlinkat(at, name, 0) == 0 : remove_folder(at, name, stays);
    if (!gone)
        dlb_stays_note(stays, "", errno);
    return gone;
}

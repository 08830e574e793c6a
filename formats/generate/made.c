#include "formats/generate/made.h"

#include "core/base/io.h"
#include "core/base/mem.h"
#include "formats/format.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOTES_HEAD "dlbench files 1\n"
/* What a probe must say of a single file: below, its name or its first bytes prove little. */
#define SURE 40

/* Whether gen or convert would give a file this name, below the folder. */
static bool is_made(const struct dlb_format *format, const char *name)
{
    char pattern[64];

    for (const char *at = format->made; at && *at;) {
        size_t n = strcspn(at, " ");
        (void)snprintf(pattern, sizeof pattern, "%.*s", (int)n, at);
        if (fnmatch(pattern, name, FNM_PATHNAME | FNM_PERIOD) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static bool is_mark(const FTSENT *entry)
{
    return entry->fts_level == 1 && (strcmp(entry->fts_name, "lost+found") == 0 ||
                                     strncmp(entry->fts_name, ".dlbench-", 9) == 0);
}

static bool is_foreign(const FTSENT *entry, const struct dlb_format *format, const char *name)
{
    if (!format || entry->fts_name[0] == '.')
        return true;
    if (entry->fts_info == FTS_D)
        return false; /* its content decides */
    if (entry->fts_info != FTS_F)
        return true; /* a link, a device, or unreadable */
    return !is_made(format, name) &&
           (!format->probe || format->probe(entry->fts_path, &dlb_io_posix) < SURE);
}

/* Opens a walk; *n_root: how many letters of each path are the folder's. */
static FTS *walk(const char *folder, size_t *n_root, struct dlb_err *err)
{
    char *roots[] = {(char *)(uintptr_t)folder, NULL}; /* fts does not change them */
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);

    *n_root = strlen(folder) + (folder[strlen(folder) - 1] != '/');
    if (!tree)
        (void)dlb_fail_errno(err, folder, DLB_NO_OFFSET, "reading the folder");
    return tree;
}

int dlb_made_foreign(const char *folder, const struct dlb_format *format, char *name, size_t n_name,
                     struct dlb_err *err)
{
    size_t n_root;
    FTS *tree = walk(folder, &n_root, err);
    int rc = tree ? DLB_OK : (int)err->status;

    for (FTSENT *entry; rc == DLB_OK && (entry = fts_read(tree));) {
        if (entry->fts_level == 0 || entry->fts_info == FTS_DP) {
            if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
                errno = entry->fts_errno;
                rc = dlb_fail_errno(err, folder, DLB_NO_OFFSET, "reading the folder");
            }
        } else if (is_mark(entry)) {
            (void)fts_set(tree, entry, FTS_SKIP);
        } else if (is_foreign(entry, format, entry->fts_path + n_root)) {
            (void)snprintf(name, n_name, "%s", entry->fts_path + n_root);
            rc = DLB_END;
        }
    }
    if (tree)
        (void)fts_close(tree);
    return rc;
}

int dlb_made_note(const struct dlb_gen *gen, struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(gen->path, DLB_FILES_NAME));
    struct dlb_bytes text = {0};
    size_t n_root;

    FTS *tree = walk(gen->path, &n_root, err);
    int rc = tree ? dlb_bytes_append(&text, NOTES_HEAD, strlen(NOTES_HEAD), err) : (int)err->status;
    for (FTSENT *entry; rc == DLB_OK && (entry = fts_read(tree));) {
        char line[256];
        if (entry->fts_info != FTS_F || entry->fts_level == 0 ||
            !is_made(gen->format, entry->fts_path + n_root))
            continue;
        int n = snprintf(line, sizeof line, "%llu %s\n",
                         (unsigned long long)entry->fts_statp->st_size, entry->fts_path + n_root);
        if (n > 0 && (size_t)n < sizeof line)
            rc = dlb_bytes_append(&text, line, (size_t)n, err);
    }
    if (rc == DLB_OK)
        rc = dlb_write_file_atomic(path, text.data, text.len_bytes, err);
    if (tree)
        (void)fts_close(tree);
    dlb_bytes_free(&text);
    free(path);
    return rc;
}

static int check_one(const struct dlb_gen *gen, const char *line, bool remove_it,
                     struct dlb_made *out, struct dlb_err *err)
{
    char *name = NULL;
    unsigned long long n_bytes = strtoull(line, &name, 10);
    struct stat st;

    /* The list is only a file: never touch what gen would not make. */
    if (*name != ' ' || !is_made(gen->format, ++name))
        return DLB_OK;
    char *path = dlb_mem_check(dlb_path_join(gen->path, name));
    bool there = lstat(path, &st) == 0;
    int rc = DLB_OK;
    if (!there || !S_ISREG(st.st_mode) || (unsigned long long)st.st_size != n_bytes) {
        if (out->n_bad++ == 0)
            (void)snprintf(out->first, sizeof out->first, "%s", name);
        if (remove_it && there && unlink(path) != 0)
            rc = dlb_fail_errno(err, path, DLB_NO_OFFSET, "removing the damaged file");
    }
    free(path);
    return rc;
}

int dlb_made_check(const struct dlb_gen *gen, bool remove, struct dlb_made *out,
                   struct dlb_err *err)
{
    char *path = dlb_mem_check(dlb_path_join(gen->path, DLB_FILES_NAME)), *line = NULL;
    size_t cap = 0;
    int rc = DLB_OK;

    *out = (struct dlb_made){.noted = false};
    FILE *notes = fopen(path, "re");
    if (notes && getline(&line, &cap, notes) > 0 && strcmp(line, NOTES_HEAD) == 0) {
        out->noted = true;
        while (rc == DLB_OK && getline(&line, &cap, notes) > 0) {
            line[strcspn(line, "\n")] = '\0';
            rc = check_one(gen, line, remove, out, err);
        }
    }
    if (notes)
        (void)fclose(notes);
    free(line);
    free(path);
    return rc;
}

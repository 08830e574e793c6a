#include "loaders/device/memo.h"

#include "core/base/hash.h"
#include "core/base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "memo-"

static bool path_of(char path[PATH_MAX], const char *folder, const char *about)
{
    int n = folder ? snprintf(path, PATH_MAX, "%s/" PREFIX "%016" PRIx64, folder,
                              dlb_hash64(about, strlen(about), 0))
                   : -1;
    return n > 0 && n < PATH_MAX;
}

bool dlb_memo_recall(const char *folder, const char *about, void *value, size_t n_bytes)
{
    char path[PATH_MAX], *text = NULL;
    struct dlb_err ignored;
    size_t n_read = 0;

    if (!path_of(path, folder, about) ||
        dlb_read_file(path, n_bytes, &text, &n_read, &ignored) != DLB_OK)
        return false;
    bool whole = n_read == n_bytes;
    if (whole)
        memcpy(value, text, n_bytes);
    free(text);
    return whole;
}

void dlb_memo_keep(const char *folder, const char *about, const void *value, size_t n_bytes)
{
    char path[PATH_MAX];
    struct dlb_err ignored;

    if (path_of(path, folder, about))
        (void)dlb_write_file_atomic(path, value, n_bytes, &ignored);
}

void dlb_memo_clear(const char *folder)
{
    DIR *dir = folder ? opendir(folder) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

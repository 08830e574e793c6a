#include "core/host/held.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_below(const char *path, const char *root)
{
    size_t n = strlen(root);
    while (n > 0 && root[n - 1] == '/')
        n--;
    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool any_open(const char *root)
{
    char path[PATH_MAX];
    struct stat st;
    const struct dirent *entry;
    bool found = false;
    DIR *fds = opendir("/proc/self/fd");

    if (!fds)
        return true;
    while (!found && (entry = readdir(fds)) != NULL) {
        ssize_t n = readlinkat(dirfd(fds), entry->d_name, path, sizeof(path) - 1);
        if (n <= 0 || fstatat(dirfd(fds), entry->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode))
            continue;
        path[n] = '\0';
        found = is_below(path, root);
    }
    (void)closedir(fds);
    return found;
}

static bool any_mapped(const char *root)
{
    char *line = NULL;
    size_t n_line = 0;
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");

    if (!maps)
        return true;
    while (!found && getline(&line, &n_line, maps) > 0) {
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        found = is_below(path, root);
    }
    free(line);
    (void)fclose(maps);
    return found;
}

bool dlb_held_below(const char *root)
{
    return any_open(root) || any_mapped(root);
}

#include "bench/cli/installed.h"

#include "core/base/say.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the program, with a slash at its end. */
static bool program_folder(char *folder, size_t n_folder)
{
    ssize_t n = readlink("/proc/self/exe", folder, n_folder - 1);
    if (n <= 0)
        return false;
    folder[n] = '\0';
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    slash[1] = '\0';
    return true;
}

static bool is_installed(const char *name, char *path, size_t n_path)
{
    static const char *const places[] = {"../share/dlbench/configs", "../../configs"};
    char folder[PATH_MAX];
    if (strchr(name, '/') || access(name, F_OK) == 0 || errno != ENOENT ||
        !program_folder(folder, sizeof folder))
        return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, n_path, "%s%s/%s", folder, places[i], name);
        char whole[PATH_MAX];
        if (n > 0 && (size_t)n < n_path && access(path, R_OK) == 0 && realpath(path, whole)) {
            (void)snprintf(path, n_path, "%s", whole);
            return true;
        }
    }
    return false;
}

int dlb_installed_load(struct dlb_config *cfg, const char *name, struct dlb_err *err)
{
    char path[PATH_MAX];
    if (!*name)
        return dlb_fail(err, DLB_ERR_USAGE_FLAG_VALUE, NULL, DLB_NO_OFFSET,
                        "a configuration has an empty name: name a file");
    if (!is_installed(name, path, sizeof path))
        return dlb_config_load(cfg, name, err);
    dlb_say(stderr, "dlbench: note: there is no %s here; the installed %s is taken", name, path);
    return dlb_config_load(cfg, path, err);
}

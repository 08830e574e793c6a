#include "scenarios/ranks/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {"../lib/dlbench", "."};

/* The path of the module in a place; false: none is there. */
static bool find(const char *place, const char *name, char path[PATH_MAX])
{
    char exe[PATH_MAX];
    ssize_t n_exe = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n_exe <= 0)
        return false;
    exe[n_exe] = '\0';
    char *slash = strrchr(exe, '/');
    if (!slash)
        return false;
    *slash = '\0';
    int n = snprintf(path, PATH_MAX, "%s/%s/dlbench-mpi-%s.so", exe, place, name);
    return n > 0 && n < PATH_MAX && access(path, R_OK) == 0;
}

static int refuse(const struct dlb_launcher *launcher, const char *path, const char *why,
                  struct dlb_err *err)
{
    const char *module = launcher->module;
    return dlb_fail(err, DLB_ERR_RANKS_NO_MODULE, path, DLB_NO_OFFSET,
                    "%s started %u processes, and %s%s%s: without it each would measure the same "
                    "by itself",
                    launcher->name, launcher->size, why, module ? "; install dlbench-" : "",
                    module ? module : "");
}

const struct dlb_ranks *dlb_ranks_load(const struct dlb_launcher *launcher, struct dlb_err *err)
{
    char path[PATH_MAX];
    if (!launcher->module) {
        (void)refuse(launcher, NULL, "sets up no MPI (srun --mpi=pmix or --mpi=pmi2 does)", err);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        if (!find(places[i], launcher->module, path))
            continue;
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        const struct dlb_ranks *ranks = library ? dlsym(library, DLB_RANKS_SYMBOL) : NULL;
        if (ranks && ranks->abi == DLB_RANKS_ABI)
            return ranks;
        const char *why = ranks ? "the module is of another version" : dlerror();
        (void)refuse(launcher, path, why ? why : "the module cannot be loaded", err);
        return NULL;
    }
    (void)refuse(launcher, NULL, "no module of MPI fits", err);
    return NULL;
}

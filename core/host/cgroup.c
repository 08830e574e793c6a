/* What control groups, versions 1 and 2, allow this process of the machine. */
#include "core/host/mounts.h"
#include "core/host/osacct_parse.h"
#include "core/host/procfs.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The process's group in one hierarchy: its folder, and the mount point where the walk to the
 * parents ends. */
struct group {
    const char *controller;
    bool v2;
    char path[PATH_MAX];  /* as in /proc/self/cgroup */
    char mount[PATH_MAX]; /* with the root in front; empty: not mounted */
    char dir[PATH_MAX];
    const char *root;
};

/* Lines are "id:controllers:path"; version 2 is "0::path". */
static bool find_group(struct group *group)
{
    char file_path[PATH_MAX];
    (void)snprintf(file_path, sizeof file_path, "%s/proc/self/cgroup", group->root);
    FILE *file = fopen(file_path, "re");
    char *line = NULL;
    size_t n_line = 0;
    bool found = false;

    if (!file)
        return false;
    while (!found && getline(&line, &n_line, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *controllers++ = '\0';
        *path++ = '\0';
        found = group->v2 ? strcmp(line, "0") == 0 && *controllers == '\0'
                          : *controllers != '\0' && dlb_list_has(controllers, group->controller);
        if (found)
            (void)snprintf(group->path, sizeof group->path, "%s", path);
    }
    free(line);
    (void)fclose(file);
    return found;
}

static bool is_dir(const char *path)
{
    return access(path, X_OK) == 0;
}

static bool find_mount(void *ctx, const struct dlb_mount *mount)
{
    struct group *group = ctx;

    if (strcmp(mount->type, group->v2 ? "cgroup2" : "cgroup") != 0 ||
        (!group->v2 && !dlb_list_has(mount->super_options, group->controller)))
        return true;
    if (snprintf(group->mount, sizeof group->mount, "%s%s", group->root, mount->point) >=
        (int)sizeof group->mount) {
        group->mount[0] = '\0';
        return true;
    }
    /* In a container the mount may show only a part of the hierarchy, and the process's path may
     * lie outside of it or be the host's path. Then the mount point is taken for the group. */
    const char *below = group->path;
    if (strcmp(mount->root, "/") != 0)
        below = dlb_path_is_below(below, mount->root) ? below + strlen(mount->root) : "";
    if (strcmp(below, "/") == 0 || strncmp(below, "/..", 3) == 0)
        below = "";
    if (snprintf(group->dir, sizeof group->dir, "%s%s", group->mount, below) >=
            (int)sizeof group->dir ||
        !is_dir(group->dir))
        memcpy(group->dir, group->mount, sizeof group->dir);
    return false;
}

static bool group_u64(const struct group *group, const char *file, uint64_t *out)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", group->dir, file);
    return dlb_procfs_u64(path, out);
}

typedef void visit_group(const struct group *group, void *ctx);

static void walk_hierarchy(const char *root, const char *controller, bool v2, visit_group *visit,
                           void *ctx)
{
    struct group *group = calloc(1, sizeof *group);
    char mountinfo[PATH_MAX];

    if (!group)
        return;
    group->root = root;
    group->controller = controller;
    group->v2 = v2;
    (void)snprintf(mountinfo, sizeof mountinfo, "%s/proc/self/mountinfo", root);
    if (find_group(group) && dlb_mounts_each(mountinfo, find_mount, group) && group->mount[0]) {
        size_t n_mount = strlen(group->mount);
        for (;;) {
            visit(group, ctx);
            char *slash = strrchr(group->dir, '/');
            if (strlen(group->dir) <= n_mount || !slash || (size_t)(slash - group->dir) < n_mount)
                break;
            *slash = '\0';
        }
    }
    free(group);
}

/* Calls `visit` for the group and each of its parents, because each may have a limit, in the
 * hierarchy of version 2 and in the controller's own of version 1: a host may mount both. */
static void walk_up(const char *root, const char *controller, visit_group *visit, void *ctx)
{
    walk_hierarchy(root, controller, true, visit, ctx);
    walk_hierarchy(root, controller, false, visit, ctx);
}

static void smallest_quota(const struct group *group, void *ctx)
{
    double *cores = ctx;
    uint64_t quota_us = 0, period_us = 0;
    char path[PATH_MAX + 64], text[64];

    if (group->v2) {
        /* "max 100000" or "150000 100000" */
        (void)snprintf(path, sizeof path, "%s/cpu.max", group->dir);
        if (!dlb_procfs_text(path, text, sizeof text) || !dlb_parse_u64(text, &quota_us) ||
            !strchr(text, ' ') || !dlb_parse_u64(strchr(text, ' ') + 1, &period_us))
            return;
    } else if (!group_u64(group, "cpu.cfs_quota_us",
                          &quota_us) || /* -1, which does not parse, means no quota */
               !group_u64(group, "cpu.cfs_period_us", &period_us)) {
        return;
    }
    if (quota_us == 0 || period_us == 0)
        return;
    double here = (double)quota_us / (double)period_us;
    if (*cores == 0.0 || here < *cores)
        *cores = here;
}

double dlb_cgroup_quota_cores(const char *root)
{
    double cores = 0.0;
    walk_up(root, "cpu", smallest_quota, &cores);
    return cores;
}

static void smallest_left(const struct group *group, void *ctx)
{
    uint64_t *left_bytes = ctx;
    uint64_t limit = UINT64_MAX, high, usage, active = 0, inactive = 0;
    char stat[PATH_MAX + 64];

    /* Version 2 throttles from memory.high on and kills at memory.max; "max", which does not
     * parse, means no limit. */
    (void)group_u64(group, group->v2 ? "memory.max" : "memory.limit_in_bytes", &limit);
    if (group->v2 && group_u64(group, "memory.high", &high) && high < limit)
        limit = high;
    if (limit == UINT64_MAX ||
        !group_u64(group, group->v2 ? "memory.current" : "memory.usage_in_bytes", &usage))
        return;
    (void)snprintf(stat, sizeof stat, "%s/memory.stat", group->dir);
    (void)dlb_procfs_field(stat, group->v2 ? "active_file" : "total_active_file", &active);
    (void)dlb_procfs_field(stat, group->v2 ? "inactive_file" : "total_inactive_file", &inactive);

    uint64_t droppable = active + inactive;
    uint64_t held = usage > droppable ? usage - droppable : 0;
    uint64_t left = limit > held ? limit - held : 0;
    if (left < *left_bytes)
        *left_bytes = left;
}

uint64_t dlb_cgroup_mem_left_bytes(const char *root)
{
    uint64_t left_bytes = UINT64_MAX;
    walk_up(root, "memory", smallest_left, &left_bytes);
    return left_bytes;
}

static void fewest_tasks(const struct group *group, void *ctx)
{
    uint64_t *left = ctx, max, now;

    /* "max", which does not parse, means no limit; the root group has neither file. */
    if (!group_u64(group, "pids.max", &max) || !group_u64(group, "pids.current", &now))
        return;
    uint64_t here = max > now ? max - now : 0;
    if (here < *left)
        *left = here;
}

uint64_t dlb_cgroup_tasks_left(const char *root)
{
    uint64_t left = UINT64_MAX;
    walk_up(root, "pids", fewest_tasks, &left);
    return left;
}

/* Both versions have a file cpu.stat, with a time in microseconds or in nanoseconds. */
static void add_throttled(const struct group *group, void *ctx)
{
    uint64_t *sum_ns = ctx, here;
    char stat[PATH_MAX + 64];

    (void)snprintf(stat, sizeof stat, "%s/cpu.stat", group->dir);
    if (!dlb_procfs_field(stat, group->v2 ? "throttled_usec" : "throttled_time", &here))
        return;
    if (group->v2)
        here *= 1000;
    *sum_ns = *sum_ns == DLB_NOT_MEASURED ? here : *sum_ns + here;
}

uint64_t dlb_cgroup_throttled_ns(const char *root)
{
    uint64_t sum_ns = DLB_NOT_MEASURED;
    walk_up(root, "cpu", add_throttled, &sum_ns);
    return sum_ns;
}

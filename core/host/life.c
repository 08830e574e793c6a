#include "core/host/life.h"

#include "core/host/procfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 6 /* of processes below each other */

/* /proc/PID/stat: utime and stime are words 14 and 15; the second one is a name in brackets, which
 * may hold blanks. */
static bool take_ticks(const char *task, uint64_t *life)
{
    char name[320], line[1024];
    (void)snprintf(name, sizeof(name), "%s/stat", task);
    if (!dlb_procfs_text(name, line, sizeof(line)))
        return false;
    const char *at = strrchr(line, ')');
    for (int word = 2; at && word < 14; word++)
        at = strchr(at + 1, ' ');
    char *end = NULL;
    if (!at)
        return false;
    *life += strtoull(at, &end, 10);
    *life += strtoull(end, &end, 10);
    return true;
}

/* Nanoseconds on a CPU, where the kernel counts them; else ticks. */
static bool take_thread(const char *task, uint64_t *life)
{
    char name[320], line[128], *end = line;
    (void)snprintf(name, sizeof(name), "%s/schedstat", task);
    uint64_t ns = dlb_procfs_text(name, line, sizeof(line)) ? strtoull(line, &end, 10) : 0;
    *life += ns;
    return ns > 0 || take_ticks(task, life);
}

static bool take_process(long pid, int depth, uint64_t *life);

static void take_children(const char *task, int depth, uint64_t *life)
{
    char name[320], line[1024], *at = line, *end;
    (void)snprintf(name, sizeof(name), "%s/children", task);
    if (depth == 0 || !dlb_procfs_text(name, line, sizeof(line)))
        return;
    for (long child = strtol(at, &end, 10); end != at; child = strtol(at, &end, 10)) {
        *life += (uint64_t)child; /* one that has only begun */
        (void)take_process(child, depth - 1, life);
        at = end;
    }
}

static bool take_process(long pid, int depth, uint64_t *life)
{
    char name[64], task[300];
    bool known = false;
    (void)snprintf(name, sizeof(name), "/proc/%ld/task", pid);
    DIR *threads = opendir(name);
    for (const struct dirent *entry; threads && (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(task, sizeof(task), "%.40s/%.200s", name, entry->d_name);
        known = take_thread(task, life) || known;
        take_children(task, depth, life);
    }
    if (threads)
        (void)closedir(threads);
    return known;
}

bool dlb_life_of(pid_t pid, uint64_t *life)
{
    *life = 0;
    return take_process(pid, MAX_DEPTH, life);
}

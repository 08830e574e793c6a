#include "core/host/group.h"

#include "core/base/clock.h"
#include "core/host/procfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/PID/stat behind the name, which may hold blanks and brackets itself. */
enum {
    STATE,
    PARENT,
    GROUP,
    MINOR = 7,
    CHILD_MINOR,
    MAJOR,
    CHILD_MAJOR,
    USER,
    SYSTEM,
    CHILD_USER,
    CHILD_SYSTEM,
    N_FIELDS
};

static bool read_stat(const char *pid, uint64_t field[N_FIELDS])
{
    char path[64], text[1024];

    (void)snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    if (!dlb_procfs_text(path, text, sizeof text))
        return false;
    char *at = strrchr(text, ')');
    for (int i = 0; at && i < N_FIELDS; i++) {
        at = strchr(at, ' ');
        if (at)
            field[i] = strtoull(++at, NULL, 10);
    }
    return at != NULL;
}

static bool lives(const char *pid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%.20s", pid);
    return access(path, F_OK) == 0;
}

/* A kernel may not count what is read, and another user's processes may not be looked at. */
static void add_reads(const char *pid, struct dlb_os_process *out)
{
    struct dlb_os_process one = {.read_chars = DLB_NOT_MEASURED,
                                 .read_device_bytes = DLB_NOT_MEASURED};
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%.20s/io", pid);
    bool read = dlb_procfs_field(path, "rchar:", &one.read_chars) &&
                dlb_procfs_field(path, "read_bytes:", &one.read_device_bytes);
    if (read || lives(pid))
        dlb_os_process_add(out, &one);
}

static uint64_t pss_of(const char *pid)
{
    char path[64];
    uint64_t kib = 0;

    (void)snprintf(path, sizeof path, "/proc/%.20s/smaps_rollup", pid);
    return dlb_procfs_field(path, "Pss:", &kib) ? kib * 1024 : 0;
}

void dlb_os_group(pid_t group, struct dlb_os_process *out, uint64_t *pss_bytes)
{
    uint64_t tick_ns = DLB_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    DIR *proc = opendir("/proc");

    *out = (struct dlb_os_process){.voluntary_switches = DLB_NOT_MEASURED,
                                   .involuntary_switches = DLB_NOT_MEASURED};
    *pss_bytes = 0;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        uint64_t field[N_FIELDS];
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !read_stat(entry->d_name, field) ||
            field[GROUP] != (uint64_t)group)
            continue;
        out->utime_ns += (field[USER] + field[CHILD_USER]) * tick_ns;
        out->stime_ns += (field[SYSTEM] + field[CHILD_SYSTEM]) * tick_ns;
        out->minor_faults += field[MINOR] + field[CHILD_MINOR];
        out->major_faults += field[MAJOR] + field[CHILD_MAJOR];
        add_reads(entry->d_name, out);
        *pss_bytes += pss_of(entry->d_name);
    }
    if (proc)
        (void)closedir(proc);
}

#include "core/host/stuck.h"

#include "core/base/clock.h"
#include "core/base/futex.h"
#include "core/base/mem.h"
#include "core/host/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_DEPTH 4 /* a fork server's workers are grandchildren of the cell */
#define PATH_SHOWN 300
#define LOOK_NS (2 * DLB_NS_PER_S) /* at the longest */

/* Which argument says which file: a descriptor, a path, or a path below a descriptor's folder. */
enum about { BY_FD, BY_PATH, BY_FOLDER };

static const struct {
    long number;
    const char *name;
    enum about about;
} calls[] = {
    {SYS_openat, "open", BY_FOLDER},
    {SYS_openat2, "open", BY_FOLDER},
    {SYS_newfstatat, "stat", BY_FOLDER},
    {SYS_statx, "stat", BY_FOLDER},
    {SYS_faccessat, "access", BY_FOLDER},
    {SYS_faccessat2, "access", BY_FOLDER},
    {SYS_unlinkat, "unlink", BY_FOLDER},
    {SYS_mkdirat, "mkdir", BY_FOLDER},
    {SYS_renameat2, "rename", BY_FOLDER},
#ifdef SYS_open
    {SYS_open, "open", BY_PATH},
    {SYS_stat, "stat", BY_PATH},
    {SYS_lstat, "stat", BY_PATH},
    {SYS_access, "access", BY_PATH},
    {SYS_rename, "rename", BY_PATH},
    {SYS_unlink, "unlink", BY_PATH},
    {SYS_mkdir, "mkdir", BY_PATH},
#endif
    {SYS_statfs, "statfs", BY_PATH},
    {SYS_fstat, "fstat", BY_FD},
    {SYS_read, "read", BY_FD},
    {SYS_pread64, "pread", BY_FD},
    {SYS_readv, "read", BY_FD},
    {SYS_preadv, "pread", BY_FD},
    {SYS_preadv2, "pread", BY_FD},
    {SYS_write, "write", BY_FD},
    {SYS_pwrite64, "write", BY_FD},
    {SYS_fsync, "fsync", BY_FD},
    {SYS_fdatasync, "fsync", BY_FD},
    {SYS_getdents64, "getdents", BY_FD},
    {SYS_close, "close", BY_FD},
    {SYS_ioctl, "ioctl", BY_FD},
    {SYS_io_uring_enter, "io_uring_enter", BY_FD},
};

struct place {
    char *text;
    size_t n_text;
};

static bool say_call(const struct place *out, const char *name, const char *folder,
                     const char *path)
{
    const char *between = folder[0] && path[0] ? "/" : "";
    (void)snprintf(out->text, out->n_text, "in %s() of %.*s%s%.*s", name, PATH_SHOWN, folder,
                   between, PATH_SHOWN, path);
    return true;
}

/* What a descriptor leads to; false: nothing that has a name in the file system. */
static bool name_of(pid_t pid, uint64_t fd, char path[PATH_MAX])
{
    char link[64];
    (void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, (int)fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    return path[0] == '/';
}

static void path_at(pid_t pid, uint64_t addr, char path[PATH_MAX])
{
    char name[64];
    (void)snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, path, PATH_MAX - 1, (off_t)addr) : 0;
    path[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

static bool say(pid_t pid, size_t row, const uint64_t args[2], const struct place *out)
{
    char folder[PATH_MAX] = "", path[PATH_MAX] = "";
    if (calls[row].about == BY_FD)
        return name_of(pid, args[0], folder) && say_call(out, calls[row].name, folder, "");
    path_at(pid, args[calls[row].about == BY_FOLDER], path);
    if (calls[row].about == BY_FOLDER && path[0] != '/' && (int)args[0] != AT_FDCWD)
        (void)name_of(pid, args[0], folder);
    return say_call(out, calls[row].name, folder, path);
}

/* The line is "NUMBER ARGUMENT ...", "-1 ..." outside of a call (of one that sleeps: in a page
 * fault), or "running". */
static bool look_at_thread(pid_t pid, const char *tid, const struct place *out)
{
    char name[300], line[256], *at;
    uint64_t args[2];
    (void)snprintf(name, sizeof(name), "/proc/%d/task/%s/syscall", (int)pid, tid);
    if (!dlb_procfs_text(name, line, sizeof(line)))
        return false;
    long number = strtol(line, &at, 10);
    if (at == line)
        return false;
    if (number < 0) {
        (void)snprintf(out->text, out->n_text, "in a page fault");
        return true;
    }
    for (int i = 0; i < 2; i++)
        args[i] = strtoull(at, &at, 16);
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (calls[i].number == number)
            return say(pid, i, args, out);
    return false;
}

bool dlb_is_stopped(pid_t pid)
{
    char name[64], state[64];
    (void)snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
    return dlb_procfs_value(name, "State", state, sizeof(state)) &&
           (state[0] == 'T' || state[0] == 't');
}

static bool look(pid_t pid, int depth, const struct place *out);

static bool look_at_children(pid_t pid, const char *tid, int depth, const struct place *out)
{
    char name[300], line[1024], *at = line, *end;
    (void)snprintf(name, sizeof(name), "/proc/%d/task/%s/children", (int)pid, tid);
    if (!dlb_procfs_text(name, line, sizeof(line)))
        return false;
    for (long child = strtol(at, &end, 10); end != at; child = strtol(at, &end, 10)) {
        if (look((pid_t)child, depth, out))
            return true;
        at = end;
    }
    return false;
}

/* Of all threads, then of the processes that they started. */
static bool look(pid_t pid, int depth, const struct place *out)
{
    char name[64];
    bool found = dlb_is_stopped(pid);
    if (found)
        (void)snprintf(out->text, out->n_text, "stopped by a signal");
    (void)snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
    DIR *threads = found ? NULL : opendir(name);
    for (int pass = 0; threads && pass < 2; pass++) {
        struct dirent *entry;
        rewinddir(threads);
        while (!found && (entry = readdir(threads)) != NULL)
            if (entry->d_name[0] != '.')
                found = pass == 0   ? look_at_thread(pid, entry->d_name, out)
                        : depth > 0 ? look_at_children(pid, entry->d_name, depth - 1, out)
                                    : false;
    }
    if (threads)
        (void)closedir(threads);
    return found;
}

/* One look, by a thread of its own: reading the memory of a process that hangs in mmap() waits for
 * that call. Freed by the last of the two that use it. */
struct looking {
    pid_t pid;
    bool found;
    char text[2 * PATH_SHOWN + 64];
    struct dlb_event ended;
    atomic_uint n_users;
};

static void leave(struct looking *looking)
{
    if (atomic_fetch_sub(&looking->n_users, 1) == 1)
        free(looking);
}

static void *look_apart(void *ctx)
{
    struct looking *looking = ctx;
    const struct place out = {looking->text, sizeof(looking->text)};
    looking->found = look(looking->pid, MAX_DEPTH, &out);
    dlb_event_signal(&looking->ended);
    leave(looking);
    return NULL;
}

bool dlb_stuck_in(pid_t pid, char *text, size_t n_text)
{
    struct looking *looking = dlb_mem_new(sizeof(*looking));
    uint32_t seen = dlb_event_seq(&looking->ended);
    pthread_t thread;
    bool found = false;
    looking->pid = pid;
    atomic_store(&looking->n_users, 2);
    text[0] = '\0';
    if (pthread_create(&thread, NULL, look_apart, looking)) {
        atomic_store(&looking->n_users, 1);
    } else {
        (void)pthread_detach(thread);
        for (uint64_t end_ns = dlb_now_ns() + LOOK_NS;
             dlb_event_seq(&looking->ended) == seen && dlb_now_ns() < end_ns;)
            dlb_event_wait(&looking->ended, seen, end_ns);
        found = dlb_event_seq(&looking->ended) != seen && looking->found;
    }
    if (found)
        (void)snprintf(text, n_text, "%s", looking->text);
    leave(looking);
    return found;
}

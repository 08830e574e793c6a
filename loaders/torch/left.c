#include "loaders/torch/left.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/dev/shm"
#define N_PIDS (UINT32_C(1) << 22) /* Linux's own limit */

void dlb_left_begin(struct dlb_left *left)
{
    *left = (struct dlb_left){.pids = calloc(N_PIDS / 8, 1)};
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &left->since);
}

void dlb_left_add(struct dlb_left *left, pid_t pid)
{
    if (left->pids && pid > 0 && (uint32_t)pid < N_PIDS)
        left->pids[pid / 8] |= (uint8_t)(1U << pid % 8);
}

/* Whether a process that was added made the file, by its name, and its number is not another's. */
static bool is_named_so(const struct dlb_left *left, const char *name)
{
    int pid = 0, end = 0;

    return sscanf(name, "torch_%9d_%*10[0-9]_%*10[0-9]%n", &pid, &end) == 1 && end > 0 &&
           isdigit((unsigned char)name[sizeof "torch_" - 1]) && name[end] == '\0' && pid > 0 &&
           (uint32_t)pid < N_PIDS && (left->pids[pid / 8] & 1U << pid % 8) && kill(pid, 0) != 0 &&
           errno == ESRCH;
}

static bool is_since(const struct stat *st, const struct timespec *since)
{
    return st->st_mtim.tv_sec != since->tv_sec ? st->st_mtim.tv_sec > since->tv_sec
                                               : st->st_mtim.tv_nsec >= since->tv_nsec;
}

/* Whether a process can have left the file that way. torch sets its size, may have its blocks
 * allocated, writes one zero and unlinks the name: batches come later. Where torch keeps the name
 * (torch.multiprocessing's "file_system"), the file begins with a count of its users. In another
 * container it may be a batch on its way. Its time of change is when it was made, because it is
 * only mapped from then on. */
static bool was_left(const struct dlb_left *left, int fd)
{
    struct stat st;
    int32_t first = 0;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           is_since(&st, &left->since) && pread(fd, &first, sizeof first, 0) >= 0 && first == 0;
}

/* Linux gives a lease to write only where no other has the file open. A mapping counts. */
static bool unlinked(const struct dlb_left *left, int folder_fd, const char *name)
{
    int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool gone = fcntl(fd, F_SETLEASE, F_WRLCK) == 0 && was_left(left, fd) &&
                unlinkat(folder_fd, name, 0) == 0;
    (void)close(fd);
    return gone;
}

uint32_t dlb_left_unlink(struct dlb_left *left)
{
    DIR *folder = left->pids ? opendir(FOLDER) : NULL;
    uint32_t n = 0;

    (void)signal(SIGIO, SIG_IGN); /* another opens the file while it is leased */
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        n += is_named_so(left, entry->d_name) && unlinked(left, dirfd(folder), entry->d_name);
    if (folder)
        (void)closedir(folder);
    free(left->pids);
    left->pids = NULL;
    return n;
}

#include "scenarios/ranks/scratch.h"

#include "core/base/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "dlbench-%.64s-" /* then: rank, a line, and what mkdtemp adds */
#define RANDOM "XXXXXX"
#define MARK ".dlbench"
#define MARK_TEXT "dlbench scratch folder of a rank\nmachine %.64s\n"

enum { MARK_BYTES = 160 };

static const char *base(void)
{
    const char *text = getenv("TMPDIR");
    return text && *text ? text : "/tmp";
}

/* The locked mark of a new folder; -1: errno. It is locked before it has its text: without that
 * nobody removes the folder, and so it stays where the file system has no locks. */
static int make_mark(const char *path, const char *node)
{
    char text[MARK_BYTES];
    int n = snprintf(text, sizeof(text), MARK_TEXT, node);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = folder < 0 ? -1 : openat(folder, MARK, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool fits = fd >= 0 && (TEMP_FAILURE_RETRY(flock(fd, LOCK_EX)) != 0 ||
                            TEMP_FAILURE_RETRY(write(fd, text, (size_t)n)) == n);
    int code = errno;
    if (folder >= 0)
        (void)close(folder);
    if (!fits && fd >= 0)
        (void)close(fd);
    errno = code;
    return fits ? fd : -1;
}

int dlb_rank_scratch_make(const char *node, uint32_t rank, struct dlb_rank_scratch *scratch,
                          struct dlb_err *err)
{
    char *path = scratch->path;
    int n = snprintf(path, PATH_MAX, "%s/" HEAD "%u-" RANDOM, base(), node, rank);
    bool fits = n > 0 && n < PATH_MAX;
    bool made = fits && mkdtemp(path);
    scratch->lock = made ? make_mark(path, node) : -1;
    if (scratch->lock >= 0)
        return DLB_OK;
    int rc =
        fits ? dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot make a folder")
             : dlb_fail(err, DLB_ERR_SCRATCH_PATH_TOO_LONG, base(), DLB_NO_OFFSET, "is too long");
    if (made)
        dlb_remove_tree(AT_FDCWD, path);
    path[0] = '\0'; /* there is none to remove */
    return rc;
}

void dlb_rank_scratch_remove(struct dlb_rank_scratch *scratch)
{
    if (scratch->path[0])
        dlb_remove_tree(AT_FDCWD, scratch->path);
    if (scratch->lock >= 0)
        (void)close(scratch->lock);
    *scratch = (struct dlb_rank_scratch){.lock = -1};
}

/* HEAD of this machine, digits, a line, and six letters or digits. Another machine's name may begin
 * with this one's. */
static bool is_name(const char *name, const char *node)
{
    static const char digits[] = "0123456789";
    static const char drawn[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char head[96];
    int n = snprintf(head, sizeof(head), HEAD, node);
    if (strncmp(name, head, (size_t)n) != 0)
        return false;
    size_t n_digits = strspn(name + n, digits);
    const char *end = name + n + n_digits;
    return n_digits > 0 && *end == '-' && strlen(end + 1) == strlen(RANDOM) &&
           strspn(end + 1, drawn) == strlen(RANDOM);
}

/* Whether the folder has this user's mark of this machine, and no process has locked it. The lock
 * is kept in *lock. */
static bool is_left(int folder, const char *node, int *lock)
{
    char text[MARK_BYTES] = "", wanted[MARK_BYTES];
    struct stat st, mark;
    *lock = openat(folder, MARK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    (void)snprintf(wanted, sizeof(wanted), MARK_TEXT, node);
    return *lock >= 0 && fstat(folder, &st) == 0 && st.st_uid == geteuid() &&
           fstat(*lock, &mark) == 0 && S_ISREG(mark.st_mode) && mark.st_uid == geteuid() &&
           flock(*lock, LOCK_EX | LOCK_NB) == 0 && read(*lock, text, sizeof(text) - 1) > 0 &&
           strcmp(text, wanted) == 0;
}

void dlb_rank_scratch_clear(const char *node)
{
    DIR *dir = opendir(base());
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (!is_name(entry->d_name, node))
            continue;
        int lock = -1, folder = openat(dirfd(dir), entry->d_name,
                                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0 && is_left(folder, node, &lock))
            dlb_remove_tree(dirfd(dir), entry->d_name);
        if (lock >= 0)
            (void)close(lock);
        if (folder >= 0)
            (void)close(folder);
    }
    if (dir)
        (void)closedir(dir);
}

#include "core/host/pagecache.h"

#include "core/host/pagecache_ways.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* include/uapi/linux/mman.h since Linux 6.5. glibc has no wrapper; the number is the same on
 * every architecture except alpha. */
#define SYS_CACHESTAT 451

#define OVERLAYFS_MAGIC 0x794c7630 /* include/uapi/linux/magic.h */

struct cachestat_range {
    uint64_t off, len; /* len 0: to the end */
};

struct cachestat {
    uint64_t nr_cache, nr_dirty, nr_writeback, nr_evicted, nr_recently_evicted;
};

static uint64_t page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The last page may reach beyond the end of the file. */
static uint64_t pages_to_bytes(uint64_t n_pages, uint64_t n_bytes)
{
    uint64_t resident = n_pages * page_bytes();
    return resident < n_bytes ? resident : n_bytes;
}

bool dlb_residency_cachestat(int fd, uint64_t n_bytes, uint64_t *resident_bytes)
{
    struct cachestat_range range = {0, 0};
    struct cachestat stat = {0};

    if (syscall(SYS_CACHESTAT, fd, &range, &stat, 0u) != 0)
        return false;
    *resident_bytes = pages_to_bytes(stat.nr_cache, n_bytes);
    return true;
}

/* mincore(2) is right only for files that the caller owns or may write; for others it reports
 * every page as resident (mm/mincore.c, can_do_mincore). */
static bool may_write(int fd, const struct stat *st)
{
    return st->st_uid == geteuid() ||
           syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

bool dlb_residency_mincore(int fd, uint64_t n_bytes, uint64_t *resident_bytes)
{
    enum {
        WINDOW_PAGES = 65536
    }; /* mapped at a time, so that a large file needs little memory and address space */
    struct stat st;
    uint64_t page = page_bytes(), n_resident = 0;
    unsigned char *vec;
    bool done = false;

    if (fstat(fd, &st) != 0 || !may_write(fd, &st))
        return false;
    if (!(vec = malloc(WINDOW_PAGES)))
        return false;
    for (uint64_t at = 0; at < n_bytes; at += WINDOW_PAGES * page) {
        uint64_t n_here = n_bytes - at < WINDOW_PAGES * page ? n_bytes - at : WINDOW_PAGES * page;
        void *map = mmap(NULL, n_here, PROT_NONE, MAP_SHARED, fd, (off_t)at);
        if (map == MAP_FAILED)
            goto out;
        int rc = mincore(map, n_here, vec);
        (void)munmap(map, n_here);
        if (rc != 0)
            goto out;
        for (uint64_t i = 0; i < (n_here + page - 1) / page; i++)
            n_resident += vec[i] & 1u;
    }
    *resident_bytes = pages_to_bytes(n_resident, n_bytes);
    done = true;
out:
    free(vec);
    return done;
}

/* Files of an overlay are cached under the layer that they lie in. cachestat looks at the
 * overlay's own pages, of which there are none; mincore looks at the pages that a map gets. */
static bool is_layered(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_MAGIC;
}

static enum dlb_residency_how ask(int fd, uint64_t n_bytes, uint64_t *resident_bytes)
{
    if (!is_layered(fd) && dlb_residency_cachestat(fd, n_bytes, resident_bytes))
        return DLB_RESIDENCY_CACHESTAT;
    return dlb_residency_mincore(fd, n_bytes, resident_bytes) ? DLB_RESIDENCY_MINCORE
                                                              : DLB_RESIDENCY_UNKNOWN;
}

static void add(int fd, const struct stat *st, struct dlb_residency *into)
{
    uint64_t resident_bytes = 0, n_bytes = (uint64_t)st->st_size;
    enum dlb_residency_how how = ask(fd, n_bytes, &resident_bytes);

    /* st_blocks counts 512 bytes each, whatever the file system's blocks are (stat(2)). */
    into->n_sparse += (uint64_t)st->st_blocks * 512 < n_bytes;
    into->n_elsewhere += into->device != 0 && into->device != st->st_dev;
    into->device = st->st_dev;
    if (how == DLB_RESIDENCY_UNKNOWN) {
        into->n_unknown++;
        return;
    }
    /* When files were asked in different ways, the weaker one is reported. */
    if (how > into->how)
        into->how = how;
    into->n_files++;
    into->resident_bytes += resident_bytes;
    into->total_bytes += n_bytes;
}

int dlb_residency_fd(int fd, struct dlb_residency *into, struct dlb_err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET,
                              "cannot ask for the file's page cache: fstat");
    if (!S_ISREG(st.st_mode))
        return dlb_fail(err, DLB_ERR_NOT_A_FILE, NULL, DLB_NO_OFFSET,
                        "page cache: not a regular file");
    add(fd, &st, into);
    return DLB_OK;
}

void dlb_residency_file(const char *path, bool evict, struct dlb_residency *into)
{
    struct dlb_err ignored;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && evict)
        dlb_pagecache_evict(fd);
    if (fd < 0 || dlb_residency_fd(fd, into, &ignored) != DLB_OK)
        into->n_unknown++;
    if (fd >= 0)
        (void)close(fd);
}

/* A sync flushes the disk, and hardly any file needs one. */
static bool may_be_dirty(int fd)
{
    struct cachestat_range range = {0, 0};
    struct cachestat stat = {0};

    if (is_layered(fd) || syscall(SYS_CACHESTAT, fd, &range, &stat, 0u) != 0)
        return true;
    return stat.nr_dirty + stat.nr_writeback > 0;
}

void dlb_pagecache_evict(int fd)
{
    if (may_be_dirty(fd))
        (void)fsync(fd);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

int dlb_pagecache_drop_all(struct dlb_err *err)
{
    static const char path[] = "/proc/sys/vm/drop_caches";
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    /* 1: pages, 2: dentries and inodes (Documentation/admin-guide/sysctl/vm.rst) */
    bool done = fd >= 0 && write(fd, "3", 1) == 1;
    int why = errno;

    if (fd >= 0)
        (void)close(fd);
    errno = why;
    return done
               ? DLB_OK
               : dlb_fail_errno(err, path, DLB_NO_OFFSET,
                                "run.drop_caches: only root may empty the machine's caches, and "
                                "not in most containers; run.cache = \"cold\" alone needs neither");
}

const char *dlb_residency_name(enum dlb_residency_how how)
{
    switch (how) {
    case DLB_RESIDENCY_CACHESTAT:
        return "cachestat";
    case DLB_RESIDENCY_MINCORE:
        return "mincore";
    case DLB_RESIDENCY_UNKNOWN:
        break;
    }
    return "unknown";
}

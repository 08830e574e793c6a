#include "bench/host/pagecache.h"

#include "bench/base/rng.h"
#include "bench/host/pagecache_ways.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* include/uapi/linux/mman.h since Linux 6.5; the number is the same on every architecture but
 * alpha. glibc has no wrapper. */
#define SYS_CACHESTAT 451

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

/* mincore(2) tells the truth only about files that the caller owns or may write; of others it says
 * that all is resident (mm/mincore.c, can_do_mincore). */
static bool may_write(int fd, const struct stat *st)
{
    return st->st_uid == geteuid() ||
           syscall(SYS_faccessat2, fd, "", W_OK, AT_EMPTY_PATH | AT_EACCESS) == 0;
}

bool dlb_residency_mincore(int fd, uint64_t n_bytes, uint64_t *resident_bytes)
{
    enum {
        WINDOW_PAGES = 65536
    }; /* mapped at a time, so that a large file needs neither much memory nor address space */
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
        void *map = mmap(NULL, n_here, PROT_READ, MAP_SHARED, fd, (off_t)at);
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

static void ask(int fd, uint64_t n_bytes, struct dlb_residency *out)
{
    uint64_t resident_bytes = 0;
    enum dlb_residency_how how = DLB_RESIDENCY_UNKNOWN;

    if (dlb_residency_cachestat(fd, n_bytes, &resident_bytes))
        how = DLB_RESIDENCY_CACHESTAT;
    else if (dlb_residency_mincore(fd, n_bytes, &resident_bytes))
        how = DLB_RESIDENCY_MINCORE;
    if (how == DLB_RESIDENCY_UNKNOWN) {
        out->n_unknown++;
        return;
    }
    /* The weaker way names the answer when files differ. */
    if (how > out->how)
        out->how = how;
    out->n_files++;
    out->resident_bytes += resident_bytes;
    out->total_bytes += n_bytes;
}

int dlb_residency_fd(int fd, struct dlb_residency *out, struct dlb_err *err)
{
    struct stat st;

    *out = (struct dlb_residency){.how = DLB_RESIDENCY_UNKNOWN};
    if (fstat(fd, &st) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET,
                              "cannot ask for the file's page cache: fstat");
    if (!S_ISREG(st.st_mode))
        return dlb_fail(err, DLB_E_IO, NULL, DLB_NO_OFFSET, "page cache: not a regular file");
    ask(fd, (uint64_t)st.st_size, out);
    return DLB_OK;
}

/* Reservoir sampling (Vitter's algorithm R): after n files each is kept with the same chance,
 * max_files / n. */
struct reservoir {
    char **path; /* [cap], owned */
    uint32_t cap, n_kept, n_unreadable;
    uint64_t n_seen;
    struct dlb_rng rng;
};

static bool offer(struct reservoir *r, const char *path)
{
    uint64_t place = r->n_seen++;

    if (r->n_kept < r->cap)
        place = r->n_kept;
    else
        place = dlb_rng_below(&r->rng, place + 1);
    if (place >= r->cap)
        return true;
    char *copy = strdup(path);
    if (!copy)
        return false;
    if (place < r->n_kept)
        free(r->path[place]);
    else
        r->n_kept++;
    r->path[place] = copy;
    return true;
}

/* The folders from the top down to here: a link back to one of them would never end. */
struct level {
    const struct level *up;
    dev_t dev;
    ino_t ino;
};

static bool is_loop(const struct level *level, const struct stat *st)
{
    for (; level; level = level->up)
        if (level->dev == st->st_dev && level->ino == st->st_ino)
            return true;
    return false;
}

enum { DEPTH_MAX = 64 };

static bool walk(struct reservoir *r, const char *folder, const struct level *up, int depth);

/* False when memory is short. */
static bool visit_entry(struct reservoir *r, const char *folder, DIR *dir,
                        const struct dirent *entry, const struct level *here, int depth)
{
    struct stat st = {.st_mode = entry->d_type == DT_REG ? S_IFREG : 0};
    char *path;
    bool fine = true;

    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return true;
    /* A plain file needs no stat: a data set may have millions. */
    if (entry->d_type != DT_REG && fstatat(dirfd(dir), entry->d_name, &st, 0) != 0)
        return true; /* a dangling link, or gone meanwhile */
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return true;
    if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0)
        return false;
    if (S_ISREG(st.st_mode))
        fine = offer(r, path);
    else if (depth < DEPTH_MAX && !is_loop(here, &st))
        fine = walk(r, path, here, depth + 1);
    free(path);
    return fine;
}

static bool walk(struct reservoir *r, const char *folder, const struct level *up, int depth)
{
    DIR *dir = opendir(folder);
    struct stat st;
    bool fine = true;

    if (!dir || fstat(dirfd(dir), &st) != 0) {
        r->n_unreadable++;
        if (dir)
            (void)closedir(dir);
        return true;
    }
    struct level here = {.up = up, .dev = st.st_dev, .ino = st.st_ino};
    for (struct dirent *entry; fine && (entry = readdir(dir)) != NULL;)
        fine = visit_entry(r, folder, dir, entry, &here, depth);
    (void)closedir(dir);
    return fine;
}

static void ask_path(const char *path, struct dlb_residency *out)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        out->n_unknown++;
        return;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        ask(fd, (uint64_t)st.st_size, out);
    else
        out->n_unknown++;
    (void)close(fd);
}

int dlb_residency_path(const char *path, uint32_t max_files, struct dlb_residency *out,
                       struct dlb_err *err)
{
    struct reservoir r = {.cap = max_files, .rng = dlb_rng_seed(451, max_files, 0)};
    struct stat st;
    int status = DLB_OK;

    *out = (struct dlb_residency){.how = DLB_RESIDENCY_UNKNOWN};
    if (stat(path, &st) != 0)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot ask for its page cache");
    if (S_ISREG(st.st_mode)) {
        ask_path(path, out);
        return DLB_OK;
    }
    if (!S_ISDIR(st.st_mode))
        return dlb_fail(err, DLB_E_IO, path, DLB_NO_OFFSET,
                        "page cache: neither a file nor a folder");

    r.path = calloc(max_files ? max_files : 1, sizeof *r.path);
    if (!r.path || !walk(&r, path, NULL, 0)) {
        status = dlb_fail(err, DLB_E_NOMEM, path, DLB_NO_OFFSET,
                          "no memory to choose files whose page cache to ask for");
        goto out;
    }
    for (uint32_t i = 0; i < r.n_kept; i++)
        ask_path(r.path[i], out);
    out->n_unknown += r.n_unreadable;
out:
    for (uint32_t i = 0; r.path && i < r.n_kept; i++)
        free(r.path[i]);
    free(r.path);
    return status;
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

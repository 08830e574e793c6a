#include "core/base/mapguard.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NO_FAULT UINT64_MAX

/* One map, as the handler sees it. Marks are reused, never freed: the handler may walk the list at
 * any time. */
struct dlb_map_mark {
    _Atomic uintptr_t start, end; /* start 0: free */
    _Atomic uint64_t fault_from;  /* address of the first page that was replaced, or NO_FAULT */
    struct dlb_map_mark *next;    /* set before the mark is in the list */
};

static _Atomic(struct dlb_map_mark *) marks;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER;  /* taken by open and close; the handler takes no lock */
static struct sigaction before; /* written before our handler can run */
static size_t page_bytes;

static struct dlb_map_mark *mark_at(uintptr_t address)
{
    struct dlb_map_mark *mark = atomic_load_explicit(&marks, memory_order_acquire);

    for (; mark; mark = mark->next) {
        uintptr_t start = atomic_load_explicit(&mark->start, memory_order_acquire);
        if (start && address >= start &&
            address < atomic_load_explicit(&mark->end, memory_order_acquire))
            return mark;
    }
    return NULL;
}

/* The bare system call, because a sanitizer's wrapper is not safe in a signal handler. */
static bool replace_page(uintptr_t page)
{
    long got = syscall(SYS_mmap, page, page_bytes, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0L);
    return got == (long)page;
}

static void hand_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, context);
    } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    } else {
        /* On return the access is repeated and kills the process, as it would have without this
         * handler. */
        struct sigaction plain = {.sa_handler = SIG_DFL};
        (void)sigaction(number, &plain, NULL);
        if (info->si_code <= 0) /* sent by kill(2): no access is repeated on return */
            (void)raise(number);
    }
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr, page = address & ~(uintptr_t)(page_bytes - 1);
    struct dlb_map_mark *mark = info->si_code > 0 ? mark_at(address) : NULL;

    if (!mark) {
        hand_on(number, info, context);
        return;
    }
    /* The mark is set first, so that a reader that sees the zeros also sees the mark. */
    uint64_t from = page - atomic_load_explicit(&mark->start, memory_order_relaxed);
    uint64_t seen = atomic_load_explicit(&mark->fault_from, memory_order_relaxed);
    while (from < seen && !atomic_compare_exchange_weak(&mark->fault_from, &seen, from))
        ;
    if (!replace_page(page))
        hand_on(number, info, context);
}

/* Called at every map, because a library may have installed a handler of its own since. Under
 * the lock. */
static int install(struct dlb_err *err)
{
    struct sigaction action = {.sa_sigaction = on_sigbus,
                               .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    struct sigaction now;

    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (sigaction(SIGBUS, NULL, &now) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "looking at the handler for SIGBUS");
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_sigbus)
        return DLB_OK;
    before = now;
    if (sigaction(SIGBUS, &action, NULL) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "installing a handler for SIGBUS");
    return DLB_OK;
}

static int take_mark(struct dlb_map *map, void *data, struct dlb_err *err)
{
    struct dlb_map_mark *mark;
    int rc;

    (void)pthread_mutex_lock(&lock);
    rc = install(err);
    for (mark = atomic_load(&marks); rc == DLB_OK && mark; mark = mark->next)
        if (atomic_load(&mark->start) == 0)
            break;
    if (rc == DLB_OK && !mark) {
        mark = calloc(1, sizeof *mark);
        if (mark) {
            mark->next = atomic_load(&marks);
            atomic_store_explicit(&marks, mark, memory_order_release);
        } else {
            rc = dlb_fail(err, DLB_ERR_NOMEM, map->path, DLB_NO_OFFSET, "no memory to map it");
        }
    }
    if (rc == DLB_OK) {
        atomic_store(&mark->fault_from, NO_FAULT);
        atomic_store(&mark->end, (uintptr_t)data + map->n_bytes);
        atomic_store_explicit(&mark->start, (uintptr_t)data, memory_order_release);
        map->mark = mark;
    }
    (void)pthread_mutex_unlock(&lock);
    return rc;
}

int dlb_map_open(struct dlb_map *map, const struct dlb_io *io, int64_t handle, uint64_t n_bytes,
                 const char *path, struct dlb_err *err)
{
    uint64_t file_bytes = 0;
    int fd = io->fd(handle);

    *map = (struct dlb_map){.io = io, .path = path, .handle = handle, .n_bytes = n_bytes};
    if (fd < 0)
        return dlb_fail(
            err, DLB_ERR_MAP_UNSUPPORTED, path, DLB_NO_OFFSET,
            "cannot be mapped: it is not a file of this machine; use dataset.access = \"pread\"");
    int rc = io->size(handle, &file_bytes, path, err);
    if (rc == DLB_OK && file_bytes < n_bytes)
        rc = dlb_fail(err, DLB_ERR_FILE_CUT, path, file_bytes,
                      "ends here, before the %llu bytes that are to be mapped",
                      (unsigned long long)n_bytes);
    if (rc != DLB_OK || n_bytes == 0)
        return rc;
    void *data = mmap(NULL, n_bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "mapping it");
    rc = take_mark(map, data, err);
    if (rc != DLB_OK)
        (void)munmap(data, n_bytes);
    else
        map->data = data;
    return rc;
}

void dlb_map_forget(struct dlb_map *map)
{
    if (map->data)
        atomic_store_explicit(&map->mark->start, 0, memory_order_release);
    *map = (struct dlb_map){.n_bytes = 0};
}

void dlb_map_close(struct dlb_map *map)
{
    void *data = (void *)(uintptr_t)map->data;
    uint64_t n_bytes = map->n_bytes;

    dlb_map_forget(map);
    if (data)
        (void)munmap(data, n_bytes);
}

int dlb_map_watch(struct dlb_map *map, const struct dlb_io *io, int64_t handle, const void *data,
                  uint64_t n_bytes, const char *path, struct dlb_err *err)
{
    *map = (struct dlb_map){.io = io, .path = path, .handle = handle, .n_bytes = n_bytes};
    int rc = take_mark(map, (void *)(uintptr_t)data, err);
    if (rc == DLB_OK)
        map->data = data;
    return rc;
}

/* Keeps the compiler and the CPU from moving reads of the map behind the check of the marks. The
 * thread sanitizer does not know fences. */
static void reads_before_marks(void)
{
#ifdef __SANITIZE_THREAD__
    atomic_signal_fence(memory_order_seq_cst);
#else
    atomic_thread_fence(memory_order_acquire);
#endif
}

bool dlb_map_suspect(const struct dlb_map *map, uint64_t end_bytes)
{
    reads_before_marks();
    return map->mark &&
           end_bytes > atomic_load_explicit(&map->mark->fault_from, memory_order_acquire);
}

/* Copies by pread, which can tell zeros in the file from bytes that are missing. */
static int copy_again(const struct dlb_map *map, void *dst, uint64_t offset_bytes, size_t n_bytes,
                      struct dlb_err *err)
{
    size_t n_read = 0;
    int rc = map->io->pread(map->handle, dst, n_bytes, offset_bytes, &n_read, map->path, err);

    if (rc == DLB_OK && n_read < n_bytes)
        rc = dlb_fail(err, DLB_ERR_FILE_CUT, map->path, offset_bytes + n_read,
                      "the file was cut short while it was read: it had %llu bytes",
                      (unsigned long long)map->n_bytes);
    return rc;
}

/* A file that is cut within a page reads as zeros up to the end of that page, without a fault.
 * If the last byte is still not zero behind the copy, all bytes were there; otherwise the size is
 * checked. The byte is read from the map again: memcpy may have read it before the others. */
static bool is_cut(const struct dlb_map *map, uint64_t end_bytes)
{
    struct dlb_err ignored;
    uint64_t file_bytes = 0;

    return map->io->size(map->handle, &file_bytes, map->path, &ignored) != DLB_OK ||
           file_bytes < end_bytes;
}

bool dlb_map_is_cut(const struct dlb_map *map)
{
    return is_cut(map, map->n_bytes);
}

int dlb_map_copy(const struct dlb_map *map, void *dst, uint64_t offset_bytes, size_t n_bytes,
                 struct dlb_err *err)
{
    uint64_t end = offset_bytes + n_bytes;

    if (n_bytes == 0)
        return DLB_OK;
    if (n_bytes > map->n_bytes || offset_bytes > map->n_bytes - n_bytes)
        DLB_BUG("copy beyond the map");
    memcpy(dst, map->data + offset_bytes, n_bytes);
    if (__builtin_expect(dlb_map_suspect(map, end), 0) ||
        (map->data[end - 1] == 0 && is_cut(map, end)))
        return copy_again(map, dst, offset_bytes, n_bytes, err);
    return DLB_OK;
}

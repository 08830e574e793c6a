#include "scenarios/gap/rungs/memory.h"

#include "core/host/osacct.h"
#include "core/measure/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HUGE_PAGE_BYTES = 2 << 20,
    POPULATE_BYTES = 64 << 20,
    COST_MIN_BYTES = 1 << 20,
    COST_MAX_BYTES = 64 << 20,
    COST_TURNS = 5
};

/* A kernel may ignore the advice: dlb_gap_huge_frac tells which pages it gave. */
static void advise(const struct dlb_gap_memory *memory, enum dlb_gap_pages pages)
{
    if (pages != DLB_GAP_PAGES_KERNEL)
        (void)madvise(memory->addr, memory->n_bytes,
                      pages == DLB_GAP_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

static size_t whole_pages(size_t n_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (n_bytes + page - 1) / page * page;
}

int dlb_gap_map(struct dlb_gap_memory *memory, size_t n_bytes, enum dlb_gap_sharing sharing,
                enum dlb_gap_pages pages, struct dlb_err *err)
{
    int flags = (sharing == DLB_GAP_SHARED ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS;
    size_t wanted = whole_pages(n_bytes), spare = pages == DLB_GAP_PAGES_HUGE ? HUGE_PAGE_BYTES : 0;

    *memory = (struct dlb_gap_memory){.addr = NULL};
    uint8_t *addr = mmap(NULL, wanted + spare, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (addr == MAP_FAILED)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "mapping memory for a rung");
    if (spare) { /* a huge page is aligned to its size */
        size_t before = -(uintptr_t)addr % HUGE_PAGE_BYTES;
        if (before)
            (void)munmap(addr, before);
        if (before < spare)
            (void)munmap(addr + before + wanted, spare - before);
        addr += before;
    }
    *memory = (struct dlb_gap_memory){.addr = addr, .n_bytes = wanted};
    advise(memory, pages);
    return DLB_OK;
}

static int populate_piece(uint8_t *at, size_t n_bytes, struct dlb_err *err)
{
#ifdef MADV_POPULATE_WRITE
    if (madvise(at, n_bytes, MADV_POPULATE_WRITE) == 0)
        return DLB_OK;
    if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "populating memory");
#endif
    (void)err;
    memset(at, 0, n_bytes); /* kernels before 5.14 */
    return DLB_OK;
}

int dlb_gap_populate(const struct dlb_gap_memory *memory, const atomic_bool *cancel,
                     struct dlb_err *err)
{
    int rc = DLB_OK;

    for (size_t at = 0; rc == DLB_OK && at < memory->n_bytes; at += POPULATE_BYTES) {
        size_t left = memory->n_bytes - at;
        rc = populate_piece(memory->addr + at, left < POPULATE_BYTES ? left : POPULATE_BYTES, err);
        if (rc == DLB_OK && cancel && atomic_load(cancel))
            rc = dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    }
    return rc;
}

void dlb_gap_unmap(struct dlb_gap_memory *memory)
{
    if (memory->addr)
        (void)munmap(memory->addr, memory->n_bytes);
    *memory = (struct dlb_gap_memory){.addr = NULL};
}

/* PyTorch calls shm_open and unlinks at once. A memfd is the same without the size limit of
 * /dev/shm. */
int dlb_gap_share_new(size_t n_bytes, int *fd, struct dlb_err *err)
{
    *fd = memfd_create("dlbench-batch", MFD_CLOEXEC);
    if (*fd < 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET,
                              "creating shared memory for a batch (memfd_create)");
    if (ftruncate(*fd, (off_t)whole_pages(n_bytes)) == 0)
        return DLB_OK;
    int rc =
        dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "setting the size of a batch's shared memory");
    (void)close(*fd);
    *fd = -1;
    return rc;
}

int dlb_gap_share_map(struct dlb_gap_memory *memory, int fd, size_t n_bytes,
                      enum dlb_gap_pages pages, struct dlb_err *err)
{
    size_t wanted = whole_pages(n_bytes);
    void *addr = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    *memory = (struct dlb_gap_memory){.addr = NULL};
    if (addr == MAP_FAILED)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "mapping a batch's shared memory");
    *memory = (struct dlb_gap_memory){.addr = addr, .n_bytes = wanted};
    advise(memory, pages);
    return DLB_OK;
}

/* One line of smaps: "AnonHugePages:   2048 kB". */
static void add_line(const char *line, uint64_t *rss_kib, uint64_t *huge_kib)
{
    uint64_t kib;
    if (sscanf(line, "Rss: %" SCNu64, &kib) == 1)
        *rss_kib += kib;
    else if (sscanf(line, "AnonHugePages: %" SCNu64, &kib) == 1 ||
             sscanf(line, "ShmemPmdMapped: %" SCNu64, &kib) == 1)
        *huge_kib += kib;
}

double dlb_gap_huge_frac(const struct dlb_gap_memory *memory)
{
    FILE *smaps = fopen("/proc/self/smaps", "re");
    uint64_t from, to, rss_kib = 0, huge_kib = 0;
    uint64_t begin = (uint64_t)(uintptr_t)memory->addr, end = begin + memory->n_bytes;
    char *line = NULL;
    size_t n_line = 0;
    bool ours = false;

    if (!smaps)
        return (double)NAN;
    while (getline(&line, &n_line, smaps) > 0) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
            ours = from < end && to > begin;
        else if (ours)
            add_line(line, &rss_kib, &huge_kib);
    }
    free(line);
    (void)fclose(smaps);
    return rss_kib > 0 ? (double)huge_kib / (double)rss_kib : (double)NAN;
}

/* Reads a byte of each page, so that a second mapping of the same memory faults it in. */
static void read_pages(const struct dlb_gap_memory *memory)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < memory->n_bytes; at += page)
        (void)*(volatile const uint8_t *)(memory->addr + at);
}

static void write_all(const struct dlb_gap_memory *memory)
{
    memset(memory->addr, 0x5a, memory->n_bytes);
    __asm__ volatile("" : : "r"(memory->addr) : "memory");
}

static int fresh_turn(enum dlb_gap_sharing sharing, enum dlb_gap_pages pages, size_t n_bytes,
                      struct dlb_err *err)
{
    struct dlb_gap_memory ours = {0}, theirs = {0};
    int fd = -1, rc;

    if (sharing == DLB_GAP_PRIVATE) {
        rc = dlb_gap_map(&ours, n_bytes, DLB_GAP_PRIVATE, pages, err);
        if (rc == DLB_OK)
            write_all(&ours);
        dlb_gap_unmap(&ours);
        return rc;
    }
    rc = dlb_gap_share_new(n_bytes, &fd, err);
    if (rc == DLB_OK)
        rc = dlb_gap_share_map(&ours, fd, n_bytes, pages, err);
    if (rc == DLB_OK)
        write_all(&ours);
    dlb_gap_unmap(&ours);
    if (rc == DLB_OK)
        rc = dlb_gap_share_map(&theirs, fd, n_bytes, pages, err);
    if (rc == DLB_OK)
        read_pages(&theirs);
    dlb_gap_unmap(&theirs);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

int dlb_gap_fault_cost(struct dlb_gap_fault_cost *cost, enum dlb_gap_sharing sharing,
                       enum dlb_gap_pages pages, uint64_t batch_bytes, struct dlb_err *err)
{
    size_t n_bytes = batch_bytes > COST_MAX_BYTES   ? COST_MAX_BYTES
                     : batch_bytes < COST_MIN_BYTES ? COST_MIN_BYTES
                                                    : (size_t)batch_bytes;
    struct dlb_gap_memory there;
    struct dlb_os_self before, fresh, after;
    double ns[COST_TURNS];
    uint64_t faults = 0, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);

    *cost = (struct dlb_gap_fault_cost){.ns = (double)NAN};
    int rc = dlb_gap_map(&there, n_bytes, sharing, pages, err);
    if (rc == DLB_OK)
        rc = dlb_gap_populate(&there, NULL, err);
    for (int i = 0; rc == DLB_OK && i < COST_TURNS; i++) {
        dlb_os_self(&before);
        rc = fresh_turn(sharing, pages, n_bytes, err);
        dlb_os_self(&fresh);
        write_all(&there);
        if (sharing == DLB_GAP_SHARED)
            read_pages(&there);
        dlb_os_self(&after);
        faults = fresh.minor_faults - before.minor_faults;
        double more_ns =
            (double)(fresh.cpu_ns - before.cpu_ns) - (double)(after.cpu_ns - fresh.cpu_ns);
        ns[i] = faults > 0 ? more_ns / (double)faults : (double)NAN;
    }
    if (rc == DLB_OK)
        cost->ns = dlb_median(ns, COST_TURNS);
    cost->page_bytes = faults * page_bytes * 2 > n_bytes ? page_bytes : HUGE_PAGE_BYTES;
    dlb_gap_unmap(&there);
    return rc;
}

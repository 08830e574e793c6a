#include "core/base/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE_BYTES = 2 << 20 };

/* "always [madvise] never": whether MADV_HUGEPAGE has an effect under this policy. */
static bool thp_allows(const char *path)
{
    char text[128] = "";
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    if (!fgets(text, sizeof text, f))
        text[0] = '\0';
    (void)fclose(f);
    return strstr(text, "[always]") || strstr(text, "[madvise]") || strstr(text, "[advise]") ||
           strstr(text, "[within_size]") || strstr(text, "[force]");
}

int dlb_shm_create(struct dlb_shm *shm, size_t n_bytes, bool across_processes, struct dlb_err *err)
{
    int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    size_t rounded = (n_bytes + HUGE_PAGE_BYTES - 1) & ~(size_t)(HUGE_PAGE_BYTES - 1);

    *shm = (struct dlb_shm){0};
    if (across_processes) {
        flags = MAP_SHARED;
        fd = memfd_create("dlbench-slots", MFD_CLOEXEC);
        if (fd < 0)
            return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "memfd_create for batch slots");
        if (ftruncate(fd, (off_t)rounded) != 0) {
            int rc = dlb_fail_errno(err, NULL, DLB_NO_OFFSET,
                                    errno == EFBIG ? "shared memory for batch slots is larger than "
                                                     "RLIMIT_FSIZE (ulimit -f) allows"
                                                   : "sizing the memfd of batch slots");
            (void)close(fd);
            return rc;
        }
    }
    void *addr = mmap(NULL, rounded, PROT_READ | PROT_WRITE, flags, fd, 0);
    int map_errno = errno;
    if (fd >= 0)
        (void)close(fd);
    if (addr == MAP_FAILED) {
        errno = map_errno;
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "mapping batch slots");
    }
    shm->addr = addr;
    shm->n_bytes = rounded;
    shm->huge = thp_allows(across_processes ? "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
                                            : "/sys/kernel/mm/transparent_hugepage/enabled") &&
                madvise(addr, rounded, MADV_HUGEPAGE) == 0;
#ifdef MADV_POPULATE_WRITE
    if (madvise(addr, rounded, MADV_POPULATE_WRITE) == 0)
        return DLB_OK;
    if (errno == ENOMEM || errno == EFAULT || errno == EHWPOISON) {
        int rc = dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "populating batch slots");
        dlb_shm_free(shm);
        return rc;
    }
#endif
    memset(addr, 0, rounded); /* kernels before 5.14 */
    return DLB_OK;
}

void dlb_shm_free(struct dlb_shm *shm)
{
    if (shm->addr)
        (void)munmap(shm->addr, shm->n_bytes);
    *shm = (struct dlb_shm){0};
}

/* What the kernel tells a process about its memory: /proc/self/maps, /proc/self/smaps, meminfo and
 * the group's limits, all of them the input. Paths of mapped files are other users' words. The
 * process's own descriptors are none: /proc/self/fd is a folder with one file, elsewhere. Linked
 * with --wrap=fopen,--wrap=openat,--wrap=opendir. */
#include "core/base/err.h"
#include "core/host/held.h"
#include "formats/headroom.h"
#include "scenarios/gap/rungs/memory.h"
#include "tests/support/memory_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>

#define FOLDER "/data/train"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);

static char *text; /* ends in a zero */
static size_t n_text;
static int fd = -1;           /* holds the same */
static char descriptors[128]; /* the folder that stands for /proc/self/fd */

static bool is_kernels(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    return is_kernels(path) ? fmemopen(text, n_text, mode) : __real_fopen(path, mode);
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
    int mode = 0;
    va_list rest;

    if (is_kernels(path))
        return lseek(fd, 0, SEEK_SET) == 0 ? dup(fd) : -1;
    va_start(rest, flags);
    if (flags & O_CREAT)
        mode = va_arg(rest, int);
    va_end(rest);
    return __real_openat(dir, path, flags, mode);
}

DIR *__wrap_opendir(const char *path)
{
    return __real_opendir(is_kernels(path) ? descriptors : path);
}

static void make_files(void)
{
    char path[sizeof descriptors + 8];

    fd = memory_files_new("kernel");
    (void)snprintf(descriptors, sizeof descriptors, "%s/fd", memory_files_folder());
    (void)snprintf(path, sizeof path, "%s/3", descriptors);
    if (mkdir(descriptors, 0755) != 0 || symlink("../kernel", path) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_gap_memory memory = {.addr = (uint8_t *)0x7f0000000000, .n_bytes = 2 << 20};

    if (fd < 0)
        make_files();
    memory_files_set(fd, data, n_bytes);
    n_text = n_bytes;
    text = malloc(n_bytes + 1);
    if (!text)
        abort();
    if (n_bytes)
        memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    if (dlb_held_below(FOLDER) && !memmem(text, n_bytes, FOLDER, strlen(FOLDER)))
        DLB_BUG("a file below a folder that is not named");
    if (dlb_gap_huge_frac(&memory) < 0)
        DLB_BUG("a share below zero");
    (void)dlb_headroom_bytes();
    free(text);
    return 0;
}

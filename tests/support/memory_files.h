/* Files in memory that have paths: for parsers that open their files themselves, fed by a fuzzer.
 * Names below a folder are links to them. Header-only; one set for each program. */
#ifndef DLB_TESTS_MEMORY_FILES_H
#define DLB_TESTS_MEMORY_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char memory_files_root[64]; /* the folder; empty: not made */

static inline void memory_files_remove(void)
{
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf %s", memory_files_root);
    if (system(command) != 0)
        perror(memory_files_root);
}

/* Makes the folder, which is removed when the program ends. */
static inline const char *memory_files_folder(void)
{
    if (!memory_files_root[0]) {
        (void)snprintf(memory_files_root, sizeof memory_files_root, "/tmp/dlb_fuzz_XXXXXX");
        if (!mkdtemp(memory_files_root) || atexit(memory_files_remove) != 0)
            abort();
    }
    return memory_files_root;
}

/* A new file of that name below the folder; folders in the name are made, too. */
static inline int memory_files_new(const char *name)
{
    char link_path[256], target[64];
    int fd = memfd_create(name, MFD_CLOEXEC);

    (void)snprintf(link_path, sizeof link_path, "%s/%s", memory_files_folder(), name);
    for (char *at = link_path + strlen(memory_files_root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(link_path, 0755);
        *at = '/';
    }
    (void)snprintf(target, sizeof target, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (fd < 0 || symlink(target, link_path) != 0)
        abort();
    return fd;
}

static inline void memory_files_set(int fd, const uint8_t *data, size_t n_bytes)
{
    if (ftruncate(fd, 0) != 0 || (n_bytes && pwrite(fd, data, n_bytes, 0) != (ssize_t)n_bytes))
        abort();
}

/* The next part of an input: up to a form feed, which is skipped, or to the end. */
static inline size_t memory_files_part(const uint8_t **data, size_t *n_bytes, const uint8_t **part)
{
    const uint8_t *end = *n_bytes ? memchr(*data, '\f', *n_bytes) : NULL;
    size_t n_part = end ? (size_t)(end - *data) : *n_bytes;

    *part = *data;
    *data += n_part + (end != NULL);
    *n_bytes -= n_part + (end != NULL);
    return n_part;
}

#endif

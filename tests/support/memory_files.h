/* Files in memory that have paths: for parsers that open their files themselves, fed by a fuzzer.
 * They lie in /dev/shm, or in /tmp where that is none. Their content is mapped: an input takes one
 * system call for each file whose length it changes. Header-only; one set for each program. */
#ifndef DLB_TESTS_MEMORY_FILES_H
#define DLB_TESTS_MEMORY_FILES_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY_FILES = 256, MEMORY_FILE_BYTES = 1 << 20 };

static char memory_files_root[64]; /* the folder; empty: not made */
static struct {
    uint8_t *data; /* mapped */
    size_t n_bytes;
} memory_files[MEMORY_FILES]; /* by descriptor */

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
        (void)snprintf(memory_files_root, sizeof memory_files_root, "%s/dlb_fuzz_XXXXXX",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        if (!mkdtemp(memory_files_root) || atexit(memory_files_remove) != 0)
            abort();
    }
    return memory_files_root;
}

/* A new file of that name below the folder; folders in the name are made, too. */
static inline int memory_files_new(const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", memory_files_folder(), name);
    for (char *at = path + strlen(memory_files_root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0755);
        *at = '/';
    }
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || fd >= MEMORY_FILES)
        abort();
    void *data = mmap(NULL, MEMORY_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
        abort();
    memory_files[fd].data = data;
    return fd;
}

static inline void memory_files_set(int fd, const uint8_t *data, size_t n_bytes)
{
    if (n_bytes > MEMORY_FILE_BYTES ||
        (n_bytes != memory_files[fd].n_bytes && ftruncate(fd, (off_t)n_bytes) != 0))
        abort();
    memory_files[fd].n_bytes = n_bytes;
    if (n_bytes)
        memcpy(memory_files[fd].data, data, n_bytes);
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

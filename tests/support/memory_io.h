/* A byte source that is one block of memory: for parsers that read through core/base/io.h, fed by
 * a fuzzer or a test. Header-only. */
#ifndef DLB_TESTS_MEMORY_IO_H
#define DLB_TESTS_MEMORY_IO_H

#include "core/base/io.h"

#include <string.h>

static const uint8_t *memory_io_data;
static size_t memory_io_bytes;

static inline int memory_io_open(const char *path, int64_t *handle, struct dlb_err *err)
{
    (void)path, (void)err;
    *handle = 0;
    return DLB_OK;
}

static inline int memory_io_pread(int64_t handle, void *dst, size_t n_bytes, uint64_t offset_bytes,
                                  size_t *n_read, const char *path, struct dlb_err *err)
{
    size_t left = offset_bytes < memory_io_bytes ? memory_io_bytes - (size_t)offset_bytes : 0;
    (void)handle, (void)path, (void)err;
    *n_read = n_bytes < left ? n_bytes : left;
    if (*n_read)
        memcpy(dst, memory_io_data + offset_bytes, *n_read);
    return DLB_OK;
}

static inline int memory_io_size(int64_t handle, uint64_t *n_bytes, const char *path,
                                 struct dlb_err *err)
{
    (void)handle, (void)path, (void)err;
    *n_bytes = memory_io_bytes;
    return DLB_OK;
}

static inline void memory_io_close(int64_t handle)
{
    (void)handle;
}

static const struct dlb_io memory_io = {.name = "memory",
                                        .open = memory_io_open,
                                        .pread = memory_io_pread,
                                        .size = memory_io_size,
                                        .close = memory_io_close};

static inline void memory_io_set(const uint8_t *data, size_t n_bytes)
{
    memory_io_data = data;
    memory_io_bytes = n_bytes;
}

#endif

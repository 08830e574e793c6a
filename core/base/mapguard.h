/* Read-only maps of files. A file that is cut short while it is mapped, or a page that cannot be
 * read, becomes an error and does not kill the process.
 *
 * Floor 0. Touching a page that the file no longer has raises SIGBUS. The first map installs a
 * handler for the process: it puts a page of zeros where the fault was, marks the map, and lets
 * the access continue, so that no library is left by a longjmp. Readers check the mark
 * afterwards, and read the marked part again by pread, which reports what is wrong. A SIGBUS
 * outside of these maps goes to the handler that was there before.
 *
 * open and close: any thread. data, dlb_map_copy: any number of threads; also in children of
 * fork(), which have their own marks. */
#ifndef DLB_CORE_BASE_MAPGUARD_H
#define DLB_CORE_BASE_MAPGUARD_H

#include "core/base/err.h"
#include "core/base/io.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_map_mark;

struct dlb_map {
    const uint8_t *data; /* NULL when empty */
    uint64_t n_bytes;
    const struct dlb_io *io;
    const char *path;          /* for messages; borrowed until close */
    int64_t handle;            /* borrowed until close */
    struct dlb_map_mark *mark; /* shared with the signal handler */
};

/* Maps the first n_bytes of an open file. DLB_E_IO where the byte source has no descriptor, the
 * file is shorter, or the kernel refuses. On failure *map is empty, and may be closed. */
int dlb_map_open(struct dlb_map *map, const struct dlb_io *io, int64_t handle, uint64_t n_bytes,
                 const char *path, struct dlb_err *err);
void dlb_map_close(struct dlb_map *map);

/* The same for a map that a library made of the file's first bytes. Call dlb_map_forget before
 * the library unmaps it. map->n_bytes is how much of it is watched, which may go beyond the
 * file's end. */
int dlb_map_watch(struct dlb_map *map, const struct dlb_io *io, int64_t handle, const void *data,
                  uint64_t n_bytes, const char *path, struct dlb_err *err);
void dlb_map_forget(struct dlb_map *map);

/* Copies [offset, offset + n_bytes), which lies in the map, to dst. DLB_E_IO, with the offset,
 * when the file no longer has these bytes or they cannot be read: zeros that the handler put
 * there are never returned as content. */
int dlb_map_copy(const struct dlb_map *map, void *dst, uint64_t offset_bytes, size_t n_bytes,
                 struct dlb_err *err);

/* Whether a fault has happened at or before this byte, so that bytes read in place there may be
 * zeros. */
bool dlb_map_suspect(const struct dlb_map *map, uint64_t end_bytes);

/* Whether the file is shorter than the map by now; asks for its size. A file that is cut within a
 * page reads as zeros up to the end of that page, without a fault: bytes read in place of which the
 * last one is zero may be such. */
bool dlb_map_is_cut(const struct dlb_map *map);

#endif

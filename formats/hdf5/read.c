/* Reading rows: from one extent, from chunks that the worker unfilters, or through the library. */
#include "formats/hdf5/hdf5.h"

#ifdef DLB_HAVE_HDF5

#include "formats/headroom.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of unfiltered chunks that a reader keeps; it always keeps one chunk. */
#define MAX_KEPT_BYTES (UINT64_C(256) << 20)

static uint64_t n_kept(const struct dlb_hdf5 *ds)
{
    uint64_t n = MAX_KEPT_BYTES / (ds->chunk_bytes ? ds->chunk_bytes : 1);
    return n < 1 ? 1 : n < ds->n_across ? n : ds->n_across;
}

/* Whether a part of a chunk can be read from the file without the rest of it. */
static bool readable_in_place(const struct dlb_hdf5 *ds)
{
    return ds->way == DLB_HDF5_TABLE && ds->facts.about.n_filters == 0;
}

/* How many chunks of memory dlb_hdf5_unfilter takes: one for each filter that moves bytes, of which
 * two take turns. The last one to be undone needs none, unless it leaves a checksum. */
static uint64_t n_between(const struct dlb_hdf5_about *about)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < about->n_filters; i++)
        n += about->filter[i].id != DLB_HDF5_FLETCHER32;
    if (n > 0 && about->filter[0].id != DLB_HDF5_FLETCHER32)
        n--;
    return n < 2 ? n : 2;
}

/* The most bytes of a chunk as it is stored. */
static uint64_t largest_stored(const struct dlb_hdf5 *ds)
{
    uint64_t n_bytes = 0;

    if (ds->way == DLB_HDF5_LIBRARY_CHUNKS) /* not known before it is read */
        return ds->chunk_bytes;
    for (uint64_t i = 0; i < ds->n_grid; i++)
        if (ds->table[i].n_bytes > n_bytes)
            n_bytes = ds->table[i].n_bytes;
    return n_bytes + n_bytes / 8; /* as fetch_stored makes room */
}

uint64_t dlb_hdf5_reader_bytes(const struct dlb_hdf5 *ds)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;

    if (ds->way == DLB_HDF5_PLAIN || ds->way == DLB_HDF5_LIBRARY)
        return 0;
    uint64_t part_bytes = ds->whole_rows ? 0 : ds->chunk_row_bytes;
    if (readable_in_place(ds))
        return part_bytes;
    bool keeps = !ds->whole_rows || about->chunk[0] > 1; /* a chunk of one row goes to its sample */
    uint64_t n_chunks = (keeps ? n_kept(ds) : 0) + n_between(about);
    return part_bytes + n_chunks * ds->chunk_bytes + largest_stored(ds);
}

int dlb_hdf5_reader_open(struct dlb_hdf5_reader *reader, const struct dlb_hdf5 *ds,
                         struct dlb_err *err)
{
    reader->ds = ds;
    int rc = dlb_headroom_check(ds->max_sample_bytes, ds->path, "its largest sample",
                                "write it with smaller rows", err);
    if (rc != DLB_OK)
        return rc;
    if (ds->way == DLB_HDF5_LIBRARY || ds->way == DLB_HDF5_LIBRARY_CHUNKS) {
        rc = dlb_hdf5_library_open(&reader->library, ds->path, &ds->facts.about, ds->allow_external,
                                   err);
        if (rc != DLB_OK)
            return rc;
    }
    if (ds->way == DLB_HDF5_PLAIN || ds->way == DLB_HDF5_LIBRARY)
        return DLB_OK;
    reader->n_kept = n_kept(ds);
    reader->kept = calloc(reader->n_kept, sizeof *reader->kept);
    if (!ds->whole_rows)
        reader->part = malloc(ds->chunk_row_bytes);
    if (!reader->kept)
        return dlb_fail_memory(err, ds->path, reader->n_kept * sizeof *reader->kept);
    return reader->part || ds->whole_rows ? DLB_OK
                                          : dlb_fail_memory(err, ds->path, ds->chunk_row_bytes);
}

void dlb_hdf5_reader_close(struct dlb_hdf5_reader *reader)
{
    dlb_hdf5_library_close(&reader->library);
    dlb_hdf5_unfilter_free(&reader->unfilter);
    for (uint64_t i = 0; reader->kept && i < reader->n_kept; i++)
        free(reader->kept[i].data);
    free(reader->kept);
    free(reader->part);
    free(reader->stored);
    *reader = (struct dlb_hdf5_reader){.ds = NULL};
}

static int fail_changed(const struct dlb_hdf5 *ds, uint64_t at_bytes, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FILE_CHANGED, ds->path, at_bytes,
                    "the file was cut short since it was opened: it had %" PRIu64 " bytes",
                    ds->file_bytes);
}

static int fetch(struct dlb_hdf5_reader *reader, uint64_t at_bytes, uint8_t *dst, size_t n_bytes,
                 struct dlb_err *err)
{
    const struct dlb_hdf5 *ds = reader->ds;
    size_t n_read = 0;
    int rc = ds->io->pread(ds->handle, dst, n_bytes, at_bytes, &n_read, ds->path, err);

    if (reader->at_bytes == DLB_NO_OFFSET)
        reader->at_bytes = at_bytes;
    reader->io_bytes += n_read;
    if (rc == DLB_OK && n_read < n_bytes)
        return fail_changed(ds, at_bytes + n_read, err);
    return rc;
}

/* libhdf5 reads zeros beyond the end of a file that was cut short, and reports no error. */
static int check_whole(const struct dlb_hdf5 *ds, struct dlb_err *err)
{
    uint64_t n_bytes = 0;
    int rc = ds->io->size(ds->handle, &n_bytes, ds->path, err);

    if (rc == DLB_OK && n_bytes < ds->file_bytes)
        return fail_changed(ds, n_bytes, err);
    return rc;
}

/* dst begins with a whole element, or lies within the first one. */
static void fill(const struct dlb_hdf5 *ds, uint8_t *dst, size_t n_bytes)
{
    size_t each = ds->facts.about.element_bytes, done = each < n_bytes ? each : n_bytes;

    if (!ds->facts.about.fills || each > sizeof ds->facts.about.fill) {
        memset(dst, 0, n_bytes);
        return;
    }
    memcpy(dst, ds->facts.about.fill, done);
    while (done < n_bytes) { /* doubles what is filled already */
        size_t n = done < n_bytes - done ? done : n_bytes - done;
        memcpy(dst + done, dst, n);
        done += n;
    }
}

/* The coordinates of the chunk's first element. */
static void first_of(const struct dlb_hdf5 *ds, uint64_t number, uint64_t at[DLB_HDF5_MAX_RANK])
{
    const struct dlb_hdf5_about *about = &ds->facts.about;

    for (uint32_t dim = about->rank; dim-- > 1;) {
        at[dim] = number % dlb_hdf5_grid(about, dim) * about->chunk[dim];
        number /= dlb_hdf5_grid(about, dim);
    }
    at[0] = number * about->chunk[0];
}

/* Whether part of the chunk lies beyond the data set. */
static bool at_edge(const struct dlb_hdf5 *ds, const uint64_t at[DLB_HDF5_MAX_RANK])
{
    const struct dlb_hdf5_about *about = &ds->facts.about;

    for (uint32_t dim = 0; dim < about->rank; dim++)
        if (about->chunk[dim] > about->dims[dim] - at[dim])
            return true;
    return false;
}

/* Reads the chunk as it is stored into reader->stored. */
static int fetch_stored(struct dlb_hdf5_reader *reader, uint64_t number,
                        struct dlb_hdf5_chunk *chunk, struct dlb_err *err)
{
    const struct dlb_hdf5 *ds = reader->ds;
    uint64_t at[DLB_HDF5_MAX_RANK];

    if (ds->way == DLB_HDF5_LIBRARY_CHUNKS) {
        first_of(ds, number, at);
        *chunk = (struct dlb_hdf5_chunk){.at_bytes = DLB_NO_OFFSET};
        int rc = dlb_hdf5_library_chunk(&reader->library, at, &reader->stored, &reader->cap_stored,
                                        &chunk->n_bytes, &chunk->mask, err);
        reader->io_bytes += chunk->n_bytes;
        return rc == DLB_OK ? check_whole(ds, err) : rc;
    }
    if (reader->cap_stored < chunk->n_bytes) {
        free(reader->stored);
        reader->cap_stored = chunk->n_bytes + (size_t)chunk->n_bytes / 8;
        reader->stored = malloc(reader->cap_stored);
        if (!reader->stored) {
            uint64_t asked = reader->cap_stored;
            reader->cap_stored = 0;
            return dlb_fail_memory(err, ds->path, asked);
        }
    }
    return fetch(reader, chunk->at_bytes, reader->stored, chunk->n_bytes, err);
}

/* Reads a whole chunk, unfiltered, into dst. */
static int unpack(struct dlb_hdf5_reader *reader, uint64_t number, uint8_t *dst,
                  struct dlb_err *err)
{
    const struct dlb_hdf5 *ds = reader->ds;
    const struct dlb_hdf5_about *about = &ds->facts.about;
    struct dlb_hdf5_chunk chunk = {0};
    uint64_t at[DLB_HDF5_MAX_RANK];
    uint32_t n_filters = about->n_filters;

    if (ds->way == DLB_HDF5_TABLE)
        chunk = ds->table[number];
    int rc = DLB_OK;
    if (ds->way != DLB_HDF5_TABLE || chunk.n_bytes > 0)
        rc = fetch_stored(reader, number, &chunk, err);
    if (rc != DLB_OK)
        return rc;
    if (chunk.n_bytes == 0) {
        fill(ds, dst, ds->chunk_bytes);
        return DLB_OK;
    }
    if (about->plain_edges) {
        first_of(ds, number, at);
        n_filters = at_edge(ds, at) ? 0 : n_filters;
    }
    rc = dlb_hdf5_unfilter(&reader->unfilter, about->filter, n_filters, chunk.mask, reader->stored,
                           chunk.n_bytes, dst, ds->chunk_bytes, err);
    if (rc != DLB_OK) {
        err->offset_bytes = chunk.at_bytes;
        return dlb_fail_at_path(err, ds->path);
    }
    return DLB_OK;
}

/* A chunk's unfiltered bytes, kept from an earlier row or unpacked now. On failure NULL, with *rc
 * set. */
static const uint8_t *kept_chunk(struct dlb_hdf5_reader *reader, uint64_t number, int *rc,
                                 struct dlb_err *err)
{
    struct dlb_hdf5_kept *kept = &reader->kept[number % reader->n_kept];

    if (kept->number != number + 1) {
        kept->number = 0;
        if (!kept->data && !(kept->data = malloc(reader->ds->chunk_bytes))) {
            *rc = dlb_fail_memory(err, reader->ds->path, reader->ds->chunk_bytes);
            return NULL;
        }
        uint64_t before = reader->at_bytes;
        reader->at_bytes = DLB_NO_OFFSET;
        *rc = unpack(reader, number, kept->data, err);
        kept->at_bytes = reader->at_bytes;
        reader->at_bytes = before;
        if (*rc != DLB_OK)
            return NULL;
        kept->number = number + 1;
    }
    if (reader->at_bytes == DLB_NO_OFFSET)
        reader->at_bytes = kept->at_bytes;
    *rc = DLB_OK;
    return kept->data;
}

/* Rows [skip, skip + count) of one chunk that holds whole rows. */
static int read_whole(struct dlb_hdf5_reader *reader, uint64_t number, uint64_t skip,
                      uint64_t count, uint8_t *dst, struct dlb_err *err)
{
    const struct dlb_hdf5 *ds = reader->ds;
    size_t n_bytes = count * ds->row_bytes;
    int rc = DLB_OK;

    if (readable_in_place(ds)) {
        const struct dlb_hdf5_chunk *chunk = &ds->table[number];
        if (chunk->n_bytes > 0)
            return fetch(reader, chunk->at_bytes + skip * ds->row_bytes, dst, n_bytes, err);
        fill(ds, dst, n_bytes);
        return DLB_OK;
    }
    if (count == ds->facts.about.chunk[0])
        return unpack(reader, number, dst, err);
    const uint8_t *data = kept_chunk(reader, number, &rc, err);
    if (data)
        memcpy(dst, data + skip * ds->row_bytes, n_bytes);
    return rc;
}

/* Copies one row of a chunk, chunk_row_bytes at `src`, to its place in the sample at `dst`, in runs
 * of bytes that are contiguous in both. `at`: the chunk's first element. */
static void scatter(const struct dlb_hdf5 *ds, const uint64_t at[DLB_HDF5_MAX_RANK],
                    const uint8_t *src, uint8_t *dst)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    uint32_t last = ds->run_dim;
    uint64_t n[DLB_HDF5_MAX_RANK] = {0}, i[DLB_HDF5_MAX_RANK] = {0};
    uint64_t src_step[DLB_HDF5_MAX_RANK], dst_step[DLB_HDF5_MAX_RANK];

    src_step[last] = dst_step[last] = ds->run_bytes;
    for (uint32_t dim = last; dim >= 1; dim--) {
        uint64_t left = about->dims[dim] - at[dim];
        n[dim] = left < about->chunk[dim] ? left : about->chunk[dim];
        dst += at[dim] * dst_step[dim];
        src_step[dim - 1] = src_step[dim] * about->chunk[dim];
        dst_step[dim - 1] = dst_step[dim] * about->dims[dim];
    }
    for (;;) {
        memcpy(dst, src, n[last] * ds->run_bytes);
        uint32_t dim = last - 1;
        while (dim >= 1 && ++i[dim] == n[dim]) {
            i[dim] = 0;
            src -= (n[dim] - 1) * src_step[dim];
            dst -= (n[dim] - 1) * dst_step[dim];
            dim--;
        }
        if (dim < 1)
            return;
        src += src_step[dim];
        dst += dst_step[dim];
    }
}

/* Reads a row that is spread over several chunks. */
static int read_spread(struct dlb_hdf5_reader *reader, uint64_t row, uint8_t *dst,
                       struct dlb_err *err)
{
    const struct dlb_hdf5 *ds = reader->ds;
    uint64_t rows = ds->facts.about.chunk[0], first = row / rows * ds->n_across;
    uint64_t skip_bytes = row % rows * ds->chunk_row_bytes, at[DLB_HDF5_MAX_RANK] = {0};
    int rc = DLB_OK;

    for (uint64_t i = 0; rc == DLB_OK && i < ds->n_across; i++) {
        const uint8_t *src = reader->part;
        first_of(ds, first + i, at);
        if (!readable_in_place(ds)) {
            src = kept_chunk(reader, first + i, &rc, err);
            if (!src)
                return dlb_failed(err);
            src += skip_bytes;
        } else if (ds->table[first + i].n_bytes > 0) {
            rc = fetch(reader, ds->table[first + i].at_bytes + skip_bytes, reader->part,
                       ds->chunk_row_bytes, err);
        } else {
            fill(ds, reader->part, ds->chunk_row_bytes);
        }
        if (rc == DLB_OK)
            scatter(ds, at, src, dst);
    }
    return rc;
}

int dlb_hdf5_read_rows(struct dlb_hdf5_reader *reader, uint64_t first, uint64_t count, uint8_t *dst,
                       struct dlb_err *err)
{
    const struct dlb_hdf5 *ds = reader->ds;
    size_t n_bytes = count * ds->row_bytes;
    int rc = DLB_OK;

    if (n_bytes == 0)
        return DLB_OK;
    if (ds->way == DLB_HDF5_LIBRARY) {
        if (!ds->facts.about.fills) /* libhdf5 leaves the bytes of missing chunks as they were */
            memset(dst, 0, n_bytes);
        reader->io_bytes += count * ds->stored_row_bytes;
        rc = dlb_hdf5_library_read(&reader->library, first, count, dst, err);
        return rc == DLB_OK ? check_whole(ds, err) : rc;
    }
    if (ds->way == DLB_HDF5_PLAIN && ds->data_at != DLB_NO_OFFSET)
        return fetch(reader, ds->data_at + first * ds->row_bytes, dst, n_bytes, err);
    if (ds->way == DLB_HDF5_PLAIN) {
        fill(ds, dst, n_bytes);
        return DLB_OK;
    }
    if (!ds->whole_rows)
        return read_spread(reader, first, dst, err);
    for (uint64_t rows = ds->facts.about.chunk[0]; rc == DLB_OK && count > 0;) {
        uint64_t skip = first % rows, here = rows - skip < count ? rows - skip : count;
        rc = read_whole(reader, first / rows, skip, here, dst, err);
        first += here;
        count -= here;
        dst += here * ds->row_bytes;
    }
    return rc;
}

#endif

/* Opening an HDF5 data set: libhdf5 looks at it in a process of its own; then, where possible, the
 * places of its chunks become a table. */
#include "formats/hdf5/hdf5.h"

#include "core/base/escape.h"
#include "core/base/units.h"

#ifdef DLB_HAVE_HDF5

#include "formats/hdf5/btree.h"
#include "formats/headroom.h"
#include "formats/hdf5/look.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Refused beyond this, so that sums of sizes cannot overflow. */
#define MAX_SAMPLE_BYTES (UINT64_C(1) << 40)
#define LIBRARY_CACHE_BYTES (1 << 20) /* rdcc_nbytes by default, up to version 1.14 */
#define MAX_GRID (UINT64_C(1) << 27)  /* chunks; their places take 2 GiB */

static int fail_set(const struct dlb_hdf5 *ds, enum dlb_code code, const char *what,
                    struct dlb_err *err)
{
    return dlb_fail(err, code, ds->path, DLB_NO_OFFSET, "%.*s %s",
                    DLB_CUT(ds->facts.about.dataset, 200), what);
}

static int measure_rows(struct dlb_hdf5 *ds, struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    uint64_t n = about->element_bytes;

    for (uint32_t i = 1; i < about->rank; i++)
        if (__builtin_mul_overflow(n, about->dims[i], &n) || n > MAX_SAMPLE_BYTES)
            return fail_set(ds, DLB_ERR_HDF5_DATASET_UNFIT, "has samples of more than 1 TiB", err);
    ds->row_bytes = n;
    ds->n_samples = about->dims[0];
    ds->max_sample_bytes = n;
    if (n == 0)
        return fail_set(ds, DLB_ERR_HDF5_DATASET_UNFIT, "has samples of 0 bytes", err);
    if (__builtin_mul_overflow(n, about->dims[0], &ds->total_bytes))
        return fail_set(ds, DLB_ERR_HDF5_DATASET_UNFIT, "has more than 2^64 bytes", err);
    ds->stored_row_bytes =
        about->dims[0] ? (about->stored_bytes + about->dims[0] - 1) / about->dims[0] : 0;
    return DLB_OK;
}

static int measure_ragged(struct dlb_hdf5 *ds, struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    const uint64_t *offset = ds->facts.offset;

    ds->n_samples = about->n_offsets - 1;
    ds->max_sample_bytes = 0;
    for (uint64_t i = 0; i < ds->n_samples; i++) {
        if (offset[i] > offset[i + 1] || offset[i + 1] > about->dims[0] ||
            offset[i + 1] - offset[i] > MAX_SAMPLE_BYTES)
            return dlb_fail(err, DLB_ERR_HDF5_OFFSETS_DAMAGED, ds->path, DLB_NO_OFFSET,
                            "the offsets of sample %" PRIu64 " are %" PRIu64 " and %" PRIu64
                            ", and the data have %" PRIu64 " bytes: they are damaged",
                            i, offset[i], offset[i + 1], about->dims[0]);
        if (offset[i + 1] - offset[i] > ds->max_sample_bytes)
            ds->max_sample_bytes = offset[i + 1] - offset[i];
    }
    ds->total_bytes = offset[ds->n_samples] - offset[0];
    return DLB_OK;
}

/* How rows lie in chunks. */
static void measure_chunks(struct dlb_hdf5 *ds)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    uint32_t dim = about->rank - 1;

    ds->chunk_row_bytes = about->element_bytes;
    ds->n_across = 1;
    ds->whole_rows = true;
    for (uint32_t i = 1; i < about->rank; i++) {
        ds->chunk_row_bytes *= about->chunk[i];
        ds->n_across *= dlb_hdf5_grid(about, i);
        ds->whole_rows = ds->whole_rows && about->chunk[i] == about->dims[i];
    }
    ds->chunk_bytes = ds->chunk_row_bytes * about->chunk[0];
    ds->run_bytes = about->element_bytes;
    for (; dim > 1 && about->chunk[dim] == about->dims[dim]; dim--)
        ds->run_bytes *= about->dims[dim];
    ds->run_dim = dim;
}

/* NULL, or why samples cannot be read without libhdf5. */
static const char *why_library(struct dlb_hdf5 *ds, char *text, size_t n_text)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    uint64_t n_chunk = about->element_bytes, n_grid = 1;

    if (about->layout == DLB_HDF5_ELSEWHERE)
        return "the data lie in other files";
    if (about->fill_too_large)
        return "the fill value is larger than 256 bytes";
    if (about->layout != DLB_HDF5_CHUNKED)
        return NULL;
    char name[64];
    if (dlb_hdf5_filters_unknown(about->filter, about->n_filters, name, sizeof name)) {
        (void)snprintf(text, n_text, "only libhdf5 undoes %s", name);
        return text;
    }
    for (uint32_t i = 0; i < about->rank; i++)
        if (__builtin_mul_overflow(n_chunk, about->chunk[i], &n_chunk) || n_chunk > UINT32_MAX)
            return "chunks have 4 GiB or more";
    for (uint32_t i = 0; i < about->rank; i++)
        if (__builtin_mul_overflow(n_grid, dlb_hdf5_grid(about, i), &n_grid) || n_grid > MAX_GRID)
            return "there are more than 134,217,728 chunks";
    ds->n_grid = n_grid;
    return NULL;
}

/* Compares the table with the chunks that libhdf5 was asked about. */
static int check_sampled(const struct dlb_hdf5 *ds, uint64_t base, struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;

    for (uint32_t i = 0; i < about->n_sampled; i++) {
        const struct dlb_hdf5_listed *said = &about->sampled[i];
        if (said->number >= ds->n_grid)
            return fail_set(ds, DLB_ERR_HDF5_INDEX_DAMAGED, "has chunks beyond its size", err);
        const struct dlb_hdf5_chunk *own = &ds->table[said->number];
        bool same = own->n_bytes == said->chunk.n_bytes && own->mask == said->chunk.mask;
        /* libhdf5 1.10 leaves out the user block, later versions do not. */
        if (same && own->n_bytes > 0)
            same = own->at_bytes == said->chunk.at_bytes ||
                   own->at_bytes == said->chunk.at_bytes + base;
        if (!same)
            return dlb_fail(err, DLB_ERR_HDF5_INDEX_DISPUTED, ds->path, own->at_bytes,
                            "the B-tree and libhdf5 disagree about chunk %" PRIu64
                            ": use dataset.access = \"library\"",
                            said->number);
    }
    return DLB_OK;
}

static int open_tree(struct dlb_hdf5 *ds, const struct dlb_hdf5_bytes *file,
                     const struct dlb_hdf5_layout_message *found, struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    bool same = found->rank == about->rank && found->element_bytes == about->element_bytes;

    for (uint32_t i = 0; same && i < about->rank; i++)
        same = found->chunk[i] == about->chunk[i];
    if (!same)
        return fail_set(ds, DLB_ERR_HDF5_HEADER_DAMAGED,
                        "has chunks of two sizes: its header is damaged", err);
    int rc = DLB_OK;
    if (found->at != DLB_NO_OFFSET)
        rc = dlb_hdf5_btree_read(file, found->at, about, ds->table, ds->n_grid, err);
    return rc == DLB_OK ? check_sampled(ds, file->base, err) : rc;
}

static int take_listed(struct dlb_hdf5 *ds, struct dlb_err *err)
{
    const struct dlb_hdf5_facts *facts = &ds->facts;

    for (uint64_t i = 0; i < facts->about.n_listed; i++) {
        const struct dlb_hdf5_listed *listed = &facts->listed[i];
        const struct dlb_hdf5_chunk *chunk = &listed->chunk;
        if (listed->number >= ds->n_grid)
            return fail_set(ds, DLB_ERR_HDF5_INDEX_DAMAGED, "has chunks beyond its size", err);
        if (chunk->n_bytes == 0 || chunk->at_bytes > ds->file_bytes ||
            chunk->n_bytes > ds->file_bytes - chunk->at_bytes)
            return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, ds->path, chunk->at_bytes,
                            "chunk %" PRIu64
                            " lies beyond the end of the file: it was cut short, or is damaged",
                            listed->number);
        if (facts->about.n_filters == 0 && chunk->n_bytes != ds->chunk_bytes)
            return fail_set(ds, DLB_ERR_HDF5_INDEX_DAMAGED, "has chunks of the wrong size", err);
        ds->table[listed->number] = *chunk;
    }
    return DLB_OK;
}

/* For the message that libhdf5 is asked: only the version-1 B-tree is read here. */
static const char *index_name(int index)
{
    static const char *const names[] = {
        [DLB_HDF5_BTREE_1] = "of a file before HDF5 1.6.3",
        [DLB_HDF5_SINGLE_CHUNK] = "of a single chunk",
        [DLB_HDF5_IMPLICIT] = "implicit",
        [DLB_HDF5_FIXED_ARRAY] = "a fixed array",
        [DLB_HDF5_EXTENSIBLE_ARRAY] = "an extensible array",
        [DLB_HDF5_BTREE_2] = "a version-2 B-tree",
    };
    return names[index];
}

/* libhdf5 keeps no chunk that is larger than its cache, so that each read of a row reads, and
 * unpacks, the whole chunk. */
static void note_large_chunks(const struct dlb_hdf5 *ds, struct dlb_shape *shape)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    char shape_text[120] = "", chunk[40];
    uint64_t across = ds->chunk_bytes * ds->n_across;

    if (ds->chunk_bytes <= LIBRARY_CACHE_BYTES || about->chunk[0] < 2 || about->n_offsets > 0)
        return;
    for (uint32_t i = 1; i < about->rank && i < 6; i++)
        (void)snprintf(shape_text + strlen(shape_text), sizeof shape_text - strlen(shape_text),
                       ", %" PRIu64, about->dims[i]);
    dlb_shape_odd(
        shape,
        "chunks hold %" PRIu64 " samples in %s, and libhdf5's chunk cache 1 MiB: h5py and "
        "dataset.access = \"library\" read a whole chunk for each sample of a shuffled "
        "epoch. Chunks of one sample end that (chunks=(1%s%s)), or "
        "h5py.File(path, rdcc_nbytes=%" PRIu64 "), which holds them all; in order "
        "rdcc_nbytes=%" PRIu64 " is enough",
        (uint64_t)about->chunk[0], dlb_bytes_text(ds->chunk_bytes, chunk, sizeof chunk), shape_text,
        about->rank == 1 ? "," : "", (ds->total_bytes + across - 1) / across * across, across);
}

static int open_chunks(struct dlb_hdf5 *ds, const struct dlb_hdf5_bytes *file,
                       const struct dlb_hdf5_layout_message *found, struct dlb_shape *shape,
                       struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    bool old = about->index == DLB_HDF5_BTREE_1;
    bool tree = old && found->known && found->layout == DLB_HDF5_CHUNKED;
    bool listed = !tree && !old && file->base == 0 && about->n_chunks == about->n_listed;

    measure_chunks(ds);
    int rc = dlb_headroom_check(ds->chunk_bytes, ds->path, "a chunk of it",
                                "write it with smaller chunks", err);
    if (rc != DLB_OK)
        return rc;
    note_large_chunks(ds, shape);
    ds->way = tree || listed ? DLB_HDF5_TABLE : DLB_HDF5_LIBRARY_CHUNKS;
    if (ds->way == DLB_HDF5_LIBRARY_CHUNKS) {
        dlb_shape_odd(
            shape,
            "chunks come from libhdf5, one at a time: their index is %s; workers read them "
            "without libhdf5 from a file written with the default libver",
            index_name(about->index));
        return DLB_OK;
    }
    rc = dlb_headroom_check(ds->n_grid * sizeof *ds->table, ds->path, "the places of its chunks",
                            "write it with larger chunks", err);
    if (rc != DLB_OK)
        return rc;
    ds->table = calloc(ds->n_grid ? ds->n_grid : 1, sizeof *ds->table);
    if (!ds->table)
        return dlb_fail_memory(err, ds->path, ds->n_grid * sizeof *ds->table);
    if (listed)
        dlb_shape_odd(shape, "libhdf5 was asked for the places of %" PRIu64 " chunks",
                      about->n_chunks);
    return tree ? open_tree(ds, file, found, err) : take_listed(ds, err);
}

static int open_plain(struct dlb_hdf5 *ds, const struct dlb_hdf5_layout_message *found,
                      struct dlb_shape *shape, struct dlb_err *err)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    uint64_t n_bytes = ds->row_bytes * about->dims[0];

    ds->way = DLB_HDF5_PLAIN;
    ds->data_at = about->data_at;
    if (about->layout == DLB_HDF5_COMPACT) {
        if (!found->known || found->layout != DLB_HDF5_COMPACT || found->n_data < n_bytes) {
            ds->way = DLB_HDF5_LIBRARY;
            dlb_shape_odd(shape, "samples come from libhdf5: they lie inside a header");
            return DLB_OK;
        }
        ds->data_at = found->at;
    }
    if (ds->data_at != DLB_NO_OFFSET &&
        (ds->data_at > ds->file_bytes || n_bytes > ds->file_bytes - ds->data_at))
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, ds->path, ds->data_at,
                        "the %" PRIu64 " bytes of data go beyond the end of the file", n_bytes);
    return DLB_OK;
}

static int open_bytes(struct dlb_hdf5 *ds, struct dlb_hdf5_bytes *file, struct dlb_err *err)
{
    int rc = ds->io->open(ds->path, &ds->handle, err);

    ds->opened = rc == DLB_OK;
    if (rc == DLB_OK)
        rc = ds->io->size(ds->handle, &ds->file_bytes, ds->path, err);
    *file = (struct dlb_hdf5_bytes){
        .io = ds->io, .handle = ds->handle, .path = ds->path, .file_bytes = ds->file_bytes};
    return rc == DLB_OK ? dlb_hdf5_superblock(file, err) : rc;
}

static bool is_never_written(const struct dlb_hdf5_about *about)
{
    return about->layout == DLB_HDF5_CHUNKED
               ? about->stored_bytes == 0
               : about->layout == DLB_HDF5_CONTIGUOUS && about->data_at == DLB_NO_OFFSET;
}

/* Reading what was never written costs nothing, so that a figure of it says nothing of storage. */
static void note_missing(const struct dlb_hdf5 *ds, struct dlb_shape *shape)
{
    uint64_t n_missing = 0;

    for (uint64_t i = 0; ds->table && i < ds->n_grid; i++)
        n_missing += ds->table[i].n_bytes == 0;
    if (n_missing > 0 && !is_never_written(&ds->facts.about))
        dlb_shape_odd(shape,
                      "%" PRIu64 " of %" PRIu64 " chunks were never written: they are the fill "
                      "value, and no storage is read for them",
                      n_missing, ds->n_grid);
}

static void tell_choices(struct dlb_hdf5 *ds, const struct dlb_hdf5_opts *opts,
                         struct dlb_shape *shape)
{
    const struct dlb_hdf5_about *about = &ds->facts.about;
    uint64_t outside;

    if (about->n_candidates > 1)
        dlb_shape_odd(shape, "holds %u data sets; the largest, %.*s, is read (see hdf5.dataset)",
                      about->n_candidates, DLB_CUT(about->dataset, 80));
    if (about->search_ended)
        dlb_shape_odd(shape,
                      "the search for data sets ended at %u objects or a depth of %u groups: "
                      "a larger one may lie beyond (see hdf5.dataset)",
                      DLB_HDF5_MAX_OBJECTS, DLB_HDF5_MAX_DEPTH);
    if (is_never_written(about))
        dlb_shape_odd(shape, "nothing of it was ever written: each sample is the fill value, and "
                             "no storage is read");
    if (about->other_numbers)
        dlb_shape_odd(
            shape,
            "its elements, of %u byte%s each, are neither little-endian whole numbers nor "
            "floats, so rows are read as bytes: their type is not kept",
            about->element_bytes, about->element_bytes == 1 ? "" : "s");
    if (about->more_labels)
        dlb_shape_odd(shape, "has label and labels beside it; label is read (see hdf5.label)");
    if (about->offsets_unused)
        dlb_shape_odd(shape, "the offsets beside it are not read: its rows have one size");
    if (about->n_offsets > 0 && (outside = about->dims[0] - ds->total_bytes) > 0)
        dlb_shape_odd(shape,
                      "%" PRIu64 " of its %" PRIu64 " bytes belong to no sample: they lie before "
                      "the first offset or behind the last",
                      outside, about->dims[0]);
    if (about->label_refused)
        dlb_shape_odd(shape, "the labels beside it are ignored: they are not one whole number for "
                             "each sample");
    if (getenv("HDF5_PLUGIN_PATH") && !opts->allow_external)
        dlb_shape_odd(shape, "HDF5_PLUGIN_PATH is ignored (see hdf5.allow_external)");
}

int dlb_hdf5_open(struct dlb_hdf5 *ds, const char *path, const struct dlb_io *io,
                  const struct dlb_hdf5_opts *opts, bool library, struct dlb_shape *shape,
                  struct dlb_err *err)
{
    struct dlb_hdf5_bytes file;
    struct dlb_hdf5_layout_message found = {.known = false};
    char text[96];

    ds->io = io;
    ds->allow_external = opts->allow_external;
    ds->path = strdup(path);
    if (!ds->path)
        return dlb_fail_memory(err, path, strlen(path) + 1);
    int rc = open_bytes(ds, &file, err);
    if (rc == DLB_OK)
        rc = dlb_hdf5_look(path, opts, !library, &ds->facts, err);
    if (rc == DLB_OK)
        rc = measure_rows(ds, err);
    if (rc == DLB_OK && ds->facts.about.n_offsets)
        rc = measure_ragged(ds, err);
    if (rc != DLB_OK)
        return rc;
    tell_choices(ds, opts, shape);
    ds->way = DLB_HDF5_LIBRARY;
    if (library)
        return DLB_OK;
    const char *why = why_library(ds, text, sizeof text);
    if (why) {
        dlb_shape_odd(shape, "samples come from libhdf5, as with dataset.access = \"library\": %s",
                      why);
        return DLB_OK;
    }
    if (ds->facts.about.layout != DLB_HDF5_CONTIGUOUS &&
        (ds->facts.about.layout == DLB_HDF5_COMPACT || ds->facts.about.index == DLB_HDF5_BTREE_1))
        rc = dlb_hdf5_layout_read(&file, ds->facts.about.header_at, &found, err);
    if (rc == DLB_OK)
        rc = ds->facts.about.layout == DLB_HDF5_CHUNKED ? open_chunks(ds, &file, &found, shape, err)
                                                        : open_plain(ds, &found, shape, err);
    if (rc == DLB_OK)
        note_missing(ds, shape);
    free(ds->facts.listed);
    ds->facts.listed = NULL;
    return rc;
}

void dlb_hdf5_close(struct dlb_hdf5 *ds)
{
    if (ds->opened)
        ds->io->close(ds->handle);
    dlb_hdf5_facts_free(&ds->facts);
    free(ds->table);
    free(ds->path);
    *ds = (struct dlb_hdf5){.opened = false};
}

#endif

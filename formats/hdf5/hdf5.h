/* An open HDF5 data set, and reading samples of it.
 *
 * Floor 2. Opened on the control thread; then read-only. A reader belongs to one worker. Either
 * every byte goes through libhdf5 and its lock, or workers read chunks from the file and unfilter
 * them without libhdf5. */
#ifndef DLB_FORMATS_HDF5_HDF5_H
#define DLB_FORMATS_HDF5_HDF5_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "formats/format.h"
#include "formats/hdf5/about.h"
#include "formats/hdf5/filters.h"
#include "formats/hdf5/library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How samples are read. */
enum dlb_hdf5_way {
    DLB_HDF5_PLAIN,          /* from one extent of the file */
    DLB_HDF5_TABLE,          /* chunk by chunk, by their places in the file */
    DLB_HDF5_LIBRARY_CHUNKS, /* stored chunks by H5Dread_chunk, unfiltered by the worker */
    DLB_HDF5_LIBRARY,        /* H5Dread */
};

struct dlb_hdf5 {
    const struct dlb_io *io;
    char *path; /* of the file; owned */
    int64_t handle;
    bool opened, allow_external;
    uint64_t file_bytes;
    struct dlb_hdf5_facts facts; /* without `listed`, which open moves to the table */
    int way;                     /* enum dlb_hdf5_way */
    uint64_t n_samples, max_sample_bytes, total_bytes;
    uint64_t row_bytes;        /* of one index along the first dimension */
    uint64_t data_at;          /* plain; DLB_NO_OFFSET: every byte is the fill value */
    uint64_t stored_row_bytes; /* average; an estimate of what libhdf5 reads for a row */
    /* Chunked: */
    struct dlb_hdf5_chunk *table; /* [n_grid] */
    uint64_t n_grid, n_across;    /* chunks in all, and those that make up the same rows */
    uint64_t chunk_bytes, chunk_row_bytes;
    bool whole_rows; /* a chunk holds whole rows */
    /* Otherwise rows are copied in runs that are contiguous in chunk and row: */
    uint32_t run_dim;   /* a run goes along this dimension and all that follow */
    uint64_t run_bytes; /* of one step along run_dim */
};

int dlb_hdf5_open(struct dlb_hdf5 *ds, const char *path, const struct dlb_io *io,
                  const struct dlb_hdf5_opts *opts, bool library, struct dlb_shape *shape,
                  struct dlb_err *err);
void dlb_hdf5_close(struct dlb_hdf5 *ds); /* after a failed open too */

struct dlb_hdf5_reader {
    const struct dlb_hdf5 *ds;
    struct dlb_hdf5_handle library; /* for the LIBRARY ways */
    struct dlb_hdf5_unfilter unfilter;
    uint8_t *stored; /* a chunk as it is stored */
    size_t cap_stored;
    uint8_t *part; /* scratch for one row of a chunk; unless whole_rows */
    struct dlb_hdf5_kept {
        uint64_t number; /* chunk, plus 1; 0: none */
        uint64_t at_bytes;
        uint8_t *data;
    } * kept; /* unfiltered chunks of the rows that were read last: chunk n is [n % n_kept] */
    uint64_t n_kept;
    uint64_t io_bytes; /* read since the caller zeroed it */
    uint64_t at_bytes; /* offset of the first read since the caller set DLB_NO_OFFSET */
};
/* shape.reader_bytes: the unpacked chunks that it keeps, what filters need between them, and the
 * largest chunk as it is stored. 0 where rows are read from the file to their place. */
uint64_t dlb_hdf5_reader_bytes(const struct dlb_hdf5 *ds);

int dlb_hdf5_reader_open(struct dlb_hdf5_reader *reader, const struct dlb_hdf5 *ds,
                         struct dlb_err *err);
void dlb_hdf5_reader_close(struct dlb_hdf5_reader *reader);
/* Reads rows [first, first + count) into dst; count is 1 unless the data set is ragged. */
int dlb_hdf5_read_rows(struct dlb_hdf5_reader *reader, uint64_t first, uint64_t count, uint8_t *dst,
                       struct dlb_err *err);

/* formats/hdf5/write.c: gen and convert. */
uint64_t dlb_hdf5_gen_units(const struct dlb_gen *gen);
bool dlb_hdf5_gen_compresses(const struct dlb_gen *gen);
void dlb_hdf5_gen_stored(const struct dlb_gen *gen, struct dlb_bytes *made);
int dlb_hdf5_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_hdf5_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                      struct dlb_err *err);
struct dlb_hdf5_writer {
    struct dlb_hdf5_plan plan;
    struct dlb_hdf5_out out; /* opened when the first sample comes */
    char *path;
};
int dlb_hdf5_writer_open(void *wr, const struct dlb_write *how, struct dlb_err *err);
int dlb_hdf5_writer_add(void *wr, const struct dlb_sample *sample, struct dlb_err *err);
int dlb_hdf5_writer_finish(void *wr, struct dlb_err *err);
void dlb_hdf5_writer_close(void *wr);

#endif

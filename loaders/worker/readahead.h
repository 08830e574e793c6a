/* The samples of a batch that are read ahead of their turn: where they lie, where their bytes go,
 * and when they are complete. Knows nothing of how reads are made.
 *
 * Floor 3. A worker's own. */
#ifndef DLB_LOADERS_WORKER_READAHEAD_H
#define DLB_LOADERS_WORKER_READAHEAD_H

#include "core/base/err.h"
#include "formats/format.h"
#include "loaders/worker/setup.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_ra_piece {
    struct dlb_extent extent;
    uint8_t *dst;         /* of what is asked: with O_DIRECT, of the block that it begins in */
    uint64_t at_bytes;    /* of dst, from where the sample's bytes begin */
    uint64_t from_bytes;  /* of dst, in the file */
    uint64_t skip_bytes;  /* from there to what is wanted */
    uint64_t asked_bytes; /* whole blocks, with O_DIRECT */
    uint64_t done_bytes;
};

struct dlb_ra_sample {
    uint64_t index;
    struct dlb_ra_piece *piece; /* [cap]; owned */
    uint32_t cap, n, n_left;    /* n_left: not complete; 0: the sample can be taken */
    uint8_t *own;               /* where neither the slot nor the common buffer will do; owned */
    uint64_t own_bytes, held_bytes, io_bytes;
    bool failed;
    struct dlb_err err;
};

struct dlb_readahead {
    const struct dlb_worker_setup *setup;
    void *reader;                 /* the format's; borrowed */
    uint32_t ahead;               /* samples, at most, beside the one that the worker has */
    struct dlb_ra_sample *sample; /* [ahead + 1] take turns; owned */
    struct dlb_extent *extent;    /* [extent_cap] what the format fills in; owned */
    struct dlb_field *field;      /* [extent_cap]; owned */
    uint32_t extent_cap;
    /* A part for each sample, for those of the usual size; made when first needed; owned. NULL: not
     * yet, or (no_buffer) not to be had. */
    uint8_t *buffer;
    uint64_t buffer_bytes, part_bytes;
    bool no_buffer;
    uint64_t held_bytes; /* by own memory */
    /* the batch */
    struct dlb_dest slot; /* no data: nothing more is placed in it */
    uint64_t first, placed_bytes;
    uint32_t n, n_located, n_taken;
    uint32_t next_piece; /* of the last one located */
};

int dlb_readahead_open(struct dlb_readahead *ra, const struct dlb_worker_setup *setup, void *reader,
                       uint32_t ahead, struct dlb_err *err);
void dlb_readahead_close(struct dlb_readahead *ra);

/* As dlb_async_begin. n == 0: nothing is wanted. No piece of the last batch is being read. */
void dlb_readahead_begin(struct dlb_readahead *ra, uint64_t first, uint32_t n,
                         struct dlb_dest slot);

/* The next piece to be read, by sample (its place in ra->sample) and number; false when the batch
 * holds no more, or as many samples wait as may. */
bool dlb_readahead_next(struct dlb_readahead *ra, uint32_t *sample, uint32_t *piece);

/* What came of a read of asked_bytes - done_bytes at done_bytes: `opened` and `result` as the
 * kernel has them (bytes, or a negative errno). True: the piece is finished, complete or failed.
 * False: the rest is to be asked for. */
bool dlb_readahead_settle(struct dlb_readahead *ra, uint32_t sample, uint32_t piece, int32_t opened,
                          int32_t result);

/* Whether the sample whose turn it is can be taken. */
bool dlb_readahead_ready(const struct dlb_readahead *ra);
/* Takes it: as the format's read. Borrowed until dlb_readahead_release. */
int dlb_readahead_take(struct dlb_readahead *ra, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *err);
void dlb_readahead_release(struct dlb_readahead *ra);

#endif

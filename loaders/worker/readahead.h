/* Keeps track of the samples of a batch that are read ahead: where they lie in the files, where
 * their bytes go, and which are complete. It makes no reads itself (see async_read.h).
 *
 * Floor 3. One worker's own. */
#ifndef DLB_LOADERS_WORKER_READAHEAD_H
#define DLB_LOADERS_WORKER_READAHEAD_H

#include "core/base/err.h"
#include "formats/format.h"
#include "loaders/worker/setup.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_ra_piece {
    struct dlb_extent extent;
    uint8_t *dst;         /* where the read goes */
    uint64_t at_bytes;    /* offset of dst from where the sample's bytes begin */
    uint64_t from_bytes;  /* where the read begins in the file; with O_DIRECT, at a whole block */
    uint64_t skip_bytes;  /* from there to the wanted bytes */
    uint64_t asked_bytes; /* length of the read; with O_DIRECT, whole blocks */
    uint64_t done_bytes;
};

struct dlb_ra_sample {
    uint64_t index;
    struct dlb_ra_piece *piece; /* [cap]; owned */
    uint32_t cap, n, n_left;    /* n_left: pieces that are not complete; 0: can be taken */
    uint8_t *own;               /* when it fits neither the slot nor the common buffer; owned */
    uint64_t own_bytes, held_bytes, io_bytes;
    bool failed;
    struct dlb_err err;
};

struct dlb_readahead {
    const struct dlb_worker_setup *setup;
    void *reader;                 /* the format's; borrowed */
    uint32_t ahead;               /* samples read ahead at most, beside the one in hand */
    struct dlb_ra_sample *sample; /* [ahead + 1] used in turn; owned */
    struct dlb_extent *extent;    /* [extent_cap] the format fills these in; owned */
    struct dlb_field *field;      /* [extent_cap]; owned */
    uint32_t extent_cap;
    /* The common buffer, with a part for each sample; made when first needed; owned. NULL: not made
     * yet, or (no_buffer) too large or out of memory. */
    uint8_t *buffer;
    uint64_t buffer_bytes, part_bytes;
    bool no_buffer;
    uint64_t held_bytes; /* in the samples' own memory */
    /* the batch */
    struct dlb_dest slot; /* data NULL: no further sample is placed in the slot */
    uint64_t first, placed_bytes;
    uint32_t n, n_located, n_taken;
    uint32_t next_piece; /* of the sample that was located last */
};

int dlb_readahead_open(struct dlb_readahead *ra, const struct dlb_worker_setup *setup, void *reader,
                       uint32_t ahead, struct dlb_err *err);
void dlb_readahead_close(struct dlb_readahead *ra);

/* As dlb_async_begin; n == 0: no batch. No read of the last batch may be in flight. */
void dlb_readahead_begin(struct dlb_readahead *ra, uint64_t first, uint32_t n,
                         struct dlb_dest slot);

/* The next piece to read: its sample (index into ra->sample) and its number. False when the batch
 * has no more, or enough samples are read ahead. */
bool dlb_readahead_next(struct dlb_readahead *ra, uint32_t *sample, uint32_t *piece);

/* Takes the result of a read of asked_bytes - done_bytes at done_bytes: `opened` and `result` are
 * the kernel's (bytes, or a negative errno). True: the piece is complete, or has failed. False:
 * read the rest. */
bool dlb_readahead_settle(struct dlb_readahead *ra, uint32_t sample, uint32_t piece, int32_t opened,
                          int32_t result);

/* Whether the next sample can be taken. */
bool dlb_readahead_ready(const struct dlb_readahead *ra);
/* Takes it, as the format's read would return it. Borrowed until dlb_readahead_release. */
int dlb_readahead_take(struct dlb_readahead *ra, struct dlb_dest dest, struct dlb_sample *out,
                       struct dlb_err *err);
void dlb_readahead_release(struct dlb_readahead *ra);

#endif

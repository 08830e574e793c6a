/* Reads a range of a data set's samples in the data set's own order.
 *
 * Floor 2. One thread. Ranges that follow each other are read without loss or repetition, whatever
 * their borders: of iterable data samples are counted as the shards announce them. A shard is
 * read to its end by the range that has its last sample, so that more samples than announced, or an
 * error behind the last one, come to light. The first range begins with the first shard, the others
 * behind the shards that end where they begin. */
#ifndef DLB_FORMATS_CONVERT_CURSOR_H
#define DLB_FORMATS_CONVERT_CURSOR_H

#include "formats/dataset.h"

struct dlb_convert_cursor {
    const struct dlb_dataset *ds;
    void *reader;
    uint64_t first, end;  /* the range */
    uint64_t at;          /* number of the next sample */
    uint32_t shard;       /* iterable: the one that is read, or comes next */
    uint64_t shard_begin; /* number of its first sample */
    bool in_shard;
    bool before; /* what the last call read, or its error, lies before the range */
};

/* Samples [first, end). Close it in any case. */
int dlb_convert_cursor_open(struct dlb_convert_cursor *cursor, const struct dlb_dataset *ds,
                            uint64_t first, uint64_t end, struct dlb_err *err);

/* DLB_END after the last one. A range that begins within a shard is preceded by that shard's
 * samples (`before`). After an error the next call goes on after the sample, or the shard, that
 * could not be read. */
int dlb_convert_cursor_next(struct dlb_convert_cursor *cursor, struct dlb_sample *sample,
                            struct dlb_err *err);
void dlb_convert_cursor_close(struct dlb_convert_cursor *cursor);

#endif

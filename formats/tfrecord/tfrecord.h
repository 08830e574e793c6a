/* TFRecord: shards and their framing.
 *
 * Floor 2. A record is its length (u64), the masked CRC-32C of these 8 bytes, the data, and their
 * masked CRC-32C, all little-endian (tensorflow/core/lib/io/record_writer.h). Compressed files
 * (GZIP, ZLIB) are not read: the CRC of their first length is wrong. */
#ifndef DLB_FORMATS_TFRECORD_TFRECORD_H
#define DLB_FORMATS_TFRECORD_TFRECORD_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/opt.h"
#include "formats/format.h"
#include "formats/left_out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DLB_TFR_HEAD_BYTES = 12, DLB_TFR_FOOT_BYTES = 4 };

/* The `tfrecord` section. */
struct dlb_tfr_opts {
    bool crc;                         /* check the CRC of the data; that of the length always is */
    char feature[DLB_OPT_STRING_CAP]; /* of tf.train.Example; empty: the whole record */
    char label[DLB_OPT_STRING_CAP];
    int64_t shard_samples; /* gen */
};
extern const struct dlb_opt_group dlb_tfr_group;

/* A file that is read from start to end, block by block. One thread. */
struct dlb_tfr {
    const struct dlb_io *io;
    int64_t handle; /* -1: closed */
    const char *path;
    uint64_t file_bytes;
    uint64_t at;    /* offset of the next record */
    uint8_t *block; /* [block_at, block_at + block_len) of the file; owned */
    size_t block_cap, block_len;
    uint64_t block_at;
    uint64_t asked_bytes; /* read since it was opened */
};

/* The path is borrowed until close. May be opened again after close; it keeps its block. */
int dlb_tfr_open(struct dlb_tfr *tfr, const struct dlb_io *io, const char *path, size_t block_bytes,
                 struct dlb_err *err);
void dlb_tfr_close(struct dlb_tfr *tfr);
void dlb_tfr_free(struct dlb_tfr *tfr);

/* The length of the record at `at`, which lies in the file as a whole. DLB_END at the file's end.
 */
int dlb_tfr_look(struct dlb_tfr *tfr, uint64_t *n_bytes, struct dlb_err *err);
/* Copies the record that dlb_tfr_look found to dst, and moves on to the next. */
int dlb_tfr_take(struct dlb_tfr *tfr, uint8_t *dst, uint64_t n_bytes, bool check_crc,
                 struct dlb_err *err);
void dlb_tfr_skip(struct dlb_tfr *tfr, uint64_t n_bytes);

/* Makes the head and the foot of a record. */
void dlb_tfr_frame(const uint8_t *data, uint64_t n_bytes, uint8_t head[DLB_TFR_HEAD_BYTES],
                   uint8_t foot[DLB_TFR_FOOT_BYTES]);

struct dlb_tfr_shard {
    char *path; /* owned */
    uint64_t file_bytes, n_records, n_bytes, max_bytes;
    struct dlb_err problem; /* set when it cannot be read to its end: where, and why */
};
struct dlb_tfr_list {
    struct dlb_tfr_shard *shard; /* sorted by name; owned */
    uint32_t n, cap;
    uint32_t n_compressed, n_other; /* files that are ignored */
    struct dlb_left_out left_out;   /* of a folder */
};

/* `path`: a file, or a folder of files named *.tfrecord*, *.tfrec or *-00000-of-00001. Reads the
 * head of every record, with a few threads that end before it returns. Free *list in any case. */
int dlb_tfr_list_make(struct dlb_tfr_list *list, const char *path, const struct dlb_io *io,
                      struct dlb_err *err);
void dlb_tfr_list_free(struct dlb_tfr_list *list);
int dlb_tfr_probe(const char *path, const struct dlb_io *io);

uint64_t dlb_tfr_gen_units(const struct dlb_gen *gen);
bool dlb_tfr_gen_makes(const struct dlb_gen *gen, const char *name);
int dlb_tfr_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_tfr_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err);

#endif

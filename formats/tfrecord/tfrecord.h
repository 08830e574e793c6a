/* TFRecord: shards and their framing.
 *
 * Floor 2. A record is its length (u64), the masked CRC-32C of these 8 bytes, the data, and their
 * masked CRC-32C, all little-endian (tensorflow/core/lib/io/record_writer.h). Only plain files;
 * whole-file compression (GZIP, ZLIB) is refused by the first record's length. */
#ifndef DLB_FORMATS_TFRECORD_TFRECORD_H
#define DLB_FORMATS_TFRECORD_TFRECORD_H

#include "core/base/err.h"
#include "core/base/io.h"
#include "core/base/opt.h"
#include "formats/format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DLB_TFR_HEAD_BYTES = 12, DLB_TFR_FOOT_BYTES = 4 };

/* The `tfrecord` section. */
struct dlb_tfr_opts {
    bool crc;                         /* check the data's; that of the length is always checked */
    char feature[DLB_OPT_STRING_CAP]; /* of tf.train.Example; empty: the record as it is */
    char label[DLB_OPT_STRING_CAP];
    int64_t shard_samples; /* gen */
};
extern const struct dlb_opt_group dlb_tfr_group;

/* One file, read from start to end through a block. One thread. */
struct dlb_tfr {
    const struct dlb_io *io;
    int64_t handle; /* -1: closed */
    const char *path;
    uint64_t file_bytes, at; /* at: of the next record */
    uint8_t *block;          /* [block_at, block_at + block_len) of the file; owned */
    size_t block_cap, block_len;
    uint64_t block_at, asked_bytes;
};

/* The path is borrowed until close. May be opened again after close, and keeps its block. */
int dlb_tfr_open(struct dlb_tfr *tfr, const struct dlb_io *io, const char *path, size_t block_bytes,
                 struct dlb_err *err);
void dlb_tfr_close(struct dlb_tfr *tfr);
void dlb_tfr_free(struct dlb_tfr *tfr);

/* The length of the record at `at`, all of which lies in the file; DLB_END at the file's end. */
int dlb_tfr_look(struct dlb_tfr *tfr, uint64_t *n_bytes, struct dlb_err *err);
/* The record that was looked at, to dst, and on to the next. */
int dlb_tfr_take(struct dlb_tfr *tfr, uint8_t *dst, uint64_t n_bytes, bool check_crc,
                 struct dlb_err *err);
void dlb_tfr_skip(struct dlb_tfr *tfr, uint64_t n_bytes);

/* Fills in head and foot around a record. */
void dlb_tfr_frame(const uint8_t *data, uint64_t n_bytes, uint8_t head[DLB_TFR_HEAD_BYTES],
                   uint8_t foot[DLB_TFR_FOOT_BYTES]);

struct dlb_tfr_shard {
    char *path; /* owned */
    uint64_t file_bytes, n_records, n_bytes, max_bytes;
    struct dlb_err problem; /* where its records end early, and why */
};
struct dlb_tfr_list {
    struct dlb_tfr_shard *shard; /* sorted by name; owned */
    uint32_t n, cap;
    uint32_t n_compressed, n_other; /* files that are left out */
};

/* `path`: a file, or a folder of files named *.tfrecord*, *.tfrec or *-00000-of-00001. Reads the
 * head of every record, by a few threads which are gone when it returns. Free it in any case. */
int dlb_tfr_list_make(struct dlb_tfr_list *list, const char *path, const struct dlb_io *io,
                      struct dlb_err *err);
void dlb_tfr_list_free(struct dlb_tfr_list *list);
int dlb_tfr_probe(const char *path, const struct dlb_io *io);

uint64_t dlb_tfr_gen_units(const struct dlb_gen *gen);
int dlb_tfr_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err);
int dlb_tfr_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err);

#endif

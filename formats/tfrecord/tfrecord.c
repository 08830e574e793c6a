#include "formats/tfrecord/tfrecord.h"

#include "core/base/little.h"
#include "formats/tfrecord/crc32c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* When at least so much of a record lies beyond the block, it is read straight to its place. That
 * costs a system call and saves a copy. */
enum { DIRECT_BYTES = 64 << 10 };

int dlb_tfr_open(struct dlb_tfr *tfr, const struct dlb_io *io, const char *path, size_t block_bytes,
                 struct dlb_err *err)
{
    dlb_tfr_close(tfr);
    if (tfr->block_cap < block_bytes) {
        free(tfr->block);
        tfr->block_cap = 0;
        tfr->block = malloc(block_bytes);
        if (!tfr->block)
            return dlb_fail_memory(err, path, block_bytes);
        tfr->block_cap = block_bytes;
    }
    tfr->io = io;
    tfr->path = path;
    tfr->at = tfr->block_at = tfr->asked_bytes = tfr->file_bytes = 0;
    tfr->block_len = 0;
    int rc = io->open(path, &tfr->handle, err);
    if (rc != DLB_OK) {
        tfr->handle = -1;
        return rc;
    }
    rc = io->size(tfr->handle, &tfr->file_bytes, path, err);
    if (rc != DLB_OK)
        dlb_tfr_close(tfr);
    return rc;
}

void dlb_tfr_close(struct dlb_tfr *tfr)
{
    if (tfr->io && tfr->handle >= 0)
        tfr->io->close(tfr->handle);
    tfr->handle = -1;
}

void dlb_tfr_free(struct dlb_tfr *tfr)
{
    dlb_tfr_close(tfr);
    free(tfr->block);
    *tfr = (struct dlb_tfr){.handle = -1};
}

static int fail_changed(const struct dlb_tfr *tfr, uint64_t at, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FILE_CHANGED, tfr->path, at,
                    "the file was cut short since it was opened: it had %" PRIu64 " bytes",
                    tfr->file_bytes);
}

/* *out points at bytes [at, at + n_bytes) of the file, in the block. They are at most a block, and
 * lie within the file. */
static int in_block(struct dlb_tfr *tfr, uint64_t at, size_t n_bytes, const uint8_t **out,
                    struct dlb_err *err)
{
    uint64_t left = tfr->file_bytes - at;
    size_t n = left < tfr->block_cap ? (size_t)left : tfr->block_cap;

    if (at < tfr->block_at || at + n_bytes > tfr->block_at + tfr->block_len) {
        tfr->block_at = at;
        tfr->block_len = 0;
        int rc = tfr->io->pread(tfr->handle, tfr->block, n, at, &tfr->block_len, tfr->path, err);
        if (rc != DLB_OK)
            return rc;
        tfr->asked_bytes += tfr->block_len;
        if (tfr->block_len < n_bytes)
            return fail_changed(tfr, at + tfr->block_len, err);
    }
    *out = tfr->block + (at - tfr->block_at);
    return DLB_OK;
}

int dlb_tfr_look(struct dlb_tfr *tfr, uint64_t *n_bytes, struct dlb_err *err)
{
    uint64_t left = tfr->file_bytes - tfr->at;
    const uint8_t *head = NULL;

    if (left == 0)
        return DLB_END;
    if (left < DLB_TFR_HEAD_BYTES)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, tfr->path, tfr->file_bytes,
                        "cut short within the head of a record");
    int rc = in_block(tfr, tfr->at, DLB_TFR_HEAD_BYTES, &head, err);
    if (rc != DLB_OK)
        return rc;
    if (dlb_little_get(head + 8, 4) != dlb_crc32c_mask(dlb_crc32c(0, head, 8)))
        return tfr->at ? dlb_fail(err, DLB_ERR_TFRECORD_LENGTH_CRC, tfr->path, tfr->at,
                                  "the CRC of a record's length is wrong: the file is damaged")
                       : dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, tfr->path, 0,
                                  "the CRC of the first record's length is wrong: not a TFRecord, "
                                  "or a compressed one (gunzip it)");
    *n_bytes = dlb_little_get(head, 8);
    left -= DLB_TFR_HEAD_BYTES;
    if (left < DLB_TFR_FOOT_BYTES || *n_bytes > left - DLB_TFR_FOOT_BYTES)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, tfr->path, tfr->file_bytes,
                        "cut short: the record at %" PRIu64 " is %" PRIu64
                        " bytes long, and the file ends before that",
                        tfr->at, *n_bytes);
    return DLB_OK;
}

static int copy_data(struct dlb_tfr *tfr, uint8_t *dst, uint64_t at, uint64_t n_bytes,
                     struct dlb_err *err)
{
    uint64_t block_end = tfr->block_at + tfr->block_len;
    const uint8_t *here;

    if (at >= tfr->block_at && at < block_end) {
        size_t n = block_end - at < n_bytes ? (size_t)(block_end - at) : (size_t)n_bytes;
        memcpy(dst, tfr->block + (at - tfr->block_at), n);
        dst += n;
        at += n;
        n_bytes -= n;
    }
    if (n_bytes >= DIRECT_BYTES || n_bytes > tfr->block_cap) {
        size_t n_read = 0;
        int rc = tfr->io->pread(tfr->handle, dst, (size_t)n_bytes, at, &n_read, tfr->path, err);
        tfr->asked_bytes += n_read;
        return rc == DLB_OK && n_read < n_bytes ? fail_changed(tfr, at + n_read, err) : rc;
    }
    if (n_bytes == 0)
        return DLB_OK;
    int rc = in_block(tfr, at, (size_t)n_bytes, &here, err);
    if (rc == DLB_OK)
        memcpy(dst, here, (size_t)n_bytes);
    return rc;
}

int dlb_tfr_take(struct dlb_tfr *tfr, uint8_t *dst, uint64_t n_bytes, bool check_crc,
                 struct dlb_err *err)
{
    uint64_t at = tfr->at + DLB_TFR_HEAD_BYTES;
    const uint8_t *foot;
    int rc = copy_data(tfr, dst, at, n_bytes, err);

    if (rc == DLB_OK && check_crc)
        rc = in_block(tfr, at + n_bytes, DLB_TFR_FOOT_BYTES, &foot, err);
    if (rc == DLB_OK && check_crc) {
        uint32_t is = dlb_crc32c_mask(dlb_crc32c(0, dst, (size_t)n_bytes));
        uint32_t should = (uint32_t)dlb_little_get(foot, DLB_TFR_FOOT_BYTES);
        if (is != should)
            rc = dlb_fail(err, DLB_ERR_TFRECORD_DATA_CRC, tfr->path, tfr->at,
                          "a record is damaged: its masked CRC-32C is %08x, and %08x is stored "
                          "(tfrecord.crc = false skips this check)",
                          is, should);
    }
    if (rc == DLB_OK)
        dlb_tfr_skip(tfr, n_bytes);
    return rc;
}

void dlb_tfr_skip(struct dlb_tfr *tfr, uint64_t n_bytes)
{
    tfr->at += DLB_TFR_HEAD_BYTES + n_bytes + DLB_TFR_FOOT_BYTES;
}

void dlb_tfr_frame(const uint8_t *data, uint64_t n_bytes, uint8_t head[DLB_TFR_HEAD_BYTES],
                   uint8_t foot[DLB_TFR_FOOT_BYTES])
{
    dlb_little_put(head, n_bytes, 8);
    dlb_little_put(head + 8, dlb_crc32c_mask(dlb_crc32c(0, head, 8)), 4);
    dlb_little_put(foot, dlb_crc32c_mask(dlb_crc32c(0, data, (size_t)n_bytes)), DLB_TFR_FOOT_BYTES);
}

#include "formats/webdataset/tar_end.h"

#ifdef DLB_HAVE_LIBARCHIVE

/* `data` ends at end_bytes of the archive. */
static void look_behind(struct dlb_tar *tar, const uint8_t *data, size_t n_bytes,
                        uint64_t end_bytes)
{
    uint64_t mark = tar->header_at_bytes, begin = end_bytes - n_bytes;

    for (size_t i = begin < mark ? (size_t)(mark - begin) : 0; i < n_bytes && !tar->behind_bytes;
         i++)
        if (data[i])
            tar->behind_bytes = begin + i;
}

int dlb_tar_drain(struct dlb_tar *tar, struct dlb_err *err)
{
    const void *piece;
    size_t n_bytes = tar->drained ? 0 : tar->n_piece_bytes;

    while (n_bytes > 0) {
        look_behind(tar, tar->piece, n_bytes, tar->at_bytes);
        if (dlb_tar_unpack(tar, &piece, &n_bytes) != DLB_OK) {
            *err = tar->io_err;
            return (int)err->status;
        }
    }
    return DLB_END;
}

int dlb_tar_behind_end(struct dlb_tar *tar, uint64_t *at_bytes, struct dlb_err *err)
{
    enum { LOOK_BYTES = 1 << 20 };
    uint64_t at = tar->header_at_bytes, end = at + LOOK_BYTES;
    int rc = DLB_OK;

    end = tar->unpacker ? 0 : end < tar->file_bytes ? end : tar->file_bytes;
    for (size_t n = 1; n > 0 && rc == DLB_OK && !tar->behind_bytes && at < end; at += n) {
        rc = tar->io->pread(tar->handle, tar->block, tar->block_bytes, at, &n, tar->path, err);
        if (rc == DLB_OK)
            look_behind(tar, tar->block, n, at + n);
    }
    *at_bytes = tar->behind_bytes;
    return rc;
}

bool dlb_tar_lacks_end(const struct dlb_tar *tar)
{
    return tar->header_at_bytes >= (tar->unpacker ? tar->at_bytes : tar->file_bytes);
}

#endif

#include "formats/codecs/zstd.h"

#ifdef DLB_HAVE_ZSTD

#include <stdlib.h>
#include <zstd.h>

static int damaged(size_t code, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, DLB_NO_OFFSET,
                    "zstd: %s; cut short or damaged", ZSTD_getErrorName(code));
}

static int too_large(size_t n_bytes, uint64_t limit_bytes, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_UNPACK_TOO_LARGE, NULL, DLB_NO_OFFSET,
                    "%zu bytes unpack to more than the limit of %llu (transform.max_decoded_bytes)",
                    n_bytes, (unsigned long long)limit_bytes);
}

static int reserve(struct dlb_bytes *out, uint64_t cap_bytes, struct dlb_err *err)
{
    if (cap_bytes <= out->cap_bytes)
        return DLB_OK;
    uint8_t *grown = cap_bytes <= SIZE_MAX ? realloc(out->data, (size_t)cap_bytes) : NULL;
    if (!grown)
        return dlb_fail_memory(err, NULL, cap_bytes);
    out->data = grown;
    out->cap_bytes = (size_t)cap_bytes;
    return DLB_OK;
}

/* For several frames, or frames that do not state their size: the buffer grows with the output. A
 * stated size is checked here, because libzstd's stream only checks it when the buffer was large
 * enough. */
static int stream(struct dlb_unzstd *unzstd, const uint8_t *data, size_t n_bytes,
                  uint64_t limit_bytes, struct dlb_err *err)
{
    ZSTD_inBuffer in = {data, n_bytes, 0};
    struct dlb_bytes *out = &unzstd->out;
    size_t left = 0;
    uint64_t frame_at = 0;
    unsigned long long claimed = ZSTD_CONTENTSIZE_UNKNOWN;

    (void)ZSTD_DCtx_reset(unzstd->context, ZSTD_reset_session_only);
    while (in.pos < in.size || left > 0) {
        if (left == 0) {
            frame_at = out->len_bytes;
            claimed = ZSTD_getFrameContentSize(data + in.pos, n_bytes - in.pos);
        }
        uint64_t more = out->cap_bytes ? (uint64_t)out->cap_bytes * 2 : ZSTD_DStreamOutSize();
        if (out->len_bytes == out->cap_bytes) {
            /* One byte beyond the limit suffices to detect that it is exceeded. */
            int rc = reserve(out, more <= limit_bytes ? more : limit_bytes + 1, err);
            if (rc != DLB_OK)
                return rc;
        }
        ZSTD_outBuffer to = {out->data, out->cap_bytes, out->len_bytes};
        size_t in_before = in.pos;
        left = ZSTD_decompressStream(unzstd->context, &to, &in);
        if (ZSTD_isError(left))
            return damaged(left, err);
        if (to.pos > limit_bytes)
            return too_large(n_bytes, limit_bytes, err);
        if (left > 0 && in.pos == in.size && in.pos == in_before && to.pos == out->len_bytes)
            return dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, DLB_NO_OFFSET,
                            "the zstd frame ends early: it is cut short");
        out->len_bytes = to.pos;
        if (left == 0 && claimed < ZSTD_CONTENTSIZE_ERROR && to.pos - frame_at != claimed)
            return dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, DLB_NO_OFFSET,
                            "a zstd frame claims %llu bytes and holds %llu: damaged", claimed,
                            (unsigned long long)(to.pos - frame_at));
    }
    return DLB_OK;
}

int dlb_unzstd(struct dlb_unzstd *unzstd, const uint8_t *data, size_t n_bytes, uint64_t limit_bytes,
               struct dlb_err *err)
{
    uint64_t cap = (uint64_t)n_bytes * DLB_UNZSTD_EXPANSION + DLB_UNZSTD_FREE_BYTES;
    struct dlb_bytes *out = &unzstd->out;

    out->len_bytes = 0;
    if (limit_bytes && limit_bytes < cap)
        cap = limit_bytes;
    if (!unzstd->context) {
        unzstd->context = ZSTD_createDCtx();
        if (!unzstd->context)
            return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                            "out of memory for a zstd context");
        (void)ZSTD_DCtx_setParameter(unzstd->context, ZSTD_d_windowLogMax, DLB_UNZSTD_WINDOW_LOG);
    }
    if (n_bytes == 0)
        return dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, DLB_NO_OFFSET,
                        "is empty: not a zstd frame");
    unsigned long long size = ZSTD_getFrameContentSize(data, n_bytes);
    if (size == ZSTD_CONTENTSIZE_ERROR)
        return dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, DLB_NO_OFFSET,
                        "is not a zstd frame (it begins with other bytes), or is cut short");
    if (size == ZSTD_CONTENTSIZE_UNKNOWN || ZSTD_findFrameCompressedSize(data, n_bytes) != n_bytes)
        return stream(unzstd, data, n_bytes, cap, err);
    if (size > cap)
        return too_large(n_bytes, cap, err);
    int rc = reserve(out, size ? size : 1, err);
    if (rc != DLB_OK)
        return rc;
    size_t n = ZSTD_decompressDCtx(unzstd->context, out->data, (size_t)size, data, n_bytes);
    if (ZSTD_isError(n))
        return damaged(n, err);
    out->len_bytes = n;
    return DLB_OK;
}

void dlb_unzstd_free(struct dlb_unzstd *unzstd)
{
    (void)ZSTD_freeDCtx(unzstd->context);
    unzstd->context = NULL;
    dlb_bytes_free(&unzstd->out);
}

int dlb_zstd_append(struct dlb_bytes *out, const void *data, size_t n_bytes, struct dlb_err *err)
{
    size_t bound = ZSTD_compressBound(n_bytes);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    int rc = DLB_OK;

    if (!context || ZSTD_isError(bound)) {
        rc = dlb_fail_memory(err, NULL, bound);
        goto out;
    }
    rc = reserve(out, (uint64_t)out->len_bytes + bound, err);
    if (rc != DLB_OK)
        goto out;
    (void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    size_t n = ZSTD_compress2(context, out->data + out->len_bytes, bound, data, n_bytes);
    if (ZSTD_isError(n))
        rc = dlb_fail(err, DLB_ERR_PACK_FAILED, NULL, DLB_NO_OFFSET, "zstd: %s",
                      ZSTD_getErrorName(n));
    else
        out->len_bytes += n;
out:
    (void)ZSTD_freeCCtx(context);
    return rc;
}

#else

static int missing(struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "built without libzstd");
}

int dlb_unzstd(struct dlb_unzstd *unzstd, const uint8_t *data, size_t n_bytes, uint64_t limit_bytes,
               struct dlb_err *err)
{
    (void)unzstd, (void)data, (void)n_bytes, (void)limit_bytes;
    return missing(err);
}

void dlb_unzstd_free(struct dlb_unzstd *unzstd)
{
    dlb_bytes_free(&unzstd->out);
}

int dlb_zstd_append(struct dlb_bytes *out, const void *data, size_t n_bytes, struct dlb_err *err)
{
    (void)out, (void)data, (void)n_bytes;
    return missing(err);
}

#endif

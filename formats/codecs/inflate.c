#include "formats/codecs/inflate.h"

#include <limits.h>
#include <stdlib.h>

#ifdef DLB_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>

const char *const dlb_inflate_missing = NULL;

struct dlb_inflate {
    z_stream z;
};

static int window_bits(enum dlb_deflated kind)
{
    return kind == DLB_DEFLATED_RAW ? -MAX_WBITS : MAX_WBITS;
}

struct dlb_inflate *dlb_inflate_new(enum dlb_deflated kind)
{
    struct dlb_inflate *inflate = calloc(1, sizeof *inflate);

    if (inflate && inflateInit2(&inflate->z, window_bits(kind)) != Z_OK) {
        free(inflate);
        inflate = NULL;
    }
    return inflate;
}

void dlb_inflate_free(struct dlb_inflate *inflate)
{
    if (inflate)
        (void)inflateEnd(&inflate->z);
    free(inflate);
}

/* zlib counts in unsigned int, so larger buffers are passed in pieces. */
static unsigned piece(size_t left)
{
    return left < UINT_MAX ? (unsigned)left : UINT_MAX;
}

static int why(const z_stream *z, int code, size_t at, size_t n_dst, bool full, struct dlb_err *err)
{
    int rc = DLB_E_FORMAT;

    if (code == Z_MEM_ERROR)
        rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory to inflate");
    else if (code == Z_NEED_DICT)
        rc = dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, at,
                      "deflated with a preset dictionary, which is not stored with it");
    else if (code == Z_DATA_ERROR)
        rc = dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, at, "deflated bytes are damaged: %s",
                      z->msg ? z->msg : "no reason given");
    else if (full)
        rc = dlb_fail(err, DLB_ERR_UNPACK_TOO_LARGE, NULL, at,
                      "inflates to more than the expected %zu bytes", n_dst);
    else
        rc = dlb_fail(err, DLB_ERR_UNPACK_DAMAGED, NULL, at, "deflated bytes are cut short");
    err->lib_code = code;
    return rc;
}

int dlb_inflate(struct dlb_inflate *state, const uint8_t *src, size_t n_src, uint8_t *dst,
                size_t n_dst, size_t *n_out, struct dlb_err *err)
{
    static uint8_t nowhere[1]; /* zlib needs an address even for no bytes */
    z_stream *z = &state->z;
    size_t left_src = n_src, left_dst = n_dst;
    int code = inflateReset(z);

    z->next_in = src;
    z->next_out = n_dst ? dst : nowhere;
    while (code == Z_OK) {
        unsigned in = piece(left_src), out = piece(left_dst);
        z->avail_in = in;
        z->avail_out = out;
        /* With all input and output at hand, zlib needs no window. */
        code = inflate(z, left_src == in && left_dst == out ? Z_FINISH : Z_NO_FLUSH);
        left_src -= in - z->avail_in;
        left_dst -= out - z->avail_out;
    }
    *n_out = n_dst - left_dst;
    if (code != Z_STREAM_END)
        return why(z, code, n_src - left_src, n_dst, left_dst == 0 && left_src > 0, err);
    return DLB_OK;
}

int dlb_deflate(enum dlb_deflated kind, int level, const uint8_t *src, size_t n_src,
                struct dlb_bytes *out, struct dlb_err *err)
{
    uint8_t block[16384];
    z_stream z = {.next_in = src};
    int code = deflateInit2(&z, level, Z_DEFLATED, window_bits(kind), 8, Z_DEFAULT_STRATEGY);
    int rc = DLB_OK;

    if (code != Z_OK)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET, "out of memory to deflate");
    while (rc == DLB_OK && code != Z_STREAM_END) {
        unsigned in = piece(n_src);
        z.avail_in = in;
        z.next_out = block;
        z.avail_out = sizeof block;
        code = deflate(&z, n_src == in ? Z_FINISH : Z_NO_FLUSH);
        n_src -= in - z.avail_in;
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            DLB_BUG("deflate without a stream");
        rc = dlb_bytes_append(out, block, sizeof block - z.avail_out, err);
    }
    (void)deflateEnd(&z);
    return rc;
}

uint32_t dlb_crc32(uint32_t crc, const uint8_t *src, size_t n_src)
{
    return (uint32_t)crc32_z(crc, src, n_src);
}

#else

const char *const dlb_inflate_missing = "built without zlib";

struct dlb_inflate *dlb_inflate_new(enum dlb_deflated kind)
{
    (void)kind;
    return NULL;
}

void dlb_inflate_free(struct dlb_inflate *inflate)
{
    (void)inflate;
}

int dlb_inflate(struct dlb_inflate *inflate, const uint8_t *src, size_t n_src, uint8_t *dst,
                size_t n_dst, size_t *n_out, struct dlb_err *err)
{
    (void)inflate, (void)src, (void)n_src, (void)dst, (void)n_dst, (void)n_out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "%s", dlb_inflate_missing);
}

int dlb_deflate(enum dlb_deflated kind, int level, const uint8_t *src, size_t n_src,
                struct dlb_bytes *out, struct dlb_err *err)
{
    (void)kind, (void)level, (void)src, (void)n_src, (void)out;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "%s", dlb_inflate_missing);
}

uint32_t dlb_crc32(uint32_t crc, const uint8_t *src, size_t n_src)
{
    (void)crc, (void)src, (void)n_src;
    return 0;
}

#endif

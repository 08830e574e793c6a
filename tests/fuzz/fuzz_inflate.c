/* Deflated bytes. The first byte chooses the kind, the second how much memory there is for what
 * they hold. What inflates is deflated and inflated again: the same bytes. */
#include "formats/codecs/inflate.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_BYTES = 37 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void again(enum dlb_deflated kind, const uint8_t *src, size_t n_src)
{
    static struct dlb_inflate *used[2]; /* for all inputs: what one leaves behind must not matter */
    struct dlb_bytes packed = {.data = NULL};
    struct dlb_err err;
    uint8_t *back = malloc(n_src + !n_src);
    size_t n = 0;

    if (!used[kind])
        used[kind] = dlb_inflate_new(kind);
    if (!back || !used[kind] || dlb_deflate(kind, 1, src, n_src, &packed, &err) != DLB_OK ||
        dlb_inflate(used[kind], packed.data, packed.len_bytes, back, n_src, &n, &err) != DLB_OK)
        DLB_BUG("what was deflated does not inflate");
    if (n != n_src || (n && memcmp(back, src, n) != 0))
        DLB_BUG("other bytes");
    dlb_bytes_free(&packed);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static struct dlb_inflate *used[2];
    struct dlb_err err = {.status = DLB_OK};
    size_t n = 0;

    if (dlb_inflate_missing || n_bytes < 2)
        return 0;
    enum dlb_deflated kind = data[0] % 2 ? DLB_DEFLATED_RAW : DLB_DEFLATED_ZLIB;
    size_t n_dst = (size_t)data[1] * STEP_BYTES, n_src = n_bytes - 2;
    uint8_t *dst = malloc(n_dst + !n_dst), *src = malloc(n_src + !n_src);
    if (!used[kind])
        used[kind] = dlb_inflate_new(kind);
    if (!dst || !src || !used[kind])
        abort();
    memcpy(src, data + 2, n_src);
    int rc = dlb_inflate(used[kind], src, n_src, dst, n_dst, &n, &err);
    if (rc != DLB_OK && (rc != (int)err.status || err.what[0] == '\0' || err.offset_bytes > n_src))
        DLB_BUG("an error without words, or beyond the bytes");
    if (rc == DLB_OK) {
        if (n > n_dst)
            DLB_BUG("more than there was room for");
        again(kind, dst, n);
    }
    free(dst);
    free(src);
    return 0;
}

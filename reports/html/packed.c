#include "reports/html/packed.h"

#include "core/base/err.h"
#include "core/base/mem.h"

#ifdef DLB_HAVE_ZLIB
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define GZIP (MAX_WBITS + 16) /* zlib's way to ask for a gzip header */
#define MEMORY_LEVEL 8        /* zlib's default */

static void put_base64(struct dlb_text *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16 | (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (i + 2 < n ? bytes[i + 2] : 0);
        const char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                              i + 1 < n ? digits[three >> 6 & 63] : '=',
                              i + 2 < n ? digits[three & 63] : '='};
        dlb_text_append(out, four, sizeof(four));
    }
}

bool dlb_html_can_pack(void)
{
    return true;
}

/* All of it is in memory, and the bound holds for any input: only a lack of memory can fail. */
void dlb_html_pack(struct dlb_text *out, const struct dlb_text *plain)
{
    z_stream z = {.next_in = (unsigned char *)plain->data, .avail_in = (uInt)plain->len_bytes};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        (void)dlb_mem_check(NULL);
    size_t n = deflateBound(&z, plain->len_bytes);
    unsigned char *packed = dlb_mem_array(n, 1);
    z.next_out = packed;
    z.avail_out = (uInt)n;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        DLB_BUG("zlib's bound of a packed size does not hold");
    put_base64(out, packed, z.total_out);
    (void)deflateEnd(&z);
    free(packed);
}
#else
bool dlb_html_can_pack(void)
{
    return false;
}

void dlb_html_pack(struct dlb_text *out, const struct dlb_text *plain)
{
    (void)out;
    (void)plain;
    DLB_BUG("packed without zlib");
}
#endif

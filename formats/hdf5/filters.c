#include "formats/hdf5/filters.h"

#include "core/base/little.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DLB_HAVE_LZF
#include <lzf.h>

bool dlb_hdf5_has_lzf(void)
{
    return true;
}

size_t dlb_hdf5_lzf_pack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst)
{
    if (n_src > UINT_MAX || n_src == 0 || n_dst == 0)
        return 0;
    return lzf_compress(src, (unsigned)n_src, dst, n_dst < UINT_MAX ? (unsigned)n_dst : UINT_MAX);
}

size_t dlb_hdf5_lzf_unpack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst)
{
    if (n_src > UINT_MAX || n_src == 0)
        return 0;
    return lzf_decompress(src, (unsigned)n_src, dst, n_dst < UINT_MAX ? (unsigned)n_dst : UINT_MAX);
}
#else
bool dlb_hdf5_has_lzf(void)
{
    return false;
}

size_t dlb_hdf5_lzf_pack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst)
{
    (void)src, (void)n_src, (void)dst, (void)n_dst;
    return 0;
}

size_t dlb_hdf5_lzf_unpack(const uint8_t *src, size_t n_src, uint8_t *dst, size_t n_dst)
{
    (void)src, (void)n_src, (void)dst, (void)n_dst;
    return 0;
}
#endif

/* Names from the HDF Group's registry of filters, for the message that libhdf5 undoes one. */
static const struct {
    uint32_t id;
    const char *name;
} names[] = {{1, "deflate"},   {2, "shuffle"},     {3, "fletcher32"},     {4, "szip"},
             {5, "nbit"},      {6, "scaleoffset"}, {307, "bzip2"},        {32000, "lzf"},
             {32001, "blosc"}, {32004, "lz4"},     {32008, "bitshuffle"}, {32013, "zfp"},
             {32015, "zstd"},  {32026, "blosc2"}};

static bool can_undo(uint32_t id)
{
    return (id == DLB_HDF5_DEFLATE && !dlb_inflate_missing) || id == DLB_HDF5_SHUFFLE ||
           id == DLB_HDF5_FLETCHER32 || (id == DLB_HDF5_LZF && dlb_hdf5_has_lzf());
}

const char *dlb_hdf5_filters_unknown(const struct dlb_hdf5_filter *filter, uint32_t n, char *name,
                                     size_t n_name)
{
    for (uint32_t i = 0; i < n; i++) {
        if (can_undo(filter[i].id))
            continue;
        (void)snprintf(name, n_name, "filter %u", filter[i].id);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (names[k].id == filter[i].id)
                (void)snprintf(name, n_name, "%s (filter %u)", names[k].name, filter[i].id);
        return name;
    }
    return NULL;
}

/* With a constant SIZE the compiler turns the inner loop into one store of that many gathered
 * bytes. */
#define UNSHUFFLE(SIZE)                                                                            \
    static void unshuffle_##SIZE(const uint8_t *src, size_t n, uint8_t *dst)                       \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            for (size_t k = 0; k < (SIZE); k++)                                                    \
                dst[i * (SIZE) + k] = src[k * n + i];                                              \
    }
UNSHUFFLE(2)
UNSHUFFLE(4)
UNSHUFFLE(8)
#undef UNSHUFFLE

/* Turns n_src bytes, stored as all first bytes of the elements, then all second ones, and so on,
 * into elements of n_element bytes. */
static void unshuffle(const uint8_t *src, size_t n_src, size_t n_element, uint8_t *dst)
{
    size_t n = n_element > 1 ? n_src / n_element : 0;

    if (n <= 1) {
        memcpy(dst, src, n_src);
        return;
    }
    if (n_element == 2)
        unshuffle_2(src, n, dst);
    else if (n_element == 4)
        unshuffle_4(src, n, dst);
    else if (n_element == 8)
        unshuffle_8(src, n, dst);
    else
        for (size_t k = 0; k < n_element; k++)
            for (size_t i = 0; i < n; i++)
                dst[i * n_element + k] = src[k * n + i];
    memcpy(dst + n * n_element, src + n * n_element, n_src - n * n_element);
}

/* As H5_checksum_fletcher32: big-endian words of 16 bits. The sums are folded every 360 words, the
 * most that cannot overflow. */
static uint32_t fletcher32(const uint8_t *data, size_t n_bytes)
{
    uint32_t sum1 = 0, sum2 = 0;

    for (size_t left = n_bytes / 2; left > 0;) {
        size_t n = left < 360 ? left : 360;
        left -= n;
        for (; n > 0; n--, data += 2) {
            sum1 += (uint32_t)data[0] << 8 | data[1];
            sum2 += sum1;
        }
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    if (n_bytes % 2) {
        sum1 += (uint32_t)*data << 8;
        sum2 += sum1;
        sum1 = (sum1 & 0xffff) + (sum1 >> 16);
        sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    }
    sum1 = (sum1 & 0xffff) + (sum1 >> 16);
    sum2 = (sum2 & 0xffff) + (sum2 >> 16);
    return sum2 << 16 | sum1;
}

/* The four bytes that follow the data. Files before HDF5 1.6.3 have the bytes of each half swapped.
 */
static int check_fletcher32(const uint8_t *data, size_t n_data, struct dlb_err *err)
{
    const uint8_t *at = data + n_data;
    uint32_t sum = fletcher32(data, n_data);
    uint32_t stored = (uint32_t)dlb_little_get(at, 4);
    uint32_t swapped = at[1] | (uint32_t)at[0] << 8 | (uint32_t)at[3] << 16 | (uint32_t)at[2] << 24;

    if (sum == stored || sum == swapped)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_HDF5_CHUNK_DAMAGED, NULL, DLB_NO_OFFSET,
                    "a chunk's fletcher32 is %08x, not %08x: it is damaged", sum, stored);
}

/* The most bytes that filter `i` can have been applied to: a chunk, and what the filters before it
 * may have added. */
static size_t most_before(const struct dlb_hdf5_filter *filter, uint32_t i, uint32_t mask,
                          size_t n_chunk)
{
    size_t n = n_chunk;

    for (uint32_t k = 0; k < i; k++) {
        if (mask >> k & 1)
            continue;
        if (filter[k].id == DLB_HDF5_FLETCHER32)
            n += 4;
        else if (filter[k].id == DLB_HDF5_DEFLATE || filter[k].id == DLB_HDF5_LZF)
            n += n / 8 + 64; /* zlib's deflateBound and liblzf's worst case are below it */
    }
    return n;
}

/* Undoes one filter. *n is the number of bytes: in src before, in dst afterwards. */
static int undo(struct dlb_hdf5_unfilter *state, const struct dlb_hdf5_filter *filter,
                const uint8_t *src, size_t *n, uint8_t *dst, size_t cap, struct dlb_err *err)
{
    size_t n_out = 0;
    int rc = DLB_OK;

    switch (filter->id) {
    case DLB_HDF5_DEFLATE:
        if (!state->inflate && !(state->inflate = dlb_inflate_new(DLB_DEFLATED_ZLIB)))
            return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                            "out of memory to inflate a chunk");
        rc = dlb_inflate(state->inflate, src, *n, dst, cap, &n_out, err);
        err->offset_bytes =
            DLB_NO_OFFSET; /* it counts within the chunk: the caller sets the file's */
        break;
    case DLB_HDF5_LZF:
        n_out = dlb_hdf5_lzf_unpack(src, *n, dst, cap);
        if (n_out == 0)
            rc = dlb_fail(err, DLB_ERR_HDF5_CHUNK_DAMAGED, NULL, DLB_NO_OFFSET,
                          "a chunk's lzf data are damaged, or unpack to more than %zu bytes", cap);
        break;
    case DLB_HDF5_SHUFFLE:
        if (*n > cap)
            return dlb_fail(err, DLB_ERR_HDF5_CHUNK_DAMAGED, NULL, DLB_NO_OFFSET,
                            "a chunk has %zu bytes to unshuffle, and holds %zu", *n, cap);
        unshuffle(src, *n, filter->value, dst);
        n_out = *n;
        break;
    default:
        DLB_BUG("a filter that open did not check");
    }
    *n = n_out;
    return rc;
}

/* Also for no bytes: what copies them may not be given NULL. */
static int make_room(struct dlb_hdf5_unfilter *state, int which, size_t n_bytes,
                     struct dlb_err *err)
{
    if (state->between[which] && state->cap_bytes[which] >= n_bytes)
        return DLB_OK;
    n_bytes += !n_bytes;
    free(state->between[which]);
    state->between[which] = malloc(n_bytes);
    state->cap_bytes[which] = state->between[which] ? n_bytes : 0;
    return state->between[which] ? DLB_OK : dlb_fail_memory(err, NULL, n_bytes);
}

int dlb_hdf5_unfilter(struct dlb_hdf5_unfilter *state, const struct dlb_hdf5_filter *filter,
                      uint32_t n, uint32_t mask, const uint8_t *src, size_t n_src, uint8_t *dst,
                      size_t n_dst, struct dlb_err *err)
{
    uint32_t first = 0; /* of the filters that move bytes, and so the last one to be undone */
    int which = 0, rc = DLB_OK;

    for (uint32_t i = n; i-- > 0;)
        if (!(mask >> i & 1) && filter[i].id != DLB_HDF5_FLETCHER32)
            first = i;
    for (uint32_t i = n; rc == DLB_OK && i-- > 0;) {
        if (mask >> i & 1)
            continue;
        if (filter[i].id == DLB_HDF5_FLETCHER32) {
            if (n_src < 4)
                return dlb_fail(err, DLB_ERR_HDF5_CHUNK_DAMAGED, NULL, DLB_NO_OFFSET,
                                "a chunk of %zu bytes has no fletcher32", n_src);
            n_src -= 4;
            rc = check_fletcher32(src, n_src, err);
            continue;
        }
        size_t most = most_before(filter, i, mask, n_dst);
        /* The last one writes straight to dst, unless its output has a checksum at its end. */
        bool last = i == first && most == n_dst;
        uint8_t *to = dst;
        if (!last && (rc = make_room(state, which, most, err)) == DLB_OK)
            to = state->between[which];
        if (rc == DLB_OK)
            rc = undo(state, &filter[i], src, &n_src, to, most, err);
        src = to;
        which = !which;
    }
    if (rc == DLB_OK && n_src != n_dst)
        rc = dlb_fail(err, DLB_ERR_HDF5_CHUNK_DAMAGED, NULL, DLB_NO_OFFSET,
                      "a chunk unfilters to %zu bytes, not %zu: it is damaged", n_src, n_dst);
    if (rc == DLB_OK && src != dst)
        memcpy(dst, src, n_dst);
    return rc;
}

void dlb_hdf5_unfilter_free(struct dlb_hdf5_unfilter *state)
{
    dlb_inflate_free(state->inflate);
    free(state->between[0]);
    free(state->between[1]);
    *state = (struct dlb_hdf5_unfilter){.inflate = NULL};
}

#include "formats/codecs/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static int reserve(void *array, size_t *cap, size_t need, size_t each)
{
    void **at = array;
    if (need <= *cap)
        return 0;
    free(*at);
    *at = aligned_alloc(64, (need * each + 63) & ~(size_t)63);
    *cap = *at ? need : 0;
    return *at ? 0 : -1;
}

/* Pillow's precompute_coeffs with its bilinear (triangle) filter. Weights are rounded so that they
 * add up: flat colour stays flat. */
static void weigh(uint16_t *weight, uint32_t n_taps, uint32_t first, uint32_t n, double center,
                  double filter_scale)
{
    double total = 0, exact = 0, per_pixel = 1 / filter_scale;
    double at = ((double)first + 0.5 - center) * per_pixel;
    uint32_t given = 0;

    for (uint32_t k = 0; k < n; k++)
        total += fmax(0, 1 - fabs(at + k * per_pixel));
    double share = total > 0 ? 65536 / total : 0;
    for (uint32_t k = 0; k < n_taps; k++) {
        exact += k < n ? share * fmax(0, 1 - fabs(at + k * per_pixel)) : 0;
        uint32_t upto = k + 1 >= n ? 65536 : (uint32_t)(exact + 0.5);
        uint32_t w = upto - given;
        weight[k] =
            (uint16_t)(w > 65535 ? 65535 : w); /* a single pixel of weight 1 loses 1/65536 */
        given = upto;
    }
}

static int spread(struct dlb_axis *axis)
{
    size_t n = (size_t)axis->n_out * axis->n_taps;

    if (reserve(&axis->fourfold, &axis->cap_fourfold, n * 4, sizeof *axis->fourfold) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 4; c++)
            axis->fourfold[4 * i + c] = axis->weight[i];
    return 0;
}

int dlb_axis_make(struct dlb_axis *axis, uint32_t n_out, const struct dlb_axis_over *over,
                  bool mirror, enum dlb_axis_use use)
{
    uint32_t low = over->low, end = over->end;
    double filter_scale = over->scale > 1 ? over->scale : 1;
    uint32_t n_taps = ((uint32_t)ceil(filter_scale * 2) + 1) & ~1u;

    if (reserve(&axis->first, &axis->cap_first, n_out, sizeof *axis->first) != 0 ||
        reserve(&axis->weight, &axis->cap_weight, (size_t)n_out * n_taps, sizeof *axis->weight) !=
            0)
        return -1;
    axis->n_out = n_out;
    axis->n_taps = n_taps;
    axis->low = end;
    axis->end = low;
    for (uint32_t i = 0; i < n_out; i++) {
        uint32_t at = mirror ? n_out - 1 - i : i;
        double center = over->start + ((double)over->skip + i + 0.5) * over->scale;
        int64_t from = (int64_t)(center - filter_scale + 0.5),
                to = (int64_t)(center + filter_scale + 0.5);
        uint32_t first = from < (int64_t)low ? low : (uint32_t)from;
        uint32_t past = to > (int64_t)end ? end : (uint32_t)to;
        if (first >= end) /* a rounding error beyond the last pixel */
            first = end - 1;
        if (past <= first)
            past = first + 1;
        axis->first[at] = first;
        weigh(axis->weight + (size_t)at * n_taps, n_taps, first, past - first, center,
              filter_scale);
        axis->low = first < axis->low ? first : axis->low;
        axis->end = past > axis->end ? past : axis->end;
    }
    return use == DLB_AXIS_ACROSS ? spread(axis) : 0;
}

void dlb_axis_free(struct dlb_axis *axis)
{
    free(axis->first);
    free(axis->weight);
    free(axis->fourfold);
    *axis = (struct dlb_axis){0};
}

void dlb_resample_free(struct dlb_resample_scratch *scratch)
{
    free(scratch->row);
    free(scratch->column);
    *scratch = (struct dlb_resample_scratch){0};
}

/* Eight 16-bit numbers. The high half of their product is one instruction on every x86-64, but
 * compilers do not use it in these loops. */
#ifdef __SSE2__
struct eight {
    __m128i v;
};

static inline struct eight load(const uint16_t *p)
{
    return (struct eight){_mm_loadu_si128((const __m128i *)(const void *)p)};
}

static inline struct eight load_bytes(const uint8_t *p) /* times 256 */
{
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)p);
    return (struct eight){_mm_unpacklo_epi8(_mm_setzero_si128(), bytes)};
}

static inline struct eight all(uint16_t value)
{
    return (struct eight){_mm_set1_epi16((short)value)};
}

static inline struct eight add_part(struct eight sum, struct eight value, struct eight weight)
{
    return (struct eight){_mm_add_epi16(sum.v, _mm_mulhi_epu16(value.v, weight.v))};
}

static inline void store(uint16_t *p, struct eight value)
{
    _mm_storeu_si128((__m128i *)(void *)p, value.v);
}

static inline void store_sum_of_halves(uint16_t *p, struct eight value)
{
    __m128i sum = _mm_add_epi16(value.v, _mm_unpackhi_epi64(value.v, value.v));
    _mm_storel_epi64((__m128i *)(void *)p, sum);
}
#else
struct eight {
    uint16_t at[8];
};

static inline struct eight load(const uint16_t *p)
{
    struct eight value;
    memcpy(value.at, p, sizeof value.at);
    return value;
}

static inline struct eight load_bytes(const uint8_t *p) /* times 256 */
{
    struct eight value;
    for (int i = 0; i < 8; i++)
        value.at[i] = (uint16_t)(p[i] << 8);
    return value;
}

static inline struct eight all(uint16_t value)
{
    return (struct eight){{value, value, value, value, value, value, value, value}};
}

static inline struct eight add_part(struct eight sum, struct eight value, struct eight weight)
{
    for (int i = 0; i < 8; i++)
        sum.at[i] = (uint16_t)(sum.at[i] + (((uint32_t)value.at[i] * weight.at[i]) >> 16));
    return sum;
}

static inline void store(uint16_t *p, struct eight value)
{
    memcpy(p, value.at, sizeof value.at);
}

static inline void store_sum_of_halves(uint16_t *p, struct eight value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint16_t)(value.at[i] + value.at[i + 4]);
}
#endif

/* Sums of rows, eight channels at a time; `n` is rounded up to eight, and the rows are there so
 * far. */
static void add_rows(uint16_t *restrict out, const uint8_t *restrict src, size_t stride, size_t n,
                     const uint16_t *restrict weight, uint32_t n_taps)
{
    for (size_t at = 0; at < n; at += 8) {
        const uint8_t *p = src + at;
        struct eight sum = all(0);
        for (uint32_t k = 0; k < n_taps; k++, p += stride)
            sum = add_part(sum, load_bytes(p), all(weight[k]));
        store(out + at, sum);
    }
}

/* Two neighbouring pixels at a time. */
static void across_row(uint16_t *restrict out, const uint16_t *restrict line,
                       const struct dlb_axis *axis, uint32_t x0)
{
    const uint16_t *w = axis->fourfold;

    for (uint32_t x = 0; x < axis->n_out; x++) {
        const uint16_t *p = line + (size_t)4 * (axis->first[x] - x0);
        struct eight sum = all(0);
        for (uint32_t k = 0; k < axis->n_taps; k += 2, p += 8, w += 8)
            sum = add_part(sum, load(p), load(w));
        store_sum_of_halves(out + (size_t)4 * x, sum);
    }
}

const uint16_t *dlb_resample_row(struct dlb_resample_scratch *scratch,
                                 const struct dlb_axis *across, const struct dlb_axis *down,
                                 uint32_t y, const uint8_t *src, size_t stride, uint32_t x0,
                                 uint32_t y0, uint32_t width)
{
    const uint16_t *w = down->weight + (size_t)y * down->n_taps;
    /* Taps of weight 0 may lie past the last pixel. */
    size_t n = (size_t)4 * width, padded = n + (size_t)4 * across->n_taps;

    if (padded > scratch->cap_row) {
        if (reserve(&scratch->row, &scratch->cap_row, padded, sizeof *scratch->row) != 0)
            return NULL;
        memset(scratch->row, 0, padded * sizeof *scratch->row);
    }
    if (reserve(&scratch->column, &scratch->cap_column, (size_t)4 * across->n_out,
                sizeof *scratch->column) != 0)
        return NULL;
    uint32_t n_taps = down->n_taps;
    while (n_taps > 1 && w[n_taps - 1] == 0)
        n_taps--;
    add_rows(scratch->row, src + stride * (down->first[y] - y0), stride, n, w, n_taps);
    across_row(scratch->column, scratch->row, across, x0);
    return scratch->column;
}

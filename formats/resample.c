#include "formats/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    double total = 0, exact = 0;
    uint32_t given = 0;

    for (uint32_t k = 0; k < n; k++) {
        double far = fabs(((double)(first + k) + 0.5 - center) / filter_scale);
        total += far < 1 ? 1 - far : 0;
    }
    for (uint32_t k = 0; k < n_taps; k++) {
        double far = fabs(((double)(first + k) + 0.5 - center) / filter_scale);
        exact += k < n && far < 1 ? (1 - far) / total : 0;
        uint32_t upto = k + 1 >= n ? 65536 : (uint32_t)lround(exact * 65536);
        uint32_t w = upto - given;
        weight[k] = (uint16_t)(w > 65535 ? 65535 : w); /* all on one pixel: 1/65536 is lost */
        given = upto;
    }
}

int dlb_axis_make(struct dlb_axis *axis, uint32_t n_out, double start, double scale, uint32_t low,
                  uint32_t end, bool mirror)
{
    double filter_scale = scale > 1 ? scale : 1;
    uint32_t n_taps = ((uint32_t)ceil(filter_scale) * 2 + 2) & ~1u;

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
        double center = start + (i + 0.5) * scale;
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
    return 0;
}

void dlb_axis_free(struct dlb_axis *axis)
{
    free(axis->first);
    free(axis->weight);
    *axis = (struct dlb_axis){0};
}

void dlb_resample_free(struct dlb_resample_scratch *scratch)
{
    free(scratch->row);
    free(scratch->column);
    *scratch = (struct dlb_resample_scratch){0};
}

/* value * 256 * weight / 65536, the high half of a 16-bit product: one instruction for eight of
 * them. */
static inline uint16_t part(uint16_t value, uint16_t weight)
{
    return (uint16_t)(((uint32_t)value * weight) >> 16);
}

static void add_line(uint16_t *restrict sum, const uint8_t *restrict line, size_t n,
                     uint16_t weight, bool fresh)
{
    if (fresh)
        for (size_t i = 0; i < n; i++)
            sum[i] = part((uint16_t)(line[i] << 8), weight);
    else
        for (size_t i = 0; i < n; i++)
            sum[i] = (uint16_t)(sum[i] + part((uint16_t)(line[i] << 8), weight));
}

/* Two neighbouring pixels at a time: 8 sums. */
static void across_row(uint16_t *restrict out, const uint16_t *restrict line,
                       const struct dlb_axis *axis, uint32_t x0)
{
    for (uint32_t x = 0; x < axis->n_out; x++) {
        const uint16_t *p = line + (size_t)4 * (axis->first[x] - x0);
        const uint16_t *w = axis->weight + (size_t)x * axis->n_taps;
        uint16_t sum[8] = {0};
        for (uint32_t k = 0; k < axis->n_taps; k += 2, p += 8) {
            uint16_t both[8] = {w[k], w[k], w[k], w[k], w[k + 1], w[k + 1], w[k + 1], w[k + 1]};
            for (int i = 0; i < 8; i++)
                sum[i] = (uint16_t)(sum[i] + part(p[i], both[i]));
        }
        for (int i = 0; i < 4; i++)
            out[4 * x + (uint32_t)i] = (uint16_t)(sum[i] + sum[i + 4]);
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
    for (uint32_t k = 0; k < down->n_taps; k++)
        if (w[k] != 0 || k == 0)
            add_line(scratch->row, src + stride * (down->first[y] + k - y0), n, w[k], k == 0);
    across_row(scratch->column, scratch->row, across, x0);
    return scratch->column;
}

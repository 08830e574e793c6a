/* Antialiased bilinear resizing, as Pillow's resize and torchvision's antialias=True.
 *
 * Floor 2. One thread at a time for each struct. An axis holds the weights of the input pixels for
 * each output pixel. It is made once for an image and used for all its rows. Rows are combined
 * first, then columns, in 16-bit fixed point: the result is within one level of exact arithmetic.
 */
#ifndef DLB_FORMATS_CODECS_RESAMPLE_H
#define DLB_FORMATS_CODECS_RESAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_axis {
    uint32_t n_out;
    uint32_t n_taps;   /* for each output pixel, even; weights beyond its support are 0 */
    uint32_t low, end; /* input pixels used: [low, end) */
    uint32_t *first;   /* [n_out] first input pixel; owned */
    uint16_t *weight;  /* [n_out * n_taps], of 65536; owned */
    uint16_t
        *fourfold; /* [n_out * n_taps * 4], each weight for four channels; owned; may be NULL */
    size_t cap_first, cap_weight, cap_fourfold;
};

enum dlb_axis_use { DLB_AXIS_DOWN, DLB_AXIS_ACROSS };

/* Where output pixels lie in the input: pixel i covers [start + (skip + i) * scale, start + (skip +
 * i + 1) * scale) of the input's pixels, of which [low, end) may be used. An axis with `skip`
 * equals bit for bit the rest of an axis without it. */
struct dlb_axis_over {
    double start, scale;
    uint64_t skip;
    uint32_t low, end;
};

/* `mirror` reverses the output. Returns 0, or -1 when memory is short. */
int dlb_axis_make(struct dlb_axis *axis, uint32_t n_out, const struct dlb_axis_over *over,
                  bool mirror, enum dlb_axis_use use);
void dlb_axis_free(struct dlb_axis *axis);

struct dlb_resample_scratch {
    uint16_t *row, *column; /* owned: free() */
    size_t cap_row, cap_column;
};

/* Returns row `y` of the output: across->n_out pixels of 4 x 16 bits (value * 256), borrowed until
 * the next call. `src`: rows of 4 bytes a pixel; its first pixel is input pixel (x0, y0). NULL when
 * memory is short. */
const uint16_t *dlb_resample_row(struct dlb_resample_scratch *scratch,
                                 const struct dlb_axis *across, const struct dlb_axis *down,
                                 uint32_t y, const uint8_t *src, size_t stride, uint32_t x0,
                                 uint32_t y0, uint32_t width);
void dlb_resample_free(struct dlb_resample_scratch *scratch);

#endif

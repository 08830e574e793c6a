#include "formats/codecs/photo.h"

#include "core/base/rng.h"
#include "formats/codecs/jpeg.h"
#include "formats/codecs/photo_look.h"
#include "formats/codecs/png.h"
#include "formats/codecs/webp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The cost of decoding a photograph depends on where its coefficients are, not on what it shows.
 * Natural images are scale mixtures (Wainwright and Simoncelli, NIPS 1999): about equal contrast in
 * every octave (a 1/f spectrum), times a gain that itself varies over the image in all octaves, as
 * flat sky beside dense foliage. So noise is added octave by octave while the image is doubled,
 * weighted by such a gain. A few soft-edged shapes lie over each other, and chroma follows luma
 * with less detail. The numbers below were fitted to photographs (tests/peers/compare_photos.py
 * measures the fit). */

enum {
    UNIT = 16,      /* of a grey level: luma and chroma are drawn in sixteenths */
    GAIN_SHIFT = 2, /* the gain has a quarter of the image's width and height */
    N_OCTAVES = 8,  /* the coarsest has 128 pixels between its points */
    MAX_SHAPES = 10,
    MAX_GAIN = 2048, /* so that all octaves together stay within 16 bits */
};

/* Amplitudes, finest octave first: in 16 grey levels; of the gain, in doublings. A lens blurs the
 * finest octave. */
#define LUMA_OCTAVES                                                                               \
    {                                                                                              \
        0.12, 0.38, 0.66, 0.7, 0.8, 0.8, 0.8, 0.8                                                  \
    }
#define CHROMA_OCTAVES                                                                             \
    {                                                                                              \
        0, 0.06, 0.14, 0.2, 0.25, 0.25, 0.25, 0.25                                                 \
    }
#define GAIN_OCTAVES                                                                               \
    {                                                                                              \
        0, 0, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85                                                   \
    }

struct field {
    int16_t *value; /* (height + 1) rows of stride: the last one is needed to interpolate */
    uint32_t width, height;
    size_t stride;
};

struct scratch {
    struct field luma, chroma[2], gain, ping, pong;
    int8_t *noise;
    int16_t *gain_row;
    uint8_t *planes;
};

static int make_field(struct field *field, uint32_t width, uint32_t height)
{
    *field = (struct field){
        .width = width, .height = height, .stride = ((size_t)width + 2 + 15) & ~(size_t)15};
    field->value = malloc((size_t)(height + 2) * field->stride * sizeof *field->value);
    return field->value ? 0 : -1;
}

static void draw_noise(int8_t *noise, size_t n, struct dlb_rng *rng)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t bits = dlb_rng_u64(rng);
        for (size_t k = 0; k < 8; k++)
            noise[i + k] = (int8_t)(uint8_t)(bits >> (8 * k));
    }
}

/* One fine row between coarse rows a and b (the same for even rows). */
static void double_row(int16_t *restrict fine, const int16_t *restrict a, const int16_t *restrict b,
                       size_t n_coarse, const int8_t *restrict noise, const int16_t *restrict gain,
                       int amplitude)
{
    for (size_t i = 0; i < n_coarse; i++) {
        int here = (a[i] + b[i]) >> 1, next = (a[i + 1] + b[i + 1]) >> 1;
        fine[2 * i] = (int16_t)(here + ((((noise[2 * i] * gain[2 * i]) >> 7) * amplitude) >> 8));
        fine[2 * i + 1] =
            (int16_t)(((here + next) >> 1) +
                      ((((noise[2 * i + 1] * gain[2 * i + 1]) >> 7) * amplitude) >> 8));
    }
}

/* The gain under row y of a level whose points are 1 << level pixels apart. */
static void expand_gain(int16_t *row, size_t n, const struct field *gain, uint32_t y, int level)
{
    if (!gain) {
        for (size_t i = 0; i < n; i++)
            row[i] = 256;
        return;
    }
    uint32_t gy = level <= GAIN_SHIFT ? y >> (GAIN_SHIFT - level) : y << (level - GAIN_SHIFT);
    const int16_t *from = gain->value + (gy < gain->height ? gy : gain->height - 1) * gain->stride;
    for (size_t i = 0; i < n; i++) {
        size_t gx = level <= GAIN_SHIFT ? i >> (GAIN_SHIFT - level) : i << (level - GAIN_SHIFT);
        row[i] = from[gx < gain->width ? gx : gain->width - 1];
    }
}

struct texture {
    int level;                /* of the result: 0 for luma, 1 for chroma, GAIN_SHIFT for the gain */
    const struct field *gain; /* NULL: the same everywhere */
    double octave[N_OCTAVES]; /* amplitude of the noise at each level */
};

/* Fills `out` from its coarsest octave down, through two other fields of at least its size. */
static void draw_texture(struct field *out, struct scratch *s, const struct texture *how,
                         struct dlb_rng *rng)
{
    struct field *from = &s->ping, *to = &s->pong;
    uint32_t width[N_OCTAVES + 1], height[N_OCTAVES + 1];

    width[how->level] = out->width;
    height[how->level] = out->height;
    for (int level = how->level; level < N_OCTAVES; level++) {
        width[level + 1] = (width[level] + 1) / 2 + 1;
        height[level + 1] = (height[level] + 1) / 2 + 1;
    }
    memset(from->value, 0, from->stride * height[N_OCTAVES] * sizeof *from->value);
    for (int level = N_OCTAVES - 1; level >= how->level; level--) {
        int amplitude = (int)(how->octave[level] * 256 + 0.5);
        size_t n_coarse = (width[level] + 1) / 2;
        if (level == how->level)
            to = out;
        for (uint32_t y = 0; y < height[level]; y++) {
            const int16_t *a = from->value + (size_t)(y / 2) * from->stride;
            draw_noise(s->noise, 2 * n_coarse, rng);
            if (level >= GAIN_SHIFT || (y & ((1u << (GAIN_SHIFT - level)) - 1)) == 0)
                expand_gain(s->gain_row, 2 * n_coarse, how->gain, y, level);
            double_row(to->value + (size_t)y * to->stride, a, y % 2 ? a + from->stride : a,
                       n_coarse, s->noise, s->gain_row, amplitude);
        }
        struct field *swap = from;
        from = to;
        to = swap;
    }
}

struct shape {
    double x, y, rx, ry;       /* of the image's height */
    int luma, chroma[2], gain; /* what it adds */
};

static double spread(struct dlb_rng *rng, double most)
{
    return (2 * dlb_rng_unit(rng) - 1) * most;
}

/* An ellipse with an edge of two pixels, as a lens leaves it. `shrink`: how much smaller the field
 * is than the image. */
static void add_shape(struct field *field, const struct shape *shape, uint32_t image_height,
                      int shrink, int add)
{
    double unit = (double)image_height / (1 << shrink);
    int64_t cx = (int64_t)(shape->x * unit), cy = (int64_t)(shape->y * unit);
    int64_t rx = (int64_t)(shape->rx * unit) + 2, ry = (int64_t)(shape->ry * unit) + 2;

    for (int64_t y = cy - ry < 0 ? 0 : cy - ry; y < (int64_t)field->height && y <= cy + ry; y++) {
        int64_t half =
            (int64_t)((double)rx * sqrt((double)(ry * ry - (y - cy) * (y - cy))) / (double)ry);
        int64_t from = cx - half < 0 ? 0 : cx - half, to = cx + half;
        int16_t *row = field->value + (size_t)y * field->stride;
        if (to >= (int64_t)field->width)
            to = (int64_t)field->width - 1;
        for (int64_t x = from; x <= to; x++) {
            int64_t inside = x - (cx - half) < cx + half - x ? x - (cx - half) : cx + half - x;
            row[x] = (int16_t)(row[x] + (inside == 0 ? add / 3 : inside == 1 ? add * 2 / 3 : add));
        }
    }
}

/* log2 of the gain in 1/256 becomes the gain in 1/256. */
static void exponentiate(struct field *gain, double detail)
{
    int16_t table[512];

    for (int i = 0; i < 512; i++) {
        double value = 256.0 * detail * exp2((i - 256) / 64.0);
        table[i] = (int16_t)(value < 1 ? 1 : value > MAX_GAIN ? MAX_GAIN : lround(value));
    }
    for (uint32_t y = 0; y < gain->height; y++) {
        int16_t *row = gain->value + (size_t)y * gain->stride;
        for (uint32_t x = 0; x < gain->width; x++) {
            int at = (row[x] >> 2) + 256;
            row[x] = table[at < 0 ? 0 : at > 511 ? 511 : at];
        }
    }
}

static uint8_t level_of(int value)
{
    int level = (value + UNIT / 2) / UNIT + 128;
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : level);
}

static void store(uint8_t *plane, size_t stride, const struct field *field, uint32_t height)
{
    for (uint32_t y = 0; y < height; y++)
        for (size_t x = 0; x < stride; x++)
            plane[y * stride + x] = level_of(field->value[(size_t)y * field->stride + x]);
}

/* Adds `share` / 256 of the luma to a chroma plane: real objects differ in brightness and colour at
 * the same places. */
static void follow_luma(struct field *chroma, const struct field *luma, int share)
{
    for (uint32_t y = 0; y < chroma->height; y++) {
        const int16_t *a = luma->value + (size_t)2 * y * luma->stride;
        int16_t *row = chroma->value + (size_t)y * chroma->stride;
        for (size_t x = 0; x < chroma->width; x++)
            row[x] = (int16_t)(row[x] + (a[2 * x] + a[2 * x + 1]) / 2 * share / 256);
    }
}

static void draw(struct scratch *s, const struct dlb_photo_look *look, struct dlb_rng *rng)
{
    struct texture gain = {.level = GAIN_SHIFT, .octave = GAIN_OCTAVES};
    struct texture luma = {.gain = &s->gain, .octave = LUMA_OCTAVES};
    struct texture chroma = {.level = 1, .gain = &s->gain, .octave = CHROMA_OCTAVES};
    struct shape shapes[MAX_SHAPES];
    size_t n_shapes = 3 + (size_t)dlb_rng_below(rng, MAX_SHAPES - 2);

    draw_texture(&s->gain, s, &gain, rng);
    for (size_t i = 0; i < n_shapes; i++) {
        double radius = 0.08 * exp2(dlb_rng_unit(rng) * 3);
        shapes[i] = (struct shape){dlb_rng_unit(rng) * look->width / look->height,
                                   dlb_rng_unit(rng),
                                   radius * (0.5 + dlb_rng_unit(rng)),
                                   radius,
                                   (int)spread(rng, 45 * UNIT),
                                   {(int)spread(rng, 18 * UNIT), (int)spread(rng, 18 * UNIT)},
                                   (int)spread(rng, 300)};
        add_shape(&s->gain, &shapes[i], look->height, GAIN_SHIFT, shapes[i].gain);
    }
    exponentiate(&s->gain, look->detail);
    draw_texture(&s->luma, s, &luma, rng);
    for (size_t i = 0; i < n_shapes; i++)
        add_shape(&s->luma, &shapes[i], look->height, 0, shapes[i].luma);
    for (int c = 0; c < 2; c++) {
        draw_texture(&s->chroma[c], s, &chroma, rng);
        for (size_t i = 0; i < n_shapes; i++)
            add_shape(&s->chroma[c], &shapes[i], look->height, 1, shapes[i].chroma[c]);
        follow_luma(&s->chroma[c], &s->luma, (int)spread(rng, 40));
    }
}

static void free_scratch(struct scratch *s)
{
    struct field *all[] = {&s->luma, &s->chroma[0], &s->chroma[1], &s->gain, &s->ping, &s->pong};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->value);
    free(s->noise);
    free(s->gain_row);
    free(s->planes);
}

static int make_scratch(struct scratch *s, uint32_t width, uint32_t height)
{
    if (make_field(&s->luma, width, height) != 0 ||
        make_field(&s->chroma[0], width / 2, height / 2) != 0 ||
        make_field(&s->chroma[1], width / 2, height / 2) != 0 ||
        make_field(&s->gain, width >> GAIN_SHIFT, height >> GAIN_SHIFT) != 0 ||
        make_field(&s->ping, width, height) != 0 || make_field(&s->pong, width, height) != 0)
        return -1;
    s->noise = malloc((size_t)width + 16);
    s->gain_row = malloc(((size_t)width + 16) * sizeof *s->gain_row);
    s->planes = malloc((size_t)width * height * 3 / 2);
    return s->noise && s->gain_row && s->planes ? 0 : -1;
}

static int encode(enum dlb_image_kind kind, const struct dlb_image_planes *planes, int quality,
                  struct dlb_bytes *out, struct dlb_err *err)
{
    if (kind == DLB_IMAGE_PNG)
        return dlb_png_encode(planes, out, err);
    if (kind == DLB_IMAGE_WEBP)
        return dlb_webp_encode(planes, (float)quality, out, err);
    return dlb_jpeg_encode(planes, quality, out, err);
}

int dlb_photo_make(enum dlb_image_kind kind, uint64_t seed, uint64_t index, uint64_t mean_bytes,
                   struct dlb_bytes *out, struct dlb_err *err)
{
    struct dlb_rng rng = dlb_rng_seed(seed, index, UINT64_C(0x70686f746f)); /* "photo" */
    struct scratch s = {0};
    int rc = dlb_photo_check(kind, mean_bytes, err);

    if (rc != DLB_OK)
        return rc;
    struct dlb_photo_look look = dlb_photo_look(kind, mean_bytes, &rng);
    uint32_t width = (look.width + 31) & ~31u, height = (look.height + 15) & ~15u;
    if (make_scratch(&s, width, height) != 0) {
        rc = dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                      "out of memory to draw %u x %u pixels", width, height);
        goto out;
    }
    draw(&s, &look, &rng);
    uint8_t *cb = s.planes + (size_t)width * height, *cr = cb + (size_t)width * height / 4;
    store(s.planes, width, &s.luma, height);
    store(cb, width / 2, &s.chroma[0], height / 2);
    store(cr, width / 2, &s.chroma[1], height / 2);
    struct dlb_image_planes planes = {s.planes, cb, cr, look.width, look.height, width};
    rc = encode(kind, &planes, look.quality, out, err);
out:
    free_scratch(&s);
    return rc;
}

/* The device's part of the transform with transform.where = "gpu": workers deliver samples of one
 * size, and the device transforms them as part of its step.
 *
 * Floor 2. Any thread; pure. This is the host's arithmetic: workers and the emulated device run it,
 * and a GPU's results are compared with it bit for bit. C++ may include this. */
#ifndef DLB_FORMATS_CODECS_AUGMENT_H
#define DLB_FORMATS_CODECS_AUGMENT_H

#include "core/base/err.h"
#include "formats/element.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dlb_augment_kind {
    DLB_AUGMENT_NONE,
    DLB_AUGMENT_IMAGE, /* crop, flip, u8 to normalised f32, interleaved to planes */
    DLB_AUGMENT_WIDEN, /* tokens to int64: x, then y */
};

/* Which part of an image is kept; stored behind its pixels. */
struct dlb_augment_place {
    uint16_t x, y;
    uint32_t flip;
};

struct dlb_augment {
    enum dlb_augment_kind kind;
    size_t in_bytes, out_bytes; /* of a sample, as delivered and as transformed; all of one size */
    /* IMAGE: side x side x 3 bytes, and a dlb_augment_place at place_at, become 3 x size x size
     * floats. */
    uint32_t side, size;
    size_t place_at;
    float scale[3], shift[3];
    /* WIDEN: n_tokens numbers become two times n_tokens - 1. */
    enum dlb_element element;
    uint32_t n_tokens;
};

/* ToTensor and Normalize with ImageNet's statistics: (v / 255 - mean) / deviation as v * scale +
 * shift. */
void dlb_augment_imagenet(float scale[3], float shift[3]);

/* One product and one sum, each rounded: its callers are built with -ffp-contract=off, and kernels
 * round in the same way. */
static inline float dlb_normalise(uint8_t value, float scale, float shift)
{
    return (float)value * scale + shift;
}

struct dlb_augment dlb_augment_image(uint32_t side, uint32_t size);
struct dlb_augment dlb_augment_widen(enum dlb_element element, uint32_t n_tokens);

/* Transforms one sample: `in` of in_bytes, `out` of out_bytes, aligned to 8. */
void dlb_augment_run(const struct dlb_augment *how, const uint8_t *in, uint8_t *out);

/* How many samples a batch of n_bytes holds; DLB_E_DEVICE when it is not a whole number. */
int dlb_augment_count(const struct dlb_augment *how, size_t n_bytes, size_t *n_samples,
                      struct dlb_err *err);

#ifdef __cplusplus
}
#endif

#endif

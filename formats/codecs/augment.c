#include "formats/codecs/augment.h"

#include <string.h>

enum { CHANNELS = 3 };

void dlb_augment_imagenet(float scale[3], float shift[3])
{
    /* The values of torchvision's examples. */
    static const double mean[CHANNELS] = {0.485, 0.456, 0.406},
                        deviation[CHANNELS] = {0.229, 0.224, 0.225};
    for (int c = 0; c < CHANNELS; c++) {
        scale[c] = (float)(1 / (255 * deviation[c]));
        shift[c] = (float)(-mean[c] / deviation[c]);
    }
}

struct dlb_augment dlb_augment_image(uint32_t side, uint32_t size)
{
    struct dlb_augment how = {.kind = DLB_AUGMENT_IMAGE, .side = side, .size = size};
    size_t align = sizeof(struct dlb_augment_place);

    how.place_at = ((size_t)side * side * CHANNELS + align - 1) / align * align;
    how.in_bytes = how.place_at + sizeof(struct dlb_augment_place);
    how.out_bytes = (size_t)size * size * CHANNELS * sizeof(float);
    dlb_augment_imagenet(how.scale, how.shift);
    return how;
}

struct dlb_augment dlb_augment_widen(enum dlb_element element, uint32_t n_tokens)
{
    return (struct dlb_augment){.kind = DLB_AUGMENT_WIDEN,
                                .in_bytes = n_tokens * dlb_element_bytes(element),
                                .out_bytes = 2 * sizeof(int64_t) * (n_tokens - 1),
                                .element = element,
                                .n_tokens = n_tokens};
}

static void make_image(const struct dlb_augment *how, const uint8_t *in, float *out)
{
    struct dlb_augment_place place;
    size_t size = how->size, plane = size * size;

    memcpy(&place, in + how->place_at, sizeof place);
    for (size_t y = 0; y < size; y++) {
        const uint8_t *line = in + ((place.y + y) * how->side + place.x) * CHANNELS;
        for (size_t x = 0; x < size; x++) {
            const uint8_t *from = line + CHANNELS * (place.flip ? size - 1 - x : x);
            for (size_t c = 0; c < CHANNELS; c++)
                out[c * plane + y * size + x] =
                    dlb_normalise(from[c], how->scale[c], how->shift[c]);
        }
    }
}

static void make_tokens(const struct dlb_augment *how, const uint8_t *in, uint8_t *out)
{
    size_t n = how->n_tokens - 1;

    dlb_element_widen(out, in, n, how->element);
    dlb_element_widen(out + n * sizeof(int64_t), in + dlb_element_bytes(how->element), n,
                      how->element);
}

void dlb_augment_run(const struct dlb_augment *how, const uint8_t *in, uint8_t *out)
{
    switch (how->kind) {
    case DLB_AUGMENT_IMAGE:
        make_image(how, in, (float *)(void *)out);
        break;
    case DLB_AUGMENT_WIDEN:
        make_tokens(how, in, out);
        break;
    case DLB_AUGMENT_NONE:
        DLB_BUG("no augmentation for this sample");
    }
}

int dlb_augment_count(const struct dlb_augment *how, size_t n_bytes, size_t *n_samples,
                      struct dlb_err *err)
{
    *n_samples = n_bytes / how->in_bytes;
    if (n_bytes % how->in_bytes != 0)
        return dlb_fail(err, DLB_ERR_BATCH_CUT, NULL, DLB_NO_OFFSET,
                        "a batch of %zu bytes is not a whole number of samples of %zu bytes",
                        n_bytes, how->in_bytes);
    return DLB_OK;
}

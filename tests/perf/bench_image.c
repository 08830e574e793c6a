/* Codec image against the bare loop of libpng and libwebp: whole images of `gen`, decoded to 8-bit
 * RGB, one thread. Beside it, what the crop of a training takes, which decodes less. */
#include "core/base/clock.h"
#include "formats/codec.h"
#include "formats/codecs/image.h"
#include "tests/perf/perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined DLB_HAVE_PNG && defined DLB_HAVE_WEBP

#include <png.h>
#include <webp/decode.h>

enum { N_IMAGES = 64 };

struct set {
    struct dlb_bytes image[N_IMAGES];
    struct dlb_image *decoder;
    struct dlb_image_pixels pixels;
    uint8_t *rgb; /* of the bare loop */
    size_t cap_bytes;
};

static double ours(void *ctx)
{
    struct set *set = ctx;
    struct dlb_err err = {0};
    uint64_t start_ns = dlb_now_ns();

    for (int i = 0; i < N_IMAGES; i++) {
        uint32_t width, height;
        const struct dlb_bytes *data = &set->image[i];
        if (dlb_image_start(set->decoder, data->data, data->len_bytes, false, &width, &height,
                            &err) != DLB_OK)
            perf_die("image", &err);
        struct dlb_image_rect all = {0, 0, width, height};
        if (dlb_image_decode(set->decoder, 1, &all, &set->pixels, &err) != DLB_OK)
            perf_die("image", &err);
    }
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

static void reserve(struct set *set, size_t n_bytes)
{
    if (n_bytes <= set->cap_bytes)
        return;
    free(set->rgb);
    set->rgb = malloc(n_bytes);
    set->cap_bytes = n_bytes;
    if (!set->rgb)
        perf_die("memory", NULL);
}

struct input {
    const uint8_t *data;
};

static void read_png(png_structp png, png_bytep to, size_t n_bytes)
{
    struct input *input = png_get_io_ptr(png);
    memcpy(to, input->data, n_bytes);
    input->data += n_bytes;
}

/* As libpng's manual has it: to 8-bit RGB, row by row. */
static double bare_png(void *ctx)
{
    struct set *set = ctx;
    uint64_t start_ns = dlb_now_ns();

    for (int i = 0; i < N_IMAGES; i++) {
        struct input input = {set->image[i].data};
        png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
        png_infop info = png_create_info_struct(png);
        png_set_read_fn(png, &input, read_png);
        png_read_info(png, info);
        png_set_expand(png);
        png_set_strip_16(png);
        png_set_strip_alpha(png);
        png_set_gray_to_rgb(png);
        png_read_update_info(png, info);
        uint32_t height = png_get_image_height(png, info);
        size_t stride = png_get_rowbytes(png, info);
        reserve(set, stride * height);
        for (uint32_t y = 0; y < height; y++)
            png_read_row(png, set->rgb + y * stride, NULL);
        png_destroy_read_struct(&png, &info, NULL);
    }
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

static double bare_webp(void *ctx)
{
    struct set *set = ctx;
    uint64_t start_ns = dlb_now_ns();

    for (int i = 0; i < N_IMAGES; i++) {
        int width, height;
        const struct dlb_bytes *data = &set->image[i];
        if (!WebPGetInfo(data->data, data->len_bytes, &width, &height))
            perf_die("webp", NULL);
        size_t n_bytes = (size_t)width * (size_t)height * 3;
        reserve(set, n_bytes);
        if (!WebPDecodeRGBInto(data->data, data->len_bytes, set->rgb, n_bytes, width * 3))
            perf_die("webp", NULL);
    }
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

/* Random-resized crop to 224 x 224 floats: what training takes. */
static void cropped(const struct set *set, const char *name)
{
    const struct dlb_codec *codec = dlb_codec_by_name("image");
    struct dlb_transform_opts opts = {
        .crop = DLB_CROP_RANDOM_RESIZED, .size = 224, .flip = true, .pixels = DLB_PIXELS_F32};
    size_t n_bytes = (codec->state_bytes + 63) & ~(size_t)63, len;
    void *state = aligned_alloc(64, n_bytes);
    uint8_t *out = malloc(224 * 224 * 12);
    struct dlb_err err = {0};

    if (!state || !out)
        perf_die("memory", NULL);
    memset(state, 0, n_bytes);
    if (codec->open(state, &opts, &err) != DLB_OK)
        perf_die("codec", &err);
    uint64_t start_ns = dlb_now_ns();
    for (uint64_t i = 0; i < N_IMAGES; i++) {
        struct dlb_sample sample = {.n_fields = 1, .path = name};
        sample.field[0] = (struct dlb_field){
            .data = set->image[i].data, .len_bytes = set->image[i].len_bytes, .name = name};
        if (codec->decode(state, &sample, dlb_rng_seed(1, 2, i), &err) != DLB_OK ||
            codec->transform(state, out, 224 * 224 * 12, &len, &err) != DLB_OK)
            perf_die("codec", &err);
    }
    printf("%s, random crop to 224 x 224 floats: %.0f images/s, 1 thread\n", name,
           N_IMAGES / ((double)(dlb_now_ns() - start_ns) * 1e-9));
    codec->close(state);
    free(state);
    free(out);
}

static void compare(enum dlb_image_kind kind, const char *name, double (*bare)(void *))
{
    const struct dlb_codec *codec = dlb_codec_by_name("image");
    struct dlb_generate_opts how = {
        .samples = N_IMAGES, .sample_bytes = 110000, .seed = 1, .image = (int)kind};
    struct set set = {.decoder = dlb_image_new()};
    struct dlb_err err;

    for (uint64_t i = 0; i < N_IMAGES; i++)
        if (codec->make(&how, i, &set.image[i], &err) != DLB_OK)
            perf_die("make", &err);
    struct perf_comparison what = {
        .name = name, .unit = "images", .units = N_IMAGES, .should_reach = 0.95};
    (void)perf_compare(&what, &(struct perf_way){"dlbench", ours, &set},
                       &(struct perf_way){"the library", bare, &set});
    cropped(&set, name);
    for (int i = 0; i < N_IMAGES; i++)
        dlb_bytes_free(&set.image[i]);
    dlb_image_free(set.decoder);
    free(set.pixels.data);
    free(set.rgb);
}

int main(void)
{
    compare(DLB_IMAGE_PNG, "png", bare_png);
    compare(DLB_IMAGE_WEBP, "webp", bare_webp);
    return 0;
}

#else

int main(void)
{
    printf("skipped: built without libpng or libwebp\n");
    return 0;
}

#endif

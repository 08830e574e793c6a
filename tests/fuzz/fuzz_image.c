/* The way of a PNG or a WebP through the codec. The first byte chooses the options; an image as it
 * is, is read too. fuzz_jpeg has JPEGs. */
#include "formats/codecs/image.h"
#include "tests/support/image_way.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Large images only cost time. */
static bool is_large(const uint8_t *data, size_t n_bytes)
{
    struct dlb_image *image = dlb_image_new();
    struct dlb_err err = {0};
    uint32_t width = 0, height = 0;

    if (!image)
        abort();
    int rc = dlb_image_start(image, data, n_bytes, false, &width, &height, &err);
    if (rc == DLB_OK && (uint64_t)width * height > DLB_IMAGE_MAX_PIXELS)
        abort();
    image_way_check(rc, &err);
    dlb_image_free(image);
    return rc == DLB_OK && (uint64_t)width * height > 1 << 18;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_codec *codec = dlb_codec_by_name("image");

    if (codec->missing || n_bytes < 1)
        return 0;
    struct dlb_transform_opts opts = image_way_opts(data[0]);
    opts.max_decoded_bytes = 1 << 16;
    if (dlb_image_kind(data, n_bytes) == DLB_IMAGE_UNKNOWN) {
        data++;
        n_bytes--;
    }
    if (dlb_image_kind(data, n_bytes) != DLB_IMAGE_JPEG && !is_large(data, n_bytes))
        image_way(codec, &opts, data, n_bytes);
    return 0;
}

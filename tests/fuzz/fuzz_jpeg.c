/* The way of a JPEG through the codec. The first byte chooses the options. */
#include "tests/support/image_way.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Width times height of the first frame header, as far as it can be found without parsing: large
 * images only cost time. */
static uint64_t claimed_pixels(const uint8_t *data, size_t n_bytes)
{
    uint64_t most = 0;
    for (size_t i = 0; i + 9 <= n_bytes; i++)
        if (data[i] == 0xFF && data[i + 1] >= 0xC0 && data[i + 1] <= 0xCF) {
            uint64_t n = ((uint64_t)data[i + 5] << 8 | data[i + 6]) *
                         ((uint64_t)data[i + 7] << 8 | data[i + 8]);
            most = n > most ? n : most;
        }
    return most;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_codec *codec = dlb_codec_by_name("jpeg");

    if (codec->missing || n_bytes < 1 || claimed_pixels(data, n_bytes) > 1 << 20)
        return 0;
    struct dlb_transform_opts opts = image_way_opts(data[0]);
    /* JPEGs begin with 0xFF: of a file as it is, all bytes belong to it. */
    if (data[0] != 0xFF) {
        data++;
        n_bytes--;
    }
    image_way(codec, &opts, data, n_bytes);
    return 0;
}

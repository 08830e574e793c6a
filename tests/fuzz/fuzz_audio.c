/* The way of a WAV or a FLAC through the codec: header, crop, decode, mix. The first byte chooses
 * the options; a clip as it is, is read too. */
#include "formats/codec.h"
#include "formats/codecs/audio.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* Clips that unpack to much only cost time. */
static bool is_large(const uint8_t *data, size_t n_bytes)
{
    struct dlb_audio *audio = dlb_audio_new();
    struct dlb_audio_clip clip = {0};
    struct dlb_err err = {0};

    if (!audio)
        abort();
    int rc = dlb_audio_start(audio, data, n_bytes, &clip, &err);
    if (rc == DLB_OK && (clip.n_frames == 0 || clip.n_channels == 0 || clip.rate_hz == 0))
        abort();
    if (rc != DLB_OK && ((int)err.status != rc || err.what[0] == '\0'))
        abort();
    dlb_audio_free(audio);
    return rc == DLB_OK && clip.n_frames * clip.n_channels > 1 << 20;
}

static void check(const struct dlb_codec *codec, const struct dlb_transform_opts *opts,
                  const uint8_t *data, size_t n_bytes)
{
    struct dlb_shape shape = {.max_decoded_bytes = 1 << 16};
    struct dlb_err err = {0};
    size_t cap = (size_t)codec->max_output_bytes(opts, &shape), len;
    void *state = aligned_alloc(64, (codec->state_bytes + 63) & ~(size_t)63);
    uint8_t *out = malloc(cap);

    if (!state || !out)
        abort();
    memset(state, 0, codec->state_bytes);
    if (codec->open(state, opts, &err) != DLB_OK)
        abort();
    struct dlb_sample sample = {.n_fields = 1, .path = "fuzz", .offset_bytes = DLB_NO_OFFSET};
    sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n_bytes, .name = "wav"};
    for (uint64_t draw = 0; draw < 2; draw++) {
        int rc = codec->decode(state, &sample, dlb_rng_seed(1, n_bytes, draw), &err);
        if (rc == DLB_OK)
            rc = codec->transform(state, out, cap, &len, &err);
        if (rc != DLB_OK && ((int)err.status != rc || err.what[0] == '\0'))
            abort();
        if (rc == DLB_OK && len > cap)
            abort();
    }
    codec->close(state);
    free(state);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    const struct dlb_codec *codec = dlb_codec_by_name("audio");

    if (codec->missing || n_bytes < 1)
        return 0;
    struct dlb_transform_opts opts = {.crop = data[0] % 4,
                                      .num_frames = 1 + (data[0] >> 3) * 100,
                                      .num_channels = 1 + ((data[0] >> 2) & 1),
                                      .whole_decode = (data[0] >> 5) & 1};
    if (dlb_audio_kind(data, n_bytes) == DLB_AUDIO_UNKNOWN) {
        data++;
        n_bytes--;
    }
    if (!is_large(data, n_bytes))
        check(codec, &opts, data, n_bytes);
    return 0;
}

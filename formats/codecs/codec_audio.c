/* WAV and FLAC to float32, channels x frames, as torchaudio has it: a crop of a fixed number of
 * frames, or the whole clip. */
#include "formats/codec.h"
#include "formats/codecs/audio.h"
#include "formats/codecs/voice.h"
#include "formats/undecoded.h"

#include <stdlib.h>
#include <string.h>

struct audio_codec {
    struct dlb_transform_opts opts;
    struct dlb_audio *audio;
    struct dlb_audio_frames frames;    /* what was decoded: */
    size_t from, n_frames, n_channels; /* n_frames of them, from this one on */
    const char *path; /* of the decoded sample: borrowed as its fields are, for messages */
};

static int codec_open(void *cd, const struct dlb_transform_opts *opts, struct dlb_err *err)
{
    struct audio_codec *codec = cd;

    codec->opts = *opts;
    codec->audio = dlb_audio_new();
    return codec->audio ? DLB_OK
                        : dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                                   "out of memory for a decoder of audio");
}

static void codec_close(void *cd)
{
    struct audio_codec *codec = cd;
    dlb_audio_free(codec->audio);
    free(codec->frames.data);
    codec->audio = NULL;
    codec->frames = (struct dlb_audio_frames){0};
}

static bool estimates(const struct dlb_transform_opts *opts)
{
    return opts->crop == DLB_CROP_NONE;
}

static uint64_t max_output_bytes(const struct dlb_transform_opts *opts,
                                 const struct dlb_shape *shape)
{
    if (opts->crop != DLB_CROP_NONE)
        return (uint64_t)opts->num_frames * (uint64_t)opts->num_channels * sizeof(float);
    return opts->max_decoded_bytes > 0 ? (uint64_t)opts->max_decoded_bytes
                                       : shape->max_decoded_bytes;
}

/* Channels are mixed to one, or all are kept. */
static int check_channels(const struct audio_codec *codec, const struct dlb_audio_clip *clip,
                          struct dlb_err *err)
{
    if (codec->opts.num_channels == 1 || codec->opts.num_channels == (int64_t)clip->n_channels)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_AUDIO_CHANNELS, NULL, DLB_NO_OFFSET,
                    "a clip of %u channel%s, and transform.num_channels = %lld: 1 mixes all of "
                    "them, any other number is that of every clip",
                    clip->n_channels, clip->n_channels == 1 ? "" : "s",
                    (long long)codec->opts.num_channels);
}

/* A clip that is no longer than the crop is taken whole. */
static uint64_t choose_start(const struct dlb_transform_opts *opts, uint64_t n_frames,
                             uint64_t n_kept, struct dlb_rng *rng)
{
    uint64_t left = n_frames - n_kept;

    return opts->crop == DLB_CROP_CENTER ? left / 2 : dlb_rng_below(rng, left + 1);
}

static int read_clip(struct audio_codec *codec, const struct dlb_field *field, struct dlb_rng *rng,
                     struct dlb_err *err)
{
    const struct dlb_transform_opts *opts = &codec->opts;
    struct dlb_audio_clip clip;
    int rc = dlb_audio_start(codec->audio, field->data, field->len_bytes, &clip, err);

    if (rc == DLB_OK)
        rc = check_channels(codec, &clip, err);
    if (rc != DLB_OK)
        return rc;
    uint64_t n_kept = clip.n_frames;
    if (opts->crop != DLB_CROP_NONE && (uint64_t)opts->num_frames < n_kept)
        n_kept = (uint64_t)opts->num_frames;
    uint64_t start = choose_start(opts, clip.n_frames, n_kept, rng);
    rc = opts->whole_decode ? dlb_audio_read(codec->audio, 0, clip.n_frames, &codec->frames, err)
                            : dlb_audio_read(codec->audio, start, n_kept, &codec->frames, err);
    codec->from = opts->whole_decode ? (size_t)start : 0;
    codec->n_frames = (size_t)n_kept;
    codec->n_channels = clip.n_channels;
    return rc;
}

/* What is no audio may be the label alone, or something that no codec or another one decodes. */
static int name_other(const struct dlb_field *field, struct dlb_err *err)
{
    if (strcmp(field->name, "cls") == 0 || strcmp(field->name, "json") == 0)
        return dlb_fail(err, DLB_ERR_SAMPLE_NO_AUDIO, NULL, DLB_NO_OFFSET,
                        "the sample that starts here has no field of audio, only \"%s\"",
                        field->name);
    const char *kind = dlb_undecoded_kind(field->name, field->data, field->len_bytes);
    return kind ? dlb_undecoded_fail(err, NULL, kind) : DLB_E_FORMAT;
}

static int decode(void *cd, const struct dlb_sample *in, struct dlb_rng rng, struct dlb_err *err)
{
    struct audio_codec *codec = cd;
    int rc = read_clip(codec, &in->field[0], &rng, err);

    codec->path = in->path;
    if (rc == DLB_OK)
        return DLB_OK;
    if (err->code == DLB_ERR_AUDIO_UNKNOWN)
        (void)name_other(&in->field[0], err);
    err->offset_bytes = in->offset_bytes;
    return dlb_fail_at_path(err, in->path);
}

static size_t n_delivered(const struct audio_codec *codec)
{
    return codec->opts.crop == DLB_CROP_NONE ? codec->n_frames : (size_t)codec->opts.num_frames;
}

static uint64_t decoded_bytes(const void *cd)
{
    const struct audio_codec *codec = cd;
    return (uint64_t)n_delivered(codec) * (uint64_t)codec->opts.num_channels * sizeof(float);
}

/* The mean of a frame's channels, as torch's mean(dim=0) of a clip. */
static void mix(float *restrict dst, const float *restrict src, size_t n_frames, size_t n_channels)
{
    for (size_t i = 0; i < n_frames; i++) {
        float sum = 0;
        for (size_t c = 0; c < n_channels; c++)
            sum += src[i * n_channels + c];
        dst[i] = sum / (float)n_channels;
    }
}

static void take_channel(float *restrict dst, const float *restrict src, size_t n_frames,
                         size_t n_channels)
{
    for (size_t i = 0; i < n_frames; i++)
        dst[i] = src[i * n_channels];
}

/* Zeros follow a clip that is shorter than the crop. */
static int transform(void *cd, uint8_t *dst, size_t cap_bytes, size_t *len_bytes,
                     struct dlb_err *err)
{
    const struct audio_codec *codec = cd;
    size_t n_channels = (size_t)codec->opts.num_channels, n = n_delivered(codec);
    const float *src = codec->frames.data + codec->from * codec->n_channels;
    float *to = (float *)(void *)dst;

    *len_bytes = (size_t)decoded_bytes(codec);
    if (*len_bytes > cap_bytes)
        return dlb_fail(err, DLB_ERR_SAMPLE_EXCEEDS_SLOT, codec->path, DLB_NO_OFFSET,
                        "%zu bytes of audio do not fit the slot's %zu: set "
                        "transform.max_decoded_bytes to the largest sample",
                        *len_bytes, cap_bytes);
    for (size_t c = 0; c < n_channels; c++, to += n) {
        if (codec->n_channels == 1)
            memcpy(to, src, codec->n_frames * sizeof *to);
        else if (n_channels == 1)
            mix(to, src, codec->n_frames, codec->n_channels);
        else
            take_channel(to, src + c, codec->n_frames, codec->n_channels);
        memset(to + codec->n_frames, 0, (n - codec->n_frames) * sizeof *to);
    }
    return DLB_OK;
}

/* generate.audio: enum dlb_audio_kind, or DLB_AUDIO_UNKNOWN for one of each in turn. */
static enum dlb_audio_kind kind_of(const struct dlb_generate_opts *opts, uint64_t index)
{
    return opts->audio == DLB_AUDIO_UNKNOWN ? (enum dlb_audio_kind)(index % DLB_AUDIO_UNKNOWN)
                                            : (enum dlb_audio_kind)opts->audio;
}

static int make(const struct dlb_generate_opts *opts, uint64_t index, struct dlb_bytes *out,
                struct dlb_err *err)
{
    return dlb_voice_make(kind_of(opts, index), (uint64_t)opts->seed, index,
                          (uint64_t)opts->sample_bytes, out, err);
}

static const char *extension_of(const struct dlb_generate_opts *opts, uint64_t index)
{
    return kind_of(opts, index) == DLB_AUDIO_FLAC ? "flac" : "wav";
}

static const char *const extensions[] = {"wav", "flac", NULL};

const struct dlb_codec dlb_codec_audio = {
    .name = "audio",
    .summary = "WAV, FLAC by content; crop, mono or all channels, f32",
#ifndef DLB_HAVE_SNDFILE
    .missing = "built without libsndfile",
#endif
    .extensions = extensions,
    .crops = true,
    .state_bytes = sizeof(struct audio_codec),
    .open = codec_open,
    .close = codec_close,
    .max_output_bytes = max_output_bytes,
    .decode = decode,
    .estimates = estimates,
    .decoded_bytes = decoded_bytes,
    .transform = transform,
    .extension = "wav",
    .extension_of = extension_of,
    .make = make,
};

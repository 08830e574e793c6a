/* formats/codecs/codec_audio and bench/verbs/clips: crops, channels, padding, clips that are cut
 * short or damaged, and what gen makes. Other programs' files are in contract/test_audio_peers. */
#include "bench/verbs/clips.h"
#include "formats/codecs/audio.h"
#include "formats/undecoded.h"
#include "tests/support/one_sample.h"

enum { MAX_FRAMES = 4096 };

static float out[2 * MAX_FRAMES];
static size_t len;

static int transformed(const struct dlb_codec *codec, void *state)
{
    uint64_t n_decoded = codec->decoded_bytes(state);
    int rc = codec->transform(state, (uint8_t *)out, sizeof out, &len, &err);

    if (rc == DLB_OK)
        assert_int_equal(len, n_decoded);
    return rc;
}

/* To `out`, `len` of its bytes. `draw` is the sample's number. */
static int decode(const struct dlb_transform_opts *opts, const char *field, const uint8_t *data,
                  size_t n_bytes, uint64_t draw)
{
    return one_sample("audio", opts, field, data, n_bytes, draw, transformed);
}

/* A ramp, so that each frame tells its place: sample i is i + 1 of 32768. */
static struct dlb_bytes ramp(enum dlb_audio_kind kind, size_t n_frames)
{
    int16_t samples[MAX_FRAMES];
    struct dlb_bytes made = {0};

    for (size_t i = 0; i < n_frames; i++)
        samples[i] = (int16_t)(i + 1);
    assert_int_equal(dlb_audio_encode(kind, samples, n_frames, 8000, &made, &err), DLB_OK);
    assert_int_equal(dlb_audio_kind(made.data, made.len_bytes), kind);
    return made;
}

static size_t place(float sample)
{
    return (size_t)(sample * 32768) - 1;
}

static void check_crops(enum dlb_audio_kind kind)
{
    struct dlb_bytes made = ramp(kind, 3000);
    struct dlb_transform_opts opts = {.num_frames = 1000, .num_channels = 1};
    size_t least = 3000, most = 0;

    for (uint64_t draw = 0; draw < 40; draw++) {
        opts.whole_decode = draw % 2;
        opts.crop = draw % 3 ? DLB_CROP_RANDOM_RESIZED : DLB_CROP_RANDOM;
        assert_int_equal(decode(&opts, "wav", made.data, made.len_bytes, draw), DLB_OK);
        assert_int_equal(len, 1000 * sizeof *out);
        size_t start = place(out[0]);
        assert_in_range(start, 0, 2000);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(place(out[i]), start + i);
        least = start < least ? start : least;
        most = start > most ? start : most;
    }
    assert_true(least < 500 && most > 1500);
    opts.crop = DLB_CROP_CENTER;
    assert_int_equal(decode(&opts, "wav", made.data, made.len_bytes, 0), DLB_OK);
    assert_int_equal(place(out[0]), 1000);
    opts.crop = DLB_CROP_NONE;
    assert_int_equal(decode(&opts, "wav", made.data, made.len_bytes, 0), DLB_OK);
    assert_int_equal(len, 3000 * sizeof *out);
    assert_int_equal(place(out[2999]), 2999);
    dlb_bytes_free(&made);
}

static void test_crops(void **state)
{
    (void)state;
    check_crops(DLB_AUDIO_WAV);
    check_crops(DLB_AUDIO_FLAC);
}

static void test_padding(void **state)
{
    struct dlb_bytes made = ramp(DLB_AUDIO_WAV, 10);
    struct dlb_transform_opts opts = {.num_frames = 25, .num_channels = 1};
    (void)state;
    memset(out, 0xFF, sizeof out);
    assert_int_equal(decode(&opts, "wav", made.data, made.len_bytes, 0), DLB_OK);
    assert_int_equal(len, 25 * sizeof *out);
    for (size_t i = 0; i < 25; i++)
        assert_true(i < 10 ? place(out[i]) == i : out[i] == 0);
    dlb_bytes_free(&made);
}

/* stereo.wav: frame i has i + 1 on the left and -(i + 1) / 2 on the right, of 32768. */
static void test_channels(void **state)
{
    size_t n_bytes;
    uint8_t *data = corpus_load("audio", "stereo.wav", &n_bytes);
    struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE, .num_channels = 2};
    (void)state;
    assert_int_equal(decode(&opts, "wav", data, n_bytes, 0), DLB_OK);
    assert_int_equal(len, 2 * 100 * sizeof *out);
    for (size_t i = 0; i < 100; i++) {
        assert_true(out[i] == (float)(2 * (i + 1)) / 32768);
        assert_true(out[100 + i] == -(float)(i + 1) / 32768);
    }
    opts.num_channels = 1;
    assert_int_equal(decode(&opts, "wav", data, n_bytes, 0), DLB_OK);
    assert_int_equal(len, 100 * sizeof *out);
    for (size_t i = 0; i < 100; i++)
        assert_true(out[i] == (float)(i + 1) / 2 / 32768);
    opts.num_channels = 3;
    assert_int_equal(decode(&opts, "wav", data, n_bytes, 0), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_AUDIO_CHANNELS);
    free(data);
}

static void refused(const char *name, enum dlb_code code)
{
    size_t n_bytes;
    uint8_t *data = corpus_load("audio", name, &n_bytes);
    struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE, .num_channels = 1};

    assert_refused(decode(&opts, "wav", data, n_bytes, 0), name, code);
    free(data);
}

static void test_damaged(void **state)
{
    (void)state;
    refused("cut.wav", DLB_ERR_AUDIO_CUT_SHORT);
    refused("cut_header.wav", DLB_ERR_AUDIO_CUT_SHORT);
    refused("empty.wav", DLB_ERR_AUDIO_DAMAGED);
    refused("no_rate.wav", DLB_ERR_AUDIO_DAMAGED);
    refused("claims.flac", DLB_ERR_AUDIO_TOO_LARGE);
    refused("cut_header.flac", DLB_ERR_AUDIO_DAMAGED);
    refused("unknown_length.flac", DLB_ERR_AUDIO_DAMAGED);
}

/* A program that writes to a pipe does not know the length: the rest of the file is the clip. */
static void test_unknown_length(void **state)
{
    struct dlb_bytes made = ramp(DLB_AUDIO_WAV, 100);
    struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE, .num_channels = 1};
    (void)state;
    memset(made.data + 40, 0xFF, 4);
    assert_int_equal(decode(&opts, "wav", made.data, made.len_bytes, 0), DLB_OK);
    assert_int_equal(len, 100 * sizeof *out);
    dlb_bytes_free(&made);
}

static void test_no_audio(void **state)
{
    static const uint8_t mp3[] = "ID3 and so on", png[] = "\x89PNG\r\n\x1a\n";
    const struct dlb_transform_opts opts = {.num_frames = 10, .num_channels = 1};
    (void)state;
    assert_int_equal(decode(&opts, "bin", mp3, 0, 0), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_AUDIO_UNKNOWN);
    assert_int_equal(decode(&opts, "cls", (const uint8_t *)"7", 1, 0), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SAMPLE_NO_AUDIO);
    assert_int_equal(decode(&opts, "mp3", mp3, sizeof mp3, 0), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_DATASET_NOT_DECODED);
    assert_int_equal(decode(&opts, "png", png, 8, 0), DLB_E_FORMAT);
    assert_int_equal(err.code, dlb_undecoded_codec("PNG images") ? DLB_ERR_DATASET_OTHER_CODEC
                                                                 : DLB_ERR_DATASET_NOT_DECODED);
}

static void test_made(void **state)
{
    const struct dlb_codec *codec = dlb_codec_by_name("audio");
    struct dlb_generate_opts opts = {.samples = 60, .sample_bytes = 30000, .seed = 3};
    const struct dlb_transform_opts crop = {.num_frames = 2000, .num_channels = 1};
    struct dlb_bytes clip = {0}, again = {0};
    (void)state;
    for (opts.audio = DLB_AUDIO_WAV; opts.audio <= DLB_AUDIO_FLAC; opts.audio++) {
        double sum = 0;
        for (uint64_t i = 0; i < 60; i++, clip.len_bytes = again.len_bytes = 0) {
            assert_int_equal(codec->make(&opts, i, &clip, &err), DLB_OK);
            assert_int_equal(codec->make(&opts, i, &again, &err), DLB_OK);
            assert_int_equal(clip.len_bytes, again.len_bytes);
            assert_memory_equal(clip.data, again.data, clip.len_bytes);
            assert_int_equal((int)dlb_audio_kind(clip.data, clip.len_bytes), opts.audio);
            assert_int_equal(decode(&crop, "wav", clip.data, clip.len_bytes, i), DLB_OK);
            sum += (double)clip.len_bytes / 60;
        }
        if (!(sum > 26000 && sum < 34000))
            fail_msg("mean %.0f bytes of kind %d", sum, opts.audio);
    }
    assert_string_equal(dlb_codec_extension(codec, &opts, 0), "wav"); /* each in turn */
    assert_string_equal(dlb_codec_extension(codec, &opts, 1), "flac");
    opts.sample_bytes = 10;
    assert_int_equal(codec->make(&opts, 0, &clip, &err), DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_GENERATE_SIZE_UNFIT);
    dlb_bytes_free(&clip);
    dlb_bytes_free(&again);
}

static void test_clips(void **state)
{
    struct dlb_clips clips = {0};
    struct dlb_shape shape = {0};
    struct dlb_audio *audio = dlb_audio_new();
    struct dlb_bytes made = ramp(DLB_AUDIO_WAV, 800);
    size_t n_bytes;
    uint8_t *stereo = corpus_load("audio", "stereo.wav", &n_bytes);
    (void)state;
    dlb_clips_note(&clips, &shape);
    assert_int_equal(dlb_clips_median_frames(&clips), 0);
    assert_int_equal(dlb_clips_channels(&clips), 1);
    dlb_clips_add(&clips, audio, stereo, n_bytes);
    assert_int_equal(dlb_clips_channels(&clips), 2);
    dlb_clips_add(&clips, audio, made.data, made.len_bytes);
    dlb_clips_add(&clips, audio, made.data, made.len_bytes);
    dlb_clips_add(&clips, audio, made.data, 20); /* none */
    dlb_clips_add(&clips, NULL, made.data, made.len_bytes);
    dlb_clips_sort(&clips);
    assert_int_equal(clips.n, 3);
    assert_int_equal(dlb_clips_channels(&clips), 1);
    assert_int_equal(dlb_clips_median_frames(&clips), 800);
    assert_true(clips.seconds[1] == 0.1);
    dlb_clips_note(&clips, &shape); /* 8,000 and 16,000 Hz */
    assert_int_equal(shape.n_odd, 1);
    free(stereo);
    dlb_bytes_free(&made);
    dlb_audio_free(audio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crops),    cmocka_unit_test(test_padding),
        cmocka_unit_test(test_channels), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_no_audio), cmocka_unit_test(test_unknown_length),
        cmocka_unit_test(test_made),     cmocka_unit_test(test_clips),
    };
    if (dlb_codec_by_name("audio")->missing)
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Codec audio against the bare loop of libsndfile: whole clips of `gen` from memory to floats, one
 * thread; then as a batch has them, where the bare loop copies each clip to its place. Beside it,
 * what a crop of a second takes, which decodes less. */
#include "core/base/clock.h"
#include "formats/codec.h"
#include "formats/codecs/audio.h"
#include "tests/perf/perf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DLB_HAVE_SNDFILE

#include <sndfile.h>

enum { N_CLIPS = 64 };

struct set {
    struct dlb_bytes clip[N_CLIPS];
    struct dlb_audio *decoder;
    struct dlb_audio_frames frames;
    float *bare, *batch; /* a clip of the bare loop; a place of the batch */
    size_t cap_frames;
    void *codec; /* state of codec audio, whole clips */
};

static double ours(void *ctx)
{
    struct set *set = ctx;
    struct dlb_err err = {0};
    uint64_t start_ns = dlb_now_ns();

    for (int i = 0; i < N_CLIPS; i++) {
        struct dlb_audio_clip clip;
        if (dlb_audio_start(set->decoder, set->clip[i].data, set->clip[i].len_bytes, &clip, &err) !=
                DLB_OK ||
            dlb_audio_read(set->decoder, 0, clip.n_frames, &set->frames, &err) != DLB_OK)
            perf_die("audio", &err);
    }
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

struct input {
    const struct dlb_bytes *bytes;
    size_t at;
};

static sf_count_t length(void *ctx)
{
    return (sf_count_t)((struct input *)ctx)->bytes->len_bytes;
}

static sf_count_t seek(sf_count_t by, int whence, void *ctx)
{
    struct input *input = ctx;
    sf_count_t from = whence == SEEK_SET   ? 0
                      : whence == SEEK_CUR ? (sf_count_t)input->at
                                           : length(ctx);
    input->at = (size_t)(from + by);
    return from + by;
}

static sf_count_t take(void *to, sf_count_t n_bytes, void *ctx)
{
    struct input *input = ctx;
    size_t left = input->bytes->len_bytes - input->at, n = (size_t)n_bytes;
    if (n > left)
        n = left;
    memcpy(to, input->bytes->data + input->at, n);
    input->at += n;
    return (sf_count_t)n;
}

static sf_count_t tell(void *ctx)
{
    return (sf_count_t)((struct input *)ctx)->at;
}

/* As libsndfile's manual has it; `batch`: then to its place, as stacking does. */
static double bare_loop(struct set *set, bool batch)
{
    SF_VIRTUAL_IO io = {.get_filelen = length, .seek = seek, .read = take, .tell = tell};
    uint64_t start_ns = dlb_now_ns();

    for (int i = 0; i < N_CLIPS; i++) {
        struct input input = {&set->clip[i], 0};
        SF_INFO info = {0};
        SNDFILE *file = sf_open_virtual(&io, SFM_READ, &info, &input);
        if (!file || (size_t)info.frames > set->cap_frames ||
            sf_readf_float(file, set->bare, info.frames) != info.frames)
            perf_die("libsndfile", NULL);
        sf_close(file);
        if (batch)
            memcpy(set->batch, set->bare, (size_t)info.frames * sizeof(float));
    }
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

static double bare(void *ctx)
{
    return bare_loop(ctx, false);
}

static double bare_batch(void *ctx)
{
    return bare_loop(ctx, true);
}

static double through_codec(const struct set *set, void *state, size_t cap_bytes)
{
    const struct dlb_codec *codec = dlb_codec_by_name("audio");
    struct dlb_err err = {0};
    uint64_t start_ns = dlb_now_ns();

    for (uint64_t i = 0; i < N_CLIPS; i++) {
        struct dlb_sample sample = {.n_fields = 1, .path = "clip"};
        size_t len;
        sample.field[0] = (struct dlb_field){
            .data = set->clip[i].data, .len_bytes = set->clip[i].len_bytes, .name = "wav"};
        if (codec->decode(state, &sample, dlb_rng_seed(1, 2, i), &err) != DLB_OK ||
            codec->transform(state, (uint8_t *)set->batch, cap_bytes, &len, &err) != DLB_OK)
            perf_die("codec", &err);
    }
    return (double)(dlb_now_ns() - start_ns) * 1e-9;
}

static double codec_batch(void *ctx)
{
    struct set *set = ctx;
    return through_codec(set, set->codec, set->cap_frames * sizeof(float));
}

static void *open_codec(const struct dlb_transform_opts *opts)
{
    const struct dlb_codec *codec = dlb_codec_by_name("audio");
    size_t n_bytes = (codec->state_bytes + 63) & ~(size_t)63;
    void *state = aligned_alloc(64, n_bytes);
    struct dlb_err err = {0};

    if (!state)
        perf_die("memory", NULL);
    memset(state, 0, n_bytes);
    if (codec->open(state, opts, &err) != DLB_OK)
        perf_die("codec", &err);
    return state;
}

static void close_codec(void *state)
{
    dlb_codec_by_name("audio")->close(state);
    free(state);
}

static void cropped(const struct set *set, const char *name)
{
    struct dlb_transform_opts opts = {
        .crop = DLB_CROP_RANDOM, .num_frames = 16000, .num_channels = 1};
    void *state = open_codec(&opts);

    printf("%s, random crop of 16,000 frames: %.0f clips/s, 1 thread\n", name,
           N_CLIPS / through_codec(set, state, set->cap_frames * sizeof(float)));
    close_codec(state);
}

static void compare(enum dlb_audio_kind kind, const char *name)
{
    const struct dlb_transform_opts whole = {.crop = DLB_CROP_NONE, .num_channels = 1};
    struct dlb_generate_opts how = {
        .samples = N_CLIPS, .sample_bytes = 110000, .seed = 1, .audio = (int)kind};
    struct set set = {.decoder = dlb_audio_new(), .cap_frames = 1 << 18};
    struct dlb_err err;

    set.bare = malloc(set.cap_frames * sizeof(float));
    set.batch = malloc(set.cap_frames * sizeof(float));
    if (!set.decoder || !set.bare || !set.batch)
        perf_die("memory", NULL);
    set.codec = open_codec(&whole);
    for (uint64_t i = 0; i < N_CLIPS; i++)
        if (dlb_codec_by_name("audio")->make(&how, i, &set.clip[i], &err) != DLB_OK)
            perf_die("make", &err);
    char batch[32];
    (void)snprintf(batch, sizeof batch, "%s to a batch", name);
    struct perf_comparison decode = {
        .name = name, .unit = "clips", .units = N_CLIPS, .should_reach = 0.95};
    struct perf_comparison all = {
        .name = batch, .unit = "clips", .units = N_CLIPS, .should_reach = 0.95};
    (void)perf_compare(&decode, &(struct perf_way){"dlbench", ours, &set},
                       &(struct perf_way){"libsndfile", bare, &set});
    (void)perf_compare(&all, &(struct perf_way){"dlbench", codec_batch, &set},
                       &(struct perf_way){"libsndfile and a copy", bare_batch, &set});
    cropped(&set, name);
    for (int i = 0; i < N_CLIPS; i++)
        dlb_bytes_free(&set.clip[i]);
    close_codec(set.codec);
    dlb_audio_free(set.decoder);
    free(set.frames.data);
    free(set.bare);
    free(set.batch);
}

int main(void)
{
    compare(DLB_AUDIO_WAV, "wav");
    compare(DLB_AUDIO_FLAC, "flac");
    return 0;
}

#else

int main(void)
{
    printf("skipped: built without libsndfile\n");
    return 0;
}

#endif

/* Every kind of WAV and FLAC that soundfile writes: codec audio gives its float32, of whole clips,
 * of their parts, and of their channels' mean. Skipped where there is no Python with numpy and
 * soundfile ($PYTHON, or python3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/codec.h"
#include "tests/support/folder.h"

#include <math.h>
#include <sys/wait.h>

static int write_files(void)
{
    const char *source = getenv("DLB_SOURCE_DIR"), *python = getenv("PYTHON");
    char command[1024];

    (void)snprintf(command, sizeof command, "'%s' '%s/tests/peers/write_audio.py' '%s'",
                   python ? python : "python3", source ? source : ".", folder);
    int status = system(command);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

/* What soundfile read. */
struct wanted {
    const char *name;
    uint32_t n_frames, n_channels;
    const float *channels; /* one after the other, each of n_frames */
    const float *mean;
};

/* Through the codec; the start of the crop is drawn from `draw`. */
static float *run(const struct dlb_transform_opts *opts, const struct dlb_sample *sample,
                  uint64_t draw, size_t *n_samples)
{
    const struct dlb_codec *codec = dlb_codec_by_name("audio");
    const struct dlb_shape shape = {.max_decoded_bytes = 1 << 20};
    size_t n_bytes = (codec->state_bytes + 63) & ~(size_t)63;
    size_t cap = (size_t)codec->max_output_bytes(opts, &shape), len = 0;
    void *state = aligned_alloc(64, n_bytes);
    float *out = malloc(cap);
    struct dlb_err err = {0};

    assert_non_null(state);
    assert_non_null(out);
    memset(state, 0, n_bytes);
    assert_int_equal(codec->open(state, opts, &err), DLB_OK);
    if (codec->decode(state, sample, dlb_rng_seed(1, 2, draw), &err) != DLB_OK ||
        codec->transform(state, (uint8_t *)out, cap, &len, &err) != DLB_OK)
        fail_msg("%s: %s", sample->path, err.what);
    codec->close(state);
    free(state);
    *n_samples = len / sizeof *out;
    return out;
}

static void check_whole(const struct dlb_sample *sample, const struct wanted *want)
{
    struct dlb_transform_opts opts = {.crop = DLB_CROP_NONE, .num_channels = want->n_channels};
    size_t n, n_want = (size_t)want->n_frames * want->n_channels;
    float *got = run(&opts, sample, 0, &n);

    assert_int_equal(n, n_want);
    for (size_t i = 0; i < n; i++)
        if (got[i] != want->channels[i])
            fail_msg("%s: sample %zu is %g instead of %g", want->name, i, (double)got[i],
                     (double)want->channels[i]);
    free(got);
    opts.num_channels = 1;
    got = run(&opts, sample, 0, &n);
    assert_int_equal(n, want->n_frames);
    for (size_t i = 0; i < n; i++) /* sums of more than two channels depend on their order */
        if (fabsf(got[i] - want->mean[i]) > (want->n_channels > 2 ? 1e-6F : 0.0F))
            fail_msg("%s: mean %zu is %g instead of %g", want->name, i, (double)got[i],
                     (double)want->mean[i]);
    free(got);
}

/* Whether `got` is the whole clip's samples from some start on, with zeros behind its end. */
static bool is_crop(const struct wanted *want, const float *got, size_t n_crop, size_t start)
{
    for (uint32_t c = 0; c < want->n_channels; c++)
        for (size_t i = 0; i < n_crop; i++) {
            size_t at = start + i;
            float from = at < want->n_frames ? want->channels[c * (size_t)want->n_frames + at] : 0;
            if (got[c * n_crop + i] != from)
                return false;
        }
    return true;
}

static void check_crops(const struct dlb_sample *sample, const struct wanted *want)
{
    const size_t n_crop = 500;
    struct dlb_transform_opts opts = {
        .crop = DLB_CROP_RANDOM, .num_frames = (int64_t)n_crop, .num_channels = want->n_channels};

    for (uint64_t draw = 0; draw < 3; draw++) {
        size_t n, last = want->n_frames > n_crop ? want->n_frames - n_crop : 0, start = 0;
        float *got = run(&opts, sample, draw, &n);
        assert_int_equal(n, n_crop * want->n_channels);
        while (start <= last && !is_crop(want, got, n_crop, start))
            start++;
        if (start > last)
            fail_msg("%s: the crop is no part of the clip", want->name);
        free(got);
    }
}

static void audio_by_others(void **state)
{
    size_t n, n_checked = 0;
    (void)state;
    uint8_t *list = folder_read("list", &n);

    list[n] = '\0';
    for (char *rest = NULL, *line = strtok_r((char *)list, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest), n_checked++) {
        char name[128];
        size_t n_bytes, n_want;
        (void)snprintf(name, sizeof name, "%s.f32", line);
        uint8_t *data = folder_read(line, &n_bytes), *read = folder_read(name, &n_want);
        struct wanted want = {.name = line, .channels = (const float *)(const void *)(read + 8)};
        memcpy(&want.n_frames, read, 4);
        memcpy(&want.n_channels, read + 4, 4);
        want.mean = want.channels + (size_t)want.n_frames * want.n_channels;
        assert_int_equal(n_want, 8 + (size_t)want.n_frames * (want.n_channels + 1) * sizeof(float));
        struct dlb_sample sample = {.n_fields = 1, .path = line, .offset_bytes = DLB_NO_OFFSET};
        sample.field[0] = (struct dlb_field){.data = data, .len_bytes = n_bytes, .name = "wav"};
        check_whole(&sample, &want);
        check_crops(&sample, &want);
        free(data);
        free(read);
    }
    assert_int_equal(n_checked, 138);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(audio_by_others)};
    void *none = NULL;

    if (dlb_codec_by_name("audio")->missing)
        return 77;
    if (folder_make(&none) != 0)
        return 1;
    int code = write_files();
    /* Without the program, or without its packages. */
    bool skipped = code == 77 || code == 127;
    int failed = skipped ? 0 : code != 0 || cmocka_run_group_tests(tests, NULL, NULL);
    (void)folder_remove(&none);
    return skipped ? 77 : failed;
}

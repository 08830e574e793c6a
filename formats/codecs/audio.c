#include "formats/codecs/audio.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum dlb_audio_kind dlb_audio_kind(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WAVE", 4) == 0)
        return DLB_AUDIO_WAV;
    if (n_bytes >= 4 && memcmp(data, "fLaC", 4) == 0)
        return DLB_AUDIO_FLAC;
    return DLB_AUDIO_UNKNOWN;
}

#ifdef DLB_HAVE_SNDFILE

#include <sndfile.h>

struct dlb_audio {
    SNDFILE *file; /* of the started clip, or NULL */
    SF_INFO info;
    const uint8_t *data;
    size_t n_bytes, at;
};

static sf_count_t length(void *ctx)
{
    return (sf_count_t)((const struct dlb_audio *)ctx)->n_bytes;
}

static sf_count_t moved(sf_count_t by, int whence, size_t at, size_t end)
{
    return by + (whence == SEEK_SET ? 0 : (sf_count_t)(whence == SEEK_CUR ? at : end));
}

static sf_count_t seek(sf_count_t by, int whence, void *ctx)
{
    struct dlb_audio *audio = ctx;
    sf_count_t to = moved(by, whence, audio->at, audio->n_bytes);

    if (to < 0 || (uint64_t)to > audio->n_bytes)
        return -1;
    audio->at = (size_t)to;
    return to;
}

static sf_count_t tell(void *ctx)
{
    return (sf_count_t)((const struct dlb_audio *)ctx)->at;
}

static sf_count_t take(void *to, sf_count_t n_bytes, void *ctx)
{
    struct dlb_audio *audio = ctx;
    size_t left = audio->n_bytes - audio->at;
    size_t n = n_bytes < 0 ? 0 : (uint64_t)n_bytes < left ? (size_t)n_bytes : left;

    if (n)
        memcpy(to, audio->data + audio->at, n);
    audio->at += n;
    return (sf_count_t)n;
}

struct dlb_audio *dlb_audio_new(void)
{
    return calloc(1, sizeof(struct dlb_audio));
}

static void end(struct dlb_audio *audio)
{
    if (audio->file)
        (void)sf_close(audio->file);
    audio->file = NULL;
}

void dlb_audio_free(struct dlb_audio *audio)
{
    if (audio)
        end(audio);
    free(audio);
}

static uint32_t u32_at(const uint8_t *data)
{
    return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

/* libsndfile takes a WAV whose end is missing for a shorter one. A program that wrote to a pipe did
 * not know the length, and left about the most that fits. */
static bool is_cut_short(const uint8_t *data, size_t n_bytes)
{
    enum { UNKNOWN_LENGTH = 0x7FFF0000 };
    size_t at = 12;

    while (n_bytes - at >= 8) {
        size_t len = u32_at(data + at + 4), left = n_bytes - at - 8;
        if (memcmp(data + at, "data", 4) == 0)
            return len > left && len < UNKNOWN_LENGTH;
        if (len + (len & 1) > left)
            return true;
        at += 8 + len + (len & 1);
    }
    return true; /* no samples */
}

static int fail(struct dlb_audio *audio, struct dlb_err *err, enum dlb_code code, const char *what)
{
    end(audio);
    return dlb_fail(err, code, NULL, DLB_NO_OFFSET, "%s", what);
}

int dlb_audio_start(struct dlb_audio *audio, const uint8_t *data, size_t n_bytes,
                    struct dlb_audio_clip *clip, struct dlb_err *err)
{
    static SF_VIRTUAL_IO io = {.get_filelen = length, .seek = seek, .read = take, .tell = tell};
    enum dlb_audio_kind kind = dlb_audio_kind(data, n_bytes);

    end(audio); /* an earlier clip may have been started and not read */
    if (kind == DLB_AUDIO_UNKNOWN)
        return fail(audio, err, DLB_ERR_AUDIO_UNKNOWN,
                    n_bytes ? "not audio: it begins as neither WAV nor FLAC"
                            : "not audio: it is empty");
    if (kind == DLB_AUDIO_WAV && is_cut_short(data, n_bytes))
        return fail(audio, err, DLB_ERR_AUDIO_CUT_SHORT, "WAV: shorter than its header says");
    audio->data = data;
    audio->n_bytes = n_bytes;
    audio->at = 0;
    audio->info = (SF_INFO){0};
    audio->file = sf_open_virtual(&io, SFM_READ, &audio->info, audio);
    if (!audio->file)
        return fail(audio, err, DLB_ERR_AUDIO_DAMAGED, sf_error_number(sf_error(NULL)));
    const SF_INFO *info = &audio->info;
    if (info->channels < 1 || info->samplerate < 1 || info->frames < 0)
        return fail(audio, err, DLB_ERR_AUDIO_DAMAGED, "its header makes no sense");
    if (info->frames == 0)
        return fail(audio, err, DLB_ERR_AUDIO_DAMAGED, "it holds no frames");
    if (info->frames == SF_COUNT_MAX)
        return fail(audio, err, DLB_ERR_AUDIO_DAMAGED, "its header does not say how long it is");
    *clip = (struct dlb_audio_clip){.n_frames = (uint64_t)info->frames,
                                    .n_channels = (uint32_t)info->channels,
                                    .rate_hz = (uint32_t)info->samplerate};
    return DLB_OK;
}

static int reserve(struct dlb_audio_frames *out, size_t n_samples, struct dlb_err *err)
{
    if (n_samples <= out->cap_samples)
        return DLB_OK;
    free(out->data);
    out->data = malloc(n_samples * sizeof *out->data);
    out->cap_samples = out->data ? n_samples : 0;
    return out->data ? DLB_OK : dlb_fail_memory(err, NULL, n_samples * sizeof *out->data);
}

int dlb_audio_read(struct dlb_audio *audio, uint64_t first, uint64_t n_frames,
                   struct dlb_audio_frames *out, struct dlb_err *err)
{
    uint64_t n_channels = (uint64_t)audio->info.channels;

    if (!audio->file || first + n_frames > (uint64_t)audio->info.frames)
        DLB_BUG("frames beyond the clip");
    if (n_frames > DLB_AUDIO_MAX_SAMPLES / n_channels)
        return fail(audio, err, DLB_ERR_AUDIO_TOO_LARGE, "more than 268,435,456 samples");
    int rc = reserve(out, (size_t)(n_frames * n_channels), err);
    if (rc != DLB_OK) {
        end(audio);
        return rc;
    }
    if (first > 0 && sf_seek(audio->file, (sf_count_t)first, SEEK_SET) != (sf_count_t)first)
        return fail(audio, err, DLB_ERR_AUDIO_DAMAGED, "libsndfile cannot find the crop in it");
    sf_count_t n_read = sf_readf_float(audio->file, out->data, (sf_count_t)n_frames);
    int why = sf_error(audio->file);
    if (n_read != (sf_count_t)n_frames && why != SF_ERR_NO_ERROR)
        return fail(audio, err, DLB_ERR_AUDIO_DAMAGED, sf_error_number(why));
    if (n_read != (sf_count_t)n_frames)
        return fail(audio, err, DLB_ERR_AUDIO_CUT_SHORT, "fewer frames than its header says");
    end(audio);
    return DLB_OK;
}

/* What is written, and where the next byte goes: libsndfile writes the header again at the end. */
struct target {
    struct dlb_bytes *out;
    size_t start, at; /* offsets in `out` */
    struct dlb_err *err;
    int rc;
};

static sf_count_t target_length(void *ctx)
{
    const struct target *target = ctx;
    return (sf_count_t)(target->out->len_bytes - target->start);
}

static sf_count_t target_tell(void *ctx)
{
    const struct target *target = ctx;
    return (sf_count_t)(target->at - target->start);
}

static sf_count_t target_seek(sf_count_t by, int whence, void *ctx)
{
    struct target *target = ctx;
    sf_count_t to = moved(by, whence, target->at - target->start, (size_t)target_length(ctx));

    if (to < 0 || to > target_length(ctx))
        return -1;
    target->at = target->start + (size_t)to;
    return to;
}

static sf_count_t put(const void *data, sf_count_t n_bytes, void *ctx)
{
    struct target *target = ctx;
    size_t n = (size_t)n_bytes, over = target->out->len_bytes - target->at;

    if (over > n)
        over = n;
    if (over)
        memcpy(target->out->data + target->at, data, over);
    int rc = dlb_bytes_append(target->out, (const uint8_t *)data + over, n - over, target->err);
    if (rc != DLB_OK) {
        target->rc = rc;
        return 0;
    }
    target->at += n;
    return n_bytes;
}

int dlb_audio_encode(enum dlb_audio_kind kind, const int16_t *samples, size_t n_frames,
                     uint32_t rate_hz, struct dlb_bytes *out, struct dlb_err *err)
{
    SF_VIRTUAL_IO io = {
        .get_filelen = target_length, .seek = target_seek, .write = put, .tell = target_tell};
    SF_INFO info = {.samplerate = (int)rate_hz,
                    .channels = 1,
                    .format = (kind == DLB_AUDIO_FLAC ? SF_FORMAT_FLAC : SF_FORMAT_WAV) |
                              SF_FORMAT_PCM_16};
    struct target target = {.out = out, .start = out->len_bytes, .at = out->len_bytes, .err = err};
    SNDFILE *file = sf_open_virtual(&io, SFM_WRITE, &info, &target);
    bool written =
        file && sf_writef_short(file, samples, (sf_count_t)n_frames) == (sf_count_t)n_frames;

    written &= file && sf_close(file) == 0;
    if (target.rc == DLB_OK && !written)
        return dlb_fail(err, DLB_ERR_AUDIO_ENCODE_FAILED, NULL, DLB_NO_OFFSET,
                        "libsndfile cannot write a %s", kind == DLB_AUDIO_FLAC ? "FLAC" : "WAV");
    return target.rc;
}

#else

static int missing(struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "built without libsndfile");
}

struct dlb_audio *dlb_audio_new(void)
{
    return NULL;
}

void dlb_audio_free(struct dlb_audio *audio)
{
    (void)audio;
}

int dlb_audio_start(struct dlb_audio *audio, const uint8_t *data, size_t n_bytes,
                    struct dlb_audio_clip *clip, struct dlb_err *err)
{
    (void)audio, (void)data, (void)n_bytes, (void)clip;
    return missing(err);
}

int dlb_audio_read(struct dlb_audio *audio, uint64_t first, uint64_t n_frames,
                   struct dlb_audio_frames *out, struct dlb_err *err)
{
    (void)audio, (void)first, (void)n_frames, (void)out;
    return missing(err);
}

int dlb_audio_encode(enum dlb_audio_kind kind, const int16_t *samples, size_t n_frames,
                     uint32_t rate_hz, struct dlb_bytes *out, struct dlb_err *err)
{
    (void)kind, (void)samples, (void)n_frames, (void)rate_hz, (void)out;
    return missing(err);
}

#endif

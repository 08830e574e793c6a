#include "formats/codecs/voice.h"

#include "core/base/rng.h"

#include <stdlib.h>

/* FLAC predicts each sample from those before it and stores what is left, so its size and cost
 * depend on how much of the sound is tone and how much is noise. Speech is both in turn: vowels are
 * harmonics of a gliding pitch, consonants are noise, and pauses have the noise of the room. */

enum {
    N_HARMONICS = 10,
    ROOM = 110,       /* amplitude of the noise that is everywhere */
    HEADER_BYTES = 44 /* of a WAV */
};

/* How much smaller FLAC makes it: the mean over many clips, measured. */
static const double flac_ratio = 0.637;

enum sound_kind { VOWEL, CONSONANT, PAUSE };

/* 40 to 300 ms of one kind. */
struct sound {
    enum sound_kind kind;
    size_t n_frames;
    int32_t amplitude;           /* at its middle */
    uint32_t step, glide;        /* phase of the pitch: per frame, and how much that grows */
    int32_t weight[N_HARMONICS]; /* in 1/256 of the amplitude */
};

/* A sine to within 6%: two parabolas. 2^32 of phase are a turn, 2^15 is the amplitude. */
static int32_t wave(uint32_t phase)
{
    int32_t x = (int32_t)(phase >> 16) - 32768;

    return x * (32768 - (x < 0 ? -x : x)) >> 13;
}

static uint32_t between(struct dlb_rng *rng, uint32_t low, uint32_t high)
{
    return low + (uint32_t)dlb_rng_below(rng, high - low);
}

static struct sound draw_sound(struct dlb_rng *rng)
{
    static const enum sound_kind kinds[] = {VOWEL, VOWEL, VOWEL, CONSONANT, CONSONANT, PAUSE};
    struct sound sound = {.kind = kinds[dlb_rng_below(rng, sizeof kinds / sizeof *kinds)],
                          .n_frames = between(rng, DLB_VOICE_RATE_HZ / 25, DLB_VOICE_RATE_HZ / 3),
                          .amplitude = (int32_t)between(rng, 1500, 9000)};
    uint32_t turn = UINT32_MAX / DLB_VOICE_RATE_HZ; /* 1 Hz */

    sound.step = between(rng, 90, 250) * turn;
    sound.glide = between(rng, 0, 2 * turn) / 256;
    for (int k = 0; k < N_HARMONICS; k++)
        sound.weight[k] = (int32_t)between(rng, 32, 256) / (k + 1);
    return sound;
}

/* Rises to 2^15 at the middle of the sound, and falls. */
static int32_t envelope(size_t at, size_t n_frames)
{
    uint64_t n = n_frames;

    return (int32_t)((UINT64_C(1) << 17) * at * (n - at) / (n * n));
}

static int32_t noise(struct dlb_rng *rng)
{
    return (int32_t)(dlb_rng_u64(rng) >> 48) - 32768;
}

/* At full amplitude, 2^15. */
static int32_t tone(const struct sound *sound, uint32_t phase)
{
    int32_t sum = 0;

    for (int k = 0; k < N_HARMONICS; k++)
        sum += wave(phase * (uint32_t)(k + 1)) * sound->weight[k] >> 8;
    return sum / 2; /* weights sum to about twice their first */
}

static void draw(int16_t *samples, size_t n_frames, struct dlb_rng *rng)
{
    for (size_t start = 0; start < n_frames;) {
        struct sound sound = draw_sound(rng);
        uint32_t phase = 0;
        for (size_t i = 0; i < sound.n_frames && start < n_frames; i++, start++) {
            int32_t at_full = sound.kind == PAUSE       ? 0
                              : sound.kind == CONSONANT ? noise(rng) / 4
                                                        : tone(&sound, phase);
            int64_t loud = (int64_t)at_full * envelope(i, sound.n_frames) / 32768;
            int64_t value = loud * sound.amplitude / 32768 + (noise(rng) * ROOM >> 15);
            samples[start] = (int16_t)(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
            phase += sound.step;
            sound.step += sound.glide;
        }
    }
}

int dlb_voice_make(enum dlb_audio_kind kind, uint64_t seed, uint64_t index, uint64_t mean_bytes,
                   struct dlb_bytes *out, struct dlb_err *err)
{
    struct dlb_rng rng = dlb_rng_seed(seed, index, UINT64_C(0x766f696365)); /* "voice" */

    if (mean_bytes < DLB_VOICE_MIN_BYTES || mean_bytes > DLB_VOICE_MAX_BYTES)
        return dlb_fail(err, DLB_ERR_GENERATE_SIZE_UNFIT, NULL, DLB_NO_OFFSET,
                        "generate.sample_bytes = %llu: audio takes %d to %d",
                        (unsigned long long)mean_bytes, DLB_VOICE_MIN_BYTES, DLB_VOICE_MAX_BYTES);
    double mean_frames = kind == DLB_AUDIO_FLAC ? (double)mean_bytes / (2 * flac_ratio)
                                                : ((double)mean_bytes - HEADER_BYTES) / 2;
    size_t n_frames = (size_t)(mean_frames * (0.5 + dlb_rng_unit(&rng)));
    int16_t *samples = malloc(n_frames * sizeof *samples);
    if (!samples)
        return dlb_fail_memory(err, NULL, n_frames * sizeof *samples);
    draw(samples, n_frames, &rng);
    int rc = dlb_audio_encode(kind, samples, n_frames, DLB_VOICE_RATE_HZ, out, err);
    free(samples);
    return rc;
}

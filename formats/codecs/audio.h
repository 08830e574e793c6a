/* WAV and FLAC through libsndfile; audio.c is the only file that includes it.
 *
 * Floor 2. One thread at a time for each struct. Samples are floats in [-1, 1), as soundfile's
 * read(dtype="float32") gives them; a WAV of floats keeps its own. Nothing is resampled. */
#ifndef DLB_FORMATS_CODECS_AUDIO_H
#define DLB_FORMATS_CODECS_AUDIO_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stddef.h>
#include <stdint.h>

/* Of what is read of one clip, all channels together: 1 GiB of floats. */
#define DLB_AUDIO_MAX_SAMPLES (UINT64_C(1) << 28)

enum dlb_audio_kind { DLB_AUDIO_WAV, DLB_AUDIO_FLAC, DLB_AUDIO_UNKNOWN };

/* By the first bytes alone, whether or not this build decodes it. */
enum dlb_audio_kind dlb_audio_kind(const uint8_t *data, size_t n_bytes);

struct dlb_audio_clip {
    uint64_t n_frames; /* a frame is a sample of each channel */
    uint32_t n_channels, rate_hz;
};

/* Frames one after the other, each with its channels side by side. */
struct dlb_audio_frames {
    float *data; /* owned by the holder of the struct: free() */
    size_t cap_samples;
};

struct dlb_audio; /* owned by the caller of dlb_audio_new */

struct dlb_audio *dlb_audio_new(void); /* NULL: no memory, or a build without libsndfile */
void dlb_audio_free(struct dlb_audio *audio);

/* Reads the header; `data` is borrowed until the read. DLB_E_FORMAT: neither WAV nor FLAC, damaged,
 * empty, or a WAV that is shorter than its header says. */
int dlb_audio_start(struct dlb_audio *audio, const uint8_t *data, size_t n_bytes,
                    struct dlb_audio_clip *clip, struct dlb_err *err);

/* Decodes n_frames from `first` on, which the clip has. Called once after dlb_audio_start.
 * DLB_E_FORMAT: damaged, cut short where it is read, or more than DLB_AUDIO_MAX_SAMPLES. */
int dlb_audio_read(struct dlb_audio *audio, uint64_t first, uint64_t n_frames,
                   struct dlb_audio_frames *out, struct dlb_err *err);

/* Appends a clip of one channel of 16 bits. */
int dlb_audio_encode(enum dlb_audio_kind kind, const int16_t *samples, size_t n_frames,
                     uint32_t rate_hz, struct dlb_bytes *out, struct dlb_err *err);

#endif

/* Clips that behave like speech when they are compressed and decoded.
 *
 * Floor 2. Any thread. Integer arithmetic alone makes the samples, so that they are the same on
 * every machine. */
#ifndef DLB_FORMATS_CODECS_VOICE_H
#define DLB_FORMATS_CODECS_VOICE_H

#include "core/base/err.h"
#include "formats/codecs/audio.h"
#include "formats/generator.h"

#include <stdint.h>

#define DLB_VOICE_RATE_HZ 16000 /* as most corpora of speech have it */

/* Limits of the mean size: below, headers outweigh the sound. */
#define DLB_VOICE_MIN_BYTES 1000
#define DLB_VOICE_MAX_BYTES 256000000

/* Appends clip `index` of the series (seed, mean size), stored as `kind`: one channel, 16 bits.
 * Lengths are spread evenly from half to one and a half of the mean. */
int dlb_voice_make(enum dlb_audio_kind kind, uint64_t seed, uint64_t index, uint64_t mean_bytes,
                   struct dlb_bytes *out, struct dlb_err *err);

#endif

/* What inspect has seen of samples. A child process may look at them, and a hostile file may take
 * it over: nothing here is a pointer, and dlb_seen_makes_sense checks what the child tells.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_VERBS_SEEN_H
#define DLB_BENCH_VERBS_SEEN_H

#include "bench/verbs/clips.h"
#include "core/base/err.h"
#include "formats/reader.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_INSPECT_SAMPLES 64 /* looked at, evenly spread over the data set */
#define DLB_INSPECT_SHARDS 8   /* that they are of, at the most */

struct dlb_seen {
    uint32_t n_looked;                     /* samples that were read */
    uint32_t n_bad;                        /* samples that could not be read or decoded */
    uint64_t n_bytes[DLB_INSPECT_SAMPLES]; /* [n_looked] of field 0, ascending */
    uint32_t n_images;                     /* samples whose width and height are known */
    uint32_t width[DLB_INSPECT_SAMPLES];   /* [n_images] ascending */
    uint32_t height[DLB_INSPECT_SAMPLES];  /* [n_images] ascending */
    struct dlb_clips clips;                /* of audio, sorted */
    uint32_t n_fields;                     /* of the first sample */
    char fields[DLB_MAX_FIELDS][DLB_FIELD_NAME_BYTES];
    struct dlb_seen_first {
        char path[512];        /* "" where the format does not say */
        uint64_t offset_bytes; /* of the sample in path, or DLB_NO_OFFSET */
        uint64_t n_bytes;      /* of field 0, as it is stored */
        uint64_t xxh64;        /* of these bytes */
    } first;                   /* n_looked > 0 */
    char undecoded[32];        /* what the samples are that no codec decodes; "": nothing such */
    uint32_t n_raw_images;     /* of those looked at: images by name or content, taken for bytes */
    uint32_t n_unfit_labels;   /* of those looked at: with a "cls" that is no class number */
    char unfit_label[32];      /* how the first of them begins */
    struct dlb_err first_bad;  /* why, when n_bad > 0 */
};

/* Whether all counts are within their arrays, texts end, and figures can be. */
bool dlb_seen_makes_sense(const struct dlb_seen *seen);

/* What some samples say about a codec. */
struct dlb_tries {
    uint32_t n, n_decoded;
    uint32_t n_other;     /* decoded, but of another kind than the codec is named for */
    uint32_t n_broken;    /* named as the codec's, and not decoded */
    struct dlb_err first; /* of these */
};
bool dlb_tries_make_sense(const struct dlb_tries *tries);

#endif

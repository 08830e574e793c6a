/* Finds out which data set is at a path: for `dlbench inspect` and the source of `dlbench convert`.
 *
 * Floor 5. Control thread; does not print. */
#ifndef DLB_BENCH_VERBS_INSPECT_H
#define DLB_BENCH_VERBS_INSPECT_H

#include "bench/verbs/clips.h"
#include "bench/verbs/kinds.h"
#include "core/base/config.h"
#include "core/base/err.h"
#include "formats/codec.h"
#include "formats/dataset.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_INSPECT_SAMPLES 64 /* looked at, evenly spread over the data set */

struct dlb_inspected {
    const struct dlb_format *format;
    const struct dlb_codec *codec; /* the first one that decodes most of what was tried, else raw */
    struct dlb_shape shape;
    uint32_t n_looked;                     /* samples that were read */
    uint32_t n_bad;                        /* samples that could not be read or decoded */
    uint64_t n_bytes[DLB_INSPECT_SAMPLES]; /* [n_looked] of field 0, ascending */
    uint32_t n_images;                     /* samples whose width and height are known */
    uint32_t width[DLB_INSPECT_SAMPLES];   /* [n_images] ascending */
    uint32_t height[DLB_INSPECT_SAMPLES];  /* [n_images] ascending */
    struct dlb_clips clips;                /* of audio, sorted */
    uint32_t n_fields;                     /* of the first sample */
    char fields[DLB_MAX_FIELDS][DLB_FIELD_NAME_BYTES];
    struct dlb_inspected_sample {
        char path[512];        /* "" where the format does not say */
        uint64_t offset_bytes; /* of the sample in path, or DLB_NO_OFFSET */
        uint64_t n_bytes;      /* of field 0, as it is stored */
        uint64_t xxh64;        /* of these bytes */
    } first;                   /* n_looked > 0 */
    const char *undecoded;     /* what the samples are that no codec decodes; NULL: nothing such */
    uint32_t n_raw_images;     /* of those looked at: images by name or content, taken for bytes */
    bool codec_said;           /* dataset.codec was set, and so not chosen here */
    struct dlb_err first_bad;  /* why, when n_bad > 0 */
    struct dlb_kinds kinds;    /* of a folder */
};

/* DLB_E_IO if nothing is there, DLB_E_FORMAT if no format recognises it or no codec decodes the
 * samples, else the format's own error. `cfg` holds the formats' options, and may set
 * dataset.format and dataset.codec, which are then taken as they are; it is changed. */
int dlb_inspect(const char *path, struct dlb_config *cfg, struct dlb_inspected *out,
                struct dlb_err *err);

/* The codec that dlb_inspect would find, or NULL and *err. `cfg` is changed. */
const struct dlb_codec *dlb_inspect_codec(const char *path, const struct dlb_format *format,
                                          struct dlb_config *cfg, struct dlb_err *err);

/* The sentences of shape->odd. New reference. */
json_t *dlb_odd_json(const struct dlb_shape *shape);

#endif

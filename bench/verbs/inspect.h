/* What lies at a path, for `dlbench inspect`.
 *
 * Floor 5. Control thread; does not print. */
#ifndef DLB_BENCH_VERBS_INSPECT_H
#define DLB_BENCH_VERBS_INSPECT_H

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
    uint32_t n_looked;                     /* samples that could be read */
    uint32_t n_bad;                        /* looked at, but unreadable or not decodable */
    uint64_t n_bytes[DLB_INSPECT_SAMPLES]; /* [n_looked] of field 0, ascending */
    uint32_t n_images;                     /* of which the width and height are known */
    uint32_t width[DLB_INSPECT_SAMPLES];   /* [n_images] ascending */
    uint32_t height[DLB_INSPECT_SAMPLES];  /* [n_images] ascending */
    uint32_t n_fields;                     /* of the first sample */
    char fields[DLB_MAX_FIELDS][16];
    struct dlb_err first_bad; /* why, when n_bad > 0 */
};

/* DLB_E_IO when nothing is there, DLB_E_FORMAT when it is nothing that a format knows, else the
 * format's own error. `cfg` gives the formats' options and is changed. */
int dlb_inspect(const char *path, struct dlb_config *cfg, struct dlb_inspected *out,
                struct dlb_err *err);

/* The format that is surest to know what lies at `path`; NULL and *err, as dlb_inspect's. */
const struct dlb_format *dlb_inspect_format(const char *path, struct dlb_err *err);

/* The codec that dlb_inspect would find there; NULL and *err. `cfg` is changed. */
const struct dlb_codec *dlb_inspect_codec(const char *path, const struct dlb_format *format,
                                          struct dlb_config *cfg, struct dlb_err *err);

/* The sentences of shape->odd: a new array. */
json_t *dlb_odd_json(const struct dlb_shape *shape);

#endif

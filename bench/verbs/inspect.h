/* Finds out which data set is at a path: for `dlbench inspect` and the source of `dlbench convert`.
 *
 * Floor 5. Control thread; does not print. */
#ifndef DLB_BENCH_VERBS_INSPECT_H
#define DLB_BENCH_VERBS_INSPECT_H

#include "bench/verbs/kinds.h"
#include "bench/verbs/seen.h"
#include "core/base/config.h"
#include "core/base/err.h"
#include "formats/codec.h"
#include "formats/dataset.h"

#include <stdbool.h>
#include <stdint.h>

struct dlb_inspected {
    const struct dlb_format *format;
    const struct dlb_codec *codec; /* the first one that decodes most of what was tried, else raw */
    struct dlb_shape shape;
    struct dlb_seen seen;
    bool codec_said;        /* dataset.codec was set, and so not chosen here */
    struct dlb_kinds kinds; /* of a folder */
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

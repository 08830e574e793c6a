/* Decodes some samples of a data set to learn how large decoded samples are.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_LOOK_H
#define DLB_FORMATS_LOOK_H

#include "formats/dataset.h"

/* Bytes of samples after which enough was looked at. */
#define DLB_LOOK_BYTES (UINT64_C(1) << 30)

/* Number i of n places, each once, in an order whose every beginning is spread over all: steps of
 * about 0.618 n. The first is 0. n: 1 to a few hundred. */
uint64_t dlb_look_place(uint64_t i, uint64_t n);

/* Sets shape.max_decoded_bytes from up to 64 samples, evenly spread (of shards: their first ones),
 * and up to the one that makes DLB_LOOK_BYTES full, stored and decoded.
 * When all have one size, as arrays do, it is that size; else the largest stored sample times the
 * highest ratio seen. A later sample that is still larger fails when it is decoded, with an error
 * that names transform.max_decoded_bytes. Samples that cannot be decoded are skipped; when none can
 * be decoded, the first one's error is returned. `path`: the data set's. */
int dlb_look_decoded(struct dlb_dataset *ds, const char *path, struct dlb_err *err);

#endif

/* A look at some samples of a data set, for what its listing does not say.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_LOOK_H
#define DLB_FORMATS_LOOK_H

#include "formats/dataset.h"

/* Sets shape.max_decoded_bytes from up to 64 samples, evenly spread (of shards: their first ones).
 * Are they all of one size, as arrays are, then it is that; else the largest stored sample times
 * the best ratio seen. A later sample that is larger still is an error when it comes, which names
 * transform.max_decoded_bytes. Samples that cannot be decoded are passed over; when none can, the
 * first one's error is returned. `path`: the data set's. */
int dlb_look_decoded(struct dlb_dataset *ds, const char *path, struct dlb_err *err);

#endif

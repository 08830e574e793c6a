/* The sample shuffle buffer of iterable data sets, as WebDataset has it.
 *
 * Floor 3. One worker. It owns copies: a stream's bytes are gone at its next call. Each is
 * allocated as large as it is and freed after it was drawn, as Python does it: memory that is kept
 * for the next sample ends as large as the largest that ever was in it.
 *
 * webdataset.filters.shuffle: a sample is put in, and while there are fewer than `cap` a second
 * one; one is drawn at random as soon as `initial` are there. At the stream's end the rest is
 * drawn. */
#ifndef DLB_LOADERS_WORKER_SHUFFLE_H
#define DLB_LOADERS_WORKER_SHUFFLE_H

#include "core/base/err.h"
#include "core/base/rng.h"
#include "formats/format.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_SHUFFLE_INITIAL 100 /* webdataset's default */

struct dlb_shuffle; /* owned by its worker */

/* `cap` samples, and none more while cap_bytes of fields are allocated, the drawn one's included
 * (but always one): the last may go over it. Beside its fields each takes a few hundred bytes. */
int dlb_shuffle_open(struct dlb_shuffle **out, uint32_t cap, uint64_t cap_bytes,
                     struct dlb_err *err);
void dlb_shuffle_close(struct dlb_shuffle *shuffle);

/* Empties it and starts the random stream of (seed, epoch, worker). */
void dlb_shuffle_reset(struct dlb_shuffle *shuffle, struct dlb_rng rng);

/* Whether it wants another sample before the next draw. */
bool dlb_shuffle_wants(const struct dlb_shuffle *shuffle);
int dlb_shuffle_put(struct dlb_shuffle *shuffle, const struct dlb_sample *sample,
                    struct dlb_err *err);

/* Draws one; its bytes are borrowed until the next draw. DLB_END when it is empty. */
int dlb_shuffle_draw(struct dlb_shuffle *shuffle, struct dlb_sample *out);

#endif

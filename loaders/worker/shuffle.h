/* The shuffle buffer of iterable data sets, with the algorithm of webdataset.filters.shuffle.
 *
 * Floor 3. One worker's own.
 *
 * For each sample that is drawn, one is put in, or two while there are fewer than `cap`. Drawing
 * starts when `initial` samples are there; at the stream's end the rest is drawn.
 *
 * The buffer owns copies, because a stream's bytes are gone at its next call. Each copy is
 * allocated at its own size and freed after it was drawn, as in Python. Memory that is reused would
 * grow to the size of the largest sample. */
#ifndef DLB_LOADERS_WORKER_SHUFFLE_H
#define DLB_LOADERS_WORKER_SHUFFLE_H

#include "core/base/err.h"
#include "core/base/rng.h"
#include "formats/format.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_SHUFFLE_INITIAL 100 /* webdataset's default */

struct dlb_shuffle; /* owned by its worker */

/* At most `cap` samples. It wants no more while its copies, the drawn one included, take cap_bytes
 * or more, so the last one may exceed cap_bytes; it always takes one. Each copy takes a few hundred
 * bytes beside its fields, which count. */
int dlb_shuffle_open(struct dlb_shuffle **out, uint32_t cap, uint64_t cap_bytes,
                     struct dlb_err *err);
void dlb_shuffle_close(struct dlb_shuffle *shuffle);

/* Empties it and starts the random stream of (seed, epoch, worker). */
void dlb_shuffle_reset(struct dlb_shuffle *shuffle, struct dlb_rng rng);

/* Whether it wants another sample before the next draw. */
bool dlb_shuffle_wants(const struct dlb_shuffle *shuffle);
int dlb_shuffle_put(struct dlb_shuffle *shuffle, const struct dlb_sample *sample,
                    struct dlb_err *err);

/* Draws one, which has no key; its bytes are borrowed until the next draw. DLB_END when it is
 * empty. */
int dlb_shuffle_draw(struct dlb_shuffle *shuffle, struct dlb_sample *out);

#endif

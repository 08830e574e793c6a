/* Whether what gen wrote is there, and reads back as what was made.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_GENERATE_VERIFY_H
#define DLB_FORMATS_GENERATE_VERIFY_H

#include "formats/dataset.h"
#include "formats/generator.h"

/* The number of samples, and the bytes of up to 64 of them, evenly spread (of shards: their first),
 * against those that the codec makes anew. They come from the storage: what the page cache has of
 * the files that they lie in is written and dropped first. *n_checked: samples that were compared;
 * 0 for a format that makes its own. The data set is open. DLB_E_FORMAT with the path of what
 * differs. */
int dlb_gen_verify(const struct dlb_gen *gen, const struct dlb_dataset *ds, uint32_t *n_checked,
                   struct dlb_err *err);

#endif

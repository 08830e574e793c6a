/* Whether what gen wrote is there, and reads back as what was made.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_GEN_VERIFY_H
#define DLB_FORMATS_GEN_VERIFY_H

#include "formats/dataset.h"
#include "formats/generate.h"

/* The number of samples, and the bytes of up to 64 of them, evenly spread (of shards: their first),
 * against those that the codec makes anew. What was written past the page cache comes from the
 * storage here. *n_checked: samples that were compared; 0 for a format that makes its own. The data
 * set is open. DLB_E_FORMAT with the path of what differs. */
int dlb_gen_verify(const struct dlb_gen *gen, const struct dlb_dataset *ds, uint32_t *n_checked,
                   struct dlb_err *err);

#endif

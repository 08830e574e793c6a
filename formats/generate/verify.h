/* Checks that what gen wrote reads back as it was made.
 *
 * Floor 2. Control thread. */
#ifndef DLB_FORMATS_GENERATE_VERIFY_H
#define DLB_FORMATS_GENERATE_VERIFY_H

#include "formats/dataset.h"
#include "formats/generator.h"

/* Compares the number of samples, and bytes and label of up to 64 of them, with what the codec
 * makes again. The samples are evenly spread; of shards they are the first. They are read from the
 * storage: cached pages of their files are written and dropped first. *n_checked: how many samples
 * were compared, 0 for a format that makes its own. `ds` is open. DLB_E_FORMAT with the path of
 * what differs. */
int dlb_gen_verify(const struct dlb_gen *gen, const struct dlb_dataset *ds, uint32_t *n_checked,
                   struct dlb_err *err);

#endif

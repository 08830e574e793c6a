/* A hash of each sample that was written or read back, and their comparison.
 *
 * Floor 2. One thread. */
#ifndef DLB_FORMATS_CONVERT_SUMS_H
#define DLB_FORMATS_CONVERT_SUMS_H

#include "core/base/err.h"
#include "formats/reader.h"

#include <stdint.h>

/* Zeroed: none. */
struct dlb_convert_sums {
    uint64_t *sum;
    uint64_t n, cap;
};

int dlb_convert_sums_add(struct dlb_convert_sums *sums, uint64_t sum, struct dlb_err *err);
void dlb_convert_sums_free(struct dlb_convert_sums *sums);

uint64_t dlb_convert_field_sum(const struct dlb_field *field);
/* Of fields and label, in any order of the fields, which formats need not keep. *n_fields: those
 * beside the label; *n_bytes: of all. */
uint64_t dlb_convert_sample_sum(const struct dlb_sample *sample, uint32_t *n_fields,
                                uint64_t *n_bytes);

/* How many of `have` are not in `got`, which are as many. Sorts both, unless they are equal. */
uint64_t dlb_convert_sums_differ(struct dlb_convert_sums *have, struct dlb_convert_sums *got);

#endif

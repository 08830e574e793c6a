/* What a conversion would lose or make up, found before a sample is written.
 *
 * Floor 2. One thread. A sample needs a payload: a field beside its label ("cls"), and, where other
 * samples have more than that, beside its description ("json"). A target that keeps a label for
 * each sample or for none gets no others. The names of fields are whole, and the members of a
 * sample stand in one place. */
#ifndef DLB_FORMATS_CONVERT_CHECK_H
#define DLB_FORMATS_CONVERT_CHECK_H

#include "core/base/err.h"
#include "formats/format.h"
#include "formats/keys.h"

#include <stdbool.h>
#include <stdint.h>

/* What all samples should have, or none. */
struct dlb_convert_facet {
    bool some;              /* one has it */
    struct dlb_err without; /* names the first that lacks it; status DLB_OK: none does so far */
};

#define DLB_CONVERT_NAMES 29 /* names of fields that are told apart when keys are compared */

/* Zeroed but for the first two. */
struct dlb_convert_check {
    bool label_each; /* of struct dlb_writer */
    /* When earlier shards' keys take more, they are forgotten. */
    uint64_t most_key_bytes;
    uint64_t n_forgotten; /* keys that were not compared with those of later shards */
    struct dlb_convert_facet payload, label;
    struct dlb_keys keys;
    uint32_t shard; /* the last sample's */
    char name[DLB_CONVERT_NAMES][DLB_FIELD_NAME_BYTES];
    uint32_t n_names;
};

/* DLB_OK: the sample may be written. *alone: the error is about this sample only, so that a source
 * without it could be converted. `shard`: of iterable data, else 0. */
int dlb_convert_check(struct dlb_convert_check *check, const struct dlb_sample *sample,
                      uint32_t shard, bool *alone, struct dlb_err *err);
void dlb_convert_check_free(struct dlb_convert_check *check);

#endif

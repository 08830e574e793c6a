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
#include <stdio.h>

/* What all samples should have, or none. */
struct dlb_convert_facet {
    bool some;              /* one has it */
    struct dlb_err without; /* names the first that lacks it; status DLB_OK: none does so far */
};

#define DLB_CONVERT_NAMES 29 /* names of fields that are told apart when keys are compared */

/* What other processes' keys are compared with (dlb_convert_check_seen). */
struct dlb_convert_seen {
    uint64_t key;   /* of struct dlb_keys */
    uint64_t index; /* of the sample */
    uint32_t shard;
    uint32_t fields; /* which `name`s of the check it has */
};

/* Zeroed but for the first three. */
struct dlb_convert_check {
    bool label_each; /* of struct dlb_writer */
    FILE *log; /* gets a struct dlb_convert_seen for each key; borrowed; NULL: none. Halves are
                  then left to the check that sees all keys */
    /* When earlier shards' keys take more, they are forgotten. */
    uint64_t most_key_bytes;
    uint64_t n_forgotten; /* keys that were not compared with those of later shards */
    uint64_t n_logged;
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

/* A sample that another process has checked, `theirs`, after all samples before it. DLB_END:
 * dlb_convert_check would refuse its key. `path`: the source's, for messages. */
int dlb_convert_check_seen(struct dlb_convert_check *check, const struct dlb_convert_check *theirs,
                           const struct dlb_convert_seen *seen, const char *path,
                           struct dlb_err *err);

/* Adds what another process has found in samples behind those of `facet`. The error names the first
 * sample that lacks what another one has. */
int dlb_convert_facet_join(struct dlb_convert_facet *facet, const struct dlb_convert_facet *theirs,
                           struct dlb_err *err);
void dlb_convert_check_free(struct dlb_convert_check *check);

#endif

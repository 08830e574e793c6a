/* tf.train.Example, as far as a loader needs it: one feature's bytes and one integer.
 *
 * Floor 2. Any thread. A reader of the protobuf wire format for exactly this message
 * (tensorflow/core/example/example.proto and feature.proto), and a writer of two features. Unknown
 * fields are passed over, as protobuf asks; of a feature that is there twice the last one counts.
 */
#ifndef DLB_FORMATS_TFRECORD_EXAMPLE_H
#define DLB_FORMATS_TFRECORD_EXAMPLE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_example {
    const uint8_t *bytes; /* of the feature, in the message; NULL: it is not there */
    size_t n_bytes;
    bool has_label;
    int64_t label;
    uint32_t n_features;
    char names[96]; /* of the first of them, for messages: "image/encoded, image/class/label" */
};

/* Looks for `feature`, a list of one byte string at least, of which the first is taken, and for
 * `label`, a list of integers, likewise. DLB_E_FORMAT with the offset in data for what is no
 * Example. A feature that is not there is no error. */
int dlb_example_parse(const uint8_t *data, size_t n_bytes, const char *feature, const char *label,
                      struct dlb_example *out, struct dlb_err *err);

/* Appends an Example of these two. */
int dlb_example_append(struct dlb_bytes *out, const char *feature, const uint8_t *bytes,
                       size_t n_bytes, const char *label_name, int64_t label, struct dlb_err *err);

#endif

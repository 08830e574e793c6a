/* tf.train.Example, as far as a loader needs it: the bytes of one feature and one integer.
 *
 * Floor 2. Any thread. A reader of protobuf's wire format for this message only
 * (tensorflow/core/example/example.proto and feature.proto), and a writer of two features. As
 * protobuf demands, unknown fields are ignored, and the last of several features of one name
 * counts.
 */
#ifndef DLB_FORMATS_TFRECORD_EXAMPLE_H
#define DLB_FORMATS_TFRECORD_EXAMPLE_H

#include "core/base/err.h"
#include "formats/generator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_example {
    const uint8_t *bytes; /* of the feature, borrowed from the message; NULL: it is missing */
    size_t n_bytes;
    bool has_label;
    int64_t label;
    bool more_bytes, more_labels; /* behind the first */
    bool other_label;             /* the label is of another type: text, or a fraction */
    uint32_t n_features;
    char names[96]; /* of the first features, for messages: "image/encoded, image/class/label" */
};

/* Takes the first byte string of `feature` and the first integer of `label`. A missing feature is
 * no error. DLB_E_FORMAT, with the offset in data, when it is not an Example. */
int dlb_example_parse(const uint8_t *data, size_t n_bytes, const char *feature, const char *label,
                      struct dlb_example *out, struct dlb_err *err);

/* Appends an Example with these two features. */
int dlb_example_append(struct dlb_bytes *out, const char *feature, const uint8_t *bytes,
                       size_t n_bytes, const char *label_name, int64_t label, struct dlb_err *err);

#endif

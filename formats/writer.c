#include "formats/writer.h"

#include "formats/reader.h"

#include <string.h>

bool dlb_field_is_label(const struct dlb_sample *sample, uint32_t f)
{
    const struct dlb_field *field = &sample->field[f];
    uint64_t label = 0;
    size_t i = 0, first;

    if (sample->n_fields < 2 || strcmp(field->name, "cls") != 0)
        return false;
    while (i < field->len_bytes && strchr(" \t\n", field->data[i]) && field->data[i])
        i++;
    for (first = i; i < field->len_bytes && field->data[i] >= '0' && field->data[i] <= '9' &&
                    label <= UINT32_MAX;
         i++)
        label = label * 10 + (uint64_t)(field->data[i] - '0');
    if (i == first || label != sample->label)
        return false;
    while (i < field->len_bytes && strchr(" \t\r\n", field->data[i]) && field->data[i])
        i++;
    return i == field->len_bytes;
}

const struct dlb_field *dlb_sample_value(const struct dlb_sample *sample, const char *format,
                                         struct dlb_err *err)
{
    const struct dlb_field *value = NULL;
    bool odd_label = false;
    uint32_t n_values = 0;

    for (uint32_t f = 0; f < sample->n_fields; f++) {
        if (dlb_field_is_label(sample, f))
            continue;
        if (sample->n_fields > 1 && strcmp(sample->field[f].name, "cls") == 0)
            odd_label = true;
        else
            value = &sample->field[f];
        n_values++;
    }
    if (n_values == 1 && value)
        return value;
    if (n_values == 2 && odd_label)
        (void)dlb_fail(err, DLB_ERR_SAMPLE_LABEL_UNFIT, sample->path, sample->offset_bytes,
                       "the sample's \"cls\" is not a class number: %s stores labels as numbers; "
                       "webdataset and files keep the field as it is",
                       format);
    else
        (void)dlb_fail(err, DLB_ERR_SAMPLE_FIELDS_UNFIT, sample->path, sample->offset_bytes,
                       "the sample has %u fields beside its label, and %s stores one: "
                       "webdataset and files store several",
                       n_values, format);
    return NULL;
}

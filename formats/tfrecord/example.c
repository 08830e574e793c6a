#include "formats/tfrecord/example.h"

#include <stdio.h>
#include <string.h>

/* Wire types (protobuf.dev, Encoding). */
enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

struct span {
    const uint8_t *data;
    size_t n_bytes;
};

/* A message that is read field by field. */
struct message {
    const uint8_t *at, *end;
    bool bad; /* it makes no sense at `at` */
};

struct field {
    uint64_t number;
    unsigned type;
    uint64_t value;   /* VARINT */
    struct span span; /* LENGTH */
};

static struct message message_of(struct span span)
{
    return (struct message){span.data, span.data + span.n_bytes, false};
}

static bool take_varint(struct message *m, uint64_t *out)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (m->at == m->end)
            return false;
        uint8_t byte = *m->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* False at the end, and when the message is bad. Groups, which proto3 does not have, are bad. */
static bool take_field(struct message *m, struct field *field)
{
    uint64_t key, n = 0;
    const uint8_t *from = m->at;

    if (m->bad || m->at == m->end)
        return false;
    m->bad = true;
    if (!take_varint(m, &key) || key >> 3 == 0) {
        m->at = from;
        return false;
    }
    *field = (struct field){.number = key >> 3, .type = (unsigned)(key & 7)};
    bool fine = false;
    switch (field->type) {
    case VARINT:
        fine = take_varint(m, &field->value);
        break;
    case FIXED64:
    case FIXED32:
        n = field->type == FIXED64 ? 8 : 4;
        fine = n <= (uint64_t)(m->end - m->at);
        break;
    case LENGTH:
        fine = take_varint(m, &n) && n <= (uint64_t)(m->end - m->at);
        break;
    default:
        break;
    }
    if (!fine) {
        m->at = from;
        return false;
    }
    field->span = (struct span){m->at, (size_t)n};
    m->at += n;
    m->bad = false;
    return true;
}

static void forget_bytes(struct dlb_example *out)
{
    out->bytes = NULL;
    out->n_bytes = 0;
    out->more_bytes = false;
}

static void forget_label(struct dlb_example *out)
{
    out->has_label = out->more_labels = out->other_label = false;
}

static bool is(const struct span *name, const char *wanted)
{
    size_t n = strlen(wanted);
    return n == name->n_bytes && n > 0 && memcmp(name->data, wanted, n) == 0;
}

/* If the inner message is bad, marks the outer one as bad at the same place. */
static bool inner_failed(struct message *outer, const struct message *inner)
{
    if (!inner->bad)
        return false;
    outer->bad = true;
    outer->at = inner->at;
    return true;
}

/* BytesList: value = 1. A list in several pieces is one list. */
static bool take_bytes(struct message *outer, struct span list, struct dlb_example *out)
{
    struct message m = message_of(list);
    struct field field;

    while (take_field(&m, &field)) {
        if (field.number != 1 || field.type != LENGTH)
            continue;
        if (out->bytes) {
            out->more_bytes = true;
            continue;
        }
        out->bytes = field.span.data;
        out->n_bytes = field.span.n_bytes;
    }
    return !inner_failed(outer, &m);
}

/* Int64List: value = 1, packed or one by one. */
static bool take_label(struct message *outer, struct span list, struct dlb_example *out)
{
    struct message m = message_of(list);
    struct field field;

    while (take_field(&m, &field)) {
        uint64_t value = field.value;
        if (field.number != 1)
            continue;
        if (field.type == LENGTH && field.span.n_bytes > 0) {
            struct message packed = message_of(field.span);
            packed.bad = !take_varint(&packed, &value);
            if (inner_failed(&m, &packed))
                break;
            out->more_labels |= packed.at < packed.end;
        } else if (field.type != VARINT) {
            continue;
        }
        if (out->has_label) {
            out->more_labels = true;
            continue;
        }
        out->has_label = true;
        out->label = (int64_t)value;
    }
    return !inner_failed(outer, &m);
}

/* Feature: one of bytes_list = 1, float_list = 2, int64_list = 3. The last kind counts, and pieces
 * of it that follow each other are one list. */
static bool take_feature(struct message *outer, struct span value, bool is_feature, bool is_label,
                         struct dlb_example *out)
{
    struct message m = message_of(value);
    struct field field;
    uint64_t kind = 0;

    while (take_field(&m, &field)) {
        if (field.type != LENGTH || field.number > 3)
            continue;
        if (is_feature && field.number != kind)
            forget_bytes(out);
        if (is_label && field.number != kind)
            forget_label(out);
        kind = field.number;
        if (is_feature && kind == 1 && !take_bytes(&m, field.span, out))
            break;
        out->other_label |= is_label && kind != 3 && field.span.n_bytes > 0;
        if (is_label && kind == 3 && !take_label(&m, field.span, out))
            break;
    }
    return !inner_failed(outer, &m);
}

static void add_name(struct dlb_example *out, const struct span *name)
{
    size_t used = strlen(out->names);
    int n = name->n_bytes < 64 ? (int)name->n_bytes : 64;

    if (out->n_features++ == 0 || used + 3 < sizeof out->names)
        (void)snprintf(out->names + used, sizeof out->names - used, "%s%.*s", used ? ", " : "", n,
                       (const char *)name->data);
}

/* An entry of map<string, Feature>: key = 1, value = 2, in any order. */
static bool take_entry(struct message *outer, struct span entry, const char *feature,
                       const char *label, struct dlb_example *out)
{
    struct message m = message_of(entry);
    struct span name = {entry.data, 0}, value = {entry.data, 0};
    struct field field;

    while (take_field(&m, &field)) {
        if (field.type == LENGTH && field.number == 1)
            name = field.span;
        else if (field.type == LENGTH && field.number == 2)
            value = field.span;
    }
    if (inner_failed(outer, &m))
        return false;
    add_name(out, &name);
    bool is_feature = is(&name, feature), is_label = is(&name, label);
    if (is_feature)
        forget_bytes(out);
    if (is_label)
        forget_label(out);
    return take_feature(outer, value, is_feature, is_label, out);
}

int dlb_example_parse(const uint8_t *data, size_t n_bytes, const char *feature, const char *label,
                      struct dlb_example *out, struct dlb_err *err)
{
    struct field field, entry;

    *out = (struct dlb_example){.bytes = NULL};
    if (n_bytes == 0)
        return DLB_OK; /* an empty message is valid protobuf */
    struct message m = message_of((struct span){data, n_bytes});
    while (take_field(&m, &field)) { /* Example: features = 1 */
        if (field.number != 1 || field.type != LENGTH)
            continue;
        struct message features = message_of(field.span);
        while (take_field(&features, &entry)) /* Features: feature = 1 */
            if (entry.number == 1 && entry.type == LENGTH &&
                !take_entry(&features, entry.span, feature, label, out))
                break;
        if (inner_failed(&m, &features))
            break;
    }
    if (m.bad)
        return dlb_fail(err, DLB_ERR_TFRECORD_NO_EXAMPLE, NULL, (uint64_t)(m.at - data),
                        "is not a tf.train.Example: tfrecord.feature = \"\" gives whole records");
    return DLB_OK;
}

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;
    for (; value >= 0x80; value >>= 7)
        n++;
    return n;
}

static int put_key(struct dlb_bytes *out, unsigned number, unsigned type, uint64_t value,
                   struct dlb_err *err)
{
    uint8_t bytes[11] = {(uint8_t)(number << 3 | type)};
    size_t n = 1;

    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    return dlb_bytes_append(out, bytes, n, err);
}

/* Bytes of a field of n_bytes with its key (of a number below 16) and length. */
static size_t nested(size_t n_bytes)
{
    return 1 + varint_bytes(n_bytes) + n_bytes;
}

static int put_entry_head(struct dlb_bytes *out, const char *name, size_t feature_bytes,
                          struct dlb_err *err)
{
    size_t n = strlen(name);
    int rc = put_key(out, 1, LENGTH, nested(n) + nested(feature_bytes), err);

    if (rc == DLB_OK)
        rc = put_key(out, 1, LENGTH, n, err);
    if (rc == DLB_OK)
        rc = dlb_bytes_append(out, name, n, err);
    return rc == DLB_OK ? put_key(out, 2, LENGTH, feature_bytes, err) : rc;
}

int dlb_example_append(struct dlb_bytes *out, const char *feature, const uint8_t *bytes,
                       size_t n_bytes, const char *label_name, int64_t label, struct dlb_err *err)
{
    size_t list = nested(n_bytes), numbers = 1 + varint_bytes((uint64_t)label);
    size_t first = nested(strlen(feature)) + nested(nested(list));
    size_t second = nested(strlen(label_name)) + nested(nested(numbers));
    int rc = put_key(out, 1, LENGTH, nested(first) + nested(second), err);

    if (rc == DLB_OK)
        rc = put_entry_head(out, feature, nested(list), err);
    if (rc == DLB_OK)
        rc = put_key(out, 1, LENGTH, list, err);
    if (rc == DLB_OK)
        rc = put_key(out, 1, LENGTH, n_bytes, err);
    if (rc == DLB_OK)
        rc = dlb_bytes_append(out, bytes, n_bytes, err);
    if (rc == DLB_OK)
        rc = put_entry_head(out, label_name, nested(numbers), err);
    if (rc == DLB_OK)
        rc = put_key(out, 3, LENGTH, numbers, err);
    return rc == DLB_OK ? put_key(out, 1, VARINT, (uint64_t)label, err) : rc;
}

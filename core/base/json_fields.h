/* A struct's fields as the members of a JSON object, by a table that serves both directions.
 *
 * Floor 0. Any thread. Building does not fail (json.h). Reading takes a member of another type, or
 * one that is absent, as not measured: DLB_NOT_MEASURED, NaN, 0, false or "". */
#ifndef DLB_CORE_BASE_JSON_FIELDS_H
#define DLB_CORE_BASE_JSON_FIELDS_H

#include "core/base/json.h"

#include <stddef.h>

enum dlb_json_type {
    DLB_JSON_TYPE_COUNT, /* uint64_t; DLB_NOT_MEASURED is null */
    DLB_JSON_TYPE_SMALL, /* uint32_t */
    DLB_JSON_TYPE_REAL,  /* double; NaN is null */
    DLB_JSON_TYPE_FLAG,  /* bool */
    DLB_JSON_TYPE_HEX,   /* uint64_t, as 16 hex digits */
    DLB_JSON_TYPE_TEXT,  /* char[cap]; "" is null */
};

struct dlb_json_field {
    const char *key;
    enum dlb_json_type type;
    size_t offset, cap;
};

/* Rows of such a table: DLB_JSON_COUNT(dlb_epoch, "samples", n_samples). */
#define DLB_JSON_FIELD(of, key, type, member)                                                      \
    {                                                                                              \
        key, type, offsetof(struct of, member), sizeof(((struct of *)0)->member)                   \
    }
#define DLB_JSON_COUNT(of, key, member) DLB_JSON_FIELD(of, key, DLB_JSON_TYPE_COUNT, member)
#define DLB_JSON_SMALL(of, key, member) DLB_JSON_FIELD(of, key, DLB_JSON_TYPE_SMALL, member)
#define DLB_JSON_REAL(of, key, member) DLB_JSON_FIELD(of, key, DLB_JSON_TYPE_REAL, member)
#define DLB_JSON_FLAG(of, key, member) DLB_JSON_FIELD(of, key, DLB_JSON_TYPE_FLAG, member)
#define DLB_JSON_HEX(of, key, member) DLB_JSON_FIELD(of, key, DLB_JSON_TYPE_HEX, member)
#define DLB_JSON_TEXT(of, key, member) DLB_JSON_FIELD(of, key, DLB_JSON_TYPE_TEXT, member)
#define DLB_JSON_FIELDS_END                                                                        \
    {                                                                                              \
        NULL, DLB_JSON_TYPE_COUNT, 0, 0                                                            \
    }

void dlb_json_fields_put(json_t *object, const struct dlb_json_field *fields, const void *base);
void dlb_json_fields_take(const json_t *object, const struct dlb_json_field *fields, void *base);

/* A new object of these members. */
json_t *dlb_json_fields_object(const struct dlb_json_field *fields, const void *base);

#endif

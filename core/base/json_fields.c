#include "core/base/json_fields.h"

#include <stdlib.h>

static json_t *load(const struct dlb_json_field *field, const void *base)
{
    const void *at = (const char *)base + field->offset;
    switch (field->type) {
    case DLB_JSON_TYPE_COUNT:
        return dlb_json_u64_or_null(*(const uint64_t *)at);
    case DLB_JSON_TYPE_SMALL:
        return dlb_json_u64_or_null(*(const uint32_t *)at);
    case DLB_JSON_TYPE_REAL:
        return dlb_json_real_or_null(*(const double *)at);
    case DLB_JSON_TYPE_FLAG:
        return json_boolean(*(const bool *)at);
    case DLB_JSON_TYPE_HEX:
        return dlb_json_hex(*(const uint64_t *)at);
    case DLB_JSON_TYPE_TEXT:
        break;
    }
    return *(const char *)at ? dlb_json_safe_text(at) : json_null();
}

static void store(const struct dlb_json_field *field, const json_t *object, void *base)
{
    void *at = (char *)base + field->offset;
    uint64_t count = 0;
    switch (field->type) {
    case DLB_JSON_TYPE_COUNT:
        *(uint64_t *)at = dlb_json_u64(object, field->key, DLB_NOT_MEASURED);
        break;
    case DLB_JSON_TYPE_SMALL:
        count = dlb_json_u64(object, field->key, 0);
        *(uint32_t *)at = count <= UINT32_MAX ? (uint32_t)count : 0;
        break;
    case DLB_JSON_TYPE_REAL:
        *(double *)at = dlb_json_number(object, field->key);
        break;
    case DLB_JSON_TYPE_FLAG:
        *(bool *)at = dlb_json_is_true(object, field->key);
        break;
    case DLB_JSON_TYPE_HEX:
        *(uint64_t *)at = strtoull(dlb_json_text(object, field->key), NULL, 16);
        break;
    case DLB_JSON_TYPE_TEXT:
        dlb_json_take_text(object, field->key, at, field->cap);
        break;
    }
}

void dlb_json_fields_put(json_t *object, const struct dlb_json_field *fields, const void *base)
{
    for (const struct dlb_json_field *field = fields; field->key; field++)
        dlb_json_put(object, field->key, load(field, base));
}

void dlb_json_fields_take(const json_t *object, const struct dlb_json_field *fields, void *base)
{
    for (const struct dlb_json_field *field = fields; field->key; field++)
        store(field, object, base);
}

json_t *dlb_json_fields_object(const struct dlb_json_field *fields, const void *base)
{
    json_t *out = dlb_json_made(json_object());
    dlb_json_fields_put(out, fields, base);
    return out;
}

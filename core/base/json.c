#include "core/base/json.h"

#include "core/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double dlb_json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

uint64_t dlb_json_u64(const json_t *object, const char *key, uint64_t otherwise)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return otherwise;
    return (uint64_t)json_integer_value(value);
}

bool dlb_json_is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

const char *dlb_json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *dlb_json_made(json_t *value)
{
    return dlb_mem_check(value);
}

json_t *dlb_json_real_or_null(double value)
{
    return dlb_json_made(isfinite(value) ? json_real(value) : json_null());
}

json_t *dlb_json_u64_or_null(uint64_t value)
{
    if (value == DLB_NOT_MEASURED || value > INT64_MAX)
        return json_null();
    return dlb_json_made(json_integer((json_int_t)value));
}

json_t *dlb_json_hex(uint64_t value)
{
    char text[17];
    (void)snprintf(text, sizeof text, "%016" PRIx64, value);
    return dlb_json_made(json_string(text));
}

json_t *dlb_json_safe_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char *plain = dlb_mem_text(text);
    for (char *at = plain; *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    string = dlb_json_made(json_string(plain));
    free(plain);
    return string;
}

json_t *dlb_json_text_or_null(const char *text)
{
    return text && text[0] ? dlb_json_safe_text(text) : json_null();
}

void dlb_json_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        (void)dlb_json_made(NULL);
}

void dlb_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        (void)dlb_json_made(NULL);
}

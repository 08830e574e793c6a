#include "core/base/json.h"

#include "core/base/escape.h"
#include "core/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    char *escaped = dlb_escaped(text, DLB_ESCAPE_BACKSLASH);
    json_t *string = dlb_json_made(json_string(escaped));
    free(escaped);
    return string;
}

void dlb_json_take_text(const json_t *object, const char *key, char *out, size_t n_out)
{
    char *text = dlb_unescape(dlb_mem_text(dlb_json_text(object, key)));
    dlb_cut_text(out, n_out, text);
    free(text);
}

json_t *dlb_json_text_or_null(const char *text)
{
    return text && text[0] ? dlb_json_safe_text(text) : json_null();
}

/* The bytes of U+007F to U+009F at the text, and the code point's last byte; 0: another one. */
static size_t late_control(const char *text, unsigned *low)
{
    size_t n = (unsigned char)text[0] == 0xc2 ? 2 : 1;
    *low = (unsigned char)text[n - 1];
    return *low == 0x7f || (n == 2 && *low < 0xa0) ? n : 0;
}

char *dlb_json_dumped(const json_t *value, size_t flags)
{
    char *text = dlb_mem_check(json_dumps(value, flags));
    size_t n_out = strlen(text) + 1, n;
    unsigned low;

    if (!strpbrk(text, "\x7f\xc2"))
        return text;
    for (const char *at = text; *at; at++)
        n_out += late_control(at, &low) ? strlen("\\u009F") : 0;
    char *out = dlb_mem_array(n_out, 1), *to = out;
    for (const char *at = text; *at; at += n ? n : 1) {
        n = late_control(at, &low);
        if (n)
            to += snprintf(to, n_out - (size_t)(to - out), "\\u%04X", low);
        else
            *to++ = *at;
    }
    free(text);
    return out;
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

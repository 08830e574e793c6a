/* JSON documents: reading that never fails, building that never returns NULL.
 *
 * Floor 0. Any thread, each its own document. Built values are new references; when memory is
 * short the process ends (core/base/mem.h), so callers need no check. */
#ifndef DLB_CORE_BASE_JSON_H
#define DLB_CORE_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An integer figure that was not measured; null in JSON. A real one is NaN. */
#define DLB_NOT_MEASURED UINT64_MAX

/* The count, or 0 when it was not measured. */
static inline uint64_t dlb_count_or_zero(uint64_t count)
{
    return count == DLB_NOT_MEASURED ? 0 : count;
}

/* What a counter rose by; not measured when either reading was not, or when it fell. */
static inline uint64_t dlb_count_rise(uint64_t after, uint64_t before)
{
    return after == DLB_NOT_MEASURED || before == DLB_NOT_MEASURED || after < before
               ? DLB_NOT_MEASURED
               : after - before;
}

/* Give NaN, `otherwise`, false or "" when the key is absent or its value is of another type. The
 * text is borrowed. */
double dlb_json_number(const json_t *object, const char *key);
uint64_t dlb_json_u64(const json_t *object, const char *key, uint64_t otherwise);
bool dlb_json_is_true(const json_t *object, const char *key);
const char *dlb_json_text(const json_t *object, const char *key);

/* A real, or null when it is not finite; an integer, or null for DLB_NOT_MEASURED. */
json_t *dlb_json_real_or_null(double value);
json_t *dlb_json_u64_or_null(uint64_t value);

/* 16 hex digits: a checksum. */
json_t *dlb_json_hex(uint64_t value);

/* A string for any text, such as the name of a file. A string of JSON is UTF-8, so a byte that is
 * not becomes \xHH, and a backslash before an x becomes \x5c: replacing every \xHH by its byte
 * gives the name back (DLB_ESCAPE_BACKSLASH of core/base/escape.h). Values of a configuration are
 * UTF-8 always and are stored as they are. */
json_t *dlb_json_safe_text(const char *text);

/* The same, or null for NULL and "". */
json_t *dlb_json_text_or_null(const char *text);

/* The reverse: copies the member's text as it was before, cut between two characters. */
void dlb_json_take_text(const json_t *object, const char *key, char *out, size_t n_out);

/* Steals `value`. */
void dlb_json_put(json_t *object, const char *key, json_t *value);
void dlb_json_append(json_t *array, json_t *value);

/* `value`; the process ends if it is NULL. For json_pack and similar functions. */
json_t *dlb_json_made(json_t *value);

/* As json_dumps, never NULL, for a document that people may see on a terminal: json_dumps leaves
 * U+007F to U+009F as they are, here they become \u007F to \u009F. Owned by the caller. */
char *dlb_json_dumped(const json_t *value, size_t flags);

#endif

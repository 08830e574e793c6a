#include "reports/text.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHARACTER_BYTES 4 /* at most, in UTF-8 */

void dlb_text_free(struct dlb_text *text)
{
    free(text->data);
    memset(text, 0, sizeof(*text));
}

/* Room for n_bytes and the zero behind them. */
static void reserve(struct dlb_text *text, size_t n_bytes)
{
    if (text->cap_bytes - text->len_bytes >= n_bytes + 1)
        return;
    text->cap_bytes = text->cap_bytes * 2 + n_bytes + 1024;
    text->data = dlb_mem_grow(text->data, text->cap_bytes, 1);
}

void dlb_text_append(struct dlb_text *text, const char *data, size_t n_bytes)
{
    reserve(text, n_bytes);
    memcpy(text->data + text->len_bytes, data, n_bytes);
    text->len_bytes += n_bytes;
    text->data[text->len_bytes] = '\0';
}

void dlb_text_printf(struct dlb_text *text, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n > 0) {
        reserve(text, (size_t)n);
        (void)vsnprintf(text->data + text->len_bytes, (size_t)n + 1, fmt, again);
        text->len_bytes += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

const char *dlb_text_shown(const json_t *object, const char *key)
{
    const char *text = dlb_json_text(object, key);
    return text[0] ? text : "-";
}

/* The end of long ones: paths and names of functions differ there. */
static void string_text(const char *words, char *out, size_t n)
{
    size_t length = strlen(words), from = length > 30 ? length - 27 : 0;
    while ((words[from] & 0xC0) == 0x80) /* within a character of UTF-8 */
        from++;
    (void)snprintf(out, n, "%s%s", from > 0 ? "..." : "", words + from);
}

void dlb_text_value(const json_t *value, char *out, size_t n)
{
    if (json_is_string(value))
        string_text(json_string_value(value), out, n);
    else if (json_is_boolean(value))
        (void)snprintf(out, n, "%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_integer(value))
        (void)snprintf(out, n, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(out, n, "%.4g", json_real_value(value));
    else
        (void)snprintf(out, n, "-");
}

const char *dlb_text_percent(enum dlb_percent how, double frac, char *text, size_t n_text)
{
    static const struct {
        int decimals; /* -1: three digits */
        const char *unit;
    } styles[] = {
        [DLB_PERCENT_BARE] = {1, ""},    [DLB_PERCENT_TENTHS] = {1, "%"},
        [DLB_PERCENT_WHOLE] = {0, "%"},  [DLB_PERCENT_SHORT] = {-1, "%"},
        [DLB_PERCENT_CHANGE] = {1, "%"},
    };
    double percent = frac * 100;
    const char *sign = how == DLB_PERCENT_CHANGE && !signbit(percent) ? "+" : "";
    if (!isfinite(percent))
        (void)snprintf(text, n_text, "-");
    else if (styles[how].decimals < 0 || fabs(percent) >= 1e9)
        (void)snprintf(text, n_text, "%s%.3g%s", sign, percent, styles[how].unit);
    else
        (void)snprintf(text, n_text, "%s%.*f%s", sign, styles[how].decimals, percent,
                       styles[how].unit);
    return text;
}

/* How many bytes to show: a character that is not within `max` whole is left out. */
static size_t n_shown(const char *words, size_t max)
{
    size_t n = strnlen(words, max), n_cut = n < max ? n : dlb_cut(words, n);
    bool is_split =
        dlb_utf8_bytes(words + n_cut, strnlen(words + n_cut, CHARACTER_BYTES)) > n - n_cut;
    return is_split ? n_cut : n;
}

size_t dlb_text_width(const char *words, size_t max)
{
    return dlb_escape(words, n_shown(words, max), DLB_ESCAPE_CONTROLS, NULL, 0);
}

void dlb_text_plain(struct dlb_text *text, const char *words, size_t max)
{
    size_t n_words = n_shown(words, max), n = dlb_text_width(words, n_words);
    reserve(text, n);
    (void)dlb_escape(words, n_words, DLB_ESCAPE_CONTROLS, text->data + text->len_bytes, n + 1);
    text->len_bytes += n;
}

static void fold(struct dlb_text *text, const char *words, size_t n_bytes, uint32_t indent,
                 uint32_t width)
{
    const char *end = words + n_bytes;
    size_t column = 0;
    for (const char *at = words; at < end; at++) { /* over the space behind the word */
        const char *space = memchr(at, ' ', (size_t)(end - at));
        size_t n_word = (size_t)((space ? space : end) - at), n = dlb_text_width(at, n_word);
        if (column > 0 && width > 0 && column + 1 + n > width) {
            dlb_text_append(text, "\n", 1);
            column = 0;
        }
        if (n > 0) {
            dlb_text_printf(text, "%*s", column == 0 ? (int)indent : 1, "");
            dlb_text_plain(text, at, n_word);
            column = (column == 0 ? indent : column + 1) + n;
        }
        at += n_word;
    }
    if (column > 0)
        dlb_text_append(text, "\n", 1);
}

void dlb_text_fold(struct dlb_text *text, const char *words, uint32_t indent, uint32_t width)
{
    fold(text, words, strlen(words), indent, width);
}

void dlb_text_fold_lines(struct dlb_text *text, const char *words, uint32_t indent, uint32_t width)
{
    for (const char *at = words; *at; at += *at == '\n') {
        size_t n_line = strcspn(at, "\n");
        if (n_line == 0)
            dlb_text_append(text, "\n", 1);
        fold(text, at, n_line, indent, width);
        at += n_line;
    }
}

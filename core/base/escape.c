#include "core/base/escape.h"

#include "core/base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HEX "0123456789abcdef"
#define ESCAPE_BYTES 4    /* of \xHH */
#define CHARACTER_BYTES 4 /* at most, in UTF-8 */

/* The lowest code point that needs so many bytes. */
static const uint32_t least[CHARACTER_BYTES + 1] = {0, 0, 0x80, 0x800, 0x10000};

/* The code point, and the number of its bytes; 0: no UTF-8. */
static size_t decode(const char *text, size_t n_bytes, uint32_t *point)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n = n_bytes == 0   ? 0
               : at[0] < 0x80 ? 1
               : at[0] < 0xc0 ? 0
               : at[0] < 0xe0 ? 2
               : at[0] < 0xf0 ? 3
               : at[0] < 0xf8 ? 4
                              : 0;
    if (n == 0 || n > n_bytes)
        return 0;
    *point = n == 1 ? at[0] : at[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (at[i] & 0x3fu);
    }
    bool surrogate = *point >= 0xd800 && *point < 0xe000;
    return *point < least[n] || *point > 0x10ffff || surrogate ? 0 : n;
}

size_t dlb_utf8_bytes(const char *text, size_t n_bytes)
{
    uint32_t point;
    return decode(text, n_bytes, &point);
}

static size_t bytes_wanted(char first)
{
    unsigned char byte = (unsigned char)first;
    return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
}

size_t dlb_cut(const char *text, size_t max_bytes)
{
    size_t n = text ? strnlen(text, max_bytes + 1) : 0;
    if (n <= max_bytes)
        return n;
    n = max_bytes;
    for (size_t back = 1; back < CHARACTER_BYTES && back <= n; back++)
        if (((unsigned char)text[n - back] & 0xc0) != 0x80)
            return bytes_wanted(text[n - back]) > back ? n - back : n;
    return n;
}

void dlb_cut_text(char *out, size_t n_out, const char *text)
{
    size_t n = dlb_cut(text, n_out - 1);
    memcpy(out, text, n);
    out[n] = '\0';
}

/* Escapes the first character, or the first byte that is none. Returns how many bytes were read. */
static size_t escape_one(const char *text, size_t n_bytes, unsigned how,
                         char shown[CHARACTER_BYTES * ESCAPE_BYTES], size_t *n_shown)
{
    uint32_t point = 0;
    size_t n = decode(text, n_bytes, &point);
    bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
    bool doubtful = point == '\\' && n_bytes > 1 && text[1] == 'x';

    *n_shown = n;
    if (n > 0 && !(control && how & DLB_ESCAPE_CONTROLS) &&
        !(doubtful && how & DLB_ESCAPE_BACKSLASH)) {
        memcpy(shown, text, n);
        return n;
    }
    n = n ? n : 1;
    *n_shown = n * ESCAPE_BYTES;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)text[i];
        const char escape[ESCAPE_BYTES] = {'\\', 'x', HEX[byte >> 4], HEX[byte & 0xf]};
        memcpy(shown + i * ESCAPE_BYTES, escape, ESCAPE_BYTES);
    }
    return n;
}

size_t dlb_escape(const char *text, size_t n_bytes, unsigned how, char *out, size_t n_out)
{
    char shown[CHARACTER_BYTES * ESCAPE_BYTES];
    size_t n_text = strnlen(text, n_bytes), n_shown, whole = 0, len = 0;
    bool fits = n_out > 0;

    for (size_t at = 0; at < n_text; whole += n_shown) {
        at += escape_one(text + at, n_text - at, how, shown, &n_shown);
        fits = fits && len + n_shown < n_out;
        if (fits)
            memcpy(out + len, shown, n_shown);
        len += fits ? n_shown : 0;
    }
    if (n_out > 0)
        out[len] = '\0';
    return whole;
}

char *dlb_escaped(const char *text, unsigned how)
{
    size_t n_out = dlb_escape(text, SIZE_MAX, how, NULL, 0) + 1;
    char *out = dlb_mem_array(n_out, 1);
    (void)dlb_escape(text, SIZE_MAX, how, out, n_out);
    return out;
}

/* The value of a digit that dlb_escape writes; -1: it is none. */
static int digit(char c)
{
    const char *at = c ? strchr(HEX, c) : NULL;
    return at ? (int)(at - HEX) : -1;
}

char *dlb_unescape(char *text)
{
    char *to = text;

    for (const char *at = text; *at;) {
        int high = at[0] == '\\' && at[1] == 'x' ? digit(at[2]) : -1;
        int low = high < 0 ? -1 : digit(at[3]);
        if (low < 0 || high + low == 0) { /* a zero byte would end the text */
            *to++ = *at++;
            continue;
        }
        *to++ = (char)(high << 4 | low);
        at += ESCAPE_BYTES;
    }
    *to = '\0';
    return text;
}

#include "core/base/quoted.h"

#include <stdint.h>
#include <string.h>

#define LAST_CHARACTER 0x10ffff
#define FIRST_SURROGATE 0xd800
#define LAST_SURROGATE 0xdfff

bool dlb_is_quoted(const char *text)
{
    return text[0] == '"' || text[0] == '\'';
}

size_t dlb_quoted_bytes(const char *text)
{
    for (const char *at = text + 1; *at; at++) {
        if (*at == text[0])
            return (size_t)(at - text) + 1;
        if (*at == '\\' && text[0] == '"' && at[1])
            at++;
    }
    return 0;
}

/* The character of n hex digits; beyond all characters: they are none, or stand for none. */
static uint32_t hex_character(const char *digits, int n)
{
    uint32_t value = 0;

    for (int i = 0; i < n; i++) {
        char c = digits[i];
        bool small = c >= 'a' && c <= 'f', large = c >= 'A' && c <= 'F';
        if (!small && !large && !(c >= '0' && c <= '9'))
            return LAST_CHARACTER + 1;
        value = value << 4 | (uint32_t)(small ? c - 'a' + 10 : large ? c - 'A' + 10 : c - '0');
    }
    return value >= FIRST_SURROGATE && value <= LAST_SURROGATE ? LAST_CHARACTER + 1 : value;
}

static char *put_utf8(char *out, uint32_t character)
{
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0}; /* by the number of bytes */
    int n = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

    if (n == 1) {
        *out = (char)character;
        return out + 1;
    }
    for (int i = n - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(heads[n] | character);
    return out + n;
}

/* Of the escape whose backslash is before `at`: its character, and in *n_bytes how long it is
 * without the backslash. Beyond all characters: it is none. */
static uint32_t escaped(const char *at, size_t *n_bytes)
{
    static const char names[] = "btnfr\"\\", characters[] = "\b\t\n\f\r\"\\";
    const char *name = *at ? strchr(names, *at) : NULL;
    int n_digits = *at == 'u' ? 4 : *at == 'U' ? 8 : 0;

    *n_bytes = 1 + (size_t)n_digits;
    if (name)
        return (uint8_t)characters[name - names];
    return n_digits > 0 ? hex_character(at + 1, n_digits) : LAST_CHARACTER + 1;
}

const char *dlb_unquote(char *text, size_t *n_bytes)
{
    size_t n = dlb_quoted_bytes(text);
    char quote = text[0], *out = text;

    if (n == 0)
        return "begins with a quote and does not end with it";
    if (text[n])
        return "goes on behind its closing quote";
    for (const char *from = text + 1, *end = text + n - 1; from < end;) {
        size_t n_escape;
        if (quote == '\'' || *from != '\\') {
            *out++ = *from++;
            continue;
        }
        uint32_t character = escaped(++from, &n_escape);
        if (character > LAST_CHARACTER)
            return "has a backslash that begins no escape of TOML";
        out = put_utf8(out, character);
        from += n_escape;
    }
    *out = '\0';
    *n_bytes = (size_t)(out - text);
    return NULL;
}

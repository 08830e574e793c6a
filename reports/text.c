#include "reports/text.h"

#include "core/base/json.h"
#include "core/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dlb_text_free(struct dlb_text *text)
{
    free(text->data);
    memset(text, 0, sizeof(*text));
}

void dlb_text_append(struct dlb_text *text, const char *data, size_t n_bytes)
{
    if (text->cap_bytes - text->len_bytes < n_bytes + 1) {
        text->cap_bytes = text->cap_bytes * 2 + n_bytes + 1024;
        text->data = dlb_mem_grow(text->data, text->cap_bytes, 1);
    }
    memcpy(text->data + text->len_bytes, data, n_bytes);
    text->len_bytes += n_bytes;
    text->data[text->len_bytes] = '\0';
}

void dlb_text_printf(struct dlb_text *text, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (n > 0)
        dlb_text_append(text, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

const char *dlb_text_shown(const json_t *object, const char *key)
{
    const char *text = dlb_json_text(object, key);
    return text[0] ? text : "-";
}

static char plain(char c)
{
    unsigned char u = (unsigned char)c;
    return u < 0x20 || u == 0x7f ? '?' : c;
}

void dlb_text_plain(struct dlb_text *text, const char *words, size_t max)
{
    for (size_t i = 0; words[i] && i < max; i++) {
        char c = plain(words[i]);
        dlb_text_append(text, &c, 1);
    }
}

void dlb_text_fold(struct dlb_text *text, const char *words, uint32_t indent, uint32_t width)
{
    size_t column = 0;
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " \n");
        if (column > 0 && width > 0 && column + 1 + n > width) {
            dlb_text_append(text, "\n", 1);
            column = 0;
        }
        if (n > 0) {
            dlb_text_printf(text, "%*s", column == 0 ? (int)indent : 1, "");
            dlb_text_plain(text, at, n);
            column = (column == 0 ? indent : column + 1) + n;
        }
        at += n;
        if (*at == '\n') {
            dlb_text_append(text, "\n", 1);
            column = 0;
        }
        at += *at != '\0';
    }
    if (column > 0)
        dlb_text_append(text, "\n", 1);
}

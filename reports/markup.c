#include "reports/markup.h"

#include "core/base/escape.h"
#include "core/base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t code_point(const char *text, size_t n_bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    uint32_t point = n_bytes == 1 ? at[0] : at[0] & (0x7fu >> n_bytes);
    for (size_t i = 1; i < n_bytes; i++)
        point = point << 6 | (at[i] & 0x3fu);
    return point;
}

/* What an editor or a browser does not show, and acts on: marks, embeddings, overrides and isolates
 * of direction, separators of lines, zero width, and tags, which a language model reads. */
static bool is_unseen(uint32_t point)
{
    return point == 0x61c || (point >= 0x200b && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x206f) ||
           point == 0xfeff || (point >= 0xfff9 && point <= 0xfffb) ||
           (point >= 0xe0000 && point <= 0xe0fff) ||
           (point & 0xfffe) == 0xfffe; /* XML has no U+FFFE and U+FFFF */
}

static const char *html_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* One character of ASCII that can be shown. */
static void put_plain(struct dlb_text *out, const char *at, enum dlb_markup how)
{
    const char *entity = how == DLB_MARKUP_HTML ? html_of(*at) : NULL;
    if (how == DLB_MARKUP_MARKDOWN && (*at == '<' || *at == '&'))
        entity = html_of(*at); /* Markdown lets HTML through */
    if (how == DLB_MARKUP_MARKDOWN && strchr("\\`*_[]|~>", *at))
        dlb_text_append(out, "\\", 1);
    if (entity)
        dlb_text_append(out, entity, strlen(entity));
    else
        dlb_text_append(out, at, 1);
}

void dlb_markup_words(struct dlb_text *out, const char *words, size_t n_bytes, enum dlb_markup how)
{
    size_t n_all = strnlen(words, n_bytes), n;
    for (size_t at = 0; at < n_all; at += n) {
        n = dlb_utf8_bytes(words + at, n_all - at);
        uint32_t point = n ? code_point(words + at, n) : 0;
        bool control = point < 0x20 || (point >= 0x7f && point < 0xa0);
        n = n ? n : 1;
        if (control)
            dlb_text_plain(out, words + at, n);
        else if (is_unseen(point))
            dlb_text_printf(out, "[U+%04X]", (unsigned)point);
        else if (n > 1)
            dlb_text_append(out, words + at, n);
        else
            put_plain(out, words + at, how);
    }
}

void dlb_markup_text(struct dlb_text *out, const char *words, enum dlb_markup how)
{
    dlb_markup_words(out, words, SIZE_MAX, how);
}

void dlb_markup_json(struct dlb_text *out, const json_t *doc)
{
    char *text = dlb_json_dumped(doc, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(10));
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "<>");
        dlb_text_append(out, at, n);
        at += n;
        if (*at)
            dlb_text_printf(out, "\\u%04x", (unsigned)*at++);
    }
    free(text);
}

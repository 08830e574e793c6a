#include "formats/webdataset/braces.h"

#include "core/base/escape.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* CAP: a path and the braces still to expand behind it, twice Linux's longest path. */
enum { CAP = 2 * PATH_MAX, MAX_DEPTH = 64, MAX_DIGITS = 18, N_CASE = 26 };

struct expansion {
    const char *whole; /* for messages */
    dlb_wds_path *visit;
    void *ctx;
    uint32_t n_paths, n_steps;
};

bool dlb_wds_is_pattern(const char *path)
{
    return strstr(path, "::") || strchr(path, '{');
}

static int refuse(const struct expansion *e, const char *why, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_SHARD_LIST_BAD, NULL, DLB_NO_OFFSET, "dataset.path = \"%.*s\": %s",
                    DLB_CUT(e->whole, 80), why);
}

/* The brace that closes the one at `open`, or NULL. *n_commas: commas of this brace, not of inner
 * ones. */
static const char *closing(const char *open, uint32_t *n_commas)
{
    uint32_t depth = 0;

    *n_commas = 0;
    for (const char *p = open; *p; p++) {
        if (*p == '{')
            depth++;
        else if (*p == '}' && --depth == 0)
            return p;
        else if (*p == ',' && depth == 1)
            ++*n_commas;
    }
    return NULL;
}

/* As the shell: if one end of a range has a leading zero, all numbers are as wide as its longer
 * end. */
struct padding {
    int width; /* of the longer end */
    bool zeros;
};

static bool read_number(const char **p, int64_t *value, struct padding *padding)
{
    char *end;
    const char *digits = *p + (**p == '-');
    size_t n = strspn(digits, "0123456789");

    if (n == 0 || n > MAX_DIGITS)
        return false;
    *value = strtoll(*p, &end, 10);
    if (end - *p > padding->width)
        padding->width = (int)(end - *p);
    padding->zeros |= digits[0] == '0' && n > 1;
    *p = end;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* As braceexpand: a follows Z. */
static bool read_letter(const char **p, int64_t *value)
{
    char c = **p;

    if (!is_letter(c))
        return false;
    *value = c <= 'Z' ? c - 'A' : N_CASE + c - 'a';
    ++*p;
    return true;
}

struct range {
    int64_t from, to, step;
    int width;
    bool letters;
};

static bool read_end(const char **p, bool letter, int64_t *value, struct padding *padding)
{
    return letter ? read_letter(p, value) : read_number(p, value, padding);
}

static bool read_range(const char *p, const char *end, struct range *range)
{
    int64_t step = 1;
    struct padding padding = {0}, none = {0};

    range->letters = is_letter(*p);
    if (!read_end(&p, range->letters, &range->from, &padding) || strncmp(p, "..", 2) != 0)
        return false;
    p += 2;
    if (!read_end(&p, range->letters, &range->to, &padding))
        return false;
    if (strncmp(p, "..", 2) == 0) {
        p += 2;
        if (!read_number(&p, &step, &none) || step == 0)
            return false;
    }
    range->step = (step < 0 ? -step : step) * (range->to < range->from ? -1 : 1);
    range->width = padding.zeros ? padding.width : 0;
    return p == end;
}

static int expand(struct expansion *e, const char *text, size_t done, uint32_t depth,
                  struct dlb_err *err);

/* Expands text[0, open), then `piece`, then the rest behind the brace. */
static int expand_with(struct expansion *e, const char *text, size_t open, const char *piece,
                       size_t n_piece, const char *rest, uint32_t depth, struct dlb_err *err)
{
    char *joined = malloc(CAP);
    int rc, n;

    if (!joined)
        return dlb_fail_memory(err, NULL, CAP);
    n = snprintf(joined, CAP, "%.*s%.*s%s", (int)open, text, (int)n_piece, piece, rest);
    if (n < 0 || n >= CAP)
        rc = refuse(e, "it expands to paths that are too long", err);
    else
        rc = expand(e, joined, open, depth + 1, err);
    free(joined);
    return rc;
}

/* Returns its length. */
static size_t piece_of(const struct range *range, int64_t value, char *piece, size_t cap)
{
    if (!range->letters)
        return (size_t)snprintf(piece, cap, "%0*lld", range->width, (long long)value);
    *piece = (char)(value < N_CASE ? 'A' + value : 'a' + value - N_CASE);
    return 1;
}

static int expand_range(struct expansion *e, const char *text, size_t open, const char *rest,
                        const struct range *range, uint32_t depth, struct dlb_err *err)
{
    int rc = DLB_OK;

    for (int64_t value = range->from;
         rc == DLB_OK && (range->step > 0 ? value <= range->to : value >= range->to);
         value += range->step) { /* no overflow: numbers have at most 18 digits */
        char piece[32];
        size_t n = piece_of(range, value, piece, sizeof piece);
        rc = expand_with(e, text, open, piece, n, rest, depth, err);
    }
    return rc;
}

static int expand_names(struct expansion *e, const char *text, size_t open, const char *close,
                        uint32_t depth, struct dlb_err *err)
{
    const char *name = text + open + 1;
    uint32_t level = 0;
    int rc = DLB_OK;

    for (const char *p = name; rc == DLB_OK && p <= close; p++) {
        if (p == close || (*p == ',' && level == 0)) {
            rc = expand_with(e, text, open, name, (size_t)(p - name), close + 1, depth, err);
            name = p + 1;
        }
        level += *p == '{';
        level -= *p == '}' && level > 0;
    }
    return rc;
}

/* text[0, done) has no more braces to expand. */
static int expand(struct expansion *e, const char *text, size_t done, uint32_t depth,
                  struct dlb_err *err)
{
    if (depth > MAX_DEPTH || ++e->n_steps > 4 * DLB_WDS_MAX_PATHS)
        return refuse(e, "it has too many braces", err);
    for (const char *open = strchr(text + done, '{'); open; open = strchr(open + 1, '{')) {
        uint32_t n_commas;
        struct range range;
        const char *close = closing(open, &n_commas);
        size_t at = (size_t)(open - text);
        if (!close)
            continue;
        if (n_commas > 0)
            return expand_names(e, text, at, close, depth, err);
        if (read_range(open + 1, close, &range))
            return expand_range(e, text, at, close + 1, &range, depth, err);
    }
    if (++e->n_paths > DLB_WDS_MAX_PATHS)
        return refuse(e, "it expands to more than 1,000,000 shards", err);
    return e->visit(e->ctx, text, err);
}

int dlb_wds_expand(const char *pattern, dlb_wds_path *visit, void *ctx, struct dlb_err *err)
{
    struct expansion e = {.whole = pattern, .visit = visit, .ctx = ctx};
    char *text = strdup(pattern);
    int rc = DLB_OK;

    if (!text)
        return dlb_fail_memory(err, NULL, strlen(pattern) + 1);
    for (char *at = text; rc == DLB_OK && at;) {
        char *next = strstr(at, "::");
        if (next)
            *next = '\0';
        if (*at) /* empty entries of the list are ignored */
            rc = expand(&e, at, 0, 0, err);
        at = next ? next + 2 : NULL;
    }
    free(text);
    if (rc == DLB_OK && e.n_paths == 0)
        rc = refuse(&e, "it names no shards", err);
    return rc;
}

#include "formats/numpy/npy.h"

#include "core/base/little.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static const struct {
    const char *descr;
    enum dlb_element element;
} known[] = {
    {"|u1", DLB_ELEMENT_U8},  {"|i1", DLB_ELEMENT_I8},  {"<u2", DLB_ELEMENT_U16},
    {"<i2", DLB_ELEMENT_I16}, {"<u4", DLB_ELEMENT_U32}, {"<i4", DLB_ELEMENT_I32},
    {"<u8", DLB_ELEMENT_U64}, {"<i8", DLB_ELEMENT_I64}, {"<f2", DLB_ELEMENT_F16},
    {"<f4", DLB_ELEMENT_F32}, {"<f8", DLB_ELEMENT_F64}, {"<u1", DLB_ELEMENT_U8},
    {"<i1", DLB_ELEMENT_I8},
};
enum { N_KNOWN = sizeof known / sizeof *known };

bool dlb_npy_is(const uint8_t *data, size_t n_bytes)
{
    return n_bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

/* The dict's text; `at` is where parsing has come to. */
struct text {
    const uint8_t *data;
    size_t at, end;
};

static void skip_space(struct text *t)
{
    while (t->at < t->end &&
           (t->data[t->at] == ' ' || t->data[t->at] == '\n' || t->data[t->at] == '\t'))
        t->at++;
}

static bool take(struct text *t, char c)
{
    skip_space(t);
    if (t->at == t->end || t->data[t->at] != (uint8_t)c)
        return false;
    t->at++;
    return true;
}

static bool take_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    if (t->end - t->at < n || memcmp(t->data + t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

/* 'text' or "text". Escapes are refused: numpy's keys and plain descriptions have none. */
static bool take_string(struct text *t, char *out, size_t n_out)
{
    skip_space(t);
    if (t->at == t->end || (t->data[t->at] != '\'' && t->data[t->at] != '"'))
        return false;
    uint8_t quote = t->data[t->at++];
    size_t n = 0;
    for (; t->at < t->end && t->data[t->at] != quote; t->at++) {
        if (t->data[t->at] == '\\' || t->data[t->at] < ' ')
            return false;
        if (n + 1 < n_out)
            out[n++] = (char)t->data[t->at];
    }
    out[n] = '\0';
    return t->at++ < t->end;
}

/* A whole number; Python 2 appends an L. */
static bool take_count(struct text *t, uint64_t *out)
{
    uint64_t value = 0;
    size_t first;

    skip_space(t);
    for (first = t->at; t->at < t->end && t->data[t->at] >= '0' && t->data[t->at] <= '9'; t->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(t->data[t->at] - '0'), &value))
            return false;
    if (t->at == first)
        return false;
    if (t->at < t->end && t->data[t->at] == 'L')
        t->at++;
    *out = value;
    return true;
}

static bool take_shape(struct text *t, struct dlb_npy *out)
{
    if (!take(t, '('))
        return false;
    for (out->rank = 0; !take(t, ')'); out->rank++) {
        if (out->rank == DLB_NPY_MAX_RANK || !take_count(t, &out->shape[out->rank]))
            return false;
        if (!take(t, ',')) {
            out->rank++;
            return out->rank > 1 && take(t, ')'); /* (3) is a number, not a tuple */
        }
    }
    return true;
}

static bool take_bool(struct text *t, bool *out)
{
    *out = take_word(t, "True");
    return *out || take_word(t, "False");
}

/* The three keys, each exactly once, in any order. */
static bool take_dict(struct text *t, struct dlb_npy *out)
{
    unsigned seen = 0;

    if (!take(t, '{'))
        return false;
    while (!take(t, '}')) {
        char key[16];
        unsigned bit;
        if (!take_string(t, key, sizeof key) || !take(t, ':'))
            return false;
        if (strcmp(key, "descr") == 0 && take_string(t, out->descr, sizeof out->descr))
            bit = 1;
        else if (strcmp(key, "fortran_order") == 0 && take_bool(t, &out->fortran_order))
            bit = 2;
        else if (strcmp(key, "shape") == 0 && take_shape(t, out))
            bit = 4;
        else
            return false;
        if (seen & bit)
            return false;
        seen |= bit;
        if (!take(t, ','))
            return take(t, '}') && seen == 7;
    }
    return seen == 7;
}

static int cut_short(const struct dlb_npy *npy, uint64_t file_bytes, const char *path,
                     struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, path, file_bytes,
                    "cut short: the .npy header says %" PRIu64
                    " items of %s, the file ends before them",
                    npy->n_items, npy->descr);
}

static int check_size(struct dlb_npy *out, uint64_t file_bytes, const char *path,
                      struct dlb_err *err)
{
    uint64_t n_bytes;
    bool overflow = false;

    out->n_items = 1;
    for (uint32_t i = 0; i < out->rank; i++)
        overflow |= __builtin_mul_overflow(out->n_items, out->shape[i], &out->n_items);
    if (out->element == DLB_ELEMENT_NONE && !overflow)
        return DLB_OK; /* dlb_npy_data_bytes checks it */
    overflow |= __builtin_mul_overflow(out->n_items, dlb_element_bytes(out->element), &n_bytes);
    if (overflow)
        return dlb_fail(err, DLB_ERR_NPY_HEADER_DAMAGED, path, 0,
                        "the .npy header gives a shape of more than 2^64 bytes");
    if (n_bytes > file_bytes || out->data_at > file_bytes - n_bytes)
        return cut_short(out, file_bytes, path, err);
    return DLB_OK;
}

int dlb_npy_parse(const uint8_t *data, size_t n_bytes, uint64_t file_bytes, const char *path,
                  struct dlb_npy *out, struct dlb_err *err)
{
    *out = (struct dlb_npy){.rank = 0};
    if (!dlb_npy_is(data, n_bytes))
        return dlb_fail(err, DLB_ERR_FILE_NOT_OF_FORMAT, path, 0,
                        "not a .npy file: it does not begin with \\x93NUMPY");
    if (n_bytes < 12)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, path, n_bytes,
                        "cut short within the .npy header");
    if (data[6] < 1 || data[6] > 3)
        return dlb_fail(err, DLB_ERR_FILE_VERSION_UNKNOWN, path, 6,
                        "version %u of .npy; 1, 2 and 3 are known", data[6]);
    size_t first = data[6] == 1 ? 10 : 12;
    uint32_t len = (uint32_t)dlb_little_get(data + 8, first - 8);
    if (len > DLB_NPY_MAX_HEADER_BYTES)
        return dlb_fail(err, DLB_ERR_NPY_HEADER_DAMAGED, path, 8,
                        "the .npy header announces %u bytes; up to %d are read", len,
                        DLB_NPY_MAX_HEADER_BYTES);
    if (len > n_bytes - first)
        return dlb_fail(err, DLB_ERR_FILE_CUT_SHORT, path, n_bytes,
                        "cut short within the .npy header");
    struct text text = {data, first, first + len};
    bool parsed = take_dict(&text, out);
    skip_space(&text);
    if (!parsed || text.at != text.end)
        return dlb_fail(err, DLB_ERR_NPY_HEADER_DAMAGED, path, text.at,
                        "the .npy header is not a dict of descr, fortran_order and shape, or the "
                        "type is a structured one");
    for (size_t i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].descr, out->descr) == 0)
            out->element = known[i].element;
    out->data_at = first + len;
    return check_size(out, file_bytes, path, err);
}

/* Bytes of an item, from descriptions such as '<M8[ns]', '|S10', '>c16', '<U5': byte order, kind,
 * size (for U in characters of 4 bytes). 0: Python objects, or an unknown description. */
static size_t item_bytes(const struct dlb_npy *npy)
{
    size_t n_bytes = 0;
    const char *at = npy->descr + 1;

    if (npy->element != DLB_ELEMENT_NONE)
        return dlb_element_bytes(npy->element);
    if (npy->descr[0] == '\0' || !strchr("<>|=", npy->descr[0]) || *at == '\0' ||
        !strchr("biufcmMSUV", *at))
        return 0;
    char kind = *at++;
    for (; *at >= '0' && *at <= '9'; at++)
        n_bytes = n_bytes * 10 + (size_t)(*at - '0'); /* at most 13 digits */
    if (*at != '\0' && *at != '[')
        return 0;
    return kind == 'U' ? n_bytes * 4 : n_bytes;
}

int dlb_npy_data_bytes(const struct dlb_npy *npy, uint64_t file_bytes, const char *path,
                       size_t *out, struct dlb_err *err)
{
    size_t each = item_bytes(npy);
    uint64_t n_bytes;

    if (each == 0)
        return dlb_fail(err, DLB_ERR_NPY_TYPE_UNFIT, path, 0,
                        "holds '%s': Python objects, or a type of no fixed size", npy->descr);
    if (__builtin_mul_overflow(npy->n_items, each, &n_bytes) || n_bytes > file_bytes ||
        npy->data_at > file_bytes - n_bytes)
        return cut_short(npy, file_bytes, path, err);
    *out = (size_t)n_bytes;
    return DLB_OK;
}

size_t dlb_npy_header_of(enum dlb_element element, const uint64_t *shape, uint32_t rank,
                         uint8_t *out, size_t n_cap)
{
    const char *descr = "|u1";
    char tuple[DLB_NPY_MAX_RANK * 22 + 1] = "";

    for (size_t i = N_KNOWN; i-- > 0;)
        if (known[i].element == element)
            descr = known[i].descr;
    for (uint32_t i = 0, n = 0; i < rank && i < DLB_NPY_MAX_RANK; i++)
        n += (uint32_t)snprintf(tuple + n, sizeof tuple - n, "%s%" PRIu64 "%s", i ? " " : "",
                                shape[i], i + 1 < rank || rank == 1 ? "," : "");
    memcpy(out, magic, sizeof magic);
    out[6] = 1;
    out[7] = 0;
    int n = snprintf((char *)out + 10, n_cap - 10,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple);
    size_t end = ((size_t)n + 10 + 1 + 63) & ~(size_t)63;
    if (n < 0 || end > n_cap)
        DLB_BUG("no room for a .npy header");
    memset(out + 10 + n, ' ', end - 10 - (size_t)n);
    out[end - 1] = '\n';
    out[8] = (uint8_t)(end - 10);
    out[9] = (uint8_t)((end - 10) >> 8);
    return end;
}

size_t dlb_npy_header(enum dlb_element element, uint64_t n_items, uint8_t *out, size_t n_cap)
{
    return dlb_npy_header_of(element, &n_items, 1, out, n_cap);
}

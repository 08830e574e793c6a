/* Files of tokens written by hand in tests, independently of what gen writes. Header-only; include
 * after support/dataset.h. */
#ifndef DLB_TESTS_TOKENS_H
#define DLB_TESTS_TOKENS_H

#include "formats/tokens/tokens.h"
#include "tests/support/dataset.h"

static inline void tokens_put(uint8_t *at, uint64_t value, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t tokens_get(const uint8_t *at, size_t n_bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* `head` and then tokens first, first + 1, ... of `each` bytes. */
static inline void tokens_write(const char *name, const void *head, size_t n_head, uint64_t first,
                                size_t n, size_t each)
{
    uint8_t *data = malloc(n_head + n * each + 1);
    assert_non_null(data);
    if (n_head)
        memcpy(data, head, n_head);
    for (size_t i = 0; i < n; i++)
        tokens_put(data + n_head + i * each, first + i, each);
    folder_write(name, data, n_head + n * each);
    free(data);
}

static inline void tokens_write_llmc(const char *name, uint32_t magic, uint32_t version,
                                     uint32_t says, size_t n, size_t each)
{
    uint8_t head[1024] = {0};
    tokens_put(head, magic, 4);
    tokens_put(head + 4, version, 4);
    tokens_put(head + 8, says, 4);
    tokens_write(name, head, sizeof head, 0, n, each);
}

/* The dict as given, without padding: numpy does not insist on it. */
static inline void tokens_write_npy(const char *name, int version, const char *dict, size_t n,
                                    size_t each)
{
    uint8_t head[512] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version};
    size_t first = version == 1 ? 10 : 12, len = strlen(dict);
    tokens_put(head + 8, len, first - 8);
    memcpy(head + first, dict, len);
    tokens_write(name, head, first + len, 0, n, each);
}

/* Sequences with these lengths; sequence i lies at pointer[i]. Documents of one sequence each. */
static inline void tokens_write_idx(const char *name, uint8_t code, const int32_t *length,
                                    const int64_t *pointer, size_t n)
{
    uint8_t *data = calloc(1, 34 + n * 20 + 8);
    assert_non_null(data);
    memcpy(data, "MMIDIDX\0", 9);
    tokens_put(data + 9, 1, 8);
    data[17] = code;
    tokens_put(data + 18, n, 8);
    tokens_put(data + 26, n + 1, 8);
    for (size_t i = 0; i < n; i++) {
        tokens_put(data + 34 + i * 4, (uint32_t)length[i], 4);
        tokens_put(data + 34 + n * 4 + i * 8, (uint64_t)pointer[i], 8);
        tokens_put(data + 34 + n * 12 + i * 8, i, 8);
    }
    tokens_put(data + 34 + n * 20, n, 8);
    folder_write(name, data, 34 + n * 20 + 8);
    free(data);
}

/* An opened data set and one reader of it. */
struct tokens_set {
    struct dlb_dataset ds;
    void *reader;
    struct dlb_sample sample;
    struct dlb_err err;
};

static inline int tokens_open_as(struct tokens_set *set, const char *name, const char *codec,
                                 int access, struct dlb_tokens_opts opts)
{
    struct dlb_dataset_opts own = {.format = dataset_place(dlb_format_names, "tokens"),
                                   .codec = dataset_place(dlb_codec_names, codec),
                                   .access = access};
    struct dlb_transform_opts transform = {.size = 32};

    memset(set, 0, sizeof *set);
    (void)snprintf(own.path, sizeof own.path, "%s", folder_path(name));
    int rc = dlb_dataset_open(&set->ds, &own, &transform, NULL, &opts, &set->err);
    if (rc == DLB_OK)
        set->reader = dataset_reader(&set->ds);
    return rc;
}

static inline int tokens_read_one(struct tokens_set *set, uint64_t index)
{
    set->sample = (struct dlb_sample){.offset_bytes = DLB_NO_OFFSET};
    return set->ds.format->reader->read(set->reader, index, (struct dlb_dest){0}, &set->sample,
                                        &set->err);
}

static inline uint64_t tokens_of(const struct tokens_set *set, size_t i)
{
    size_t each = dlb_element_bytes(set->sample.element);
    return tokens_get(set->sample.field[0].data + i * each, each);
}

static inline size_t tokens_count(const struct tokens_set *set)
{
    return set->sample.field[0].len_bytes / dlb_element_bytes(set->sample.element);
}

static inline void tokens_close_set(struct tokens_set *set)
{
    if (set->reader)
        dataset_reader_free(&set->ds, set->reader);
    dlb_dataset_close(&set->ds);
}

#endif

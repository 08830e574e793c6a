/* Tar archives written by hand (ustar headers as in POSIX.1-1988), so that libarchive is not tested
 * against itself, and shards read back as text. Header-only; include after support/folder.h. */
#ifndef DLB_TESTS_TARBALL_H
#define DLB_TESTS_TARBALL_H

#include "tests/support/dataset.h"

static struct dlb_err err; /* of the running test */

/* A tar archive being written, by hand: ustar headers as in POSIX.1-1988. */
struct tarball {
    uint8_t bytes[1 << 20];
    size_t len;
};
static struct tarball ball;

static inline void put_octal(uint8_t *at, size_t n, uint64_t value)
{
    at[n - 1] = '\0';
    for (size_t i = n - 1; i-- > 0; value /= 8)
        at[i] = (uint8_t)('0' + value % 8);
}

static inline void seal(uint8_t *header)
{
    unsigned sum = 0;
    memset(header + 148, ' ', 8);
    for (int i = 0; i < 512; i++)
        sum += header[i];
    (void)snprintf((char *)header + 148, 8, "%06o", sum);
    header[155] = ' ';
}

static inline uint8_t *put(const char *prefix, const char *name, char type, const void *data,
                           size_t n)
{
    uint8_t *header = ball.bytes + ball.len;
    memset(header, 0, 512);
    memcpy(header, name, strlen(name) < 100 ? strlen(name) : 100);
    put_octal(header + 100, 8, 0644);
    put_octal(header + 108, 8, 0);
    put_octal(header + 116, 8, 0);
    put_octal(header + 124, 12, n);
    put_octal(header + 136, 12, 0);
    header[156] = (uint8_t)type;
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    if (prefix)
        memcpy(header + 345, prefix, strlen(prefix));
    seal(header);
    memset(header + 512, 0, (n + 511) & ~(size_t)511);
    memcpy(header + 512, data, n);
    ball.len += 512 + ((n + 511) & ~(size_t)511);
    return header;
}

static inline void file(const char *name, const char *content)
{
    (void)put(NULL, name, '0', content, strlen(content));
}

static inline void start(void)
{
    ball.len = 0;
}

static inline void finish(const char *name)
{
    memset(ball.bytes + ball.len, 0, 1024);
    ball.len += 1024;
    folder_write(name, ball.bytes, ball.len);
}

static inline void open_shards(struct dlb_dataset *ds)
{
    if (dataset_open(ds, "webdataset", "raw", folder, &err) != DLB_OK)
        fail_msg("%s: %s", err.path, err.what);
}

/* Reads a shard: "key-less" text of each sample's fields, "name=content;" back to back, samples
 * separated by "|". */
static inline int read_shard(const struct dlb_dataset *ds, uint32_t shard, char *text,
                             size_t n_text, uint64_t *n_io)
{
    void *reader = dataset_reader(ds);
    struct dlb_sample sample = {0};
    size_t len = 0;
    int rc = ds->format->reader->shard_open(reader, shard, &err);

    text[0] = '\0';
    while (rc == DLB_OK && (rc = ds->format->reader->next(reader, (struct dlb_dest){NULL, 0},
                                                          &sample, &err)) == DLB_OK) {
        for (uint32_t i = 0; i < sample.n_fields; i++)
            len += (size_t)snprintf(text + len, n_text - len, "%s=%.*s;", sample.field[i].name,
                                    (int)sample.field[i].len_bytes,
                                    (const char *)sample.field[i].data);
        len += (size_t)snprintf(text + len, n_text - len, "|");
        if (n_io)
            *n_io += sample.io_bytes;
    }
    dataset_reader_free(ds, reader);
    return rc;
}

#endif

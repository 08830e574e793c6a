/* A shard from a stranger: listed and read. Both must see the same samples. Of inputs of odd length
 * the headers' checksums are put right first, which chance would hardly ever do. By its length
 * an input is then read by its index, or wrapped in gzip or in zstd (stored, not shrunk): where
 * nothing is odd about it, the samples must be the same again. */
#include "core/base/hash.h"
#include "formats/format.h"
#include "formats/webdataset/pack.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

/* A byte source of one file in memory. */
static const uint8_t *file_data;
static size_t file_bytes;

static int memory_stat(const char *path, enum dlb_io_kind *kind, uint64_t *n_bytes,
                       struct dlb_err *err)
{
    (void)path, (void)err;
    *kind = DLB_IO_FILE;
    *n_bytes = file_bytes;
    return DLB_OK;
}

static int memory_open(const char *path, int64_t *handle, struct dlb_err *err)
{
    (void)path, (void)err;
    *handle = 0;
    return DLB_OK;
}

static int memory_pread(int64_t handle, void *dst, size_t n_bytes, uint64_t offset_bytes,
                        size_t *n_read, const char *path, struct dlb_err *err)
{
    (void)handle, (void)path, (void)err;
    size_t left = offset_bytes < file_bytes ? file_bytes - (size_t)offset_bytes : 0;
    *n_read = n_bytes < left ? n_bytes : left;
    if (*n_read)
        memcpy(dst, file_data + offset_bytes, *n_read);
    return DLB_OK;
}

static int memory_size(int64_t handle, uint64_t *n_bytes, const char *path, struct dlb_err *err)
{
    (void)handle, (void)path, (void)err;
    *n_bytes = file_bytes;
    return DLB_OK;
}

static void memory_close(int64_t handle)
{
    (void)handle;
}

static const struct dlb_io memory = {.name = "memory",
                                     .stat = memory_stat,
                                     .open = memory_open,
                                     .pread = memory_pread,
                                     .size = memory_size,
                                     .close = memory_close};

static void *zeroed(size_t n_bytes)
{
    size_t rounded = (n_bytes + 63) & ~(size_t)63;
    void *state = aligned_alloc(64, rounded);
    if (!state)
        abort();
    memset(state, 0, rounded);
    return state;
}

/* What reading a shard came to. */
struct outcome {
    uint64_t n, n_bytes, n_io, hash;
    int rc;
};

static uint64_t hash_sample(const struct dlb_sample *sample, uint64_t hash, uint64_t *n_bytes)
{
    if (sample->n_fields == 0 || sample->n_fields > DLB_MAX_FIELDS)
        abort();
    for (uint32_t i = 0; i < sample->n_fields; i++) {
        const struct dlb_field *field = &sample->field[i];
        hash = dlb_hash64(field->name, strlen(field->name), hash);
        hash = dlb_hash64(field->data, field->len_bytes, hash);
        *n_bytes += field->len_bytes;
    }
    return dlb_hash64(&sample->label, sizeof sample->label, hash);
}

static void check_error(int rc, const struct dlb_err *err)
{
    if ((int)err->status != rc || err->what[0] == '\0' || err->path[0] == '\0')
        abort();
}

static struct outcome read_stream(const struct dlb_format *format, void *reader)
{
    struct outcome out = {0};
    uint8_t place[64];
    struct dlb_sample sample = {0};
    struct dlb_err err = {0};

    out.rc = format->reader->shard_open(reader, 0, &err);
    while (out.rc == DLB_OK) {
        struct dlb_dest dest = {out.n % 2 ? place : NULL, out.n % 2 ? sizeof place : 0};
        out.rc = format->reader->next(reader, dest, &sample, &err);
        if (out.rc != DLB_OK)
            break;
        if (sample.index != out.n++)
            abort();
        out.hash = hash_sample(&sample, out.hash, &out.n_bytes);
        out.n_io += sample.io_bytes;
    }
    if (out.rc != DLB_END)
        check_error(out.rc, &err);
    return out;
}

static struct outcome read_indexed(const struct dlb_format *format, void *reader, uint64_t n)
{
    struct outcome out = {.rc = DLB_OK};
    uint8_t place[700];
    struct dlb_sample sample = {0};
    struct dlb_err err = {0};

    for (; out.rc == DLB_OK && out.n < n; out.n++) {
        struct dlb_dest dest = {out.n % 2 ? place : NULL, out.n % 2 ? sizeof place : 0};
        out.rc = format->reader->read(reader, out.n, dest, &sample, &err);
        if (out.rc != DLB_OK)
            abort(); /* the index holds what is there */
        out.hash = hash_sample(&sample, out.hash, &out.n_bytes);
    }
    out.rc = DLB_END;
    return out;
}

/* Behind frames without data, up to 16, a file is looked at again, and then once more from its
 * beginning if it is no zstd. Else no byte is read twice. */
static uint64_t most_io(void)
{
    return file_bytes * (dlb_tar_skippable_bytes(file_data, file_bytes) ? 18 : 1);
}

/* Opens what lies in memory and reads all of it. */
static struct outcome read_all(const uint8_t *data, size_t n_bytes, int access,
                               struct dlb_shape *shape)
{
    const struct dlb_format *format = dlb_format_by_name("webdataset");
    struct dlb_open how = {.path = "fuzz.tar", .io = &memory, .access = access};
    struct dlb_err err = {0};
    struct outcome out = {0};
    void *ds = zeroed(format->reader->dataset_bytes);

    file_data = data;
    file_bytes = n_bytes;
    *shape = (struct dlb_shape){0};
    out.rc = format->reader->dataset_open(ds, &how, shape, &err);
    if (out.rc == DLB_OK) {
        void *reader = zeroed(format->reader->state_bytes);
        if (format->reader->open(reader, ds, &err) != DLB_OK)
            abort();
        out = shape->iterable ? read_stream(format, reader)
                              : read_indexed(format, reader, shape->n_samples);
        format->reader->close(reader);
        free(reader);
        /* A header may say what only reading the data disproves: less than was listed, then, and
         * an error. */
        if (out.n > shape->n_samples || out.n_bytes > shape->total_bytes || out.n_io > most_io())
            abort();
        if (out.rc == DLB_END && (out.n != shape->n_samples || out.n_bytes != shape->total_bytes))
            abort();
    } else {
        check_error(out.rc, &err);
    }
    format->reader->dataset_close(ds);
    free(ds);
    return out;
}

/* RFC 8878: a frame of raw blocks, without sizes and checksum. */
static size_t wrap_zstd(uint8_t *to, const uint8_t *data, size_t n_bytes)
{
    static const uint8_t header[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3}; /* a window of 128 KiB */
    uint8_t *p = to;

    memcpy(p, header, sizeof header);
    p += sizeof header;
    do {
        size_t n = n_bytes < 100000 ? n_bytes : 100000;
        uint32_t block = (uint32_t)n << 3 | (n == n_bytes);
        *p++ = (uint8_t)block;
        *p++ = (uint8_t)(block >> 8);
        *p++ = (uint8_t)(block >> 16);
        memcpy(p, data, n);
        p += n;
        data += n;
        n_bytes -= n;
    } while (n_bytes);
    return (size_t)(p - to);
}

/* RFC 1952 and 1951: stored blocks; the trailer is zeros, which libarchive does not look at. */
static size_t wrap_gzip(uint8_t *to, const uint8_t *data, size_t n_bytes)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    uint8_t *p = to;

    memcpy(p, header, sizeof header);
    p += sizeof header;
    do {
        size_t n = n_bytes < 60000 ? n_bytes : 60000;
        *p++ = n == n_bytes;
        *p++ = (uint8_t)n;
        *p++ = (uint8_t)(n >> 8);
        *p++ = (uint8_t)~n;
        *p++ = (uint8_t)(~n >> 8);
        memcpy(p, data, n);
        p += n;
        data += n;
        n_bytes -= n;
    } while (n_bytes);
    memset(p, 0, 8);
    return (size_t)(p - to) + 8;
}

static void seal_headers(uint8_t *data, size_t n_bytes)
{
    for (; n_bytes >= 512; data += 512, n_bytes -= 512) {
        unsigned sum = 0;
        if (memcmp(data + 257, "ustar", 5) != 0)
            continue;
        memset(data + 148, ' ', 8);
        for (int i = 0; i < 512; i++)
            sum += data[i];
        for (int i = 5; i >= 0; i--, sum /= 8)
            data[148 + i] = (uint8_t)('0' + sum % 8);
        data[154] = 0;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    struct dlb_shape shape, other;

    if (dlb_format_by_name("webdataset")->missing)
        return 0;
    uint8_t *copy = malloc(n_bytes ? n_bytes : 1), *wrapped = malloc(n_bytes + n_bytes / 100 + 64);
    if (!copy || !wrapped)
        abort();
    if (n_bytes)
        memcpy(copy, data, n_bytes);
    if (n_bytes % 2)
        seal_headers(copy, n_bytes);
    struct outcome plain = read_all(copy, n_bytes, DLB_ACCESS_STREAM, &shape);
    bool clean = plain.rc == DLB_END && shape.n_odd == 0;
    struct outcome second = plain;
    size_t n;
    switch (n_bytes / 2 % 4) { /* one of them: each costs as much as the first */
    case 0:
        second = read_all(copy, n_bytes, DLB_ACCESS_INDEXED, &other);
        break;
    case 1:
        n = wrap_zstd(wrapped, copy, n_bytes);
        second = read_all(wrapped, n, DLB_ACCESS_STREAM, &other);
        break;
    case 2:
        n = wrap_gzip(wrapped, copy, n_bytes);
        second = read_all(wrapped, n, DLB_ACCESS_STREAM, &other);
        break;
    default:
        break;
    }
    /* Members of no sample may claim more than there is, and only of a compressed shard that is
     * found out. */
    bool refused = file_data == wrapped && second.rc == DLB_E_FORMAT && second.n <= plain.n;
    if (clean && !refused &&
        (second.n != plain.n || second.hash != plain.hash || second.n_bytes != plain.n_bytes ||
         second.rc != plain.rc))
        abort();
    free(copy);
    free(wrapped);
    return 0;
}

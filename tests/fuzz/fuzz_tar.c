/* A shard from a stranger: listed and read. Both must see the same samples. Of inputs of odd length
 * the headers' checksums are put right first, which chance would hardly ever do. */
#include "formats/format.h"

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

/* So that every byte is really read. */
static volatile uint8_t touched;

static void read_shard(const struct dlb_format *format, void *ds, const struct dlb_shape *shape)
{
    void *reader = zeroed(format->reader_bytes);
    uint8_t place[64];
    struct dlb_sample sample = {0};
    struct dlb_err err = {0};
    uint64_t n = 0, n_bytes = 0, n_io = 0;

    if (format->reader_open(reader, ds, &err) != DLB_OK)
        abort();
    int rc = format->shard_open(reader, 0, &err);
    while (rc == DLB_OK) {
        struct dlb_dest dest = {n % 2 ? place : NULL, n % 2 ? sizeof place : 0};
        rc = format->next(reader, dest, &sample, &err);
        if (rc != DLB_OK)
            break;
        if (sample.index != n++ || sample.n_fields == 0 || sample.n_fields > DLB_MAX_FIELDS)
            abort();
        for (uint32_t i = 0; i < sample.n_fields; i++) {
            for (size_t k = 0; k < sample.field[i].len_bytes; k++)
                touched ^= sample.field[i].data[k];
            n_bytes += sample.field[i].len_bytes;
        }
        n_io += sample.io_bytes;
    }
    /* A header may say what only reading the data disproves: less than was listed, then, and an
     * error. */
    if (n > shape->n_samples || n_bytes > shape->total_bytes || n_io > file_bytes)
        abort();
    if (rc == DLB_END && (n != shape->n_samples || n_bytes != shape->total_bytes))
        abort();
    if (rc != DLB_END && ((int)err.status != rc || err.what[0] == '\0' || err.path[0] == '\0'))
        abort();
    format->reader_close(reader);
    free(reader);
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
    const struct dlb_format *format = dlb_format_by_name("webdataset");
    struct dlb_open how = {.path = "fuzz.tar", .io = &memory};
    struct dlb_shape shape = {0};
    struct dlb_err err = {0};

    if (format->missing)
        return 0;
    uint8_t *copy = malloc(n_bytes ? n_bytes : 1);
    if (!copy)
        abort();
    if (n_bytes)
        memcpy(copy, data, n_bytes);
    if (n_bytes % 2)
        seal_headers(copy, n_bytes);
    file_data = copy;
    file_bytes = n_bytes;
    void *ds = zeroed(format->dataset_bytes);
    int rc = format->open(ds, &how, &shape, &err);
    if (rc == DLB_OK)
        read_shard(format, ds, &shape);
    else if ((int)err.status != rc || err.what[0] == '\0')
        abort();
    format->close(ds);
    free(ds);
    free(copy);
    return 0;
}

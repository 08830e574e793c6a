/* Writes a .npz file with one stored array of bytes, one row for each sample, laid out as
 * numpy.savez(FILE, data=...) does. Like numpy's it is always ZIP64, so that all sizes look alike.
 */
#include "formats/numpy/npz.h"

#include "core/base/little.h"
#include "formats/codec.h"
#include "formats/codecs/inflate.h"
#include "formats/generate/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    VERSION_ZIP64 = 45, /* APPNOTE.TXT 4.4.3 */
    DOS_DATE = 33,      /* 1980-01-01, so that equal seeds give equal bytes */
    NAME_BYTES = 8,
    LOCAL_BYTES = 30 + NAME_BYTES + 20,
    ENTRY_BYTES = 46 + NAME_BYTES + 20,
    END_BYTES = 56 + 20 + 22,
    CRC_AT = 14, /* in the local header */
};
static const char member_name[NAME_BYTES + 1] = "data.npy";

uint64_t dlb_npz_gen_units(const struct dlb_gen *gen)
{
    (void)gen;
    return 1;
}

int dlb_npz_gen_prepare(const struct dlb_gen *gen, struct dlb_err *err)
{
    if (!gen->codec->identity)
        return dlb_fail(err, DLB_ERR_CODEC_UNFIT, NULL, DLB_NO_OFFSET,
                        "codec %s does not decode rows of an array: use dataset.codec = \"raw\"",
                        gen->codec->name);
    if (dlb_inflate_missing)
        return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "cannot write npz: %s",
                        dlb_inflate_missing);
    return DLB_OK;
}

/* Where the next little-endian number goes. */
struct cursor {
    uint8_t *at;
};

static void put(struct cursor *c, uint64_t value, size_t n_bytes)
{
    dlb_little_put(c->at, value, n_bytes);
    c->at += n_bytes;
}

static void put_name(struct cursor *c)
{
    memcpy(c->at, member_name, NAME_BYTES);
    c->at += NAME_BYTES;
}

/* What a local header and an entry of the directory share: version to method, date, CRC, sizes and
 * lengths. */
static void put_common(struct cursor *c, uint32_t crc)
{
    put(c, VERSION_ZIP64, 2);
    put(c, 0, 2); /* flags */
    put(c, 0, 2); /* stored */
    put(c, 0, 2);
    put(c, DOS_DATE, 2);
    put(c, crc, 4);
    put(c, UINT32_MAX, 4);
    put(c, UINT32_MAX, 4);
    put(c, NAME_BYTES, 2);
    put(c, 20, 2);
}

static void put_sizes(struct cursor *c, uint64_t n_bytes)
{
    put(c, 1, 2); /* ZIP64's extra field */
    put(c, 16, 2);
    put(c, n_bytes, 8);
    put(c, n_bytes, 8);
}

static void make_local(uint8_t out[LOCAL_BYTES], uint64_t n_bytes)
{
    struct cursor c = {out};
    put(&c, 0x04034b50, 4);
    put_common(&c, 0);
    put_name(&c);
    put_sizes(&c, n_bytes);
}

/* A directory with one entry, ZIP64's end record and its locator, the end record. */
static void make_end(uint8_t out[ENTRY_BYTES + END_BYTES], uint64_t n_bytes, uint32_t crc)
{
    struct cursor c = {out};
    uint64_t at = LOCAL_BYTES + n_bytes;

    put(&c, 0x02014b50, 4);
    put(&c, VERSION_ZIP64 | 3 << 8, 2); /* made on Unix */
    put_common(&c, crc);
    put(&c, 0, 2); /* comment */
    put(&c, 0, 2); /* disk */
    put(&c, 0, 2); /* attributes, inner and outer */
    put(&c, (uint64_t)0600 << 16, 4);
    put(&c, 0, 4); /* the local header's place */
    put_name(&c);
    put_sizes(&c, n_bytes);
    put(&c, 0x06064b50, 4);
    put(&c, 44, 8); /* bytes that follow */
    put(&c, VERSION_ZIP64, 2);
    put(&c, VERSION_ZIP64, 2);
    put(&c, 0, 8); /* disks */
    put(&c, 1, 8);
    put(&c, 1, 8);
    put(&c, ENTRY_BYTES, 8);
    put(&c, at, 8);
    put(&c, 0x07064b50, 4);
    put(&c, 0, 4);
    put(&c, at + ENTRY_BYTES, 8);
    put(&c, 1, 4);
    put(&c, 0x06054b50, 4);
    put(&c, 0, 4); /* disks */
    put(&c, 1, 2);
    put(&c, 1, 2);
    put(&c, ENTRY_BYTES, 4);
    put(&c, UINT32_MAX, 4);
    put(&c, 0, 2); /* comment */
}

static int write_rows(const struct dlb_gen *gen, struct dlb_gen_file *file, uint32_t *crc,
                      struct dlb_gen_worker *worker, struct dlb_err *err)
{
    struct dlb_bytes *sample = &worker->sample;
    int rc = DLB_OK;

    for (uint64_t i = 0; rc == DLB_OK && i < (uint64_t)gen->opts->samples; i++) {
        if (atomic_load_explicit(worker->stop, memory_order_relaxed))
            return dlb_fail(err, DLB_ERR_CANCELLED, file->path, DLB_NO_OFFSET, "interrupted");
        sample->len_bytes = 0;
        rc = gen->codec->make(gen->opts, i, sample, err);
        if (rc == DLB_OK && sample->len_bytes != (uint64_t)gen->opts->sample_bytes)
            DLB_BUG("an identity codec that makes samples of another size");
        if (rc == DLB_OK)
            rc = dlb_gen_file_write(file, sample->data, sample->len_bytes, err);
        if (rc != DLB_OK)
            return rc;
        *crc = dlb_crc32(*crc, sample->data, sample->len_bytes);
        atomic_fetch_add(&worker->n_samples, 1);
        atomic_fetch_add(&worker->n_written, 1);
        atomic_fetch_add(&worker->n_bytes, sample->len_bytes);
    }
    return rc;
}

static int write_archive(const struct dlb_gen *gen, struct dlb_gen_file *file,
                         const uint8_t *npy_head, size_t n_head, uint64_t n_bytes,
                         struct dlb_gen_worker *worker, struct dlb_err *err)
{
    uint8_t local[LOCAL_BYTES], end[ENTRY_BYTES + END_BYTES], stored_crc[4];
    uint32_t crc = dlb_crc32(0, npy_head, n_head);

    make_local(local, n_bytes);
    int rc = dlb_gen_file_write(file, local, sizeof local, err);
    if (rc == DLB_OK)
        rc = dlb_gen_file_write(file, npy_head, n_head, err);
    if (rc == DLB_OK)
        rc = write_rows(gen, file, &crc, worker, err);
    if (rc != DLB_OK)
        return rc;
    put(&(struct cursor){stored_crc}, crc, sizeof stored_crc);
    make_end(end, n_bytes, crc);
    rc = dlb_gen_file_write(file, end, sizeof end, err);
    if (rc == DLB_OK)
        rc = dlb_gen_file_patch(file, CRC_AT, stored_crc, sizeof stored_crc, err);
    return rc;
}

static int write_file(const struct dlb_gen *gen, const char *path, const uint8_t *npy_head,
                      size_t n_head, uint64_t n_bytes, struct dlb_gen_worker *worker,
                      struct dlb_err *err)
{
    struct dlb_gen_file file;
    int rc = dlb_gen_file_open(&file, path, err);

    if (rc != DLB_OK)
        return rc;
    rc = write_archive(gen, &file, npy_head, n_head, n_bytes, worker, err);
    return dlb_gen_file_finish(&file, rc, err);
}

int dlb_npz_gen_unit(const struct dlb_gen *gen, uint64_t unit, struct dlb_gen_worker *worker,
                     struct dlb_err *err)
{
    uint64_t shape[] = {(uint64_t)gen->opts->samples, (uint64_t)gen->opts->sample_bytes}, n_bytes;
    uint8_t npy_head[128];
    size_t n_head = dlb_npy_header_of(DLB_ELEMENT_U8, shape, 2, npy_head, sizeof npy_head);
    char *path = NULL;
    struct stat st;
    int rc = DLB_OK;

    (void)unit;
    if (__builtin_mul_overflow(shape[0], shape[1], &n_bytes) || n_bytes > INT64_MAX / 2)
        return dlb_fail(
            err, DLB_ERR_GENERATE_TOO_LARGE, gen->path, DLB_NO_OFFSET,
            "generate.samples times generate.sample_bytes is more than a file can hold");
    n_bytes += n_head;
    if (asprintf(&path, "%s/data.npz", gen->path) < 0)
        return dlb_fail_memory(err, gen->path, strlen(gen->path) + sizeof "/data.npz");
    if (!gen->rewrite && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size == LOCAL_BYTES + n_bytes + ENTRY_BYTES + END_BYTES)
        atomic_fetch_add(&worker->n_samples, shape[0]);
    else
        rc = write_file(gen, path, npy_head, n_head, n_bytes, worker, err);
    free(path);
    return rc;
}

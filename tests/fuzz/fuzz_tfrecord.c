/* TFRecord's framing and tf.train.Example. The first byte says which: 0, records as they are; 1,
 * records whose lengths get their right CRC, so that lengths are played with and not only refused;
 * 2, an Example. The second is the size of the block that is read through. */
#include "formats/tfrecord/crc32c.h"
#include "formats/tfrecord/example.h"
#include "formats/tfrecord/tfrecord.h"
#include "tests/support/memory_io.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static void check_err(int rc, const struct dlb_err *err)
{
    if (rc != DLB_OK && rc != DLB_END && (rc != (int)err->status || err->what[0] == '\0'))
        DLB_BUG("an error without words");
}

static uint64_t little64(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void mend(uint8_t *data, size_t n_bytes)
{
    for (size_t at = 0; n_bytes - at >= 12;) {
        uint32_t crc = dlb_crc32c_mask(dlb_crc32c_table(0, data + at, 8));
        for (unsigned i = 0; i < 4; i++)
            data[at + 8 + i] = (uint8_t)(crc >> (8 * i));
        uint64_t len = little64(data + at);
        if (n_bytes - at < 16 || len > n_bytes - at - 16)
            return;
        at += 16 + (size_t)len;
    }
}

static void example(const uint8_t *data, size_t n_bytes)
{
    struct dlb_example out;
    struct dlb_err err = {.status = DLB_OK};
    int rc = dlb_example_parse(data, n_bytes, "image/encoded", "image/class/label", &out, &err);

    check_err(rc, &err);
    if (rc != DLB_OK && err.offset_bytes > n_bytes)
        DLB_BUG("an offset beyond the record");
    if (memchr(out.names, 0, sizeof out.names) == NULL)
        DLB_BUG("names without an end");
    if (rc == DLB_OK && out.bytes &&
        (out.bytes < data || out.bytes > data + n_bytes ||
         out.n_bytes > (size_t)(data + n_bytes - out.bytes)))
        DLB_BUG("a feature outside of the record");
}

static void records(const uint8_t *data, size_t n_bytes, size_t block_bytes)
{
    struct dlb_tfr tfr = {.handle = -1};
    struct dlb_err err = {.status = DLB_OK};
    uint64_t n = 0, at = 0;
    int rc;

    memory_io_set(data, n_bytes);
    rc = dlb_tfr_open(&tfr, &memory_io, "fuzz.tfrecord", block_bytes, &err);
    while (rc == DLB_OK && (rc = dlb_tfr_look(&tfr, &n, &err)) == DLB_OK) {
        if (tfr.at != at || n > n_bytes || at > n_bytes - n)
            DLB_BUG("a record beyond the file");
        uint8_t *copy = malloc((size_t)n ? (size_t)n : 1);
        if (!copy)
            break;
        rc = dlb_tfr_take(&tfr, copy, n, (at & 1) == 0, &err);
        if (rc == DLB_OK && memcmp(copy, data + at + DLB_TFR_HEAD_BYTES, (size_t)n) != 0)
            DLB_BUG("other bytes than the file's");
        if (rc == DLB_OK)
            example(copy, (size_t)n);
        free(copy);
        at = tfr.at;
    }
    check_err(rc, &err);
    dlb_tfr_free(&tfr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    if (n_bytes < 2)
        return 0;
    unsigned kind = data[0] % 3;
    size_t block_bytes = 12 + (size_t)data[1] * 4;

    data += 2;
    n_bytes -= 2;
    if (kind == 2) {
        example(data, n_bytes);
        return 0;
    }
    uint8_t *mended = malloc(n_bytes ? n_bytes : 1);
    if (!mended)
        return 0;
    memcpy(mended, data, n_bytes);
    if (kind == 1)
        mend(mended, n_bytes);
    records(mended, n_bytes, block_bytes);
    free(mended);
    return 0;
}

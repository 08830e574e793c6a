/* Deflate and back; streams that are damaged, cut short, or larger than they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/codecs/inflate.h"

#include <stdlib.h>
#include <string.h>

enum { N = 100000 };
static uint8_t plain[N], back[N + 16];

static int both(void **state)
{
    uint32_t x = 1;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        x = x * 1664525 + 1013904223;
        plain[i] = (uint8_t)((x >> 28) + (i / 1000));
    }
    return 0;
}

static struct dlb_bytes deflated(enum dlb_deflated kind, size_t n)
{
    struct dlb_bytes out = {0};
    struct dlb_err err;
    assert_int_equal(dlb_deflate(kind, 6, plain, n, &out, &err), DLB_OK);
    return out;
}

static void there_and_back(void **state)
{
    static const enum dlb_deflated kinds[] = {DLB_DEFLATED_ZLIB, DLB_DEFLATED_RAW};
    static const size_t sizes[] = {0, 1, 1000, N};
    struct dlb_err err;
    size_t n_out;
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct dlb_inflate *inflate = dlb_inflate_new(kinds[k]);
        assert_non_null(inflate);
        for (size_t i = 0; i < 8; i++) { /* the state is reused */
            size_t n = sizes[i % 4];
            struct dlb_bytes stored = deflated(kinds[k], n);
            assert_int_equal(
                dlb_inflate(inflate, stored.data, stored.len_bytes, back, n, &n_out, &err), DLB_OK);
            assert_int_equal(n_out, n);
            assert_memory_equal(back, plain, n);
            dlb_bytes_free(&stored);
        }
        dlb_inflate_free(inflate);
    }
}

static void damage(void **state)
{
    struct dlb_inflate *inflate = dlb_inflate_new(DLB_DEFLATED_ZLIB);
    struct dlb_bytes stored = deflated(DLB_DEFLATED_ZLIB, 1000);
    struct dlb_err err;
    size_t n_out, n_silent = 0;
    (void)state;
    for (size_t n = 0; n < stored.len_bytes; n++) {
        assert_int_equal(dlb_inflate(inflate, stored.data, n, back, N, &n_out, &err), DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_UNPACK_DAMAGED);
        assert_true(err.offset_bytes <= n);
    }
    assert_int_equal(dlb_inflate(inflate, stored.data, stored.len_bytes, back, 999, &n_out, &err),
                     DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_UNPACK_TOO_LARGE);
    assert_non_null(strstr(err.what, " 999 "));
    for (size_t i = 0; i < stored.len_bytes * 8; i++) {
        stored.data[i / 8] ^= (uint8_t)(1 << i % 8);
        int rc = dlb_inflate(inflate, stored.data, stored.len_bytes, back, 1000, &n_out, &err);
        if (rc == DLB_OK)
            n_silent++;
        else
            assert_int_equal(rc, DLB_E_FORMAT);
        stored.data[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    /* Bits that say how hard zlib tried, and the few changes that Adler-32 does not see. */
    assert_true(n_silent < stored.len_bytes / 8);
    dlb_bytes_free(&stored);
    dlb_inflate_free(inflate);
}

static void crc(void **state)
{
    (void)state;
    assert_int_equal(dlb_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
    uint32_t half = dlb_crc32(0, (const uint8_t *)"1234", 4);
    assert_int_equal(dlb_crc32(half, (const uint8_t *)"56789", 5), 0xcbf43926);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(damage),
        cmocka_unit_test(crc),
    };
    if (dlb_inflate_missing)
        return 77;
    return cmocka_run_group_tests(tests, both, NULL);
}

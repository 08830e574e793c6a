/* Samples that are .npy files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "formats/codec.h"
#include "formats/numpy/npy.h"

#include <stdlib.h>
#include <string.h>

static const struct dlb_codec *npy;
static void *cd;
static struct dlb_err err;

/* "dict" and n bytes of data behind a version 1.0 head; decoded into dst. */
static int decode(const char *dict, size_t n, uint8_t *dst, size_t cap, size_t *len)
{
    uint8_t file[512] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)strlen(dict)};
    size_t head = 10 + strlen(dict);
    memcpy(file + 10, dict, strlen(dict));
    for (size_t i = 0; i < n; i++)
        file[head + i] = (uint8_t)(i + 1);
    struct dlb_sample sample = {.field = {{.data = file, .len_bytes = head + n}},
                                .n_fields = 1,
                                .path = "a.npy",
                                .offset_bytes = 1000};
    int rc = npy->decode(cd, &sample, dlb_rng_seed(0, 0, 0), &err);
    return rc == DLB_OK ? npy->transform(cd, dst, cap, len, &err) : rc;
}

static void arrays(void **state)
{
    static const struct {
        const char *dict;
        size_t n_bytes;
    } good[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", 5},
        {"{'descr': '>i2', 'fortran_order': False, 'shape': (2, 2), }", 8},
        {"{'descr': '<c16', 'fortran_order': True, 'shape': (2,), }", 32},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }", 24},
        {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }", 16},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", 0},
    };
    uint8_t dst[64];
    size_t len = 99;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        /* What follows the array is no part of it. */
        for (size_t more = 0; more < 3; more++) {
            assert_int_equal(decode(good[i].dict, good[i].n_bytes + more, dst, sizeof dst, &len),
                             DLB_OK);
            assert_int_equal(len, good[i].n_bytes);
            for (size_t k = 0; k < len; k++)
                assert_int_equal(dst[k], k + 1);
        }
        if (good[i].n_bytes) {
            assert_int_equal(decode(good[i].dict, good[i].n_bytes - 1, dst, sizeof dst, &len),
                             DLB_E_FORMAT);
            assert_int_equal(err.code, DLB_ERR_FILE_CUT_SHORT);
            assert_string_equal(err.path, "a.npy");
            assert_true(err.offset_bytes >= 1000 && err.offset_bytes != DLB_NO_OFFSET);
            assert_int_equal(decode(good[i].dict, good[i].n_bytes, dst, good[i].n_bytes - 1, &len),
                             DLB_E_FORMAT);
            assert_int_equal(err.code, DLB_ERR_SAMPLE_TOO_LARGE);
        }
    }
}

static void refused(void **state)
{
    static const struct {
        const char *dict;
        enum dlb_code code;
    } bad[] = {
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", DLB_ERR_NPY_TYPE_UNFIT},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
         DLB_ERR_NPY_HEADER_DAMAGED},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999,), }",
         DLB_ERR_FILE_CUT_SHORT},
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
         DLB_ERR_NPY_HEADER_DAMAGED},
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (4611686018427387904,), }",
         DLB_ERR_FILE_CUT_SHORT},
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (2,), }", DLB_ERR_NPY_TYPE_UNFIT},
        {"{'descr': '<', 'fortran_order': False, 'shape': (2,), }", DLB_ERR_NPY_TYPE_UNFIT},
        {"{'descr': '<f4x', 'fortran_order': False, 'shape': (2,), }", DLB_ERR_NPY_TYPE_UNFIT},
        {"", DLB_ERR_NPY_HEADER_DAMAGED},
    };
    uint8_t dst[64];
    size_t len;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(decode(bad[i].dict, 16, dst, sizeof dst, &len), DLB_E_FORMAT);
        if (err.code != bad[i].code)
            fail_msg("%s: %s: %s", bad[i].dict, dlb_code_name(err.code), err.what);
    }
    struct dlb_sample none = {.field = {{.data = dst, .len_bytes = 0}}, .n_fields = 1};
    assert_int_equal(npy->decode(cd, &none, dlb_rng_seed(0, 0, 0), &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_FILE_NOT_OF_FORMAT);
    none.n_fields = 0;
    assert_int_equal(npy->decode(cd, &none, dlb_rng_seed(0, 0, 0), &err), DLB_E_FORMAT);
    assert_int_equal(err.code, DLB_ERR_SAMPLE_NO_FIELDS);
}

static void made(void **state)
{
    struct dlb_generate_opts opts = {.samples = 3, .seed = 5, .classes = 1};
    static const int64_t sizes[] = {1, 131, 132, 1000, 100000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct dlb_bytes a = {0}, b = {0}, other = {0};
        struct dlb_npy head;
        opts.sample_bytes = sizes[i];
        assert_int_equal(npy->make(&opts, 1, &a, &err), DLB_OK);
        assert_int_equal(npy->make(&opts, 1, &b, &err), DLB_OK);
        assert_int_equal(npy->make(&opts, 2, &other, &err), DLB_OK);
        assert_int_equal(a.len_bytes, b.len_bytes);
        assert_memory_equal(a.data, b.data, a.len_bytes);
        assert_memory_not_equal(a.data, other.data, a.len_bytes);
        assert_int_equal(a.len_bytes, sizes[i] < 132 ? 132 : sizes[i] / 4 * 4);
        assert_int_equal(dlb_npy_parse(a.data, a.len_bytes, a.len_bytes, "a", &head, &err), DLB_OK);
        assert_int_equal(head.element, DLB_ELEMENT_F32);
        assert_int_equal(head.data_at + head.n_items * 4, a.len_bytes);
        dlb_bytes_free(&a);
        dlb_bytes_free(&b);
        dlb_bytes_free(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays),
        cmocka_unit_test(refused),
        cmocka_unit_test(made),
    };
    npy = dlb_codec_by_name("npy");
    cd = calloc(1, npy->state_bytes);
    int failed = !cd || cmocka_run_group_tests(tests, NULL, NULL);
    free(cd);
    return failed;
}

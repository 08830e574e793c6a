#include "core/base/hash.h"
#include "core/base/rng.h"
#include "tests/support/folder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every length, every single flipped bit: all hashes differ, and none depends on where the bytes
 * lie. */
static void hash_sees_every_bit(void **state)
{
    enum { N = 100 };
    unsigned char bytes[N + 8] = {0}, moved[N + 8];
    uint64_t seen[N + N * 8];
    size_t n = 0;

    (void)state;
    for (size_t len = 0; len < N; len++)
        seen[n++] = dlb_hash64(bytes, len, 0);
    for (size_t bit = 0; bit < (N - 1) * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
        seen[n] = dlb_hash64(bytes, N - 1, 0);
        memcpy(moved + bit % 8, bytes, N);
        assert_int_equal(dlb_hash64(moved + bit % 8, N - 1, 0), seen[n]);
        n++;
        bytes[bit / 8] ^= (unsigned char)(1u << (bit % 8));
    }
    qsort(seen, n, sizeof *seen, ascending);
    for (size_t i = 1; i < n; i++)
        assert_true(seen[i - 1] != seen[i]);
}

static void hash_depends_on_seed(void **state)
{
    (void)state;
    assert_true(dlb_hash64("abc", 3, 0) != dlb_hash64("abc", 3, 1));
    assert_true(dlb_hash64("", 0, 0) != dlb_hash64("", 0, 1));
    assert_true(dlb_hash64("abc", 3, 5) == dlb_hash64("abc", 3, 5));
}

/* However the bytes are cut. */
static void hash_of_pieces_is_that_of_the_whole(void **state)
{
    enum { N = 200 };
    unsigned char bytes[N];

    (void)state;
    for (size_t i = 0; i < N; i++)
        bytes[i] = (unsigned char)(i * 13 + 5);
    for (size_t n = 0; n <= N; n++)
        for (size_t piece = 1; piece <= 70; piece++) {
            struct dlb_hash hash;
            dlb_hash_begin(&hash, n);
            for (size_t at = 0; at < n; at += piece)
                dlb_hash_add(&hash, bytes + at, n - at < piece ? n - at : piece);
            assert_int_equal(dlb_hash_end(&hash), dlb_hash64(bytes, n, n));
        }
}

/* Around the 64 KiB that are read at once, and of a size that the kernel gives as 0. */
static void hash_of_a_file_is_that_of_its_bytes(void **state)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000};
    static unsigned char bytes[200000];
    uint64_t hash = 0;

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 13 + i / 251);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        folder_write("file", bytes, sizes[i]);
        assert_true(dlb_hash_file(folder_path("file"), &hash));
        assert_int_equal(hash, dlb_hash64(bytes, sizes[i], 0));
    }
    assert_true(dlb_hash_file("/proc/version", &hash));
    assert_true(hash != dlb_hash64("", 0, 0));
    hash = 7;
    assert_false(dlb_hash_file(folder, &hash));
    assert_false(dlb_hash_file(folder_path("none"), &hash));
    assert_int_equal(hash, 7);
}

/* Results are kept on disk: the function may never change. Figures of `printf X | xxhsum -H1`, and
 * with a seed of an implementation in Python after the specification. */
static void hash_is_xxh64(void **state)
{
    unsigned char bytes[97]; /* three blocks of 32, and one byte */

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(dlb_hash64(bytes, sizeof bytes, 42), UINT64_C(0x66de909bbd8d1055));
    assert_int_equal(dlb_hash64("", 0, 0), UINT64_C(0xef46db3751d8e999));
    assert_int_equal(dlb_hash64("abc", 3, 0), UINT64_C(0x44bc2cf5ad770999));
    assert_int_equal(dlb_hash64("dlbench", 7, 0), UINT64_C(0xe1d9b44517b441));
}

static void streams_are_repeatable_and_apart(void **state)
{
    struct dlb_rng a = dlb_rng_seed(1, 2, 3), b = dlb_rng_seed(1, 2, 3);
    struct dlb_rng others[] = {dlb_rng_seed(1, 2, 4), dlb_rng_seed(1, 3, 2), dlb_rng_seed(2, 1, 3),
                               dlb_rng_seed(0, 0, 0)};
    uint64_t first = dlb_rng_u64(&a);

    (void)state;
    assert_true(first == dlb_rng_u64(&b));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(dlb_rng_u64(&others[i]) != first);
}

static void draws_stay_in_range(void **state)
{
    struct dlb_rng rng = dlb_rng_seed(7, 0, 0);
    uint64_t hits[10] = {0};
    double sum = 0.0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        double unit = dlb_rng_unit(&rng);
        uint64_t below = dlb_rng_below(&rng, 10);
        assert_true(unit >= 0.0 && unit < 1.0);
        assert_true(below < 10);
        hits[below]++;
        sum += unit;
    }
    assert_int_equal(dlb_rng_below(&rng, 1), 0);
    assert_true(fabs(sum / 100000 - 0.5) < 0.01); /* ten standard errors */
    for (int i = 0; i < 10; i++)
        assert_true(hits[i] > 9000 && hits[i] < 11000);
}

static void normal_is_normal(void **state)
{
    struct dlb_rng rng = dlb_rng_seed(11, 0, 0);
    double sum = 0.0, squares = 0.0;
    int within = 0;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        double x = dlb_rng_normal(&rng);
        assert_true(isfinite(x));
        sum += x;
        squares += x * x;
        within += fabs(x) < 1.0;
    }
    assert_true(fabs(sum / 100000) < 0.03);
    assert_true(fabs(squares / 100000 - 1.0) < 0.05);
    assert_true(within > 67200 && within < 69400); /* 68.27% */
}

/* Generated data come from these: they may never change. */
static void draws_stay_what_they_were(void **state)
{
    struct dlb_rng rng = dlb_rng_seed(1, 2, 3);

    (void)state;
    assert_int_equal(dlb_rng_u64(&rng), UINT64_C(0x214d4c07ecfeaac5));
    assert_int_equal(dlb_rng_u64(&rng), UINT64_C(0x6ff419cb83dfe1e6));
    assert_int_equal(dlb_mix64(1), UINT64_C(0x5692161d100b05e5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_sees_every_bit),
        cmocka_unit_test(hash_depends_on_seed),
        cmocka_unit_test(hash_of_pieces_is_that_of_the_whole),
        cmocka_unit_test_setup_teardown(hash_of_a_file_is_that_of_its_bytes, folder_make,
                                        folder_remove),
        cmocka_unit_test(hash_is_xxh64),
        cmocka_unit_test(streams_are_repeatable_and_apart),
        cmocka_unit_test(draws_stay_in_range),
        cmocka_unit_test(normal_is_normal),
        cmocka_unit_test(draws_stay_what_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The parallel permutation is complete, uniform, and independent of which thread makes which part.
 */
#include "tests/support/permutation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void open_one(struct dlb_gap_permutation *p, uint32_t n, uint64_t seed)
{
    struct dlb_err err;
    assert_int_equal(dlb_gap_permutation_open(p, n, seed, &err), DLB_OK);
}

static void every_number_once(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 63, 64, 65, 1000, 99991, 1500000};
    (void)state;

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct dlb_gap_permutation p;
        open_one(&p, sizes[s], 7);
        uint8_t *seen = calloc(sizes[s], 1);
        assert_non_null(seen);
        for (uint64_t epoch = 0; epoch < 2; epoch++) {
            permutation_make(&p, epoch);
            for (uint32_t i = 0; i < sizes[s]; i++) {
                if (p.order[i] >= sizes[s] || seen[p.order[i]] != epoch)
                    fail_msg("%u at %u of %u", p.order[i], i, sizes[s]);
                seen[p.order[i]]++;
            }
        }
        assert_int_equal(p.begin[0], 0);
        assert_int_equal(p.begin[p.n_buckets], sizes[s]);
        free(seen);
        dlb_gap_permutation_close(&p);
    }
}

/* Backwards, as if the threads had come in another order. */
static void make_backwards(struct dlb_gap_permutation *p, uint64_t epoch)
{
    dlb_gap_permutation_begin(p, epoch);
    for (uint32_t i = p->n_blocks; i-- > 0;)
        dlb_gap_permutation_count(p, i);
    dlb_gap_permutation_sum(p);
    for (uint32_t i = p->n_blocks; i-- > 0;)
        dlb_gap_permutation_deal(p, i);
    for (uint32_t i = p->n_buckets; i-- > 0;)
        dlb_gap_permutation_shuffle(p, i);
}

static void does_not_depend_on_who_makes_it(void **state)
{
    enum { N = 300000 };
    struct dlb_gap_permutation a, b;
    (void)state;

    open_one(&a, N, 3);
    open_one(&b, N, 3);
    permutation_make(&a, 5);
    make_backwards(&b, 5);
    assert_memory_equal(a.order, b.order, N * sizeof *a.order);
    permutation_make(&b, 6); /* another epoch, another order */
    assert_memory_not_equal(a.order, b.order, N * sizeof *a.order);
    dlb_gap_permutation_close(&b);
    open_one(&b, N, 4);
    permutation_make(&b, 5); /* another seed, too */
    assert_memory_not_equal(a.order, b.order, N * sizeof *a.order);
    dlb_gap_permutation_close(&a);
    dlb_gap_permutation_close(&b);
}

static double chi_square(const uint32_t *count, uint32_t n, double expected)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += ((double)count[i] - expected) * ((double)count[i] - expected) / expected;
    return sum;
}

/* All 24 orders of four numbers are equally likely. With 23 degrees of freedom, chi-square exceeds
 * 56 once in 10,000. */
static void all_orders_of_four(void **state)
{
    enum { TRIALS = 24000 };
    uint32_t count[256] = {0}, found[24], n_found = 0;
    struct dlb_gap_permutation p;
    (void)state;

    open_one(&p, 4, 11);
    for (uint64_t epoch = 0; epoch < TRIALS; epoch++) {
        permutation_make(&p, epoch);
        count[p.order[0] << 6 | p.order[1] << 4 | p.order[2] << 2 | p.order[3]]++;
    }
    for (int i = 0; i < 256; i++)
        if (count[i] > 0) {
            assert_true(n_found < 24);
            found[n_found++] = count[i];
        }
    assert_int_equal(n_found, 24);
    assert_true(chi_square(found, 24, TRIALS / 24.0) < 56);
    dlb_gap_permutation_close(&p);
}

/* Over several buckets, a number's new place does not depend on its old one: 20 by 20 ranges. 400
 * cells with fixed margins have 361 degrees of freedom: chi-square exceeds 470 once in 10,000. */
static void ranges_mix_evenly(void **state)
{
    enum { N = 2000000, RANGES = 20 };
    uint32_t count[RANGES * RANGES] = {0};
    struct dlb_gap_permutation p;
    (void)state;

    open_one(&p, N, 13);
    assert_true(p.n_buckets > 64);
    permutation_make(&p, 0);
    for (uint32_t i = 0; i < N; i++)
        count[p.order[i] / (N / RANGES) * RANGES + i / (N / RANGES)]++;
    assert_true(chi_square(count, RANGES * RANGES, (double)N / (RANGES * RANGES)) < 470);
    dlb_gap_permutation_close(&p);
}

/* In a uniform permutation one number on average stays in its place, and half of the neighbouring
 * pairs are in order. */
static void neighbours_and_fixed_points(void **state)
{
    enum { N = 100000, EPOCHS = 50 };
    uint64_t fixed = 0, rising = 0;
    struct dlb_gap_permutation p;
    (void)state;

    open_one(&p, N, 17);
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        permutation_make(&p, epoch);
        for (uint32_t i = 0; i < N; i++) {
            fixed += p.order[i] == i;
            rising += i > 0 && p.order[i - 1] < p.order[i];
        }
    }
    assert_in_range(fixed, EPOCHS - 30, EPOCHS + 30);                      /* sigma 7 */
    assert_in_range(rising, EPOCHS * N / 2 - 4000, EPOCHS * N / 2 + 4000); /* sigma 645 */
    dlb_gap_permutation_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_once),
        cmocka_unit_test(does_not_depend_on_who_makes_it),
        cmocka_unit_test(all_orders_of_four),
        cmocka_unit_test(ranges_mix_evenly),
        cmocka_unit_test(neighbours_and_fixed_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

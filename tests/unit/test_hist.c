/* The histogram's promise: a quantile is within 1 / 2^(SUB_BITS + 1) of the exact one, whatever the
 * distribution. */
#include "core/base/rng.h"
#include "core/measure/hist.h"
#include "core/measure/meters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_VALUES 20000
#define RELATIVE_ERROR (1.0 / (1 << (DLB_HIST_SUB_BITS + 1)))

enum shape { UNIFORM, EXPONENTIAL, LOGNORMAL, BIMODAL, CONSTANT, TINY, POWERS, N_SHAPES };

static uint64_t draw(enum shape shape, struct dlb_rng *rng)
{
    double unit = dlb_rng_unit(rng);
    switch (shape) {
    case UNIFORM:
        return (uint64_t)(1e7 * unit);
    case EXPONENTIAL:
        return (uint64_t)(-2e5 * log(1.0 - unit));
    case LOGNORMAL:
        return (uint64_t)exp(12.0 + 2.0 * dlb_rng_normal(rng));
    case BIMODAL:
        return unit < 0.9 ? 900 + dlb_rng_below(rng, 200)
                          : UINT64_C(3000000000) + dlb_rng_below(rng, 1000);
    case CONSTANT:
        return 123456789;
    case TINY:
        return dlb_rng_below(rng, 64);
    case POWERS: /* the edges of the buckets */
        return (UINT64_C(1) << dlb_rng_below(rng, DLB_HIST_MAX_LOG2)) - dlb_rng_below(rng, 2);
    case N_SHAPES:
        break;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* By definition: the smallest value such that at least q of all are <= it. `permille` avoids q's
 * rounding. */
static uint64_t exact(const uint64_t *sorted, uint64_t n, uint64_t permille)
{
    uint64_t rank = (n * permille + 999) / 1000;
    return sorted[rank == 0 ? 0 : rank - 1];
}

static void quantiles_within_bound(void **state)
{
    (void)state;
    uint64_t *values = malloc(N_VALUES * sizeof *values);
    struct dlb_hist *hist = malloc(sizeof *hist);
    assert_non_null(values);
    assert_non_null(hist);

    for (int shape = 0; shape < N_SHAPES; shape++) {
        struct dlb_rng rng = dlb_rng_seed(7, (uint64_t)shape, 0);
        uint64_t sum = 0;
        memset(hist, 0, sizeof *hist);
        for (uint32_t i = 0; i < N_VALUES; i++) {
            values[i] = draw((enum shape)shape, &rng);
            sum += values[i];
            dlb_hist_add(hist, values[i]);
        }
        qsort(values, N_VALUES, sizeof *values, compare);

        assert_int_equal(hist->count, N_VALUES);
        assert_int_equal(hist->sum_ns, sum);
        assert_int_equal(hist->min_ns, values[0]);
        assert_int_equal(hist->max_ns, values[N_VALUES - 1]);
        for (uint64_t permille = 0; permille <= 1000; permille++) {
            double want = (double)exact(values, N_VALUES, permille);
            double got = (double)dlb_hist_quantile_ns(hist, (double)permille / 1000.0);
            if (fabs(got - want) > RELATIVE_ERROR * want)
                fail_msg("shape %d, quantile %f: %f instead of %f", shape,
                         (double)permille / 1000.0, got, want);
        }
    }
    free(hist);
    free(values);
}

static void buckets_are_contiguous(void **state)
{
    (void)state;
    uint32_t last = 0;
    for (uint64_t value = 0; value < 1u << 20; value++) {
        uint32_t bucket = dlb_hist_bucket(value);
        assert_true(bucket == last || bucket == last + 1);
        last = bucket;
    }
    for (uint32_t log2 = 20; log2 < DLB_HIST_MAX_LOG2; log2++) {
        uint64_t edge = UINT64_C(1) << log2;
        assert_int_equal(dlb_hist_bucket(edge), dlb_hist_bucket(edge - 1) + 1);
    }
    assert_int_equal(dlb_hist_bucket((UINT64_C(1) << DLB_HIST_MAX_LOG2) - 1), DLB_HIST_BUCKETS - 1);
    assert_int_equal(dlb_hist_bucket(UINT64_C(1) << DLB_HIST_MAX_LOG2), DLB_HIST_BUCKETS - 1);
    assert_int_equal(dlb_hist_bucket(UINT64_MAX), DLB_HIST_BUCKETS - 1);
}

static void small_values_are_exact(void **state)
{
    (void)state;
    struct dlb_hist hist = {0};
    for (uint64_t value = 0; value < 64; value++)
        dlb_hist_add(&hist, value);
    /* Buckets have a width of one up to 2^(SUB_BITS + 1). */
    for (uint64_t value = 0; value < 64; value++)
        assert_int_equal(dlb_hist_quantile_ns(&hist, (double)(value + 1) / 64.0), value);
}

static void empty_single_and_odd_quantiles(void **state)
{
    (void)state;
    struct dlb_hist hist = {0};
    assert_int_equal(dlb_hist_quantile_ns(&hist, 0.5), 0);

    dlb_hist_add(&hist, 1000003);
    const double asked[] = {0.0, 0.5, 1.0, -1.0, 7.0, NAN};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
        assert_int_equal(dlb_hist_quantile_ns(&hist, asked[i]), 1000003);

    dlb_hist_add(&hist, 0);
    assert_int_equal(dlb_hist_quantile_ns(&hist, 0.0), 0);
    assert_int_equal(dlb_hist_quantile_ns(&hist, 0.5), 0);
    assert_int_equal(dlb_hist_quantile_ns(&hist, 1.0), 1000003);
}

static void beyond_the_range(void **state)
{
    (void)state;
    struct dlb_hist hist = {0};
    const uint64_t hour_ns = UINT64_C(3600000000000);
    dlb_hist_add(&hist, 10);
    dlb_hist_add(&hist, hour_ns);
    dlb_hist_add(&hist, 2 * hour_ns);
    assert_int_equal(dlb_hist_quantile_ns(&hist, 0.1), 10);
    assert_int_equal(dlb_hist_quantile_ns(&hist, 0.6), 2 * hour_ns);
    assert_int_equal(dlb_hist_quantile_ns(&hist, 1.0), 2 * hour_ns);
    assert_int_equal(hist.sum_ns, 3 * hour_ns + 10);
}

static void merging_equals_adding_all(void **state)
{
    (void)state;
    struct dlb_hist *part = calloc(4, sizeof *part), *all = calloc(1, sizeof *all);
    assert_non_null(part);
    assert_non_null(all);
    struct dlb_rng rng = dlb_rng_seed(3, 1, 4);
    for (uint32_t i = 0; i < N_VALUES; i++) {
        uint64_t value = draw((enum shape)(i % N_SHAPES), &rng);
        dlb_hist_add(all, value);
        dlb_hist_add(&part[dlb_rng_below(&rng, 3)], value); /* part[3] stays empty */
    }
    struct dlb_hist *merged = calloc(1, sizeof *merged);
    assert_non_null(merged);
    dlb_hist_merge(merged, &part[3]);
    for (int i = 0; i < 4; i++)
        dlb_hist_merge(merged, &part[i]);
    assert_memory_equal(merged, all, sizeof *all);

    /* An empty one's zeroed minimum must not win. */
    memset(merged, 0, sizeof *merged);
    dlb_hist_merge(&part[3], merged);
    assert_int_equal(part[3].count, 0);
    free(merged);
    free(all);
    free(part);
}

static void merging_saturates(void **state)
{
    (void)state;
    struct dlb_hist a = {0}, b = {0};
    dlb_hist_add(&a, 5);
    dlb_hist_add(&b, 5);
    a.count = a.bucket[5] = UINT32_MAX - 1;
    b.count = b.bucket[5] = 7;
    dlb_hist_merge(&a, &b);
    assert_int_equal(a.bucket[5], UINT32_MAX);
    assert_int_equal(a.count, (uint64_t)UINT32_MAX + 6);
    assert_int_equal(dlb_hist_quantile_ns(&a, 0.5), 5);
}

static void stages_have_distinct_names(void **state)
{
    (void)state;
    const struct {
        const char *const *names;
        int n;
    } tables[] = {{dlb_worker_stage_names, DLB_WS_COUNT},
                  {dlb_consumer_stage_names, DLB_CS_COUNT},
                  {dlb_device_stage_names, DLB_DS_COUNT}};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (int i = 0; i < tables[t].n; i++) {
            assert_non_null(tables[t].names[i]);
            assert_true(strlen(tables[t].names[i]) > 0);
            for (int j = 0; j < i; j++)
                assert_string_not_equal(tables[t].names[i], tables[t].names[j]);
        }
    }
    assert_string_equal(dlb_worker_stage_names[DLB_WS_DECODE], "decode");
    assert_string_equal(dlb_consumer_stage_names[DLB_CS_INPUT_WAIT], "input_wait");
    assert_string_equal(dlb_device_stage_names[DLB_DS_EXPOSED_COPY], "exposed_copy");
}

static void worker_meters_merge(void **state)
{
    (void)state;
    struct dlb_worker_meters *m = calloc(2, sizeof *m);
    assert_non_null(m);
    for (uint64_t i = 0; i < 2; i++) {
        for (uint64_t s = 0; s < DLB_WS_COUNT; s++)
            dlb_hist_add(&m[i].stage[s], 100 * (s + 1) + i);
        m[i].n_samples = 10 + i;
        m[i].n_batches = 20 + i;
        m[i].n_skipped = 30 + i;
        m[i].n_cut_shards = 40 + i;
        m[i].io_bytes = 40 + i;
        m[i].cpu_ns = 50 + i;
    }
    dlb_worker_meters_merge(&m[0], &m[1]);
    for (uint64_t s = 0; s < DLB_WS_COUNT; s++) {
        assert_int_equal(m[0].stage[s].count, 2);
        assert_int_equal(m[0].stage[s].sum_ns, 200 * (s + 1) + 1);
    }
    assert_int_equal(m[0].n_samples, 21);
    assert_int_equal(m[0].n_batches, 41);
    assert_int_equal(m[0].n_skipped, 61);
    assert_int_equal(m[0].n_cut_shards, 81);
    assert_int_equal(m[0].io_bytes, 81);
    assert_int_equal(m[0].cpu_ns, 101);
    free(m);
}

/* As the values one by one; the sum is exact, and none is further from the mean than what is left.
 */
static void shared_values_are_exact(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 70; n += 17) {
        struct dlb_hist *hist = calloc(1, sizeof *hist);
        assert_non_null(hist);
        dlb_hist_add(hist, 5000);
        dlb_hist_share(hist, 10007, n);
        assert_int_equal(hist->count, n + 1);
        assert_int_equal(hist->sum_ns, 15007);
        assert_int_equal(hist->min_ns, n == 1 ? 5000 : 10007 / n);
        assert_int_equal(hist->max_ns, n == 1 ? 10007 : 5000);
        uint64_t n_buckets = 0;
        for (uint32_t i = 0; i < DLB_HIST_BUCKETS; i++)
            n_buckets += hist->bucket[i];
        assert_int_equal(n_buckets, hist->count);
        double middle = n == 1 ? 5000 : 10007.0 / n;
        assert_true(fabs((double)dlb_hist_quantile_ns(hist, 0.5) - middle) <=
                    RELATIVE_ERROR * middle + 1);
        free(hist);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_within_bound), cmocka_unit_test(buckets_are_contiguous),
        cmocka_unit_test(small_values_are_exact), cmocka_unit_test(empty_single_and_odd_quantiles),
        cmocka_unit_test(beyond_the_range),       cmocka_unit_test(merging_equals_adding_all),
        cmocka_unit_test(merging_saturates),      cmocka_unit_test(stages_have_distinct_names),
        cmocka_unit_test(worker_meters_merge),    cmocka_unit_test(shared_values_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

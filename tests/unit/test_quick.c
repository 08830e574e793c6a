/* Samples that share a time stamp against the same times stamped one by one. All times are planted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "loaders/worker/quick.h"

#include <stdlib.h>

#define US UINT64_C(1000)

/* What a sample takes. */
struct planted {
    uint64_t usual_ns; /* the mean; from half of it to one and a half */
    uint64_t slow_ns;
    double slow_frac;
};

static uint64_t draw(const struct planted *planted, struct dlb_rng *rng)
{
    if (dlb_rng_unit(rng) < planted->slow_frac)
        return planted->slow_ns + dlb_rng_below(rng, planted->slow_ns);
    return planted->usual_ns / 2 + dlb_rng_below(rng, planted->usual_ns);
}

struct stamped {
    struct dlb_hist full, shared;
    uint32_t n_stamps;
};

/* `batch`: samples after which what is left is stamped in any case. */
static struct stamped *stamp(const struct planted *planted, uint32_t n, uint32_t batch)
{
    struct stamped *out = dlb_mem_new(sizeof(*out));
    struct dlb_quick quick = {.n = 1};
    struct dlb_rng rng = dlb_rng_seed(1, planted->usual_ns, batch);
    uint64_t since_ns = 0;
    uint32_t n_since = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t ns = draw(planted, &rng);
        dlb_hist_add(&out->full, ns);
        since_ns += ns;
        if (++n_since < quick.n && (i + 1) % batch != 0 && i + 1 < n)
            continue;
        dlb_quick_count(&quick, &out->shared, since_ns, n_since);
        assert_in_range(quick.n, 1, DLB_QUICK_MOST);
        out->n_stamps++;
        since_ns = n_since = 0;
    }
    return out;
}

static uint64_t n_above(const struct dlb_hist *hist, uint64_t ns)
{
    uint64_t n = 0;
    for (uint32_t i = dlb_hist_bucket(ns); i < DLB_HIST_BUCKETS; i++)
        n += hist->bucket[i];
    return n;
}

static void sums_and_counts_are_exact(void **state)
{
    (void)state;
    static const struct planted all[] = {
        {60, 0, 0},           {1000, 0, 0},          {4000, 0, 0},
        {30 * US, 0, 0},      {1000, 100 * US, .01}, {4000, 5000 * US, .001},
        {90, 200 * US, .0005}};
    static const uint32_t batches[] = {1, 7, 32, 256};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        for (size_t b = 0; b < sizeof(batches) / sizeof(*batches); b++) {
            struct stamped *s = stamp(&all[i], 100000, batches[b]);
            assert_true(s->shared.sum_ns == s->full.sum_ns);
            assert_true(s->shared.count == s->full.count);
            assert_true(s->shared.min_ns >= s->full.min_ns);
            if (batches[b] == 1) {
                assert_int_equal(s->n_stamps, 100000);
                assert_memory_equal(&s->shared, &s->full, sizeof(s->full));
            }
            free(s);
        }
}

static void quick_ones_share_and_others_do_not(void **state)
{
    (void)state;
    struct stamped *s = stamp(&(struct planted){60, 0, 0}, 100000, 1u << 30);
    assert_in_range(s->n_stamps, 100000 / DLB_QUICK_MOST, 100000 / DLB_QUICK_MOST + 10);
    free(s);
    s = stamp(&(struct planted){1000, 0, 0}, 100000, 1u << 30);
    assert_in_range(s->n_stamps, 100000 / DLB_QUICK_MOST, 100000 / 8); /* each of 8 to 16 us */
    free(s);
    s = stamp(&(struct planted){30 * US, 0, 0}, 10000, 1u << 30);
    assert_in_range(s->n_stamps, 9000, 10000); /* few are below half of the limit */
    free(s);
}

/* A slow one stays one slow one, whatever shares its stamp and wherever its batch ends. */
static void slow_ones_are_seen_each(void **state)
{
    (void)state;
    static const struct planted all[] = {{1000, 100 * US, .01},
                                         {4000, 200 * US, .005},
                                         {100, 1000 * US, .001},
                                         {250, 150 * US, .002}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct stamped *s = stamp(&all[i], 200000, 67);
        uint64_t limit_ns = all[i].slow_ns - DLB_QUICK_NS;
        double n = (double)n_above(&s->full, limit_ns);
        assert_true(n > 100);
        /* Two in the same stamp are one: more would be samples that are called slow. */
        assert_true((double)n_above(&s->shared, limit_ns) <= n);
        assert_true((double)n_above(&s->shared, limit_ns) >= 0.93 * n);
        assert_true(s->shared.max_ns + DLB_QUICK_NS >= s->full.max_ns);
        assert_true(s->shared.max_ns <= 3 * s->full.max_ns); /* of three under one stamp */
        assert_true(s->shared.min_ns > 0);
        free(s);
    }
}

/* A batch that ends early says little: what is usual is learnt of whole groups. */
static void short_groups_teach_nothing(void **state)
{
    (void)state;
    struct dlb_hist *hist = dlb_mem_new(sizeof(*hist));
    struct dlb_quick quick = {.n = 1};
    for (uint32_t n = 1; n < DLB_QUICK_MOST; n *= 2) {
        dlb_quick_count(&quick, hist, (uint64_t)n * 250, n);
        assert_int_equal(quick.n, 2 * n);
    }
    dlb_quick_count(&quick, hist, 30 * US, 3);
    assert_int_equal(quick.n, DLB_QUICK_MOST);
    dlb_quick_count(&quick, hist, 200 * US, DLB_QUICK_MOST);
    assert_int_equal(quick.n, 1);
    assert_in_range(hist->max_ns, 200 * US - DLB_QUICK_NS, 200 * US);
    free(hist);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_counts_are_exact),
        cmocka_unit_test(quick_ones_share_and_others_do_not),
        cmocka_unit_test(slow_ones_are_seen_each),
        cmocka_unit_test(short_groups_teach_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

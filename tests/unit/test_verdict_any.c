/* What must hold of the verdict for any evidence at all. */
#include "core/base/rng.h"
#include "core/measure/verdict.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double odd_number(struct dlb_rng *rng)
{
    switch (dlb_rng_below(rng, 8)) {
    case 0:
        return NAN;
    case 1:
        return INFINITY;
    case 2:
        return -dlb_rng_unit(rng);
    case 3:
        return 0.0;
    case 4:
        return 1.0;
    case 5:
        return dlb_rng_unit(rng) * 1e12;
    default:
        return dlb_rng_unit(rng);
    }
}

static double usual_share(struct dlb_rng *rng)
{
    return dlb_rng_below(rng, 16) == 0 ? odd_number(rng) : dlb_rng_unit(rng) * 0.5;
}

static struct dlb_evidence any_evidence(struct dlb_rng *rng)
{
    struct dlb_evidence e = {
        .complete = dlb_rng_below(rng, 16) != 0,
        .gpu = dlb_rng_below(rng, 2) != 0,
        .compute_frac = usual_share(rng),
        .input_frac = usual_share(rng),
        .h2d_frac = usual_share(rng),
        .residual_frac = usual_share(rng),
        .late_copy_frac = dlb_rng_below(rng, 2) ? 0.0 : usual_share(rng),
        .epoch_frac = usual_share(rng),
        .oversleep_frac = usual_share(rng),
        .unaccounted_frac = dlb_rng_below(rng, 4) ? 0.0 : odd_number(rng),
        .account_frac = dlb_rng_below(rng, 4) ? 0.0 : odd_number(rng),
        .copy_call_frac = dlb_rng_below(rng, 2) ? 0.0 : odd_number(rng),
        .step_ns = odd_number(rng),
        .num_workers = (uint32_t)(dlb_rng_below(rng, 8) ? dlb_rng_below(rng, 9) : dlb_rng_u64(rng)),
        .n_cpus = (uint32_t)(dlb_rng_below(rng, 8) ? dlb_rng_below(rng, 9) : dlb_rng_u64(rng)),
        .n_idle_workers = (uint32_t)(dlb_rng_below(rng, 4) ? 0 : dlb_rng_below(rng, 9)),
        .n_loaders = (uint32_t)(dlb_rng_below(rng, 4) ? dlb_rng_below(rng, 3) : dlb_rng_u64(rng)),
        .more_workers = (uint32_t)(dlb_rng_below(rng, 2) ? 0 : dlb_rng_u64(rng)),
        .faster_workers = (uint32_t)(dlb_rng_below(rng, 2) ? 0 : dlb_rng_u64(rng)),
        .most_swept = dlb_rng_below(rng, 2) != 0,
        .pin_stage_ns = odd_number(rng),
        .worker_runqueue_ns = odd_number(rng),
        .order_wait_ns = odd_number(rng),
        .input_wait_ns = odd_number(rng),
        .ceiling_idle_frac = odd_number(rng),
        .pin_memory = dlb_rng_below(rng, 2) != 0,
        .pageable_copy = dlb_rng_below(rng, 2) != 0,
        .persistent_workers = dlb_rng_below(rng, 2) != 0,
        .device_prefetch = (uint32_t)dlb_rng_below(rng, 3),
    };
    for (int i = 0; i < DLB_WS_COUNT; i++)
        e.worker_stage_ns[i] = odd_number(rng);
    if (dlb_rng_below(rng, 2))
        e.gain = (struct dlb_gain){.median = 2 * odd_number(rng),
                                   .low = 2 * odd_number(rng),
                                   .high = 3 * odd_number(rng),
                                   .n = (uint32_t)dlb_rng_below(rng, 7)};
    if (e.gain.low > e.gain.high)
        e.gain.high = e.gain.low;
    return e;
}

static double clamped(double share)
{
    return isnan(share) ? 0 : fmin(fmax(share, 0), 1);
}

static double low_of(const struct dlb_gain *gain)
{
    return gain->n == 1 ? gain->median / DLB_GAIN_OF_ONE : gain->low;
}

static double high_of(const struct dlb_gain *gain)
{
    return gain->n == 1 ? gain->median * DLB_GAIN_OF_ONE : gain->high;
}

static bool is_known(const struct dlb_gain *gain)
{
    return gain->n > 0 && isfinite(gain->median) && !isnan(low_of(gain)) && !isnan(high_of(gain));
}

static void holds_for_any_evidence(void **state)
{
    (void)state;
    struct dlb_rng rng = dlb_rng_seed(20, 0, 0);
    uint32_t seen[DLB_V_BALANCED + 1] = {0};

    for (uint32_t i = 0; i < 200000; i++) {
        struct dlb_evidence e = any_evidence(&rng);
        struct dlb_verdict v, again;
        dlb_judge(&e, &v);
        dlb_judge(&e, &again);
        assert_memory_equal(&v, &again, sizeof v);
        assert_true((unsigned)v.klass <= DLB_V_BALANCED && (unsigned)v.cause <= DLB_CAUSE_HARNESS);
        assert_non_null(dlb_verdict_code(v.klass, v.cause));
        seen[v.klass]++;

        /* Text: opens with the class, is whole, ends as a sentence, names a next thing to try, has
         * no stray numbers. */
        const char *name = dlb_verdict_class_name(v.klass);
        assert_memory_equal(v.text, name, strlen(name));
        size_t len = strlen(v.text);
        if (len >= sizeof v.text - 1 || v.text[len - 1] != '.' || strstr(v.text, "nan") ||
            strstr(v.text, "inf") || strstr(v.text, "  ") ||
            (v.klass != DLB_V_COMPUTE_BOUND && !strstr(v.text, "Try: ")))
            fail_msg("%zu characters: %s", len, v.text);

        bool bound = v.klass == DLB_V_INPUT_BOUND || v.klass == DLB_V_H2D_BOUND ||
                     v.klass == DLB_V_RESIDUAL_HEAVY;
        if (bound)
            assert_true(v.severity != DLB_SEVERITY_OK);
        if (!e.complete)
            assert_int_equal(v.klass, DLB_V_INCOMPLETE);
        if (v.klass == DLB_V_INPUT_BOUND) {
            double loader_frac =
                fmax(e.input_frac, 0) + fmax(fmin(e.late_copy_frac, e.h2d_frac), 0);
            assert_true(loader_frac >= (is_known(&e.gain) ? DLB_SHARE_WARN / 2 : DLB_SHARE_WARN));
            assert_true(!is_known(&e.gain) || low_of(&e.gain) > DLB_GAIN_CLEAR);
            double h2d = clamped(e.h2d_frac), late = fmin(clamped(e.late_copy_frac), h2d);
            double copies_gain = 1 / (1 - (h2d - late));
            assert_true(h2d - late <= clamped(e.input_frac) + late ||
                        (e.gain.median > copies_gain &&
                         clamped(e.copy_call_frac) * copies_gain < 1 + 1e-9));
        }
        bool starved = e.ceiling_idle_frac > DLB_CEILING_IDLE_MAX;
        if (v.klass == DLB_V_BORDERLINE)
            assert_true(is_known(&e.gain) && high_of(&e.gain) >= DLB_GAIN_CLEAR && !starved);
        if (v.klass == DLB_V_BALANCED || v.klass == DLB_V_COMPUTE_BOUND) {
            bool known = is_known(&e.gain) && !starved;
            assert_true(known ? high_of(&e.gain) < DLB_GAIN_CLEAR : e.input_frac < DLB_SHARE_WARN);
            assert_true(e.residual_frac < DLB_SHARE_WARN);
        }
        if (v.klass == DLB_V_COMPUTE_BOUND)
            assert_true(e.compute_frac >= DLB_COMPUTE_BOUND);
    }
    for (int i = 0; i <= DLB_V_BALANCED; i++)
        assert_true(seen[i] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(holds_for_any_evidence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

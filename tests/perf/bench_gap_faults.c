/* Whether the price of a page fault, measured by itself, explains the cost of fresh memory for a
 * batch: the rung that maps each batch anew against the one that reuses its slots. */
#include "core/measure/stats.h"
#include "tests/perf/perf.h"
#include "tests/perf/rung.h"

#include <stdio.h>

enum { FAULT_ROUNDS = 11 };

/* In CPU time, which does not depend on how many workers have a core of their own. The price is the
 * one that the rung with the faults measured. Medians are taken before the difference, because the
 * difference is small beside the two figures. */
static void explain_faults(const struct dlb_gap_params *params)
{
    struct rung fresh = {.params = params, .name = "transport"};
    struct rung pooled = {.params = params, .name = "transport-pooled"};
    double fresh_s[FAULT_ROUNDS], pooled_s[FAULT_ROUNDS], price_ns[FAULT_ROUNDS];
    double per_batch = 0, more_faults = 0;

    for (int i = 0; i < FAULT_ROUNDS; i++) {
        (void)rung_epoch(i % 2 ? &fresh : &pooled);
        (void)rung_epoch(i % 2 ? &pooled : &fresh);
        const struct dlb_rung_account *of_fresh = &fresh.last.os.process;
        const struct dlb_rung_account *of_pooled = &pooled.last.os.process;
        fresh_s[i] = (double)of_fresh->cpu_ns * 1e-9;
        pooled_s[i] = (double)of_pooled->cpu_ns * 1e-9;
        price_ns[i] = fresh.last.faults.ns;
        per_batch = fresh.last.faults.per_batch;
        more_faults = (double)of_fresh->minor_faults - (double)of_pooled->minor_faults;
    }
    double more_s = dlb_median(fresh_s, FAULT_ROUNDS) - dlb_median(pooled_s, FAULT_ROUNDS);
    double ns = dlb_median(price_ns, FAULT_ROUNDS);
    double explained = more_faults * ns * 1e-9 / more_s;
    printf("transport, %lld workers: %.0f faults a batch; fresh memory takes %.2f s more of CPU, "
           "%.0f faults more at %.0f ns explain %.2f of it   should be 0.85 to 1.15: %s\n",
           (long long)params->workers, per_batch, more_s, more_faults, ns, explained,
           explained >= 0.85 && explained <= 1.15 ? "yes" : "NO");
    dlb_rung_result_free(&fresh.last);
    dlb_rung_result_free(&pooled.last);
}

int main(void)
{
    uint32_t threads[8], n_counts = perf_thread_counts(threads);

    for (uint32_t i = 0; i < n_counts; i++) {
        struct dlb_gap_params params = rung_params("small", threads[i], 1048576);
        explain_faults(&params);
    }
    return 0;
}

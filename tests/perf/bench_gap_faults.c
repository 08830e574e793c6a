/* Whether the price of a page fault, measured apart, explains what fresh memory costs a batch: the
 * rung that maps each batch anew against the one that reuses its slots. */
#include "bench/measure/stats.h"
#include "scenarios/flat.h"
#include "tests/perf/perf.h"
#include "tests/perf/rung.h"

#include <stdio.h>

enum { FAULT_ROUNDS = 5 };

/* In CPU time, which does not depend on how many workers have a core to themselves. The price is
 * that of the rung with the faults. */
static void explain_faults(const struct dlb_gap_params *params)
{
    struct rung fresh = {.params = params, .name = "transport"};
    struct rung pooled = {.params = params, .name = "transport-pooled"};
    double explained[FAULT_ROUNDS];

    for (int i = 0; i < FAULT_ROUNDS; i++) {
        double fresh_s = rung_epoch(&fresh), pooled_s = rung_epoch(&pooled);
        const json_t *faults = json_object_get(fresh.last, "faults");
        double more_faults =
            rung_figure(fresh.last, "minor_faults") - rung_figure(pooled.last, "minor_faults");
        double cpu_s =
            (rung_figure(fresh.last, "cpu_ns") - rung_figure(pooled.last, "cpu_ns")) * 1e-9;
        double price_ns = dlb_json_number(faults, "ns");
        explained[i] = more_faults * price_ns * 1e-9 / cpu_s;
        printf("transport, %lld workers: fresh %.2f s, pooled %.2f s, %.2f s more CPU; %.0f faults "
               "a batch, %.0f more at %.0f ns explain %.2f of it\n",
               (long long)params->workers, fresh_s, pooled_s, cpu_s,
               dlb_json_number(faults, "per_batch"), more_faults, price_ns, explained[i]);
    }
    double median = dlb_median(explained, FAULT_ROUNDS);
    printf("transport, %lld workers: page faults explain %.2f of what fresh memory costs   should "
           "be 0.85 to 1.15: %s\n",
           (long long)params->workers, median, median >= 0.85 && median <= 1.15 ? "yes" : "NO");
    json_decref(fresh.last);
    json_decref(pooled.last);
}

int main(void)
{
    uint32_t threads[8], n_counts = perf_thread_counts(threads);

    for (uint32_t i = 0; i < n_counts; i++) {
        struct dlb_gap_params params = rung_params("small", threads[i]);
        explain_faults(&params);
    }
    return 0;
}

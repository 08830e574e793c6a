#include "core/measure/au.h"

#include <math.h>

void dlb_au_step(struct dlb_au_epoch *epoch, uint64_t asked_ns, uint64_t start_ns, uint64_t end_ns,
                 uint64_t n_samples)
{
    if (epoch->n_steps == 0) {
        epoch->asked_ns = asked_ns;
        epoch->first_end_ns = end_ns;
    } else {
        epoch->compute_ns += end_ns - start_ns;
    }
    epoch->last_end_ns = end_ns;
    epoch->n_steps++;
    epoch->n_samples += n_samples;
}

/* The epoch's T; NaN for fewer than two steps. */
static double window_ns(const struct dlb_au_epoch *epoch)
{
    return epoch->n_steps > 1 && epoch->last_end_ns > epoch->first_end_ns
               ? (double)(epoch->last_end_ns - epoch->first_end_ns)
               : (double)NAN;
}

double dlb_au_mlperf_v1(const struct dlb_au_epoch *epoch, double step_ns)
{
    return ((double)epoch->n_steps - 1) * step_ns / window_ns(epoch);
}

double dlb_au_mlperf_v2(const struct dlb_au_epoch *epoch)
{
    return (double)epoch->compute_ns / window_ns(epoch);
}

double dlb_rate_mlperf_v1(const struct dlb_au_epoch *epoch)
{
    return isnan(window_ns(epoch))
               ? (double)NAN
               : (double)epoch->n_samples * 1e9 / (double)(epoch->last_end_ns - epoch->asked_ns);
}

double dlb_rate_mlperf_v2(const struct dlb_au_epoch *epoch)
{
    double batch = (double)epoch->n_samples / (double)epoch->n_steps;
    return ((double)epoch->n_steps - 2) * batch * 1e9 / window_ns(epoch);
}

static double lower(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmin(a, b);
}

void dlb_au_mean(const struct dlb_au *each, uint32_t n, struct dlb_au *mean, struct dlb_au *lowest)
{
    *lowest = *mean = each[0];
    for (uint32_t i = 1; i < n; i++) {
        mean->nominal += each[i].nominal;
        mean->measured += each[i].measured;
        mean->mlperf_v1 += each[i].mlperf_v1;
        mean->mlperf_v2 += each[i].mlperf_v2;
        mean->mlperf_v1_samples_per_s += each[i].mlperf_v1_samples_per_s;
        mean->mlperf_v2_samples_per_s += each[i].mlperf_v2_samples_per_s;
        lowest->nominal = lower(lowest->nominal, each[i].nominal);
        lowest->measured = lower(lowest->measured, each[i].measured);
        lowest->mlperf_v1 = lower(lowest->mlperf_v1, each[i].mlperf_v1);
        lowest->mlperf_v2 = lower(lowest->mlperf_v2, each[i].mlperf_v2);
        lowest->mlperf_v1_samples_per_s =
            lower(lowest->mlperf_v1_samples_per_s, each[i].mlperf_v1_samples_per_s);
        lowest->mlperf_v2_samples_per_s =
            lower(lowest->mlperf_v2_samples_per_s, each[i].mlperf_v2_samples_per_s);
    }
    mean->nominal /= n;
    mean->measured /= n;
    mean->mlperf_v1 /= n;
    mean->mlperf_v2 /= n;
}

#include "core/base/json.h"
#include "loaders/train/consumer.h"

/* Summed over accelerators: the rate, and the parts of each one's window as fractions of it. */
struct sums {
    double n; /* accelerators */
    double samples_per_ns;
    double busy, idle_input, idle_copy, late_copy, epoch_idle, epoch_other;
    double wall_ns, unaccounted_ns;
};

static void add_window(struct sums *sum, const struct dlb_share *one, double of)
{
    double window_ns = (double)one->window_ns, part = of / window_ns;

    sum->samples_per_ns += (double)one->n_samples / window_ns;
    sum->busy += (double)one->busy_ns * part;
    sum->idle_input += (double)one->idle_input_ns * part;
    sum->idle_copy += (double)one->idle_copy_ns * part;
    sum->late_copy += (double)one->late_copy_ns * part;
    sum->epoch_idle += (double)one->epoch_idle_ns * part;
    sum->epoch_other += (double)one->epoch_other_ns * part;
}

/* Not measured where it is no time: what other ranks tell may be anything, and that they had no
 * accelerators. */
static uint64_t whole_ns(double ns)
{
    return ns >= 0 && ns < 0x1p64 ? (uint64_t)ns : DLB_NOT_MEASURED;
}

/* The mean fraction of all accelerators, of the total's window. */
static uint64_t mean_ns(const struct sums *sums, double sum, const struct dlb_share *total)
{
    return whole_ns(sum / sums->n * (double)total->window_ns);
}

/* What busy and the other idle parts leave of the window. */
static void fill_rest(struct dlb_share *share)
{
    uint64_t sum_ns = share->busy_ns + share->idle_input_ns + share->idle_copy_ns;
    if (sum_ns > share->window_ns) /* by a rounding */
        share->window_ns = sum_ns;
    share->idle_other_ns = share->window_ns - sum_ns;
}

/* The window is the one in which a mean accelerator would have made the counts: their number over
 * the sum of the rates. */
static void fill_window(const struct sums *sum, struct dlb_share *total)
{
    total->window_ns = whole_ns((double)total->n_samples / sum->samples_per_ns);
    total->busy_ns = mean_ns(sum, sum->busy, total);
    total->idle_input_ns = mean_ns(sum, sum->idle_input, total);
    total->idle_copy_ns = mean_ns(sum, sum->idle_copy, total);
    total->late_copy_ns = mean_ns(sum, sum->late_copy, total);
    total->epoch_idle_ns = mean_ns(sum, sum->epoch_idle, total);
    total->epoch_other_ns = mean_ns(sum, sum->epoch_other, total);
    fill_rest(total);
}

void dlb_share_stretch(struct dlb_share *share, uint64_t window_ns)
{
    double by = (double)window_ns / (double)share->window_ns;
    uint64_t *const parts[] = {&share->busy_ns,      &share->idle_input_ns, &share->idle_copy_ns,
                               &share->late_copy_ns, &share->epoch_idle_ns, &share->epoch_other_ns};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        *parts[i] = whole_ns((double)*parts[i] * by);
    share->window_ns = window_ns;
    fill_rest(share);
}

/* The window stays 0 where an accelerator has no complete one, and without any accelerator. */
void dlb_shares_add_up(const struct dlb_share *each, const uint32_t *of, uint32_t n,
                       struct dlb_share *total)
{
    struct sums sum = {0};
    bool all = true;

    *total = (struct dlb_share){0};
    if (n == 1) { /* exact */
        *total = each[0];
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        double n_of = of ? of[i] : 1;
        total->n_steps += each[i].n_steps;
        total->n_samples += each[i].n_samples;
        total->n_bytes += each[i].n_bytes;
        sum.n += n_of;
        sum.wall_ns += n_of * (double)each[i].wall_ns;
        sum.unaccounted_ns += n_of * (double)each[i].unaccounted_ns;
        if (each[i].window_ns == 0)
            all = false;
        else
            add_window(&sum, &each[i], n_of);
    }
    total->wall_ns = whole_ns(sum.wall_ns / sum.n);
    total->unaccounted_ns = whole_ns(sum.unaccounted_ns / sum.n);
    if (all && sum.n > 0 && sum.samples_per_ns > 0)
        fill_window(&sum, total);
}

#include "loaders/worker/io_trial.h"

#include "core/measure/stats.h"

#include <stdio.h>

bool dlb_io_trial_uring(const struct dlb_io_trial *trial)
{
    return trial->over ? trial->uring : trial->n % 2 == 0;
}

/* A batch that others held up moves a median little. */
static double middle(const struct dlb_io_trial *trial, bool uring)
{
    return dlb_median(&trial->each_ns[uring][1], DLB_IO_TRIAL_BATCHES - 1);
}

bool dlb_io_trial_add(struct dlb_io_trial *trial, uint64_t ns, uint32_t n_samples)
{
    if (trial->over || n_samples == 0)
        return false;
    trial->each_ns[dlb_io_trial_uring(trial)][trial->n / 2] = (double)ns / n_samples;
    if (++trial->n < 2 * DLB_IO_TRIAL_BATCHES)
        return false;
    trial->over = true;
    trial->uring = middle(trial, true) < middle(trial, false);
    return true;
}

void dlb_io_trial_text(const struct dlb_io_trial *trial, char *text, size_t n_text)
{
    if (trial->over)
        (void)snprintf(text, n_text,
                       "loading took %.4g us a sample through io_uring, and %.4g us with one read "
                       "after the other",
                       middle(trial, true) / 1e3, middle(trial, false) / 1e3);
    else
        (void)snprintf(text, n_text,
                       "a worker loads %d batches in both ways before it chooses, and had %u",
                       2 * DLB_IO_TRIAL_BATCHES, trial->n);
}

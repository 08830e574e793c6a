#include "loaders/train/elsewhere.h"

/* As soon as the next batch's step is queued, or when the oldest of the queued steps ends, which
 * frees its place. With several accelerators, and where computing of the loop's own comes first,
 * nobody knows. */
static uint64_t foreseen_ns(const struct dlb_accelerator *a)
{
    const struct dlb_consume *how = a->common->how;

    if (how->ready || !how->device->due || how->host_ns > 0 || a->n_keep == 0 ||
        dlb_span_closes(&a->span, a->round))
        return DLB_UNFORESEEN;
    return a->n_flight < a->n_keep
               ? 0
               : how->device->due(a->feed->device_state, a->flight[a->first].buf, DLB_STEPPED);
}

void dlb_elsewhere_foresee(const struct dlb_accelerator *a)
{
    const struct dlb_loader *loader = a->common->how->loader;

    if (loader->foresee)
        loader->foresee(a->feed->loader_state, foreseen_ns(a));
}

void dlb_elsewhere_copied(const struct dlb_batch *batch, struct dlb_dev_times *times)
{
    times->copy_start_ns = batch->taken_ns;
    times->copy_end_ns = batch->copied_ns;
}

/* The batch says whether it came late, and the wait ended where its copy began. Where several share
 * a loader, another one may have asked for it, earlier; where it was foreseen, nobody had. */
void dlb_elsewhere_taken(struct dlb_accelerator *a)
{
    uint64_t taken_ns = a->batch.taken_ns > a->since_ns ? a->batch.taken_ns : a->since_ns;

    if (taken_ns < a->step.wait_end_ns)
        a->step.wait_end_ns = taken_ns;
    a->step.late = a->batch.late;
}

#include "scenarios/gap/rungs/run.h"

#include "core/base/clock.h"
#include "scenarios/gap/rungs/array.h"

#include <math.h>

int dlb_gap_check(const struct dlb_gap_run *run, struct dlb_err *err)
{
    if (!dlb_gap_cancelled(run))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
}

int dlb_gap_deliver(struct dlb_gap_run *run, const void *batch, uint64_t n_rows,
                    struct dlb_err *err)
{
    int rc = dlb_gap_check(run, err);

    if (rc != DLB_OK)
        return rc;
    if (run->pulse) {
        atomic_fetch_add_explicit(&run->pulse->n_batches, 1, memory_order_relaxed);
        dlb_live_step(&run->pulse->live, n_rows, dlb_now_ns());
    }
    if (run->checksumming)
        run->checksum += dlb_gap_checksum(batch, n_rows, (uint64_t)run->params->features);
    return dlb_gap_target_put(&run->target, batch, n_rows * dlb_gap_row_bytes(run->params), err);
}

void dlb_gap_look_at_batch(const struct dlb_gap_run *run, uint64_t epoch,
                           const struct dlb_gap_memory *batch)
{
    if (epoch == 0 && run->params->warmup_epochs > 0 && isnan(run->ledger->batch_huge_frac))
        run->ledger->batch_huge_frac = dlb_gap_huge_frac(batch);
}

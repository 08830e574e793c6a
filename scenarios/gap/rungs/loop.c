/* The rungs of a single thread: floor, direct, gather, per-sample. */
#include "scenarios/gap/rungs/collate.h"
#include "scenarios/gap/rungs/gather.h"
#include "scenarios/gap/rungs/order.h"
#include "scenarios/gap/rungs/run.h"

enum { ROWS_A_CHECK = 65536 }; /* between two checks for an interrupt: some 20 ms of a gather */

/* --- floor and direct: slices in order --- */

static uint64_t no_bytes(const struct dlb_gap_params *params)
{
    (void)params;
    return 0;
}

static int slices(struct dlb_gap_run *run, struct dlb_err *err)
{
    uint64_t n = dlb_gap_n_batches(run->params);
    uint64_t batch_bytes = dlb_gap_batch_bytes(run->params);
    int rc = DLB_OK;

    for (uint64_t b = 0; rc == DLB_OK && b < n; b++)
        rc = dlb_gap_deliver(run, run->array.addr + b * batch_bytes,
                             dlb_gap_batch_rows(run->params, b), err);
    return rc;
}

static int pin_array(struct dlb_gap_run *run, struct dlb_err *err)
{
    return dlb_gap_target_pin(&run->target, &run->array, err);
}

const struct dlb_gap_rung dlb_gap_rung_floor = {
    .streams = 2, .bytes = no_bytes, .start = pin_array, .epoch = slices};

const struct dlb_gap_rung dlb_gap_rung_direct = {.streams = 1, .bytes = no_bytes, .epoch = slices};

/* --- gather and per-sample: in a shuffled order, into a fresh batch --- */

struct shuffled {
    struct dlb_gap_order order;
    struct dlb_gap_collate collate;
    struct dlb_gap_memory batch; /* the current one */
};

static uint64_t gather_bytes(const struct dlb_gap_params *params)
{
    return dlb_gap_order_bytes(params) + dlb_gap_batch_bytes(params);
}

static uint64_t per_sample_bytes(const struct dlb_gap_params *params)
{
    return gather_bytes(params) +
           dlb_gap_collate_bytes((uint64_t)params->batch_size, dlb_gap_row_bytes(params));
}

static int gather_prepare(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct shuffled *self = run->state;
    return dlb_gap_order_open(&self->order, run->params, err);
}

static int per_sample_prepare(struct dlb_gap_run *run, struct dlb_err *err)
{
    struct shuffled *self = run->state;
    int rc = gather_prepare(run, err);
    if (rc == DLB_OK)
        rc =
            dlb_gap_collate_open(&self->collate, run->array.addr, (uint64_t)run->params->batch_size,
                                 dlb_gap_row_bytes(run->params), err);
    self->collate.cancel = run->cancel;
    return rc;
}

static void shuffled_stop(struct dlb_gap_run *run)
{
    struct shuffled *self = run->state;
    dlb_gap_order_close(&self->order);
    dlb_gap_collate_close(&self->collate);
    dlb_gap_unmap(&self->batch);
}

static int new_batch(struct dlb_gap_run *run, uint64_t n_bytes, struct dlb_err *err)
{
    struct shuffled *self = run->state;
    dlb_gap_begin(run->loop);
    int rc = dlb_gap_map(&self->batch, n_bytes, DLB_GAP_PRIVATE,
                         (enum dlb_gap_pages)run->params->pages, err);
    dlb_gap_end(run->loop, DLB_GAP_PART_alloc);
    return rc;
}

static int gather_rows(struct dlb_gap_run *run, const uint32_t *index, uint64_t n_rows,
                       struct dlb_err *err)
{
    struct shuffled *self = run->state;
    uint64_t row_bytes = dlb_gap_row_bytes(run->params);
    int rc = new_batch(run, n_rows * row_bytes, err);

    if (rc != DLB_OK)
        return rc;
    dlb_gap_begin(run->loop);
    for (uint64_t i = 0; rc == DLB_OK && i < n_rows; i += ROWS_A_CHECK) {
        uint64_t some = n_rows - i < ROWS_A_CHECK ? n_rows - i : ROWS_A_CHECK;
        dlb_gap_gather(self->batch.addr + i * row_bytes, run->array.addr, index + i, some,
                       row_bytes);
        rc = dlb_gap_check(run, err);
    }
    dlb_gap_end(run->loop, DLB_GAP_PART_gather);
    return rc;
}

static int stack_rows(struct dlb_gap_run *run, const uint32_t *index, uint64_t n_rows,
                      struct dlb_err *err)
{
    struct shuffled *self = run->state;
    int rc = dlb_gap_collate_fetch(&self->collate, run->loop, index, n_rows, err);

    if (rc == DLB_OK)
        rc = new_batch(run, n_rows * dlb_gap_row_bytes(run->params), err);
    if (rc == DLB_OK)
        rc = dlb_gap_collate_stack(&self->collate, run->loop, self->batch.addr, err);
    dlb_gap_collate_drop(&self->collate, run->loop);
    return rc;
}

static int shuffled_epoch(struct dlb_gap_run *run,
                          int (*fill)(struct dlb_gap_run *run, const uint32_t *index,
                                      uint64_t n_rows, struct dlb_err *err),
                          struct dlb_err *err)
{
    struct shuffled *self = run->state;
    uint64_t n = dlb_gap_n_batches(run->params);
    int rc = DLB_OK;

    dlb_gap_order_shuffle(&self->order, run->loop, run->epoch);
    for (uint64_t b = 0; rc == DLB_OK && b < n; b++) {
        uint64_t n_rows = dlb_gap_batch_rows(run->params, b);
        rc = dlb_gap_check(run, err);
        if (rc == DLB_OK)
            rc = fill(run, dlb_gap_order_batch(&self->order, b), n_rows, err);
        if (rc == DLB_OK)
            dlb_gap_look_at_batch(run, run->epoch, &self->batch);
        if (rc == DLB_OK)
            rc = dlb_gap_deliver(run, self->batch.addr, n_rows, err);
        dlb_gap_begin(run->loop);
        dlb_gap_unmap(&self->batch);
        dlb_gap_end(run->loop, DLB_GAP_PART_free);
    }
    return rc;
}

static int gather_epoch(struct dlb_gap_run *run, struct dlb_err *err)
{
    return shuffled_epoch(run, gather_rows, err);
}

static int per_sample_epoch(struct dlb_gap_run *run, struct dlb_err *err)
{
    return shuffled_epoch(run, stack_rows, err);
}

const struct dlb_gap_rung dlb_gap_rung_gather = {.state_bytes = sizeof(struct shuffled),
                                                 .streams = 1,
                                                 .fault_kind = DLB_GAP_PRIVATE,
                                                 .bytes = gather_bytes,
                                                 .prepare = gather_prepare,
                                                 .epoch = gather_epoch,
                                                 .stop = shuffled_stop};

const struct dlb_gap_rung dlb_gap_rung_per_sample = {.state_bytes = sizeof(struct shuffled),
                                                     .streams = 1,
                                                     .fault_kind = DLB_GAP_PRIVATE,
                                                     .bytes = per_sample_bytes,
                                                     .prepare = per_sample_prepare,
                                                     .epoch = per_sample_epoch,
                                                     .stop = shuffled_stop};

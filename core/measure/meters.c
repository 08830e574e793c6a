#include "core/measure/meters.h"

#define X(id, name) [DLB_WS_##id] = (name),
const char *const dlb_worker_stage_names[DLB_WS_COUNT] = {DLB_WORKER_STAGES(X)};
#undef X
#define X(id, name) [DLB_CS_##id] = (name),
const char *const dlb_consumer_stage_names[DLB_CS_COUNT] = {DLB_CONSUMER_STAGES(X)};
#undef X
#define X(id, name) [DLB_DS_##id] = (name),
const char *const dlb_device_stage_names[DLB_DS_COUNT] = {DLB_DEVICE_STAGES(X)};
#undef X

void dlb_worker_meters_merge(struct dlb_worker_meters *into, const struct dlb_worker_meters *from)
{
    for (int i = 0; i < DLB_WS_COUNT; i++)
        dlb_hist_merge(&into->stage[i], &from->stage[i]);
    dlb_hist_merge(&into->io.request, &from->io.request);
    into->io.n_bytes += from->io.n_bytes;
    into->io.n_again += from->io.n_again;
    if (from->io.max_in_flight > into->io.max_in_flight)
        into->io.max_in_flight = from->io.max_in_flight;
    into->n_samples += from->n_samples;
    into->n_batches += from->n_batches;
    into->n_skipped += from->n_skipped;
    into->n_cut_shards += from->n_cut_shards;
    into->io_bytes += from->io_bytes;
    into->cpu_ns += from->cpu_ns;
}

/* One rung of the in-memory ladder, in this process: the array, the epochs, and what they took.
 *
 * Floor 4. Control thread, which becomes the training loop. The ladder (`dlbench gap`) calls it in
 * a fresh process for each repetition (`dlbench rung`); tests call it directly.
 *
 * All rungs read the same array, made from the seed, and end alike: a batch is copied to the device
 * (or to one buffer of this host's memory) and the same step runs. An epoch is from its first call
 * until the device has done its last step. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_RUNG_H
#define DLB_SCENARIOS_GAP_RUNGS_RUNG_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/opt.h"
#include "core/base/pulse.h"
#include "loaders/device/device.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Pages of the array, of fresh batches and of slots alike. KERNEL: as it would be without asking
 * (what PyTorch gets). */
enum dlb_gap_pages { DLB_GAP_PAGES_SMALL, DLB_GAP_PAGES_HUGE, DLB_GAP_PAGES_KERNEL };

/* BUFFER: no device; batches are copied to one buffer in this host's memory and no step runs. */
enum dlb_gap_target { DLB_GAP_TARGET_DEVICE, DLB_GAP_TARGET_BUFFER };

/* The `gap` section: how large the case is. `device` is the section of that name. */
struct dlb_gap_params {
    int64_t samples, features; /* float32; defaults are the published ones */
    int64_t batch_size;
    int64_t epochs;        /* measured, in one process */
    int64_t warmup_epochs; /* before them; the first one is also checksummed */
    int64_t workers;       /* 0: as many as CPUs, at most DLB_GAP_WORKERS_DEFAULT */
    int64_t seed;
    int pages;  /* enum dlb_gap_pages */
    int target; /* enum dlb_gap_target */
    struct dlb_device_opts device;
};
extern const struct dlb_opt_group dlb_gap_group; /* fills a struct dlb_gap_params up to `device` */

#define DLB_GAP_WORKERS_DEFAULT 4 /* the published run's */
#define DLB_GAP_WORKERS_MAX 256
/* The published model, 100-512-512-10: 6 x 318,000 floating-point operations a sample forward and
 * backward, 2.0 TFLOP a batch of 1,048,576, at some 400 TFLOP/s: 5 ms. */
#define DLB_GAP_STEP_MS_PER_SAMPLE (5.0 / 1048576)

/* Groups of a configuration that a rung understands: gap and device. Ends with NULL. */
const struct dlb_opt_group *const *dlb_gap_groups(void);

/* From a configuration that has (at least) those groups; workers is resolved. */
int dlb_gap_params_fill(struct dlb_gap_params *params, const struct dlb_config *cfg,
                        struct dlb_err *err);

/* From a flat object, {"gap.samples": 7000000, "device.kind": "emulated", ...}: how parameters
 * travel to `dlbench rung`. `origin` names it in errors. */
int dlb_gap_params_flat(struct dlb_gap_params *params, const json_t *flat, const char *origin,
                        struct dlb_err *err);

static inline uint64_t dlb_gap_row_bytes(const struct dlb_gap_params *params)
{
    return (uint64_t)params->features * sizeof(float);
}
static inline uint64_t dlb_gap_batch_bytes(const struct dlb_gap_params *params)
{
    return (uint64_t)params->batch_size * dlb_gap_row_bytes(params);
}
static inline uint64_t dlb_gap_array_bytes(const struct dlb_gap_params *params)
{
    return (uint64_t)params->samples * dlb_gap_row_bytes(params);
}
static inline uint64_t dlb_gap_n_batches(const struct dlb_gap_params *params)
{
    return ((uint64_t)params->samples + (uint64_t)params->batch_size - 1) /
           (uint64_t)params->batch_size;
}

/* Names of the C rungs, in the ladder's order; ends with NULL. */
extern const char *const dlb_gap_rung_names[];
/* Memory that a rung takes at its most, the array included. 0 for a name that is none. */
uint64_t dlb_gap_rung_bytes(const struct dlb_gap_params *params, const char *name);

/* Runs it; `cancel` and `pulse`, which counts batches, may be NULL. New reference; NULL when memory
 * is short. The document: rung status "ok" | "failed" | "cancelled"; reason and error (enum
 * dlb_status) unless ok. What follows is only there when ok. seconds: of the median measured epoch,
 * and epochs[]: of each. Where their number is even, it is the faster one in the middle, so that it
 * is an epoch that was: all below is of that one. n_samples, n_batches, batch_bytes, n_workers (0:
 * the loop does it all) device{kind, name, why, emulated} huge_pages{asked, array_frac,
 * batch_frac}: what the kernel really gave, from smaps; null: not known, or memory that was gone
 *   checksum: 16 hex digits of the content, free of order (scenarios/gap/rungs/array.h); null
 * without warm-up parts{NAME: {seconds, minor_faults}}: the training loop's time, each with stamps
 * of its own; with "unexplained" (seconds alone) they are `seconds`. Only those that the rung has.
 *   worker_parts{NAME: {seconds, minor_faults}}: of all workers and the pin thread together. They
 *     run beside each other: divide by n_workers to compare, never add to parts.
 *   start_up{array, prepare, device, start}: seconds, once for the process and outside of every
 *     epoch; prepare: mappings and the fork server; start: pinning memory and threads
 *   faults{ns, kind ("private" | "shared"), page_bytes, seconds, per_batch}: ns of CPU that one in
 *     a batch's memory costs here, measured in this process before the epochs
 * (scenarios/gap/rungs/memory.h); seconds: of CPU, of all faults of this epoch, each at the price
 * of its kind of memory; per_batch: those of whoever fills a batch os{process{...}, threads[{name,
 * own_process, ...}], page_bytes}: voluntary_switches, involuntary_switches, cpu_ns,
 * runqueue_wait_ns, blocked_ns, wall_ns, minor_faults, major_faults; process: the sums, workers'
 * processes included. blocked_ns is what cpu_ns and runqueue_wait_ns leave of wall_ns: on a virtual
 * machine also what its host took. copy_calls, sync_calls{count, sum_ns, p50_ns, p99_ns, max_ns}:
 * of the loop's calls of the device, over all measured epochs; below 100 calls p50 and p99 are
 * null. */
json_t *dlb_gap_rung_run(const struct dlb_gap_params *params, const char *name,
                         const atomic_bool *cancel, struct dlb_pulse *pulse);

/* Writes the array that these parameters mean to a descriptor (a pipe to a peer that must have the
 * same one), row by row, and closes nothing. */
int dlb_gap_array_write(const struct dlb_gap_params *params, int fd, const atomic_bool *cancel,
                        struct dlb_err *err);

#endif

/* The case that a ladder measures: the `gap` section of the configuration, and sizes that follow
 * from it.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_PARAMS_H
#define DLB_SCENARIOS_GAP_RUNGS_PARAMS_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/opt.h"
#include "loaders/device/device.h"

#include <jansson.h>
#include <stdint.h>

/* Pages of the array, of fresh batches and of slots alike. KERNEL: the kernel's default, which is
 * what PyTorch gets. */
enum dlb_gap_pages { DLB_GAP_PAGES_SMALL, DLB_GAP_PAGES_HUGE, DLB_GAP_PAGES_KERNEL };
extern const char *const dlb_gap_page_names[]; /* ends with NULL */

/* BUFFER: no device. Batches are copied to one buffer in this host's memory and no step runs. */
enum dlb_gap_target { DLB_GAP_TARGET_DEVICE, DLB_GAP_TARGET_BUFFER };

/* `device` is the section of that name. */
struct dlb_gap_params {
    int64_t samples, features; /* float32; defaults are the published ones */
    int64_t batch_size;
    int64_t epochs;        /* measured, in one process */
    int64_t warmup_epochs; /* before them; the first one is also checksummed */
    int64_t workers;       /* 0 until filled: one for each CPU, at most DLB_GAP_WORKERS_DEFAULT */
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

/* From a configuration that has at least those groups; workers is resolved. */
void dlb_gap_params_fill(struct dlb_gap_params *params, const struct dlb_config *cfg);

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

/* Rows of a batch: the last one may be shorter. */
static inline uint64_t dlb_gap_batch_rows(const struct dlb_gap_params *params, uint64_t batch)
{
    uint64_t size = (uint64_t)params->batch_size;
    uint64_t left = (uint64_t)params->samples - batch * size;
    return left < size ? left : size;
}

#endif

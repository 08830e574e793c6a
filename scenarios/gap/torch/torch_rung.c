#include "scenarios/gap/torch/torch_rung.h"

#include "core/base/json.h"

#include <string.h>

const char *const dlb_gap_torch_names[] = {"torch-direct",
                                           "torch-gather",
                                           "torch-dataloader",
                                           "torch-dataloader-workers",
                                           "torch-batch-sampler",
                                           "torch-out-of-order",
                                           NULL};

/* What PyTorch takes beside the bytes of rows, as measured with CPython 3.11 and torch 2.15. */
#define RUNTIME_BYTES (UINT64_C(600) << 20) /* interpreter and libraries */
#define WORKER_BYTES (UINT64_C(100) << 20)  /* memory that a forked worker does not share */
#define VIEW_BYTES UINT64_C(700)            /* per sample of a batch: tensor, view, tuple, list */
#define ORDER_BYTES UINT64_C(48)            /* per sample of the permutation: tensor, list, int */
#define PREFETCH_FACTOR UINT64_C(2)         /* DataLoader's default */

uint64_t dlb_gap_torch_bytes(const struct dlb_gap_params *params, const char *name)
{
    uint64_t batch = (uint64_t)params->batch_size, batch_bytes = dlb_gap_batch_bytes(params);
    uint64_t workers = (uint64_t)params->workers;
    /* The array, a device's buffer, and two batches: the loop frees one after it has the next. */
    uint64_t base = RUNTIME_BYTES + dlb_gap_array_bytes(params) + 3 * batch_bytes;
    uint64_t order = (uint64_t)params->samples * ORDER_BYTES;
    if (strcmp(name, "torch-direct") == 0)
        return base;
    if (strcmp(name, "torch-gather") == 0 || strcmp(name, "torch-batch-sampler") == 0)
        return base + order;
    if (strcmp(name, "torch-dataloader") == 0)
        return base + order + batch * VIEW_BYTES;
    if (strcmp(name, "torch-dataloader-workers") == 0 || strcmp(name, "torch-out-of-order") == 0)
        return base + order +
               workers * (WORKER_BYTES + batch * VIEW_BYTES + (PREFETCH_FACTOR + 1) * batch_bytes);
    return 0;
}

/* What rung.py needs to copy and step as the C rungs do. */
static json_t *device_json(const struct dlb_gap_params *params, const struct dlb_device *device)
{
    const struct dlb_device_opts *o = &params->device;
    const struct dlb_device_profile *profile = &dlb_device_profiles[o->profile];
    double rate =
        o->pageable_bytes_per_s > 0 ? o->pageable_bytes_per_s : profile->pageable_bytes_per_s;
    bool buffer = params->target == DLB_GAP_TARGET_BUFFER;
    return dlb_json_made(json_pack("{ss, sf, sf, sf}", "kind",
                                   buffer             ? "buffer"
                                   : device->emulated ? "emulated"
                                                      : device->name,
                                   "pageable_bytes_per_s", rate, "copy_s", o->copy_us * 1e-6,
                                   "step_s", buffer ? 0.0 : o->step_ms * 1e-3));
}

json_t *dlb_gap_torch_spec_json(const struct dlb_gap_torch_spec *spec)
{
    json_t *out = dlb_json_made(json_deep_copy(spec->flat));
    dlb_json_put(out, "rung", dlb_json_safe_text(spec->name));
    dlb_json_put(out, "gap.samples", json_integer(spec->params->samples));
    dlb_json_put(out, "gap.workers", json_integer(spec->params->workers));
    dlb_json_put(out, "array",
                 dlb_json_made(json_pack("[os]", dlb_json_safe_text(spec->exe), "array")));
    dlb_json_put(out, "device", device_json(spec->params, spec->device));
    dlb_json_put(out, "check", json_boolean(spec->check));
    return out;
}

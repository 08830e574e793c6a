#include "loaders/device/cuda/step_plan.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#define KERNEL_NS 100e6 /* the next kernel begins after microseconds: nothing beside this */
#define MAX_KERNELS 300 /* of a step: 2 s each of the longest step, and an end waits for one */

int dlb_step_fit(const struct dlb_step_point points[4], struct dlb_step_model *out,
                 struct dlb_err *err)
{
    const struct dlb_step_point *small = &points[0], *all = &points[1], *low = &points[2],
                                *high = &points[3];
    double ns_per_iter = 0;

    *out = (struct dlb_step_model){0};
    if (high->n_iters > low->n_iters)
        ns_per_iter = (high->ns - low->ns) / (double)(high->n_iters - low->n_iters);
    if (!(ns_per_iter > 0))
        return dlb_fail(err, DLB_ERR_GPU_SHARED, NULL, DLB_NO_OFFSET,
                        "the step cannot be calibrated: more work took no longer on the GPU; is "
                        "another program using it?");
    out->ns_per_iter = ns_per_iter;
    if (all->n_bytes > small->n_bytes)
        out->ns_per_byte = fmax(0, (all->ns - small->ns) / (double)(all->n_bytes - small->n_bytes));
    /* From the points with iterations, where steps will be: what the first iterations cost more or
     * less than later ones is in it. */
    double at_low_ns = ns_per_iter * (double)low->n_iters;
    out->fixed_ns = fmax(0, low->ns - at_low_ns - out->ns_per_byte * (double)low->n_bytes);
    return DLB_OK;
}

uint64_t dlb_step_iters(const struct dlb_step_model *model, double ns, size_t n_bytes)
{
    double left_ns = ns - model->fixed_ns - model->ns_per_byte * (double)n_bytes;
    double n = model->ns_per_iter > 0 ? left_ns / model->ns_per_iter : 0;
    return n >= 0x1p63 ? UINT64_C(1) << 63 : n > 0 ? (uint64_t)llround(n) : 0;
}

void dlb_step_correct(struct dlb_step_model *model, const struct dlb_step_point *measured)
{
    double iters_ns = model->ns_per_iter * (double)measured->n_iters;
    double rest_ns = model->fixed_ns + model->ns_per_byte * (double)measured->n_bytes;
    double missing_ns = measured->ns - iters_ns - rest_ns;

    if (measured->n_iters > 0 && iters_ns > rest_ns && iters_ns + missing_ns > 0)
        model->ns_per_iter = (iters_ns + missing_ns) / (double)measured->n_iters;
    else
        model->fixed_ns = fmax(0, model->fixed_ns + missing_ns);
}

uint32_t dlb_step_launches(double ns)
{
    double n = ceil(ns / KERNEL_NS);
    return n > MAX_KERNELS ? MAX_KERNELS : n > 1 ? (uint32_t)n : 1;
}

uint32_t dlb_step_sms(uint32_t total, double share)
{
    uint32_t n = (uint32_t)llround(share * (double)total);
    return n < 1 ? 1 : n > total ? total : n;
}

uint64_t dlb_step_sum(const void *bytes, size_t n_bytes)
{
    const uint8_t *at = bytes;
    uint64_t sum = 0, i = 0;

    for (; n_bytes > 0; i++) {
        uint64_t word = 0;
        size_t n = n_bytes < sizeof word ? n_bytes : sizeof word;
        memcpy(&word, at, n);
        sum += le64toh(word) * (2 * i + 1);
        at += n;
        n_bytes -= n;
    }
    return sum;
}

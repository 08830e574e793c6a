/* How much work makes a GPU's synthetic step last as long as asked.
 *
 * Floor 3, private to the CUDA device. Consumer thread; pure. A step reads its batch, then repeats
 * an iteration of arithmetic or of memory traffic. What both cost is measured once, at open. */
#ifndef DLB_LOADERS_DEVICE_CUDA_STEP_PLAN_H
#define DLB_LOADERS_DEVICE_CUDA_STEP_PLAN_H

#include "core/base/err.h"

#include <stddef.h>
#include <stdint.h>

struct dlb_step_model {
    double fixed_ns;    /* of a step without bytes and iterations: launches */
    double ns_per_byte; /* of reading the batch */
    double ns_per_iter;
};

/* One measured step. */
struct dlb_step_point {
    size_t n_bytes;
    uint64_t n_iters;
    double ns;
};

/* Fits the model to four points: few bytes, all bytes, then all bytes with two numbers of
 * iterations. Negative costs are noise, and become 0. DLB_E_DEVICE when iterations take no time. */
int dlb_step_fit(const struct dlb_step_point points[4], struct dlb_step_model *out,
                 struct dlb_err *err);

/* Iterations that make a step of n_bytes last `ns`; 0 when reading alone takes that long. */
uint64_t dlb_step_iters(const struct dlb_step_model *model, double ns, size_t n_bytes);

/* Changes fixed_ns or ns_per_iter, whichever has the larger part of the step, so that the model
 * gives the measured duration at this point. */
void dlb_step_correct(struct dlb_step_model *model, const struct dlb_step_point *measured);

/* The number of kernels that a step is split into. Long steps are split so that a run can be ended
 * between kernels. */
uint32_t dlb_step_launches(double ns);

/* The number of multiprocessors that `share` of `total` means; at least one. */
uint32_t dlb_step_sms(uint32_t total, double share);

/* The sum that the step's reading kernel computes: over the 8-byte little-endian words of the
 * bytes, the last one filled up with zeros, of word i times 2i + 1, modulo 2^64. It does not depend
 * on the order of additions, but a word at another place changes it. */
uint64_t dlb_step_sum(const void *bytes, size_t n_bytes);

#endif

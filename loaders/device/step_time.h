/* How long a training step takes: the distribution that the options ask for.
 *
 * Floor 3. Consumer thread; pure. Every kind of device draws its steps from here. */
#ifndef DLB_LOADERS_DEVICE_STEP_TIME_H
#define DLB_LOADERS_DEVICE_STEP_TIME_H

#include "core/base/rng.h"
#include "loaders/device/device.h"

#include <stdint.h>

/* Duration of the next step, from device.step_ms, step_dist and step_stdev_ms. */
uint64_t dlb_step_draw_ns(const struct dlb_device_opts *opts, struct dlb_rng *rng);

#endif

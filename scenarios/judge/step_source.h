/* Where the step time of a result comes from, in words.
 *
 * Floor 4. Any thread. */
#ifndef DLB_SCENARIOS_JUDGE_STEP_SOURCE_H
#define DLB_SCENARIOS_JUDGE_STEP_SOURCE_H

#include "core/base/config.h"

#include <stddef.h>

/* "default", "swept", "workload resnet50:14", "configuration (imagenet.toml:40)", or what
 * device.step_source says. That was written beside a step_ms: if a later file or --set replaced the
 * step_ms alone, it says nothing of the new one. Returns `text`. */
const char *dlb_step_source(const struct dlb_config *cfg, char *text, size_t n_text);

#endif

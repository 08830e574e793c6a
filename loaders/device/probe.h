/* Asking a driver in a throwaway child.
 *
 * Floor 3. Control thread, before the driver is used in this process. A driver may crash, hang or
 * leave threads behind: what it does to the child does not reach the caller. */
#ifndef DLB_LOADERS_DEVICE_PROBE_H
#define DLB_LOADERS_DEVICE_PROBE_H

#include "core/base/err.h"

#include <stdint.h>

/* Answers DLB_OK with the device's name, or why it cannot be had. */
typedef int dlb_probe_fn(char name[96], struct dlb_err *err);

/* Runs `ask` in a child, for at most timeout_ns. DLB_E_DEVICE when the child was killed, ended
 * without an answer, or ran out of time; else what `ask` answered. */
int dlb_device_probe(dlb_probe_fn *ask, uint64_t timeout_ns, char name[96], struct dlb_err *err);

#endif

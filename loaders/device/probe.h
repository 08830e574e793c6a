/* Asks a driver in a child process that is thrown away.
 *
 * Floor 3. Control thread, before the driver is used in this process. A driver may crash, hang or
 * leave threads behind: only the child is affected. */
#ifndef DLB_LOADERS_DEVICE_PROBE_H
#define DLB_LOADERS_DEVICE_PROBE_H

#include "core/base/err.h"

#include <stdint.h>

/* Returns DLB_OK with the device's name, or an error that says why it cannot be used. */
typedef int dlb_probe_fn(char name[96], struct dlb_err *err);

/* Runs `ask` in a child for at most timeout_ns and returns its answer. DLB_E_DEVICE when the child
 * was killed, ended without an answer, or ran out of time. */
int dlb_device_probe(dlb_probe_fn *ask, uint64_t timeout_ns, char name[96], struct dlb_err *err);

#endif

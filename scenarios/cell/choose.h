/* Which loader and which device measure a cell.
 *
 * Floor 4, private to scenarios/cell. Control thread. */
#ifndef DLB_SCENARIOS_CELL_CHOOSE_H
#define DLB_SCENARIOS_CELL_CHOOSE_H

#include "core/base/err.h"
#include "loaders/device/device.h"
#include "loaders/loader.h"
#include "scenarios/cell/cell.h"
#include "scenarios/spec/spec.h"

/* NULL, with *err, if the options contradict each other. */
const struct dlb_loader *dlb_cell_loader(const struct dlb_spec *spec, enum dlb_cell_mode mode,
                                         struct dlb_err *err);

/* As dlb_device_choose; batches that stay in another process reach the emulated device alone. */
const struct dlb_device *dlb_cell_device(const struct dlb_spec *spec,
                                         const struct dlb_loader *loader, const char *memo,
                                         char why[160], struct dlb_err *err);

#endif

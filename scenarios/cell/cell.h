/* One repetition of one cell, in this process: open, start, consume, stop, and report what was
 * measured.
 *
 * Floor 4. Control thread, which becomes the consumer. The runner calls it in a fresh process
 * (`dlbench cell`); tests call it directly. */
#ifndef DLB_SCENARIOS_CELL_CELL_H
#define DLB_SCENARIOS_CELL_CELL_H

#include "core/base/err.h"
#include "core/base/pulse.h"
#include "core/measure/trace.h"
#include "loaders/meet.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/spec.h"

#include <stdatomic.h>
#include <stdint.h>

enum dlb_cell_mode {
    DLB_MODE_MEASURE,
    DLB_MODE_CEILING, /* the same with batches that are always ready (loaders/pool/ld_resident.c) */
    DLB_MODE_WARM,    /* reads all data in the smallest batches; "skipped" if they exceed memory */
    DLB_MODE_BASELINE, /* another program reads the same files (scenarios/storage/fio.h) */
};
extern const char *const dlb_cell_mode_names[]; /* ends with NULL */

struct dlb_cell_watch {
    struct dlb_pulse *pulse;   /* batches so far, and other signs of life; may be NULL */
    const atomic_bool *cancel; /* may be NULL */
    const char *memo;    /* folder for what cells find out about the device (loaders/device/memo.h);
                            may be NULL */
    uint64_t data_id;    /* dlb_shape.id when the run first opened it; 0: not known */
    const char *scratch; /* folder for what other programs need; NULL: /tmp */
    struct dlb_trace *trace; /* opened by the cell, closed by the caller, who may take what it holds
                                if nothing is stuck; NULL: no timeline is recorded */
    struct dlb_meet *meet;   /* where it meets the cells of other ranks; NULL: there are none */
};

/* Fills *out, whatever happens; the caller frees it (dlb_cell_result_free). A cancelled or
 * failed repetition holds what was measured until then. If out->stuck_why is set, a worker or a
 * GPU did not stop at the end: the process should leave by _exit. The measurements stand, but
 * figures of the workers are absent. */
void dlb_cell_run(const struct dlb_spec *spec, enum dlb_cell_mode mode,
                  const struct dlb_cell_watch *watch, struct dlb_cell_result *out);

/* "emulated H100", or the device's own name. */
void dlb_cell_device_name(const struct dlb_device *device, const struct dlb_device_opts *opts,
                          char *text, size_t n_text);

#endif

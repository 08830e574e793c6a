/* One repetition of one cell, in this process: open, start, consume, stop, and say what happened.
 *
 * Floor 4. Control thread, which becomes the consumer. The runner calls it in a fresh process
 * (`dlbench cell`); tests call it directly. */
#ifndef DLB_SCENARIOS_CELL_CELL_H
#define DLB_SCENARIOS_CELL_CELL_H

#include "core/base/err.h"
#include "core/base/pulse.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

enum dlb_cell_mode {
    DLB_MODE_MEASURE,
    DLB_MODE_WARM, /* batches as small as they may be; "skipped" when the data do not fit in memory
                    */
    DLB_MODE_BASELINE, /* another program reads the same files (fio.h) */
};
extern const char *const dlb_cell_mode_names[]; /* ends with NULL */

struct dlb_cell_watch {
    struct dlb_pulse *pulse;   /* batches so far, and other signs of life; may be NULL */
    const atomic_bool *cancel; /* may be NULL */
    const char *memo; /* folder for what cells find out about the device (memo.h); may be NULL */
};

/* New reference; NULL when memory is short. The document:
 *   status "ok" | "failed" | "cancelled" | "skipped"; reason (text) and error (enum dlb_status)
 * unless ok device{kind, name, why, gpu}; n_steps, n_samples, n_bytes, window_ns, busy_ns,
 * idle_input_ns, idle_copy_ns, idle_other_ns, late_copy_ns, epoch_idle_ns, epoch_other_ns,
 * n_batches, wall_ns, unaccounted_ns, n_checksum_mismatches, consumer_cpu_ns; au{},
 * accelerators{count, each[]}; epochs[]; worker_stages, consumer_stages, device_stages;
 * reads{}, io_bytes, worker_samples (that these were read for: io_bytes / worker_samples is what a
 * sample costs, however many are left over at the end), worker_cpu_ns, runqueue_ns, order_wait_ns,
 * n_skipped, n_cut_shards, skipped[]; memory{}; os{}; machine_busy_frac, machine_stolen_frac,
 * machine_stolen_ns;
 * resident_frac, residency_by, cache{}. A cancelled or failed one holds what was measured until
 * then. "stuck": true and stuck_why (text) when a worker or a GPU did not come back at the end: the
 * process should leave by _exit. What was measured before stands; of workers nothing is told then.
 */
json_t *dlb_cell_run(const struct dlb_spec *spec, enum dlb_cell_mode mode,
                     const struct dlb_cell_watch *watch);

/* "emulated H100", or the device's own name. */
void dlb_cell_device_name(const struct dlb_device *device, const struct dlb_device_opts *opts,
                          char *text, size_t n_text);

#endif

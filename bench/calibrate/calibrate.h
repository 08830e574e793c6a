/* Measures a training step of the user's own Python program, and writes it as a configuration.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_CALIBRATE_CALIBRATE_H
#define DLB_BENCH_CALIBRATE_CALIBRATE_H

#include "core/base/err.h"
#include "core/base/opt.h"
#include "reports/text.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

/* The `calibrate` section: flags of the command. */
struct dlb_calibrate_opts {
    char python[DLB_OPT_STRING_CAP];      /* "train.py:make_step" */
    char interpreter[DLB_OPT_STRING_CAP]; /* "": the first that dlb_find_python finds */
    double seconds;                       /* the longest that steps are measured */
    int64_t timeout_s;                    /* without a step, or an end of the import */
};
extern const struct dlb_opt_group dlb_calibrate_group;

struct dlb_calibrate {
    const struct dlb_calibrate_opts *opts;
    const atomic_bool *cancel;
    void (*tick)(void *ctx, uint64_t n_steps);
    void *ctx;
};

/* Runs the interpreter and bench/calibrate/step.py. *out: its answer, with "target" and
 * "interpreter"; new reference. PYTHON_NOT_FOUND; STEP_NOT_FOUND, STEP_RAISED, STEP_NOT_CALLABLE,
 * STEP_CRASHED of the user's program; PROGRAM_HANGS. */
int dlb_calibrate_measure(const struct dlb_calibrate *how, json_t **out, struct dlb_err *err);

/* What goes to the configuration. */
struct dlb_calibrated {
    double step_ms, step_stdev_ms;
    const char *step_dist; /* static */
    char step_source[DLB_OPT_STRING_CAP];
};
void dlb_calibrated_from(const json_t *answer, struct dlb_calibrated *out);

/* The TOML text: comments of what was measured, then [device]. */
void dlb_calibrate_toml(const json_t *answer, struct dlb_text *out);

#define DLB_CALIBRATE_MARK "# dlbench calibrate: " /* how the file begins */

#endif

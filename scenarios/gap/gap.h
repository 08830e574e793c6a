/* The in-memory ladder: which rungs, in what order and size, and what they show together.
 *
 * Floor 4. Control thread. Planning and judging are pure; the runner executes, one process for each
 * repetition of a rung. C rungs are scenarios/gap/rungs/rung.h's, PyTorch's are gap_torch.py's. */
#ifndef DLB_SCENARIOS_GAP_GAP_H
#define DLB_SCENARIOS_GAP_GAP_H

#include "core/base/err.h"
#include "core/base/opt.h"
#include "core/measure/stats.h"
#include "scenarios/gap/rungs/rung.h"
#include "scenarios/gap/torch/python.h"
#include "scenarios/judge/summary.h"
#include "scenarios/scenario.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The rest of the `gap` section: how the ladder is measured. */
struct dlb_gap_opts {
    int64_t repeats;
    char python[DLB_OPT_STRING_CAP]; /* "": none is preferred */
};
extern const struct dlb_opt_group dlb_gap_ladder_group;

#define DLB_GAP_MIN_BATCHES 7 /* the published run's: what a ladder that shrinks still has */
#define DLB_GAP_MAX_RUNGS 24

extern const char *const dlb_gap_torch_names[]; /* in the ladder's order; ends with NULL */

/* Memory that a PyTorch rung takes at its most, all its processes together; 0 for a name that is
 * none. */
uint64_t dlb_gap_torch_bytes(const struct dlb_gap_params *params, const char *name);

/* Makes samples and batch smaller together until every rung (PyTorch's only with `torch`) fits into
 * available_bytes, with at least DLB_GAP_MIN_BATCHES batches. `said`: what was done, in words; ""
 * when it fits as it is. DLB_E_NOMEM when not even that many rows fit. */
int dlb_gap_shrink(struct dlb_gap_params *params, uint64_t available_bytes, bool torch,
                   char said[256], struct dlb_err *err);

struct dlb_gap_plan_input {
    const struct dlb_gap_params *params; /* as they fit */
    int64_t repeats;
    const json_t *flat; /* the same, as a rung takes it */
    const char *exe;    /* this program, for whoever wants the array from it */
    const struct dlb_gap_python *python;
    const struct dlb_device *device; /* that the C rungs end at */
};

/* A cell for each rung, in the ladder's order; cells have names. PyTorch's are skipped, with the
 * reason, where no interpreter has it. `in->python` is borrowed until the plan is freed. */
int dlb_gap_plan(const struct dlb_gap_plan_input *in, struct dlb_plan *out, struct dlb_err *err);

enum dlb_gap_status { DLB_GAP_OK, DLB_GAP_NOT_MEASURED, DLB_GAP_FAILED };

/* One rung, over its repetitions. NaN: not measured. */
struct dlb_gap_judged {
    const char *name;
    bool torch;
    enum dlb_gap_status status;
    enum dlb_status error; /* of a failed one */
    char reason[1024];
    uint32_t n_values;
    double *values; /* [n_values] seconds of an epoch; owned */
    struct dlb_estimate seconds;
    double to_direct; /* C rungs to direct, PyTorch's to torch-direct: each to its own 1x */
    double to_floor;
    double step_seconds; /* more than the rung before, of the same kind; NaN for the first */
    const char *step_from;
    const json_t *shown; /* the repetition in the middle, of two the faster; borrowed */
    const json_t *docs;  /* all of them; borrowed */
};

/* Where torch-dataloader's time beyond torch-direct goes. */
enum dlb_gap_cause {
    DLB_GAP_CAUSE_INDEXING,
    DLB_GAP_CAUSE_STACKING,
    DLB_GAP_CAUSE_MISSES,
    DLB_GAP_CAUSE_FAULTS,
    DLB_GAP_CAUSE_TRANSPORT,
    DLB_GAP_CAUSE_PINNING,
    DLB_GAP_CAUSE_COPIES,
    DLB_GAP_CAUSE_START_UP,
    DLB_GAP_CAUSE_UNEXPLAINED,
    DLB_GAP_N_CAUSES
};
extern const char *const dlb_gap_cause_names[DLB_GAP_N_CAUSES];

struct dlb_gap_share {
    double seconds;           /* NaN: not shown by what was measured, and in unexplained then */
    const char *removed_by;   /* what takes the cause away; NULL: nothing had to show it */
    const char *removed_with; /* the part that goes with it; NULL: it goes alone */
    double removes_seconds;   /* what that removed, of both together; NaN */
};

struct dlb_gap_judgement {
    struct dlb_gap_judged rung[DLB_GAP_MAX_RUNGS];
    uint32_t n_rungs;
    bool decomposed;
    double total_seconds; /* torch-dataloader less torch-direct */
    struct dlb_gap_share part[DLB_GAP_N_CAUSES];
    char text[4096]; /* lines */
};

struct dlb_gap_judge_input {
    const struct dlb_plan *plan;
    const struct dlb_results *results;
    const struct dlb_gap_params *params;
    const struct dlb_gap_python *python;
    const char *said;   /* about the size; "" */
    double stolen_frac; /* of all CPUs' time while the rungs ran, by a hypervisor; NaN */
};

int dlb_gap_judge(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *out,
                  struct dlb_err *err);
void dlb_gap_judgement_free(struct dlb_gap_judgement *judgement);

/* The rung of that name when it was measured, else NULL. */
const struct dlb_gap_judged *dlb_gap_measured(const struct dlb_gap_judgement *j, const char *name);

/* The median of what `read` finds in each of its documents; NaN where none has it. */
double dlb_gap_over(const struct dlb_gap_judged *rung,
                    double (*read)(const json_t *doc, const char *name), const char *name);

/* Fills decomposed, total_seconds and part[] from the rungs. */
void dlb_gap_decompose(struct dlb_gap_judgement *j);

/* Fills text from all else. */
void dlb_gap_words(const struct dlb_gap_judge_input *in, struct dlb_gap_judgement *j);

/* `gap` of summary.json; new reference, NULL when memory is short. */
json_t *dlb_gap_json(const struct dlb_gap_judge_input *in, const struct dlb_gap_judgement *j);

/* summary.json: no cells, and `gap`. Of `head` plan, results and judgement are not read. New
 * reference; NULL with *err. */
json_t *dlb_gap_summary(const struct dlb_summary *head, const struct dlb_gap_judge_input *in,
                        const struct dlb_gap_judgement *j, const struct dlb_device *device,
                        struct dlb_err *err);

#endif

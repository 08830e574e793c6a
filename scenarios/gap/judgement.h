/* The judgement of the ladder, from the repetitions of all rungs.
 *
 * Floor 4. Pure. judge.h makes a judgement: it reads the repetitions of each rung and compares
 * rungs; then decompose.h, cures.h and words.h fill what follows from that. */
#ifndef DLB_SCENARIOS_GAP_JUDGEMENT_H
#define DLB_SCENARIOS_GAP_JUDGEMENT_H

#include "core/base/err.h"
#include "core/measure/stats.h"
#include "scenarios/gap/rungs/params.h"
#include "scenarios/gap/rungs/rung_result.h"
#include "scenarios/gap/torch/python.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_GAP_MAX_RUNGS 24
#define DLB_GAP_MAX_CURES 8

/* The case and the machine that the ladder was measured with. All borrowed. */
struct dlb_gap_setting {
    const struct dlb_gap_params *params;
    const struct dlb_gap_python *python;
    const char *said;   /* how the size was reduced; "" */
    double stolen_frac; /* of all CPUs' time while the rungs ran, taken by a hypervisor; NaN */
};

enum dlb_gap_status { DLB_GAP_OK, DLB_GAP_NOT_MEASURED, DLB_GAP_FAILED };

/* One rung, over its repetitions. NaN: not measured. */
struct dlb_gap_judged {
    const char *name; /* borrowed from the plan */
    bool torch;
    enum dlb_gap_status status;
    enum dlb_code code; /* of a failed one */
    char reason[1024];
    struct dlb_rung_result *result; /* [n_results] the repetitions; owned */
    uint32_t *block;                /* [n_results] of each repetition; owned */
    uint32_t n_results;
    double *values; /* [n_values] seconds of an epoch, of the repetitions that measured; owned */
    uint32_t n_values;
    struct dlb_estimate seconds;
    double to_direct; /* C rungs to direct, PyTorch's to torch-direct */
    double to_floor;
    double step_seconds; /* more than step_from, the rung of the same kind before; NaN: the first */
    const char *step_from;
    const struct dlb_rung_result *shown; /* the median repetition, of two the faster; or NULL */
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
    DLB_GAP_CAUSE_CLOSURE,
    DLB_GAP_N_CAUSES
};
extern const char *const dlb_gap_cause_names[DLB_GAP_N_CAUSES];

/* How the time of a cause is known. */
enum dlb_gap_label {
    DLB_GAP_REMOVED, /* it was taken away, and the difference measured */
    DLB_GAP_STAMPED, /* time stamps */
    DLB_GAP_PRICED,  /* a count times the cost of one */
    DLB_GAP_CLOSURE, /* what is left of the sum */
    DLB_GAP_N_LABELS
};
extern const char *const dlb_gap_label_names[DLB_GAP_N_LABELS];

struct dlb_gap_share {
    double seconds;   /* NaN: the measurements do not show it; then it is in the closure */
    double low, high; /* 95%, from the differences of each block; NaN: fewer than 3 blocks */
    enum dlb_gap_label label;
    const char *removed_by;   /* what removes the cause; NULL: only stamps show it */
    const char *removed_with; /* the part that is removed together with it; NULL: none */
    double removes_seconds;   /* what that removed, both parts together; NaN */
};

/* A rung that may close the gap, compared with torch-dataloader. */
struct dlb_gap_cure {
    const struct dlb_gap_judged *rung;
    const char *how;
    double gain; /* torch-dataloader's seconds over its seconds */
    bool helps;  /* faster than torch-dataloader */
    bool tied;   /* helps, but the cure before it is not told to be faster */
};

struct dlb_gap_judgement {
    struct dlb_gap_judged rung[DLB_GAP_MAX_RUNGS];
    uint32_t n_rungs;
    bool decomposed;
    double total_seconds;         /* torch-dataloader less torch-direct */
    double total_low, total_high; /* as of a part */
    uint32_t n_blocks;            /* that have both, and what the removed parts need */
    struct dlb_gap_share part[DLB_GAP_N_CAUSES];
    struct dlb_gap_cure
        cure[DLB_GAP_MAX_CURES]; /* those that help first, each kind fastest first */
    uint32_t n_cures;
    double noise_floor_frac; /* smallest difference of two rungs that the repetitions can tell
                                (core/measure/noise.h); NaN: no rung was repeated */
    double busy_frac; /* the largest share of an epoch that a loop alone in its process waited for a
                         CPU */
    const struct dlb_gap_judged *busy_rung; /* of that epoch; NULL */
    char text[4096];                        /* lines */
};

void dlb_gap_judgement_free(struct dlb_gap_judgement *judgement);

/* The rung of that name when it was measured, else NULL. */
const struct dlb_gap_judged *dlb_gap_measured(const struct dlb_gap_judgement *j, const char *name);

/* Whether the interval of `one` lies below that of the other (core/measure/stats.h: all repetitions
 * below six, then 95% of the median), and the medians differ by more than the noise floor. Single
 * repetitions tell no difference. */
bool dlb_gap_is_faster(const struct dlb_gap_judgement *j, const struct dlb_gap_judged *one,
                       const struct dlb_gap_judged *than);

/* The median of `figure` over the repetitions that measured it; NaN if none did. */
double dlb_gap_over(const struct dlb_gap_judged *rung,
                    double (*figure)(const struct dlb_rung_result *result, const char *name),
                    const char *name);

#endif

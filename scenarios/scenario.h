/* Scenarios: what to run, and how to judge it. One const table, one file, one line in
 * scenarios.def.
 *
 * Floor 4. Control thread. plan() and judge() are pure: no clock, no file, no process. The runner
 * (runner.h) executes what plan() lists, and hands what came back to judge(). */
#ifndef DLB_SCENARIOS_SCENARIO_H
#define DLB_SCENARIOS_SCENARIO_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/measure/stats.h"
#include "core/measure/verdict.h"
#include "formats/dataset.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/spec/axes.h"
#include "scenarios/spec/spec.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DLB_MAX_CELLS 4096 /* of one plan, skipped ones included */

/* What one process does. */
enum dlb_task_kind {
    DLB_TASK_WARM,      /* reads all data once: for every cell, or for the task behind it */
    DLB_TASK_REFERENCE, /* a cell run again at the start of every block and at the end of the last:
                           exposes drift */
    DLB_TASK_CELL,
    DLB_TASK_CEILING,  /* the same training step with its data resident: what the device could do */
    DLB_TASK_BASELINE, /* another program reads what the cell reads */
};

struct dlb_task {
    enum dlb_task_kind kind;
    uint32_t index; /* of the cell, ceiling or warm pass */
    uint32_t block; /* repetition */
    bool for_next;  /* WARM: goes with the task behind it, a cell */
};

/* What measures a cell, where that is not this program's own `cell`. All borrowed. */
struct dlb_plan_program {
    const char *exe;         /* NULL: this program */
    const char *const *lead; /* struct dlb_child's */
};

/* A cell that another program measures: what it is given, and a name. Its repetitions hold what it
 * wrote (dlb_cell_result.document). */
struct dlb_plan_other {
    const char *name; /* borrowed */
    const struct dlb_plan_program *program;
    json_t *config; /* owned */
    json_t *first;  /* for the first repetition, where that one does more; owned; or NULL */
};

struct dlb_plan_cell {
    struct dlb_spec *spec;       /* owned; NULL for a cell that another program measures */
    struct dlb_plan_other other; /* such a cell's; zeroed for this program's own */
    bool iterable;               /* the kind of its data set */
    bool skipped;                /* listed, never run */
    char reason[512];            /* why it is skipped */
    uint32_t ceiling;            /* its place among the ceilings; UINT32_MAX: it has none */
    uint32_t twin;  /* 1 + the first of its two null-source twins among the ceilings; 0: none */
    int64_t warm;   /* its data set's warm pass, or -1 */
    bool warm_each; /* which comes before each of its repetitions (run.cache = "warm") */
};

/* What a scenario that judges the machine, too, wants to know of it and of the data. 0, NaN: not
 * known. */
struct dlb_plan_host {
    uint64_t n_samples, n_bytes; /* of the data set */
    uint64_t stored_bytes;       /* that its files take: what a page cache would have to hold */
    uint64_t min_shard_samples;  /* of its shards the smallest */
    uint32_t n_shards;           /* 0: it has none, or they are read by samples */
    uint64_t ram_bytes;
    double memcpy_bytes_per_s; /* with every CPU */
};

/* Owned by whoever called plan(); dlb_plan_free gives everything back. */
struct dlb_plan {
    struct dlb_plan_cell *cells;
    uint32_t n_cells;
    struct dlb_spec *ceilings; /* one per distinct device setting; and null-source twins */
    uint32_t n_ceilings;
    struct dlb_spec *warms; /* of the warm passes, one per distinct data set on a disk */
    uint32_t n_warms;
    struct dlb_axes axes;   /* what was swept; none for one cell */
    bool io_depth_said;     /* loader.io_depth was, rather than defaulted */
    struct dlb_task *tasks; /* in the order of execution */
    uint32_t n_tasks, n_blocks;
    int64_t reference; /* cell, or -1 */
    uint64_t seed;
    struct dlb_plan_host host;
    bool step_assumed;     /* nobody said device.step_ms */
    struct dlb_spec *base; /* as it was said: what further cells are made of; NULL: none will be */
    void *own;             /* struct dlb_plan_input's */
};

struct dlb_plan_input {
    const struct dlb_config *cfg; /* base configuration and axes */
    uint32_t n_cpus;              /* that this process may use */
    bool iterable;                /* the kind of the first cell's data set */
    struct dlb_plan_host host;
    void *own; /* what the scenario prepared; borrowed as long as the plan */
};

void dlb_plan_free(struct dlb_plan *plan);

/* What came back. Owned; dlb_results_free. */
struct dlb_results {
    struct dlb_reps *cells;    /* [n_cells] */
    struct dlb_reps *ceilings; /* [n_ceilings] */
    struct dlb_reps reference; /* of the cell that serves as reference */
    struct dlb_reps warm;      /* one for each warm pass that was made */
    struct dlb_reps baseline;
    uint32_t n_cells, n_ceilings;
    bool interrupted;
    double stolen_frac; /* of all CPUs' time so far, taken by a hypervisor; NaN */
};

void dlb_results_init(struct dlb_results *results, const struct dlb_plan *plan);
void dlb_results_free(struct dlb_results *results);

/* Room for the cells and ceilings that a plan has grown by. */
void dlb_results_grow(struct dlb_results *results, const struct dlb_plan *plan);

/* How many of the repetitions, of whatever kind, failed. */
uint32_t dlb_results_n_failed(const struct dlb_results *results);

enum dlb_cell_status { DLB_CELL_OK, DLB_CELL_SKIPPED, DLB_CELL_FAILED };

/* One cell, over its repetitions. NaN: not measured. */
struct dlb_judged_cell {
    enum dlb_cell_status status;
    char reason[800];
    enum dlb_status error;               /* of a failed cell */
    enum dlb_code code;                  /* likewise; DLB_N_CODES: none */
    uint32_t n_values;                   /* repetitions with a window */
    double *samples_per_s;               /* [n_values] */
    double *steps_per_s;                 /* [n_values] of one accelerator */
    uint32_t *block;                     /* [n_values] which block each is of: what pairs cells */
    struct dlb_estimate rate;            /* of samples_per_s */
    const struct dlb_cell_result *shown; /* the repetition nearest the median, for tables of stages;
                                            borrowed from the results; or NULL */
    struct dlb_evidence evidence;
    struct dlb_verdict verdict;
    double ceiling_ratio;          /* ceiling / measured */
    double n_workers, slots_bytes; /* what "smallest" means */
};

struct dlb_judgement {
    struct dlb_judged_cell *cells; /* [plan->n_cells] */
    int64_t best, recommended;     /* cell or -1 */
    bool separable; /* the recommendation stands; else `set` is what could not be told apart */
    uint32_t *set;  /* [n_set] cells; owned */
    uint32_t n_set;
    bool no_answer;        /* the question was not answered: the search was cut short, say */
    char text[768];        /* about best and recommended, in words */
    char pytorch[256];     /* DataLoader(...) of the recommended cell, or of the best where none is
                              recommended; empty where that is not judged */
    json_t *not_modelled;  /* array of {"code", "text"} */
    json_t *notes;         /* likewise: drift, skipped samples, ... */
    double drift_frac;     /* of the reference, last to first block; NaN */
    json_t *storage, *gap; /* these scenarios' own part of summary.json; else NULL */
    const char *verdict_text; /* of a scenario without a verdict on a pipeline; static; else NULL */
};

void dlb_judgement_free(struct dlb_judgement *judgement, const struct dlb_plan *plan);

/* What an experiment is about, found out before it is planned. */
struct dlb_subject {
    struct dlb_spec spec;   /* of the first cell: what data set and device there are */
    struct dlb_shape shape; /* of that data set */
    uint64_t min_shard_samples, stored_bytes; /* struct dlb_plan_host's */
    void *own;                                /* the scenario's; given back by its release() */
};

struct dlb_prepare_input {
    struct dlb_config *cfg;    /* what is settled beforehand may be set in it */
    const char *scratch;       /* folder for files that are needed until release() */
    const atomic_bool *cancel; /* set by an interrupt */
};

/* The driver (bench/experiment) calls prepare, plan, then the runner, which calls next, and after
 * each block and at the end judge. */
struct dlb_scenario {
    const char *name, *summary;
    bool sweeps;         /* takes the lists of [sweep] */
    bool weighs_host;    /* wants all of struct dlb_plan_host, which takes a moment to measure */
    bool all_or_nothing; /* a lost process fails the experiment, which is small enough to repeat */
    const char *finds;   /* the option that it varies by itself: what is said for it is left out */
    /* Refuses a configuration before anything is written; NULL: the driver makes the first spec. */
    int (*check)(const struct dlb_config *cfg, struct dlb_err *err);
    /* Fills *out. NULL: the driver looks at the data set that the configuration names. */
    int (*prepare)(const struct dlb_prepare_input *in, struct dlb_subject *out,
                   struct dlb_err *err);
    int (*plan)(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err);
    /* For plans that depend on results, else NULL: called when every task has ended, it appends
     * cells, ceilings and tasks, or nothing, and then it is over. Pure. */
    int (*next)(struct dlb_plan *plan, const struct dlb_results *results, struct dlb_err *err);
    void (*judge)(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t n_cpus,
                  struct dlb_judgement *out);
    void (*release)(void *own); /* with prepare */
};

extern const struct dlb_scenario
    *const dlb_scenarios[]; /* ends with NULL; in the order of scenarios.def */
const struct dlb_scenario *dlb_scenario_by_name(const char *name); /* or NULL */

#endif

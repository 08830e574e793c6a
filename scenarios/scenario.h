/* Scenarios: what to run, and how to judge it. One const table, one file, one line in
 * scenarios.def.
 *
 * Floor 4. Control thread. plan() and judge() are pure: no clock, no file, no process. The
 * runner (scenarios/run/runner.h) executes the tasks of plan(), and judge() gets their results. */
#ifndef DLB_SCENARIOS_SCENARIO_H
#define DLB_SCENARIOS_SCENARIO_H

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/measure/race.h"
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
    DLB_TASK_WARM,      /* reads all data once: for every cell, or for the next task */
    DLB_TASK_REFERENCE, /* a cell run again at the start of every block, and where the number of
                           blocks is known, at the end of the last: to reveal drift of the machine
                         */
    DLB_TASK_CELL,
    DLB_TASK_CEILING,  /* the cell with batches that are always ready: what the device could do */
    DLB_TASK_BASELINE, /* another program reads what the cell reads */
    DLB_TASK_IN_C,     /* dlbench's own loader does the work of a cell of PyTorch's */
};
#define DLB_N_TASK_KINDS (DLB_TASK_IN_C + 1)

struct dlb_task {
    enum dlb_task_kind kind;
    uint32_t index; /* of the cell, ceiling or warm pass */
    uint32_t block; /* repetition */
    uint32_t again; /* 1, 2 ...: measures a disturbed repetition again */
    bool for_next;  /* WARM: dropped together with the next task, which is a cell */
    bool rewarms;   /* WARM: once more, where a run was resumed: no block's time */
};

/* What measures a cell, where that is not this program's own `cell`. All borrowed. */
struct dlb_plan_program {
    const char *exe;         /* NULL: this program */
    const char *const *lead; /* passed as dlb_child.lead */
};

/* A cell that another program measures: its name and its input. dlb_cell_result.document of its
 * repetitions is the program's output. */
struct dlb_plan_other {
    const char *name; /* borrowed */
    const struct dlb_plan_program *program;
    json_t *config; /* owned */
    json_t *first;  /* for the first repetition, if that one does more; owned; or NULL */
};

/* When a cell's data are read beforehand, by a warm pass outside of all cells. */
enum dlb_warm_when {
    DLB_WARM_ONCE,  /* before the first block */
    DLB_WARM_BLOCK, /* before each block, so that all its cells find the same */
    DLB_WARM_EACH,  /* before each repetition, because others drop the data in between */
};

struct dlb_plan_cell {
    struct dlb_spec *spec;       /* owned; NULL for a cell that another program measures */
    struct dlb_plan_other other; /* used if spec is NULL */
    bool iterable;               /* the kind of its data set */
    bool skipped;                /* listed, never run */
    char reason[512];            /* why it is skipped */
    enum dlb_code code;          /* of the check that refused it; DLB_N_CODES: none did */
    uint32_t ceiling;            /* index of its ceiling; UINT32_MAX: none */
    uint32_t twin; /* 1 + the first of its two null-source twins among the ceilings; 0: none */
    int64_t warm;  /* its data set's warm pass, or -1 */
    enum dlb_warm_when warm_when;
};

/* Facts about the machine and the data set, for scenarios that judge the machine. 0, NaN: not
 * known. */
struct dlb_plan_host {
    uint64_t n_samples, n_bytes;   /* of the data set */
    const char *undecoded;         /* shape.undecoded; borrowed; or NULL */
    uint64_t stored_bytes;         /* size of its files: what a page cache would have to hold */
    uint64_t min_shard_samples;    /* samples in the smallest shard */
    uint32_t n_shards;             /* 0: none, or its shards are read by sample number */
    const uint64_t *shard_samples; /* [n_shards]; borrowed; or NULL */
    uint64_t max_payload_bytes;    /* of one sample in a batch, decoded */
    uint64_t max_sample_bytes;     /* of one sample, as it is stored */
    uint64_t max_decoded_bytes; /* of one sample that is unpacked whole: shape.max_decoded_bytes */
    uint64_t reader_bytes;      /* that each reader takes for itself: shape.reader_bytes */
    uint64_t available_bytes;   /* of memory, when the plan was made */
    uint64_t ram_bytes;         /* of all machines that measure */
    double memcpy_bytes_per_s;  /* with every CPU; of several ranks, for each */
};

/* What a cell's rate is of (core/measure/pace.h). */
enum dlb_rate_kind {
    DLB_RATE_WINDOW, /* the measured window, as it is */
    DLB_RATE_WITHIN, /* within epochs: without their borders */
    DLB_RATE_EPOCH,  /* the epoch that the user will run (run.epoch_samples), borders included */
    DLB_N_RATES
};

/* Of a plan's time, until its last block began. */
struct dlb_race_spent {
    double all_s, cells_s, again_s;
    uint32_t n_runs; /* of cells, that the block has */
};

/* A race between the cells of a sweep (core/measure/race.h). Owned by the plan. */
struct dlb_plan_race {
    struct dlb_race race; /* of all cells that the plan had when it began; those that are skipped,
                             or are not in this race, have failed */
    uint32_t first_block; /* of the plan: the race's block 0 */
    uint32_t *rank, *levels; /* that it borrows; owned */
    enum dlb_rate_kind rate; /* that cells are compared by; DLB_N_RATES: no block has ended */
    double max_s;            /* after which no block begins; 0: none */
    double cut_s;            /* after which no task begins; 0: none */
    struct dlb_race_spent before;
    uint32_t n_cpus; /* for the judge */
};

/* Whether PyTorch's own DataLoader can read the data of a sweep (sweep.confirm). */
struct dlb_plan_torch {
    bool there;
    enum dlb_code code;               /* why not; DLB_N_CODES: there is no code */
    char why[400];                    /* likewise, in words; "": it was not asked */
    struct dlb_spec configured;       /* in cells of other loaders some of it has no meaning */
    char dataset[DLB_OPT_STRING_CAP]; /* python.dataset whose module was looked at; "": none was */
    bool sampler, batch_sampler;      /* that module names one, which decides in their place */
};

/* A cell of PyTorch's whose work dlbench's own loader does, too (scenarios/plan/in_c.h). */
struct dlb_plan_in_c {
    struct dlb_spec *spec; /* of that loader; owned; NULL: of no cell */
    uint32_t cell;
    enum dlb_code code; /* why it cannot be done, if `why` says so */
    char why[400];      /* "": nothing is known against it */
};

/* Owned by the caller of plan(); dlb_plan_free frees everything. */
struct dlb_plan {
    struct dlb_plan_cell *cells;
    uint32_t n_cells;
    struct dlb_spec *ceilings; /* one per distinct setting of device, batches and copies; then
                                  null-source twins */
    uint32_t n_ceilings;
    uint32_t n_resident;    /* of these, the first, which are no twins: DLB_MODE_CEILING */
    struct dlb_spec *warms; /* of the warm passes, one per distinct data set on a disk */
    uint32_t n_warms;
    struct dlb_axes axes;           /* what was swept; none for one cell */
    bool io_depth_said;             /* loader.io_depth was set by the user */
    struct dlb_task *tasks;         /* in the order of execution */
    uint32_t n_tasks, n_blocks;     /* n_blocks: so far, where there is a race */
    bool grows;                     /* next() adds tasks in view of the results */
    struct dlb_plan_race *race;     /* NULL: each cell is measured equally often */
    struct dlb_plan_race *hardware; /* the race that ended before PyTorch's own cells were added,
                                       which are those of `race`; else NULL */
    uint32_t n_grid;                /* cells that the axes make; PyTorch's are behind them */
    struct dlb_plan_torch torch;    /* PyTorch's cells follow the race, or why they do not */
    struct dlb_plan_in_c in_c;
    int64_t reference; /* cell, or -1 */
    uint64_t seed;     /* of the order of tasks, and of a race's draws */
    struct dlb_plan_host host;
    bool step_assumed;     /* device.step_ms was not set */
    struct dlb_spec *base; /* base spec for cells that next() adds; NULL if it adds none */
    void *own;             /* copy of dlb_plan_input.own */
};

struct dlb_plan_input {
    const struct dlb_config *cfg;   /* base configuration and axes */
    const struct dlb_config *cfg_b; /* of compare: the other configuration; else NULL */
    uint32_t n_cpus;                /* that this process may use, or each rank */
    bool iterable;                  /* the kind of the first cell's data set */
    struct dlb_plan_host host;
    struct dlb_plan_torch torch;
    void *own; /* what prepare() made for the scenario; borrowed as long as the plan */
};

void dlb_plan_free(struct dlb_plan *plan);

/* The results of a plan. Owned; dlb_results_free. */
struct dlb_results {
    struct dlb_reps *cells;    /* [n_cells] */
    struct dlb_reps *ceilings; /* [n_ceilings] */
    struct dlb_reps reference; /* of the cell that serves as reference */
    struct dlb_reps warm;      /* one for each warm pass that was made */
    struct dlb_reps baseline;
    struct dlb_reps in_c; /* of plan->in_c */
    uint32_t n_cells, n_ceilings;
    bool interrupted;
    double elapsed_s;  /* since the plan began, at the last task's end; of a run that
                          was resumed, in all of its processes */
    double unjudged_s; /* of these, for what is not judged: a block that was cut off, and warm
                          passes  where the run was resumed */
    uint32_t n_resumed, n_unjudged; /* how often it was resumed; repetitions that do not count */
    double run_s[DLB_N_TASK_KINDS]; /* of these, in tasks of each kind */
    double again_s;                 /* of those of cells, in repetitions that were measured again */
    double stolen_frac;             /* of all CPUs' time so far, taken by a hypervisor; NaN */
};

void dlb_results_init(struct dlb_results *results, const struct dlb_plan *plan);
void dlb_results_free(struct dlb_results *results);

/* Makes room for the cells and ceilings that were added to the plan. */
void dlb_results_grow(struct dlb_results *results, const struct dlb_plan *plan);

/* How many repetitions of any kind failed. */
uint32_t dlb_results_n_failed(const struct dlb_results *results);

enum dlb_cell_status { DLB_CELL_OK, DLB_CELL_SKIPPED, DLB_CELL_FAILED };

struct dlb_judged_rate {
    double *values;           /* [n_values] samples/s; NaN where it was not measured */
    struct dlb_estimate over; /* of the finite ones */
};

/* One cell, over its repetitions. NaN: not measured. */
struct dlb_judged_cell {
    enum dlb_cell_status status;
    char reason[800];
    enum dlb_status error; /* of a failed cell */
    enum dlb_code code;    /* likewise; DLB_N_CODES: none */
    uint32_t n_values;     /* repetitions with a window */
    struct dlb_judged_rate rates[DLB_N_RATES];
    struct dlb_epoch_time times[DLB_N_RATES]; /* medians: shares of the window, of the time within
                                                 epochs, of the projected epoch */
    const double *values;                     /* [n_values] of judgement.ranked_by, and ... */
    struct dlb_estimate rate;                 /* ... over them: what cells are compared by */
    double *steps_per_s;                      /* [n_values] of one accelerator */
    uint32_t *block;              /* [n_values] the block of each; cells are paired by block */
    bool tells_trend, stationary; /* whether halves of the window can be compared; they agree */
    double drained_frac, window_bias_frac; /* core/measure/pace.h, core/measure/window_bias.h */
    const struct dlb_cell_result *shown; /* the repetition nearest the median, for tables of stages;
                                            borrowed from the results; or NULL */
    struct dlb_evidence evidence;
    struct dlb_verdict verdict;
    double n_workers, slots_bytes;   /* what "smallest" means */
    const struct dlb_reps *ceilings; /* those of its ceiling; borrowed from the results; or NULL */
    bool aside;                      /* not in the race that decides: of another pipeline */
    bool rival;                      /* does the best's work, so their rates are compared */
    double modelled_loss_frac;       /* to the best, by the race's model; NaN: none */
};

struct dlb_judgement {
    struct dlb_judged_cell *cells; /* [n_cells], those of the plan */
    uint32_t n_cells;
    double tolerance; /* what the recommended cell may lose to the best (sweep.tolerance) */
    enum dlb_rate_kind ranked_by; /* the most telling rate that all measured cells have */
    int64_t best, recommended;    /* cell or -1 */
    bool separable; /* the recommendation stands; else `set` is the cells that cannot be told apart:
                       after a race, those that may be the answer, the most probable first */
    uint32_t *set;  /* [n_set] cells; owned */
    uint32_t n_set;
    double probability; /* without a race, of what is recommended by the model; NaN; ... */
    struct dlb_race_interval loss_frac; /* ... and its loss to the best */
    bool no_answer;  /* the question was not answered; for example, the search was cut short */
    char text[1024]; /* about best and recommended, in words */
    json_t *no_difference; /* array of swept keys that change nothing at the recommended cell, else
                              at the best */
    json_t *left_out;      /* those of them that `pytorch` leaves to their default */
    bool pins;             /* `pytorch` has pin_memory=True although it makes none */
    json_t *unmeasured;    /* array of keys in `pytorch` that PyTorch's cells did not compare */
    bool ragged;           /* its cell's samples differ in size, which default_collate refuses */
    char pytorch[640];     /* DataLoader(...) of the recommended cell, else of the best; empty if
                              neither is judged */
    json_t *not_modelled;  /* array of {"code", "text"} */
    json_t *notes;         /* likewise: drift, skipped samples, ... */
    double drift_frac;     /* of the reference, last to first block; NaN */
    double noise_floor_frac;  /* smallest loss that the repetitions can tell; NaN: too few */
    bool too_busy;            /* the noise hides which cells are good (scenarios/judge/noise.h) */
    json_t *storage, *gap;    /* these scenarios' own part of summary.json; else NULL */
    const char *verdict_text; /* of a scenario without a verdict on a pipeline; static; else NULL */
};

/* How many of these failed and have no skipped cell's reason that tells of them. */
uint32_t dlb_results_n_untold(const struct dlb_results *results, const struct dlb_judgement *j);

void dlb_judgement_free(struct dlb_judgement *judgement);

/* The data set and device of an experiment, examined before it is planned. */
struct dlb_subject {
    struct dlb_spec spec;                                        /* of the first cell */
    struct dlb_shape shape;                                      /* of that data set */
    uint64_t min_shard_samples, stored_bytes, max_payload_bytes; /* as in struct dlb_plan_host */
    uint64_t *shard_samples;                                     /* likewise; owned by the driver */
    struct dlb_plan_torch torch;
    void *own; /* the scenario's; freed by its release() */
};

struct dlb_prepare_input {
    struct dlb_config *cfg;   /* prepare() may set keys in it */
    const char *scratch;      /* folder for files that are needed until release() */
    uint64_t available_bytes; /* of memory, when the run began */
    const json_t *begun; /* of a run that is gone on with: its settings, as prepare() left them when
                            it began; else NULL */
    const atomic_bool *cancel; /* set by an interrupt */
};

/* The driver (bench/experiment) calls prepare, plan, then the runner, which calls next, and after
 * each block and at the end judge. */
struct dlb_scenario {
    const char *name, *summary;
    bool sweeps;            /* takes the lists of [sweep] */
    bool weighs_host;       /* needs all of struct dlb_plan_host, which takes a moment to measure */
    bool repeats_disturbed; /* what others disturbed is measured again (scenarios/run/again.h) */
    bool all_or_nothing; /* a lost process fails the experiment, which is small enough to repeat */
    const char *varies;  /* the option that it varies by itself; the user's value for it is ignored,
                             with a note */
    const char *until;   /* the option that ends that search; NULL without `varies` */
    /* Refuses a configuration before anything is written; NULL: the driver makes the first spec. */
    int (*check)(const struct dlb_config *cfg, struct dlb_err *err);
    /* Fills *out. NULL: the driver looks at the data set that the configuration names. */
    int (*prepare)(const struct dlb_prepare_input *in, struct dlb_subject *out,
                   struct dlb_err *err);
    int (*plan)(const struct dlb_plan_input *in, struct dlb_plan *out, struct dlb_err *err);
    /* For plans that grow, else NULL: called when every task has ended, it appends cells, ceilings
     * and tasks. Appending nothing ends the experiment. Pure: but for the plan, a race included. */
    int (*next)(struct dlb_plan *plan, const struct dlb_results *results, struct dlb_err *err);
    /* How many runs a plan that grows takes, at the least and about at the most; NULL: it has a
     * race. */
    void (*n_runs)(const struct dlb_plan *plan, uint32_t *least, uint32_t *most);
    void (*judge)(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t n_cpus,
                  struct dlb_judgement *out);
    void (*release)(void *own); /* with prepare */
};

extern const struct dlb_scenario
    *const dlb_scenarios[]; /* ends with NULL; in the order of scenarios.def */
const struct dlb_scenario *dlb_scenario_by_name(const char *name); /* or NULL */

#endif

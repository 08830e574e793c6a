/* The verdict's terms: the evidence that it is judged from, its thresholds, classes and causes, and
 * what its rule found. The rule itself is described in verdict.h.
 *
 * Floor 1. Pure functions, any thread. */
#ifndef DLB_CORE_MEASURE_VERDICT_TERMS_H
#define DLB_CORE_MEASURE_VERDICT_TERMS_H

#include "core/measure/cache_label.h"
#include "core/measure/gain.h"
#include "core/measure/meters.h"

#include <stdbool.h>
#include <stdint.h>

#define DLB_SHARE_WARN 0.10
#define DLB_SHARE_CRITICAL 0.20
#define DLB_COMPUTE_BOUND 0.90
#define DLB_GAIN_CLEAR                                                                             \
    (1 / (1 - DLB_SHARE_WARN)) /* ceiling / measured: what a share of 10% costs */
#define DLB_GAIN_CRITICAL (1 / (1 - DLB_SHARE_CRITICAL)) /* likewise of 20% */
#define DLB_GAIN_OF_ONE                                                                            \
    1.05 /* how far off the gain of a single repetition may be, either way: twice the spread of    \
            gains near the threshold that docs/fidelity.md has (median 2.6%) */
#define DLB_CEILING_IDLE_MAX                                                                       \
    0.10                         /* idle share of a ceiling, copies apart; above, it is not valid */
#define DLB_LOST_WARN 0.01       /* share of skipped samples that warns; critical as above */
#define DLB_UNACCOUNTED_MAX 0.01 /* of the consumer's wall clock ... */
#define DLB_UNACCOUNTED_STEP_NS 100000 /* ... for steps at least this long */
#define DLB_ACCOUNT_MAX 0.02           /* bookkeeping's share of the window, for such steps */
#define DLB_HARNESS_SHORT_MAX 0.05     /* bookkeeping and unaccounted together, for shorter steps */
#define DLB_HARNESS_MAX 0.02           /* largest idle share of the device with a null source */
#define DLB_HEADROOM_MIN 5.0 /* smallest ratio of a null source's rate to the measured rate */
/* The cause is cpu above this share of the workers' working time without a core. */
#define DLB_RUNQUEUE_CLEAR 0.25
/* The cause is order when another batch was ready for more than this share of the input wait, and
 * the other workers had to wait for more than this share of their time. */
#define DLB_ORDER_CLEAR 0.50
#define DLB_BLOCKED_CLEAR 0.05

enum dlb_verdict_class {
    DLB_V_INCOMPLETE, /* no measured window: too few batches, failed or interrupted */
    DLB_V_HARNESS_BOUND,
    DLB_V_INPUT_BOUND,
    DLB_V_H2D_BOUND,
    DLB_V_RESIDUAL_HEAVY,
    DLB_V_BORDERLINE, /* whether loading is the limit lies within the noise: the gain is near the
                         threshold, or anything is possible (dlb_gain_is_lost) */
    DLB_V_COMPUTE_BOUND,
    DLB_V_BALANCED,
};

enum dlb_cause {
    DLB_CAUSE_NONE,
    DLB_CAUSE_READ,
    DLB_CAUSE_DECODE,
    DLB_CAUSE_TRANSFORM,
    DLB_CAUSE_COLLATE,
    DLB_CAUSE_TRANSPORT, /* batches on their way between processes */
    DLB_CAUSE_ORDER,     /* head-of-line blocking: other workers had batches ready */
    DLB_CAUSE_PIN,
    DLB_CAUSE_COPY,
    DLB_CAUSE_CPU,   /* workers were runnable but had no core */
    DLB_CAUSE_HOST,  /* the training loop's own CPU time delayed its steps */
    DLB_CAUSE_START, /* of epochs: first batches came later than loading one takes */
    DLB_CAUSE_HARNESS,
};

enum dlb_severity { DLB_SEVERITY_OK, DLB_SEVERITY_WARN, DLB_SEVERITY_CRITICAL };

/* Everything that judging needs; the caller fills it from a cell's repetitions. Shares are
 * medians over the repetitions; stage sums are those of the repetition nearest the median.
 * Fractions are of the window. */
struct dlb_evidence {
    bool complete; /* there is a measured window, with more batches than workers prefetch */
    bool gpu;      /* the device is a real one; else texts say "the emulated accelerator" */
    double compute_frac, input_frac, h2d_frac, residual_frac;
    double late_copy_frac;       /* part of h2d: copies of batches that came late; 0: not known */
    double unaccounted_frac;     /* of the consumer's wall-clock time; the rule uses this */
    double unaccounted_max_frac; /* its maximum over repetitions, for the text; 0: not known */
    double epoch_frac, oversleep_frac; /* parts of residual: idle time across epoch starts without
                                          the input wait there, late wake-ups; 0: not known */
    double start_frac;   /* part of input: waits for the first batch of an epoch, less what loading
                            one takes; 0: not known */
    double step_ns;      /* median step on the device */
    double account_frac; /* consumer's `account` stage / window */
    double host_frac;    /* its `host` stage, device.host_busy_frac, likewise */
    double copy_call_frac; /* its `copy_call` stage, likewise: what copies take the host, hidden or
                              not; 0 or NaN: not known */
    double harness_frac;   /* idle of the same cell with a null source; 0 or NaN: not measured */
    double harness_headroom;  /* rate of that cell with steps of zero length over the measured rate;
                                 0 or NaN: not measured */
    struct dlb_gain gain;     /* ceiling / measured; n == 0: no ceiling was measured */
    double ceiling_idle_frac; /* share of its window in which the ceiling's device neither computed
                                 nor waited for a copy; 0 or NaN: not measured */
    uint32_t num_workers;     /* workers that had something to load */
    uint32_t n_idle_workers;  /* further workers that had no shard */
    uint32_t n_cpus;          /* CPUs that the process may run on (quota included, rounded up) */
    uint32_t n_loaders;       /* loaders that share num_workers evenly, of all ranks; 0 means 1 */
    uint32_t more_workers; /* workers of a loader: the most that were judged with all else equal; 0:
                              none */
    uint32_t faster_workers; /* the fastest of those, if clearly faster than this cell; else 0 */
    bool most_swept;         /* the sweep of num_workers has no larger number */
    double worker_stage_ns[DLB_WS_COUNT]; /* sums over workers, within the window */
    double pin_stage_ns;       /* as in worker_stage_ns[DLB_WS_PIN], when pin threads ran: their
                                  sum, one of each loader */
    double worker_runqueue_ns; /* summed run-queue wait of the workers (schedstat); NaN: not
                                  measured */
    double order_wait_ns;      /* input wait while another worker's batch was ready */
    double input_wait_ns;      /* the consumer's whole input wait */
    bool pin_memory, pageable_copy; /* how the copies were made */
    bool persistent_workers;
    uint32_t device_prefetch;
    uint64_t n_lost, n_lost_of; /* samples that were skipped, of those to deliver */
    uint64_t n_cut_shards; /* how often the rest of a shard was, whose samples nobody has counted */
    const char *first_lost;     /* the first of them and why; borrowed, may be NULL */
    enum dlb_cache_label cache; /* where the bytes that the workers read came from */
    bool torch;                 /* PyTorch loaded: advice is about its settings */
    bool own_code;              /* with a data set of the user's own */
    const char *transform; /* torch: the one that took longest; borrowed; NULL: none was timed */
    uint32_t n_transforms; /* torch: how many of its class there are */
    bool own_computing;    /* torch: it is none, but what __getitem__ itself computes */
    double transform_ns;   /* torch: what it takes for a sample, or they do */
    const char *undecoded; /* samples that are encoded and delivered so; borrowed; NULL: none */
    double sample_ns;      /* torch: what all takes for a sample; 0: not measured */
    double transport_ns;   /* torch: what it takes to hand a sample over, both ends; 0: nothing, or
                              not measured */
    bool waits;            /* torch: loading a sample is waiting for the most part, not computing */
};

/* Where the gain's interval lies, seen from DLB_GAIN_CLEAR. */
enum dlb_gain_side {
    DLB_GAIN_UNKNOWN, /* no ceiling, or one that shows nothing */
    DLB_GAIN_BELOW,
    DLB_GAIN_ACROSS,
    DLB_GAIN_ABOVE,
};

/* What the rule found. Fractions are finite and within [0, 1]. */
struct dlb_finding {
    enum dlb_verdict_class klass;
    enum dlb_cause cause;
    double compute_frac, input_frac, h2d_frac, residual_frac, epoch_frac, oversleep_frac;
    double late_frac; /* exposed copies of late batches; not part of h2d_frac */
    double unaccounted_frac, unaccounted_max_frac, account_frac;
    double harness_frac, headroom; /* 0: not measured */
    double runqueue_frac;          /* of the workers' working time */
    double blocked_frac;           /* of the workers' time: waiting for a credit or a slot */
    bool cpus_taken;               /* each CPU has a worker */
    double lost_frac;              /* of the samples */
    int stage;         /* the largest of read, decode, transform, collate; -1: none was timed */
    double stage_frac; /* its share of the four */
    double ceiling_idle_frac; /* 0: not measured */
    bool starved; /* the device of the ceiling was idle, too, so that the ceiling shows nothing */
    bool input_refuted; /* input had the largest share, but the gain is below the threshold */
    enum dlb_gain_side side;
    double gain_low, gain_high; /* unless the side is unknown */
};

/* A name for class and cause together, which scripts can compare: summary.json has it as "code".
 * Class, then cause where there is a choice: INPUT_BOUND_READ, INPUT_BOUND_DECODE,
 * INPUT_BOUND_TRANSFORM, INPUT_BOUND_COLLATE, INPUT_BOUND_TRANSPORT, INPUT_BOUND_ORDER,
 * INPUT_BOUND_PIN, INPUT_BOUND_CPU, INPUT_BOUND_START, INPUT_BOUND (no stage was timed),
 * H2D_BOUND_COPY, RESIDUAL_HEAVY_CPU, RESIDUAL_HEAVY_HOST, RESIDUAL_HEAVY, HARNESS_BOUND,
 * INCOMPLETE, BORDERLINE, COMPUTE_BOUND, BALANCED. These names do not change. Static; NULL for a
 * pair that dlb_judge never gives. */
const char *dlb_verdict_code(enum dlb_verdict_class klass, enum dlb_cause cause);

/* "INPUT-BOUND", "decode", "critical". Static. */
const char *dlb_verdict_class_name(enum dlb_verdict_class klass);
const char *dlb_cause_name(enum dlb_cause cause);
const char *dlb_severity_name(enum dlb_severity severity);

/* Whether the interval tells nothing of the gain: it reaches from below DLB_GAIN_CLEAR, where
 * loading is no limit, to DLB_GAIN_CRITICAL, where it is a critical one. A BORDERLINE cell's text
 * then gives the noise as the reason, not that the gain is near the threshold. The wait that was
 * measured is no proof either: what disturbed the repetitions may have caused it. */
bool dlb_gain_is_lost(const struct dlb_gain *gain);

#endif

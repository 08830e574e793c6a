/* Whether others disturbed a repetition. The rule was fixed beforehand and does not look at what
 * the repetition measured: its inputs are the machine's counters. docs/measurement.md has its
 * operating characteristics.
 *
 * Floor 1. Pure. A figure that was not measured is NaN, and never a cause. */
#ifndef DLB_CORE_MEASURE_DISTURBED_H
#define DLB_CORE_MEASURE_DISTURBED_H

#include <stdbool.h>
#include <stdint.h>

/* What others took while a repetition ran. Fractions of all CPUs' time, or of the wall clock where
 * that is said. */
struct dlb_strain {
    double n_ticks;        /* of all CPUs: the counters' resolution */
    double stolen_frac;    /* by a hypervisor, for other guests */
    double others_frac;    /* by other programs: the time of all tasks less that of our processes */
    double idle_frac;      /* left over */
    double pressure_frac;  /* of the wall clock: some task waited for a CPU (PSI) */
    double throttled_frac; /* of the wall clock, summed over CPUs: by CPU quotas of the cgroup */
    double n_hot;          /* times that a core was slowed because of heat */
};

/* 2% is what a sweep tolerates as a loss: less than that cannot change its answer. */
#define DLB_DISTURBED_STOLEN 0.02
#define DLB_DISTURBED_THROTTLED 0.02
/* Other programs on CPUs that would be idle do no harm. They do where little is idle: then our
 * processes wait for them, or run beside them on one core. */
#define DLB_DISTURBED_OTHERS 0.05
#define DLB_DISTURBED_IDLE 0.25
/* Pressure that our own workers make on each other is no disturbance: it counts only if other
 * programs took part. */
#define DLB_DISTURBED_PRESSURE 0.10
#define DLB_DISTURBED_PRESSURE_OTHERS 0.02
/* The kernel charges a whole tick to the task that runs when it ends. Of n ticks a share has a
 * standard error of 0.5 / sqrt(n) at most; three of them are added to thresholds of others_frac.
 * Stolen ticks are not sampled: two are enough to be none that was rounded up. */
#define DLB_DISTURBED_TICKS_SE 1.5
#define DLB_DISTURBED_STOLEN_TICKS 2

enum dlb_disturbance {
    DLB_BY_STEAL = 1 << 0,
    DLB_BY_OTHERS = 1 << 1,
    DLB_BY_PRESSURE = 1 << 2,
    DLB_BY_QUOTA = 1 << 3,
    DLB_BY_HEAT = 1 << 4,
};
#define DLB_N_DISTURBANCES 5
extern const char *const dlb_disturbance_names[DLB_N_DISTURBANCES]; /* "steal", ... */

/* A set of causes; 0: it was quiet, or nothing was measured. */
uint32_t dlb_disturbed(const struct dlb_strain *strain);

/* Sets every figure to NaN. */
void dlb_strain_unknown(struct dlb_strain *strain);

/* A disturbed repetition is measured again as often as this, until one was quiet. */
#define DLB_AGAIN_MAX 3

/* Whether measuring again has turned out to be pointless: of n_repeated repetitions that were
 * measured again so far, so few were quiet that the disturbance is the machine's usual state. */
#define DLB_AGAIN_TRIED 9
#define DLB_AGAIN_QUIET 0.33
bool dlb_again_is_pointless(uint32_t n_repeated, uint32_t n_quiet);

#endif

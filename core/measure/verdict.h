/* The verdict: what the device's time went into, and what caused it to be idle.
 *
 * Floor 1. Pure functions, any thread.
 *
 * It is about the *device's* window, not the host's wall clock: work that is hidden behind compute
 * costs nothing. The shares of the window:
 *
 *   compute    busy
 *   input      compute idle while the consumer waited for a batch
 *   h2d        compute idle while a copy ran
 *   residual   the rest: scheduling, oversleep, epoch start
 *
 * The rule, in this order:
 *
 *  1. INCOMPLETE and HARNESS-BOUND: the measurement does not allow a judgement.
 *  2. The largest of input, h2d and residual names the class. Copies that are exposed because
 *     their batches came late count as input: the loader sets the pace, and without any copy the
 *     device would wait for it that much longer. h2d and residual need 10%. Input also comes before
 *     a larger h2d if it is no less than residual and its gain (rule 3, the median) exceeds
 *     1 / (1 - h2d), the most that training without copies could gain: copies hide behind steps
 *     once batches are in time. The gain counts as no more than 1 / max(compute, host's copies),
 *     because the ceiling may copy faster than the cell.
 *  3. Input is judged by its gain: what data that are always ready would gain, as the ceiling
 *     shows. The threshold is that of a share of 10%, DLB_GAIN_CLEAR. INPUT-BOUND: the gain's whole
 *     interval is above it. If the whole interval is below, input is not the cause: the next share
 *     is considered, then rule 4. But idle time that neither explains is INCOMPLETE. Otherwise the
 *     repetitions do not tell: BORDERLINE.
 *  4. With no share of 10%: COMPUTE-BOUND from 90% compute on, else BALANCED; BORDERLINE unless
 *     the gain's whole interval is below the threshold.
 *
 * Where no ceiling was measured, input needs a share of 10%, too. A single repetition has no
 * interval: its gain is taken as known to 5%, DLB_GAIN_OF_ONE. A ceiling whose own device was idle
 * although its batches were ready, and copied, shows nothing unless it proves INPUT-BOUND: if input
 * has 10%, HARNESS-BOUND, because the machine was busy or the harness is the limit; if not, the
 * shares decide.
 *
 * Thresholds are TraceML's (a share >= 10% warns, >= 20% is critical; compute >= 90% is
 * COMPUTE-BOUND), applied to shares of the device's window instead of the step's wall clock. */
#ifndef DLB_CORE_MEASURE_VERDICT_H
#define DLB_CORE_MEASURE_VERDICT_H

#include "core/measure/verdict_terms.h"

#include <stdbool.h>

struct dlb_verdict {
    enum dlb_verdict_class klass;
    enum dlb_cause cause;
    enum dlb_severity severity;
    bool unexplained; /* INCOMPLETE for want of a cause: the rate itself was measured */
    char text[1536];  /* sentences for a newcomer: what, by how much, why, what to try next */
};

/* Judges. Evidence that is not finite counts as not measured; without finite shares the verdict
 * is INCOMPLETE.
 *
 * Cause, of INPUT-BOUND: start, when more than half of the wait is for first batches of epochs,
 * beyond what loading one takes; cpu, when the workers spent more than a quarter of their working
 * time without a core; order, when more than half of the input wait passed while another worker's
 * batch was ready and the other workers had to wait for it (workers that never wait for a credit
 * lose nothing by order); pin, when a loader's pin thread was busier than each of its workers;
 * transport, when batches of PyTorch's workers take longer to be handed over, at both ends, than
 * to be loaded and collated; else the largest of read, decode, transform, collate. H2D-BOUND: copy.
 * RESIDUAL-HEAVY: host, when the loop's own CPU time is half of the residual or more; cpu for late
 * wake-ups or too few CPUs; none, also where at least half lies between epochs. HARNESS-BOUND:
 * harness. Others: none.
 *
 * Where the cell was also run with a null source, HARNESS-BOUND also means one of two things:
 * the harness alone takes more than DLB_HARNESS_MAX of the device's time, or it is not
 * DLB_HEADROOM_MIN times as fast as what was measured. Then nothing is blamed on storage or
 * workers.
 *
 * The class holds for the samples that were delivered. If DLB_LOST_WARN of them or more were
 * skipped, or the rest of a shard whose samples are not counted, the text begins with that, and the
 * severity is at least a warning. */
void dlb_judge(const struct dlb_evidence *evidence, struct dlb_verdict *out);

#endif

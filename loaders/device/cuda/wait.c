/* Waiting for a GPU, and the times of what it did. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include "core/base/clock.h"
#include "core/base/units.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#define SPIN_NS (100 * DLB_NS_PER_US) /* a wait spins for this long before a step should end */
/* The same for a copy, whose duration is known less well. */
#define SPIN_COPY_NS (200 * DLB_NS_PER_US)
#define NAP_NS (30 * DLB_NS_PER_US) /* between polls, when the end cannot be predicted */

static int is_done(struct CUevent_st *event, bool *done, struct dlb_err *err)
{
    cudaError_t code = cudaEventQuery(event);
    *done = code == cudaSuccess;
    return *done || code == cudaErrorNotReady ? DLB_OK
                                              : dlb_cuda_fail(err, (int)code, "running on the GPU");
}

int dlb_cuda_poll(void *dv, uint32_t buf, enum dlb_point point, bool *reached, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    if (dlb_cuda_check_buf(&cu->setup, buf, 0, err) != DLB_OK)
        return (int)err->status;
    const struct dlb_cuda_buffer *b = &cu->bufs[buf];
    return is_done(point == DLB_COPIED ? b->copy_end : b->step_end, reached, err);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static int since_anchor(const struct dlb_cuda_time *time, struct CUevent_st *event, float *ms,
                        struct dlb_err *err)
{
    return dlb_cuda_checked((int)cudaEventElapsedTime(ms, time->anchor, event),
                            "reading the GPU's events", err);
}

/* The time of an event on the host's clock, limited to [not_before_ns, seen_ns]: it was seen
 * complete at seen_ns. */
static uint64_t stamp(const struct dlb_cuda_time *time, float ms, uint64_t not_before_ns,
                      uint64_t seen_ns)
{
    uint64_t at_ns = max_u64(dlb_gpu_clock_at(&time->clock, ms), not_before_ns);
    return at_ns < seen_ns ? at_ns : seen_ns;
}

static int settle_copy(struct dlb_cuda_time *time, struct dlb_cuda_waiting *waiting,
                       struct dlb_cuda_buffer *b, uint64_t seen_ns, struct dlb_err *err)
{
    float start_ms, end_ms;

    if (since_anchor(time, b->copy_start, &start_ms, err) != DLB_OK ||
        since_anchor(time, b->copy_end, &end_ms, err) != DLB_OK)
        return (int)err->status;
    dlb_gpu_clock_bound(&time->clock, start_ms, b->copy_call_ns, UINT64_MAX);
    dlb_gpu_clock_bound(&time->clock, end_ms, 0, seen_ns);
    b->times.copy_start_ns =
        stamp(time, start_ms, max_u64(b->copy_call_ns, time->last_copy_end_ns), seen_ns);
    b->times.copy_end_ns = stamp(time, end_ms, b->times.copy_start_ns, seen_ns);
    time->last_copy_end_ns = b->times.copy_end_ns;
    double copy_ns = ((double)end_ms - (double)start_ms) * 1e6;
    double ns_per_byte = b->n_bytes > 0 ? copy_ns / (double)b->n_bytes : 0;
    if (ns_per_byte > 0 &&
        (ns_per_byte < waiting->copy_ns_per_byte || waiting->copy_ns_per_byte <= 0))
        waiting->copy_ns_per_byte = ns_per_byte;
    b->copied = true;
    return DLB_OK;
}

static int settle_step(struct dlb_cuda *cu, struct dlb_cuda_buffer *b, float end_ms,
                       uint64_t seen_ns, struct dlb_err *err)
{
    struct dlb_cuda_time *time = &cu->time;
    float start_ms;

    if (since_anchor(time, b->step_start, &start_ms, err) != DLB_OK)
        return (int)err->status;
    b->times.step_start_ns =
        stamp(time, start_ms, max_u64(b->times.copy_end_ns, time->last_step_end_ns), seen_ns);
    b->times.step_end_ns = stamp(time, end_ms, b->times.step_start_ns, seen_ns);
    time->last_step_end_ns = b->times.step_end_ns;
    b->stepped = true;
    cu->ran.n_steps++;
    cu->ran.asked_ns += b->step_ns;
    cu->ran.took_ns += ((double)end_ms - (double)start_ms) * 1e6;
    dlb_cuda_move_anchor(time);
    return DLB_OK;
}

/* Takes the times of a copy, or of a copy and its step, once. The clock is corrected before any of
 * them is read, so that all times of a batch come from the same clock. */
static int settle(struct dlb_cuda *cu, struct dlb_cuda_buffer *b, enum dlb_point point,
                  uint64_t seen_ns, struct dlb_err *err)
{
    bool ends = point == DLB_STEPPED && !b->stepped;
    int rc = DLB_OK;
    float end_ms = 0;

    if (ends) {
        rc = dlb_cuda_bracket(cu, err);
        if (rc == DLB_OK)
            rc = since_anchor(&cu->time, b->step_end, &end_ms, err);
        if (rc == DLB_OK)
            dlb_gpu_clock_bound(&cu->time.clock, end_ms, 0, seen_ns);
    }
    if (rc == DLB_OK && !b->copied)
        rc = settle_copy(&cu->time, &cu->waiting, b, seen_ns, err);
    if (rc == DLB_OK && ends)
        rc = settle_step(cu, b, end_ms, seen_ns, err);
    return rc;
}

/* Until when to sleep before end_ns: it polls without a pause from slack_ns before to twice that
 * after, then with naps. */
static uint64_t sleep_before(uint64_t end_ns, uint64_t slack_ns, uint64_t now_ns)
{
    if (now_ns + slack_ns < end_ns)
        return end_ns - slack_ns;
    return now_ns < end_ns + 2 * slack_ns ? now_ns : now_ns + NAP_NS;
}

/* Predicts the end of a copy by the best rate so far: the rate of a small copy is low, and would
 * make the wait sleep past the end of the next one. A copy that has not begun is assumed to begin
 * now. */
static int sleep_copy(const struct dlb_cuda *cu, const struct dlb_cuda_buffer *b, uint64_t now_ns,
                      uint64_t *until_ns, uint64_t *due_ns, struct dlb_err *err)
{
    uint64_t start_ns = now_ns;
    bool begun = false;
    float ms = 0;

    if (cu->waiting.copy_ns_per_byte <= 0) {
        *until_ns = now_ns + NAP_NS;
        return DLB_OK;
    }
    int rc = is_done(b->copy_start, &begun, err);
    if (rc == DLB_OK && begun) {
        rc = since_anchor(&cu->time, b->copy_start, &ms, err);
        start_ns = dlb_gpu_clock_at(&cu->time.clock, ms);
    }
    *due_ns = start_ns + (uint64_t)(cu->waiting.copy_ns_per_byte * (double)b->n_bytes);
    *until_ns = sleep_before(*due_ns, SPIN_COPY_NS, now_ns);
    return rc;
}

/* Until when a wait may sleep (*until_ns), and when it should end, if that can be predicted
 * (*due_ns). A step begins after its call, its copy, and the steps before it; the oldest step, for
 * which the training loop waits, has none before it that was not settled. */
static int sleep_until(const struct dlb_cuda *cu, const struct dlb_cuda_buffer *b,
                       enum dlb_point point, uint64_t now_ns, uint64_t *until_ns, uint64_t *due_ns,
                       struct dlb_err *err)
{
    bool copied = false;
    float ms = 0;

    int rc = point == DLB_STEPPED ? is_done(b->copy_end, &copied, err) : DLB_OK;
    if (rc == DLB_OK && !copied)
        return sleep_copy(cu, b, now_ns, until_ns, due_ns, err);
    if (rc == DLB_OK)
        rc = since_anchor(&cu->time, b->copy_end, &ms, err);
    uint64_t start_ns = max_u64(max_u64(dlb_gpu_clock_at(&cu->time.clock, ms), b->step_call_ns),
                                cu->time.last_step_end_ns);
    *due_ns = start_ns + (uint64_t)b->step_ns;
    *until_ns = sleep_before(*due_ns, SPIN_NS + (uint64_t)(b->step_ns * 0.01), now_ns);
    return rc;
}

/* True after twice the time that it should take if all other buffers have a batch before it. */
static bool is_overdue(const struct dlb_cuda *cu, const struct dlb_cuda_buffer *b, uint64_t now_ns)
{
    double batch_ns = b->step_ns + cu->waiting.copy_ns_per_byte * (double)b->n_bytes;
    return now_ns >
           b->waited_ns + cu->waiting.limit_ns + (uint64_t)(2 * batch_ns * cu->setup.n_bufs);
}

static int fail_overdue(struct dlb_cuda *cu, const struct dlb_cuda_buffer *b, enum dlb_point point,
                        uint64_t now_ns, struct dlb_err *err)
{
    char amount[32], what[48];

    if (point == DLB_COPIED)
        (void)snprintf(what, sizeof what, "a copy of %s",
                       dlb_bytes_text(b->n_bytes, amount, sizeof amount));
    else
        (void)snprintf(what, sizeof what, "a step of %s",
                       dlb_duration_text(b->step_ns * 1e-9, amount, sizeof amount));
    return dlb_cuda_hangs(&cu->waiting, what, now_ns - b->waited_ns, err);
}

int dlb_cuda_wait(void *dv, uint32_t buf, enum dlb_point point, uint64_t timeout_ns,
                  struct dlb_dev_times *out, bool *reached, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    uint64_t start_ns = dlb_now_ns(), until_ns = 0, due_ns = 0;
    uint64_t deadline_ns = timeout_ns < UINT64_MAX - start_ns ? start_ns + timeout_ns : UINT64_MAX;
    bool slept = false;
    int rc = dlb_cuda_check_buf(&cu->setup, buf, 0, err);
    if (rc != DLB_OK)
        return rc;
    struct dlb_cuda_buffer *b = &cu->bufs[buf];
    if (b->waited_ns == 0)
        b->waited_ns = start_ns;

    while (rc == DLB_OK) {
        uint64_t now_ns = dlb_now_ns(); /* before the poll: if the thread was suspended in between,
                                           that was no wait */
        rc = dlb_cuda_poll(cu, buf, point, reached, err);
        *out = b->times;
        if (rc == DLB_OK && !*reached && is_overdue(cu, b, now_ns))
            rc = fail_overdue(cu, b, point, now_ns, err);
        if (rc != DLB_OK || *reached || now_ns >= deadline_ns)
            break;
        if (now_ns < due_ns) /* so near to the end that it only polls */
            continue;
        rc = sleep_until(cu, b, point, now_ns, &until_ns, &due_ns, err);
        if (rc == DLB_OK && until_ns > now_ns) {
            (void)dlb_sleep_until_ns(until_ns < deadline_ns ? until_ns : deadline_ns);
            slept = true;
            due_ns = 0;
        }
    }
    if (rc != DLB_OK || !*reached)
        return rc;
    uint64_t seen_ns = dlb_now_ns();
    rc = settle(cu, b, point, seen_ns, err);
    *out = b->times;
    uint64_t at_ns = point == DLB_COPIED ? out->copy_end_ns : out->step_end_ns;
    out->oversleep_ns = slept && seen_ns > at_ns ? seen_ns - max_u64(at_ns, start_ns) : 0;
    return rc;
}
#endif

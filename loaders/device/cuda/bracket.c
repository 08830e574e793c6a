/* Follows the GPU's clock: once a second an event on an idle stream, bracketed by the host's. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include "core/base/clock.h"

#include <cuda_runtime_api.h>

#define PERIOD_NS (1 * DLB_NS_PER_S)
#define PATIENCE_NS (200 * DLB_NS_PER_US) /* an idle stream answers in some 10 us */
enum { ANCHOR_TRIES = 64, BRACKET_TRIES = 8 };

static const char reading[] = "reading the GPU's clock";

/* Records an event and waits for it. *seen_ns: 0 if it was not complete by then. */
static int record(struct dlb_cuda *cu, uint64_t patience_ns, uint64_t *seen_ns, struct dlb_err *err)
{
    struct dlb_cuda_time *time = &cu->time;

    *seen_ns = 0;
    if (time->bracket_ns == 0) {
        time->bracket_ns = dlb_now_ns();
        cudaError_t code = cudaEventRecord(time->tried, cu->streams.side);
        if (code != cudaSuccess)
            return dlb_cuda_fail(err, (int)code, reading);
    }
    uint64_t until_ns = dlb_now_ns() + patience_ns;
    for (;;) {
        cudaError_t code = cudaEventQuery(time->tried);
        uint64_t now_ns = dlb_now_ns();
        if (code == cudaSuccess)
            *seen_ns = now_ns;
        if (code == cudaSuccess || (code == cudaErrorNotReady && now_ns > until_ns))
            return DLB_OK;
        if (code != cudaErrorNotReady)
            return dlb_cuda_fail(err, (int)code, reading);
    }
}

static void swap(struct CUevent_st **a, struct CUevent_st **b)
{
    struct CUevent_st *kept = *a;
    *a = *b;
    *b = kept;
}

/* Of some tries it keeps the one that was seen complete in the shortest time. */
int dlb_cuda_open_clock(struct dlb_cuda *cu, struct dlb_err *err)
{
    struct dlb_cuda_time *time = &cu->time;
    uint64_t best_ns = UINT64_MAX, seen_ns = 0, limit_ns = cu->waiting.limit_ns;

    for (int i = 0; i < ANCHOR_TRIES; i++) {
        int rc = record(cu, limit_ns, &seen_ns, err);
        if (rc == DLB_OK && seen_ns == 0)
            rc = dlb_cuda_hangs(&cu->waiting, "what it was given", limit_ns, err);
        if (rc != DLB_OK)
            return rc;
        if (seen_ns - time->bracket_ns < best_ns) {
            best_ns = seen_ns - time->bracket_ns;
            dlb_gpu_clock_anchor(&time->clock, time->bracket_ns, seen_ns);
            swap(&time->anchor, &time->tried);
        }
        time->bracket_ns = 0;
    }
    time->next_bracket_ns = seen_ns + PERIOD_NS;
    return DLB_OK;
}

/* The bracket is as narrow as it will be. The batches in flight may have begun before its event,
 * and the driver does not document times before an anchor. So the anchor changes after them. */
static int take(struct dlb_cuda *cu, uint64_t before_ns, uint64_t seen_ns, struct dlb_err *err)
{
    struct dlb_cuda_time *time = &cu->time;
    float ms = 0;

    int rc =
        dlb_cuda_checked((int)cudaEventElapsedTime(&ms, time->anchor, time->spare), reading, err);
    if (rc != DLB_OK)
        return rc;
    dlb_gpu_clock_bracket(&time->clock, ms, before_ns, seen_ns);
    time->next_ms = ms;
    time->n_before_next = cu->setup.n_bufs;
    time->bracket_ns = 0;
    time->next_bracket_ns = seen_ns + PERIOD_NS;
    return DLB_OK;
}

/* Of some tries it takes the one that was seen complete in the shortest time. */
int dlb_cuda_bracket(struct dlb_cuda *cu, struct dlb_err *err)
{
    struct dlb_cuda_time *time = &cu->time;
    uint64_t before_ns = 0, after_ns = 0, seen_ns = 0;

    if (time->n_before_next > 0 || dlb_now_ns() < time->next_bracket_ns)
        return DLB_OK;
    bool again = time->bracket_ns > 0; /* it did not answer at once: it is only looked at */
    int n_tries = again ? 1 : BRACKET_TRIES;
    for (int i = 0; i < n_tries; i++) {
        int rc = record(cu, again ? 0 : PATIENCE_NS, &seen_ns, err);
        if (rc != DLB_OK || (seen_ns == 0 && after_ns == 0))
            return rc;
        if (seen_ns == 0)
            break;
        if (after_ns == 0 || seen_ns - time->bracket_ns < after_ns - before_ns) {
            before_ns = time->bracket_ns;
            after_ns = seen_ns;
            swap(&time->spare, &time->tried);
        }
        time->bracket_ns = 0;
        if (dlb_gpu_clock_is_narrow(&time->clock, before_ns, after_ns))
            break;
    }
    return take(cu, before_ns, after_ns, err);
}

void dlb_cuda_move_anchor(struct dlb_cuda_time *time)
{
    if (time->n_before_next == 0 || --time->n_before_next > 0)
        return;
    dlb_gpu_clock_move(&time->clock, time->next_ms);
    swap(&time->anchor, &time->spare);
}
#endif

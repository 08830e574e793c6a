/* A virtual GPU for tests: a timeline per stream on the host's clock, which the tests drive. Bytes
 * move when an operation ends in virtual time: until then its destination holds poison, and what an
 * operation reads must not change while it runs.
 *
 * Header-only, for fake_cuda.h. */
#ifndef DLB_TESTS_SUPPORT_FAKE_GPU_H
#define DLB_TESTS_SUPPORT_FAKE_GPU_H

#ifdef DLB_HAVE_CUDA
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "loaders/device/cuda/step.h"
#include "loaders/device/cuda/step_plan.h"

#define LOOK_NS 700
#define OVERSLEEP_NS 60000
#define POISON 0xa5

enum gpu_what { GPU_NOTHING, GPU_STAMP, GPU_COPY, GPU_FILL, GPU_READ, GPU_AUGMENT };

/* One operation. GPU_STAMP sets an event's time; of other events the host sets it beforehand. */
struct gpu_op {
    enum gpu_what what;
    double ns;            /* how long it takes, at the clocks that it was planned for */
    bool computes;        /* it takes longer on a GPU that slows down */
    const uint32_t *stop; /* not 0 when it is queued: it ends at once; may be NULL */
    void *to;             /* GPU_READ: the sum */
    const void *from;
    size_t n_bytes;            /* of `from`; GPU_FILL: of `to` */
    int value;                 /* of GPU_FILL */
    struct CUevent_st *event;  /* of GPU_STAMP */
    struct dlb_augment how;    /* of GPU_AUGMENT */
    uint64_t start_ns, end_ns; /* set when it is queued */
    uint64_t sum;              /* of `from`, when it began */
    uint64_t nth;
    bool begun;
};

enum { GPU_MAX_NODES = 800 };
struct CUgraph_st {
    size_t n;
    struct gpu_op ops[GPU_MAX_NODES];
};
struct CUgraphExec_st {
    struct CUgraph_st graph;
};
struct CUstream_st {
    uint64_t free_ns; /* host's clock */
    bool is_copy;
    bool stuck;                   /* something was queued after the GPU began to hang */
    struct CUgraph_st *capturing; /* NULL: it runs */
};
struct CUevent_st {
    uint64_t at_ns; /* 0: never recorded */
};

static uint64_t now_ns = 1000 * DLB_NS_PER_S;

static struct {
    struct gpu_op *queued; /* owned */
    size_t n, cap;
    uint64_t n_ops;
    uint64_t launch_ns;   /* from a launch until an idle GPU begins */
    double slow;          /* computing takes that many times as long; 1 at first */
    double slower;        /* and that much more with each kernel */
    uint64_t slows_at_ns; /* from then on `slow` is slows_to; 0: never */
    double slows_to;
} gpu;

int clock_gettime(clockid_t id, struct timespec *out)
{
    (void)id;
    now_ns += LOOK_NS;
    *out = dlb_timespec(now_ns);
    return 0;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *until, struct timespec *left)
{
    (void)id;
    (void)left;
    uint64_t until_ns = (uint64_t)until->tv_sec * DLB_NS_PER_S + (uint64_t)until->tv_nsec;
    assert_int_equal(flags, TIMER_ABSTIME);
    if (now_ns < until_ns)
        now_ns = until_ns + OVERSLEEP_NS;
    return 0;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static size_t n_written(const struct gpu_op *op)
{
    return op->what == GPU_COPY || op->what == GPU_FILL ? op->n_bytes
           : op->what == GPU_AUGMENT ? op->n_bytes / op->how.in_bytes * op->how.out_bytes
                                     : 0;
}

static void op_begin(struct gpu_op *op)
{
    op->begun = true;
    if (op->what == GPU_READ || op->what == GPU_AUGMENT)
        op->sum = dlb_step_sum(op->from, op->n_bytes);
    if (n_written(op) > 0)
        memset(op->to, POISON, n_written(op));
}

/* What changed while it was read makes a sum that nobody expects, and samples that stay poison. */
static void op_end(const struct gpu_op *op)
{
    bool same = (op->what != GPU_READ && op->what != GPU_AUGMENT) ||
                op->sum == dlb_step_sum(op->from, op->n_bytes);
    unsigned long long sum = same ? op->sum : ~op->sum;

    if (op->what == GPU_STAMP)
        op->event->at_ns = op->end_ns;
    else if (op->what == GPU_COPY)
        memcpy(op->to, op->from, op->n_bytes);
    else if (op->what == GPU_FILL)
        memset(op->to, op->value, op->n_bytes);
    else if (op->what == GPU_READ)
        *(unsigned long long *)op->to += sum;
    for (size_t i = 0; op->what == GPU_AUGMENT && same && i < op->n_bytes / op->how.in_bytes; i++)
        dlb_augment_run(&op->how, (const uint8_t *)op->from + i * op->how.in_bytes,
                        (uint8_t *)op->to + i * op->how.out_bytes);
}

/* When it goes on next. */
static uint64_t op_due(const struct gpu_op *op)
{
    return op->begun ? op->end_ns : op->start_ns;
}

/* Of two at the same time the end of one comes before the begin of another. */
static bool op_is_before(const struct gpu_op *a, const struct gpu_op *b)
{
    if (op_due(a) != op_due(b))
        return op_due(a) < op_due(b);
    return a->begun != b->begun ? a->begun : a->nth < b->nth;
}

/* Does what the GPU has done by now. */
static void gpu_catch_up(void)
{
    for (;;) {
        struct gpu_op *next = NULL;
        for (size_t i = 0; i < gpu.n; i++)
            if (!next || op_is_before(&gpu.queued[i], next))
                next = &gpu.queued[i];
        if (!next || op_due(next) > now_ns)
            return;
        if (!next->begun) {
            op_begin(next);
            continue;
        }
        op_end(next);
        *next = gpu.queued[--gpu.n];
    }
}

/* Queues it at the end of a stream. `launched`: an idle GPU needs time until it begins. */
static void gpu_queue(struct CUstream_st *s, struct gpu_op op, bool launched)
{
    if (s->stuck)
        return;
    uint64_t at_ns = dlb_now_ns();
    op.start_ns = max_u64(s->free_ns, at_ns + (launched ? gpu.launch_ns : 0));
    if (op.computes)
        gpu.slow *= 1 + gpu.slower;
    if (gpu.slows_at_ns > 0 && op.start_ns >= gpu.slows_at_ns)
        gpu.slow = gpu.slows_to;
    double ns = op.stop && *op.stop ? 0 : op.ns * (op.computes ? gpu.slow : 1);
    op.end_ns = op.start_ns + (uint64_t)ns;
    op.nth = gpu.n_ops++;
    s->free_ns = op.end_ns;
    if (gpu.n == gpu.cap) {
        gpu.cap = gpu.cap ? 2 * gpu.cap : 64;
        gpu.queued = realloc(gpu.queued, gpu.cap * sizeof *gpu.queued);
        assert_non_null(gpu.queued);
    }
    gpu.queued[gpu.n++] = op;
}

/* A process's end: what is queued is lost. */
static inline void gpu_reset(void)
{
    free(gpu.queued);
    memset(&gpu, 0, sizeof gpu);
    gpu.launch_ns = 5 * DLB_NS_PER_US;
    gpu.slow = 1;
}
#endif

#endif

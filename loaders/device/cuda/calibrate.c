/* Finds out how much work makes the synthetic step last as long as asked. It is measured by the
 * GPU's events at open, with the same kernels and launches as in later steps. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include "core/base/clock.h"
#include "loaders/device/memo.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WARM_NS (300 * DLB_NS_PER_MS) /* idle clocks rise within some 100 ms of load */
#define WARM_STEP_NS 5e6
#define LONGEST_NS 1e9    /* longer steps are measured up to here and scaled */
#define GOOD_FRAC 0.003   /* closer is noise */
#define USELESS_FRAC 0.02 /* further off than this, another program computes on the GPU */
#define BEHIND_ITERS 1000 /* 32 instructions of 8 warps a scheduler: some 150 ns each */
#define SMALL_BYTES 4096  /* read in no time, yet a launch */
enum { MAX_ROUNDS = 6, MAX_REPEATS = 33, AUGMENT_REPEATS = 9 };
#define MOST_ITERS (UINT64_C(1) << 40)

static const char calibrating[] = "calibrating the GPU's step";

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Queues about 0.1 ms of arithmetic before what is timed. Steps of a run queue behind their copy,
 * or behind the step before. */
static int queue_behind(struct dlb_cuda *cu, struct dlb_err *err)
{
    const struct dlb_cuda_work work = dlb_cuda_work(cu);
    int code = dlb_cuda_fma(&work, BEHIND_ITERS, cu->kernels.sink);
    return dlb_cuda_checked(code, calibrating, err);
}

static int time_recipe(struct dlb_cuda *cu, const struct dlb_cuda_recipe *recipe, double *ns,
                       struct dlb_err *err)
{
    const struct dlb_cuda_buffer *b = &cu->bufs[0];
    float ms = 0;

    if (queue_behind(cu, err) != DLB_OK || dlb_cuda_launch(cu, 0, recipe, err) != DLB_OK)
        return (int)err->status;
    cudaError_t code = cudaEventRecord(b->step_end, cu->streams.compute);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, calibrating);
    if (dlb_cuda_finish(&cu->waiting, cu->streams.compute,
                        cu->waiting.limit_ns + (uint64_t)(2 * LONGEST_NS), calibrating,
                        err) != DLB_OK)
        return (int)err->status;
    code = cudaEventElapsedTime(&ms, b->step_start, b->step_end);
    *ns = (double)ms * 1e6;
    return dlb_cuda_checked((int)code, calibrating, err);
}

static int time_once(struct dlb_cuda *cu, const struct dlb_step_point *point, uint32_t n_launches,
                     double *ns, struct dlb_err *err)
{
    const struct dlb_cuda_recipe recipe = {.n_bytes = point->n_bytes,
                                           .steps = true,
                                           .n_iters = point->n_iters,
                                           .n_launches = n_launches,
                                           .where = cu->kernels.sm_of_block};
    return time_recipe(cu, &recipe, ns, err);
}

/* Sets point->ns to the mean of the middle half of several runs, fewer for long steps. Events have
 * a resolution of about half a microsecond (cudaEventElapsedTime), which is 1% of the shortest
 * step; a mean is finer. */
static int time_step(struct dlb_cuda *cu, struct dlb_step_point *point, double about_ns,
                     struct dlb_err *err)
{
    uint32_t n = about_ns < 5e6 ? MAX_REPEATS : about_ns < 50e6 ? 9 : about_ns < 300e6 ? 3 : 1;
    uint32_t n_launches = dlb_step_launches(about_ns);
    double ns[MAX_REPEATS];

    for (uint32_t i = 0; i < n; i++) {
        int rc = time_once(cu, point, n_launches, &ns[i], err);
        if (rc != DLB_OK)
            return rc;
    }
    qsort(ns, n, sizeof *ns, by_value);
    uint32_t n_cut = n / 4, n_kept = n - 2 * n_cut; /* from either end, and between */
    double sum_ns = 0;
    for (uint32_t i = n_cut; i < n_cut + n_kept; i++)
        sum_ns += ns[i];
    point->ns = sum_ns / n_kept;
    return DLB_OK;
}

/* Raises the clocks, and finds a number of iterations that takes some milliseconds. */
static int warm_up(struct dlb_cuda *cu, struct dlb_step_point *point, struct dlb_err *err)
{
    uint64_t until_ns = dlb_now_ns() + WARM_NS;

    *point = (struct dlb_step_point){.n_bytes = cu->setup.buf_bytes, .n_iters = 256};
    do {
        int rc = time_once(cu, point, 1, &point->ns, err);
        if (rc != DLB_OK)
            return rc;
        if (point->ns < WARM_STEP_NS && point->n_iters < MOST_ITERS)
            point->n_iters *= 2;
    } while (dlb_now_ns() < until_ns ||
             (point->ns < WARM_STEP_NS / 4 && point->n_iters < MOST_ITERS));
    /* Without the reading, or a large batch would look like slow iterations. */
    struct dlb_step_point bare = {.n_bytes = cu->setup.buf_bytes};
    int rc = time_once(cu, &bare, 1, &bare.ns, err);
    point->ns = fmax(point->ns - bare.ns, point->ns / 16);
    return rc;
}

static int fit(struct dlb_cuda *cu, double unit_ns, struct dlb_err *err)
{
    struct dlb_step_point warm;
    int rc = warm_up(cu, &warm, err);
    if (rc != DLB_OK)
        return rc;
    double n = unit_ns * (double)warm.n_iters / warm.ns;
    uint64_t high = n > 16 ? (uint64_t)n : 16;
    struct dlb_step_point points[4] = {
        {.n_bytes = cu->setup.buf_bytes < SMALL_BYTES ? cu->setup.buf_bytes : SMALL_BYTES},
        {.n_bytes = cu->setup.buf_bytes},
        {.n_bytes = cu->setup.buf_bytes, .n_iters = high / 2},
        {.n_bytes = cu->setup.buf_bytes, .n_iters = high}};
    for (int i = 0; rc == DLB_OK && i < 4; i++)
        rc = time_step(cu, &points[i], i < 2 ? 0 : unit_ns, err);
    if (rc == DLB_OK)
        rc = dlb_step_fit(points, &cu->calibration.model, err);
    cu->calibration.read_ns = points[1].ns;
    return rc;
}

/* Runs the step as a run does, and corrects the model by the result. */
static int verify(struct dlb_cuda *cu, double unit_ns, struct dlb_err *err)
{
    struct dlb_cuda_calibration *c = &cu->calibration;
    struct dlb_step_model best = c->model;
    double best_frac = (double)INFINITY;

    c->asked_ns = unit_ns;
    for (int round = 0; round < MAX_ROUNDS && best_frac > GOOD_FRAC; round++) {
        struct dlb_step_point point = {.n_bytes = cu->setup.buf_bytes,
                                       .n_iters =
                                           dlb_step_iters(&c->model, unit_ns, cu->setup.buf_bytes)};
        int rc = time_step(cu, &point, unit_ns, err);
        if (rc != DLB_OK)
            return rc;
        double frac = fabs(point.ns / unit_ns - 1);
        if (frac < best_frac) {
            best_frac = frac;
            best = c->model;
            c->measured_ns = point.ns;
        }
        if (point.n_iters == 0 && point.ns >= unit_ns) /* reading alone takes as long */
            return DLB_OK;
        dlb_step_correct(&c->model, &point);
    }
    c->model = best;
    if (best_frac > USELESS_FRAC + c->model.ns_per_iter / 2 / unit_ns) /* whole iterations */
        return dlb_fail(err, DLB_ERR_GPU_SHARED, NULL, DLB_NO_OFFSET,
                        "a step of %.3f ms takes %.3f ms on the GPU: is another program using it? "
                        "nvidia-smi shows it",
                        unit_ns / 1e6, c->measured_ns / 1e6);
    return DLB_OK;
}

/* Counts the multiprocessors that the blocks of the last step were spread over. */
static int count_sms(struct dlb_cuda *cu, struct dlb_err *err)
{
    uint32_t n = 0, n_sms = cu->kernels.n_sms;
    uint32_t *seen = cu->staging.sm_seen = calloc(n_sms, sizeof *seen);

    if (!seen)
        return dlb_fail_memory(err, NULL, n_sms * sizeof *seen);
    cudaError_t code = cudaMemcpyAsync(seen, cu->kernels.sm_of_block, n_sms * sizeof *seen,
                                       cudaMemcpyDeviceToHost, cu->streams.compute);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, calibrating);
    if (dlb_cuda_finish(&cu->waiting, cu->streams.compute,
                        cu->waiting.limit_ns + (uint64_t)(2 * LONGEST_NS), calibrating,
                        err) != DLB_OK)
        return (int)err->status;
    for (uint32_t i = 0; i < n_sms; i++) {
        bool before = false;
        for (uint32_t k = 0; k < i && !before; k++)
            before = seen[k] == seen[i];
        n += !before;
    }
    cu->calibration.n_sms_seen = n;
    return DLB_OK;
}

static int augment_once(struct dlb_cuda *cu, double *ns, struct dlb_err *err)
{
    const struct dlb_cuda_recipe recipe = {
        .n_bytes = cu->setup.buf_bytes - cu->setup.buf_bytes % cu->setup.augment->in_bytes,
        .augments = true};
    return time_recipe(cu, &recipe, ns, err);
}

/* How long making samples on the GPU takes, in addition to the step: the median of several runs. */
static int time_augment(struct dlb_cuda *cu, struct dlb_err *err)
{
    double ns[AUGMENT_REPEATS];

    for (int i = 0; i < AUGMENT_REPEATS; i++) {
        int rc = augment_once(cu, &ns[i], err);
        if (rc != DLB_OK)
            return rc;
    }
    qsort(ns, AUGMENT_REPEATS, sizeof *ns, by_value);
    cu->calibration.augment_ns = ns[AUGMENT_REPEATS / 2];
    return DLB_OK;
}

/* Names everything that a calibration depends on, numbers with full precision: cells of a sweep
 * with the same steps do the same work. */
static void about(const struct dlb_cuda *cu, char text[256])
{
    (void)snprintf(text, 256, "step of %s %s: kind %d, %u sms, %.17g ms, %zu bytes%s, made %zu",
                   cu->gpu.name, cu->gpu.pci_bus_id, cu->setup.opts->step_kind, cu->kernels.n_sms,
                   cu->setup.opts->step_ms, cu->setup.buf_bytes,
                   cu->setup.keep_bytes ? " summed" : "", cu->setup.made_bytes);
}

static int measure(struct dlb_cuda *cu, struct dlb_err *err)
{
    double step_ns = cu->setup.opts->step_ms * 1e6;
    double unit_ns = step_ns < LONGEST_NS ? step_ns : LONGEST_NS;
    int rc;

    if (step_ns > 0) {
        rc = fit(cu, unit_ns, err);
        if (rc == DLB_OK)
            rc = verify(cu, unit_ns, err);
    } else { /* nothing but the reading */
        struct dlb_step_point point = {.n_bytes = cu->setup.buf_bytes};
        rc = time_step(cu, &point, 0, err);
        cu->calibration.read_ns = point.ns;
    }
    if (rc == DLB_OK && cu->setup.augment)
        rc = time_augment(cu, err);
    return rc == DLB_OK ? count_sms(cu, err) : rc;
}

/* Raises the clocks, with the kernels and graphs that steps will use. */
static int raise_clocks(struct dlb_cuda *cu, struct dlb_err *err)
{
    struct dlb_step_point point = {.n_bytes = cu->setup.buf_bytes};
    double ns;

    int rc =
        cu->setup.opts->step_ms > 0 ? warm_up(cu, &point, err) : time_once(cu, &point, 1, &ns, err);
    return rc == DLB_OK && cu->setup.augment ? augment_once(cu, &ns, err) : rc;
}

int dlb_cuda_calibrate(struct dlb_cuda *cu, struct dlb_err *err)
{
    char text[256];

    about(cu, text);
    if (dlb_cuda_load(cu, err) != DLB_OK)
        return (int)err->status;
    if (dlb_memo_recall(cu->setup.memo, text, &cu->calibration, sizeof cu->calibration)) {
        cu->calibration.reused = true;
        return raise_clocks(cu, err);
    }
    int rc = measure(cu, err);
    if (rc == DLB_OK)
        dlb_memo_keep(cu->setup.memo, text, &cu->calibration, sizeof cu->calibration);
    return rc;
}
#endif

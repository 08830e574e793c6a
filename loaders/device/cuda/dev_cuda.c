/* A GPU, through the CUDA runtime. The runtime is linked in, so the program starts without a
 * driver.
 *
 * Copies use one stream and steps another (with prefetch 0 the same), ordered by events. The times
 * of these events are the times of copies and steps. A buffer is copied to again only after its
 * last step; the copy stream waits for that step as well. */
#include "loaders/device/device.h"

#ifdef DLB_HAVE_CUDA
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "loaders/device/cuda/gpu.h"
#include "loaders/device/step_time.h"

#include <cuda_runtime_api.h>

/* Ranges for Nsight; without a profiler a call looks at one pointer. */
#if defined __has_include && __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
static void range_begin(const char *name)
{
    (void)nvtxRangePushA(name);
}

static void range_end(void)
{
    (void)nvtxRangePop();
}
#else
static void range_begin(const char *name)
{
    (void)name;
}

static void range_end(void)
{
}
#endif

/* The slots are shared memory: workers that were forked before or after have the same pages, so
 * that the GPU reads what they write. */
static int cuda_pin(void *dv, void *host, size_t n_bytes, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    if (cu->pins.n == DLB_CUDA_MAX_PINNED)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "the CUDA device pins at most %d ranges", (int)DLB_CUDA_MAX_PINNED);
    cudaError_t code = cudaHostRegister(host, n_bytes, cudaHostRegisterDefault);
    if (code == cudaErrorMemoryAllocation || code == cudaErrorOperatingSystem)
        return dlb_fail(err, DLB_ERR_PIN_FAILED, NULL, DLB_NO_OFFSET,
                        "the driver cannot pin %.1f MB of batch memory (%s): lower batch_size or "
                        "num_workers, or pin_memory = false",
                        (double)n_bytes / 1e6, cudaGetErrorName(code));
    if (code == cudaErrorNotSupported || code == cudaErrorInvalidValue)
        return dlb_fail(err, DLB_ERR_PIN_FAILED, NULL, DLB_NO_OFFSET,
                        "the driver does not pin this machine's shared memory (%s): take "
                        "loader.pin_mode = \"thread\", or pin_memory = false",
                        cudaGetErrorName(code));
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "pinning batch memory");
    cu->pins.range[cu->pins.n].addr = host;
    cu->pins.range[cu->pins.n++].n_bytes = n_bytes;
    return DLB_OK;
}

static bool is_pinned(const struct dlb_cuda_pins *pins, const uint8_t *host, size_t n_bytes)
{
    for (uint32_t i = 0; i < pins->n; i++)
        if (host >= pins->range[i].addr &&
            host + n_bytes <= pins->range[i].addr + pins->range[i].n_bytes)
            return true;
    return false;
}

static int queue_copy(struct dlb_cuda *cu, uint32_t buf, const void *host, size_t n_bytes,
                      struct dlb_err *err)
{
    static const char doing[] = "copying a batch to the GPU";
    struct CUstream_st *stream = cu->setup.copy_on_compute ? cu->streams.compute : cu->streams.copy;
    cudaError_t code = cudaSuccess;

    if (dlb_cuda_check_buf(&cu->setup, buf, n_bytes, err) != DLB_OK)
        return (int)err->status;
    struct dlb_cuda_buffer *b = &cu->bufs[buf];
    b->n_bytes = n_bytes;
    b->copied = b->stepped = false;
    b->waited_ns = 0;
    if (!cu->setup.copy_on_compute)
        code = cudaStreamWaitEvent(stream, b->step_end, 0);
    b->copy_call_ns = dlb_now_ns();
    if (code == cudaSuccess)
        code = cudaEventRecord(b->copy_start, stream);
    if (code == cudaSuccess && n_bytes > 0)
        code = cudaMemcpyAsync(b->data, host, n_bytes, cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord(b->copy_end, stream);
    if (code != cudaSuccess || is_pinned(&cu->pins, host, n_bytes))
        return dlb_cuda_checked((int)code, doing, err);
    /* As torch's .to(device) does from pageable memory: ATen's memcpy_and_sync. */
    return dlb_cuda_finish(&cu->waiting, stream, cu->waiting.limit_ns, doing, err);
}

static int queue_step(struct dlb_cuda *cu, uint32_t buf, struct dlb_err *err)
{
    cudaError_t code = cudaSuccess;

    if (dlb_cuda_check_buf(&cu->setup, buf, 0, err) != DLB_OK)
        return (int)err->status;
    struct dlb_cuda_buffer *b = &cu->bufs[buf];
    b->stepped = false;
    b->waited_ns = 0;
    b->step_ns = (double)dlb_step_draw_ns(cu->setup.opts, &cu->rng);
    struct dlb_cuda_recipe recipe = {
        .n_bytes = b->n_bytes,
        .augments = cu->setup.augment != NULL,
        .steps = true,
        .n_iters = dlb_step_iters(&cu->calibration.model, b->step_ns, b->n_bytes),
        .n_launches = dlb_step_launches(b->step_ns)};
    if (cu->setup.augment) /* it takes time in addition to the step */
        b->step_ns += cu->calibration.augment_ns * (double)b->n_bytes / (double)cu->setup.buf_bytes;
    if (!cu->setup.copy_on_compute)
        code = cudaStreamWaitEvent(cu->streams.compute, b->copy_end, 0);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "starting a step on the GPU");
    b->step_call_ns = dlb_now_ns();
    if (dlb_cuda_launch(cu, buf, &recipe, err) != DLB_OK)
        return (int)err->status;
    return dlb_cuda_checked((int)cudaEventRecord(b->step_end, cu->streams.compute),
                            "starting a step on the GPU", err);
}

static int cuda_copy(void *dv, uint32_t buf, const void *host, size_t n_bytes, struct dlb_err *err)
{
    range_begin("copy");
    int rc = queue_copy(dv, buf, host, n_bytes, err);
    range_end();
    return rc;
}

static int cuda_step(void *dv, uint32_t buf, struct dlb_err *err)
{
    range_begin("step");
    int rc = queue_step(dv, buf, err);
    range_end();
    return rc;
}

static const char fetching[] = "fetching a batch back from the GPU";

/* Fetches the bytes back over a separate stream and hashes them here. The sum that the step
 * computed shows that the step read the same bytes. This costs a copy, so only runs with checksums
 * do it. */
static int cuda_checksum(void *dv, uint32_t buf, uint64_t *out, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    unsigned long long sum = 0;

    if (dlb_cuda_check_buf(&cu->setup, buf, 0, err) != DLB_OK)
        return (int)err->status;
    if (!cu->setup.keep_bytes)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "checksum without keep_bytes");
    const struct dlb_cuda_buffer *b = &cu->bufs[buf];
    cudaError_t code = cudaMemcpyAsync(cu->staging.back, b->data, b->n_bytes,
                                       cudaMemcpyDeviceToHost, cu->streams.side);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(&sum, &cu->kernels.sums[buf], sizeof sum, cudaMemcpyDeviceToHost,
                               cu->streams.side);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, fetching);
    if (dlb_cuda_finish(&cu->waiting, cu->streams.side, cu->waiting.limit_ns, fetching, err) !=
        DLB_OK)
        return (int)err->status;
    if (b->stepped && sum != dlb_step_sum(cu->staging.back, b->n_bytes))
        return dlb_fail(err, DLB_ERR_GPU_READ_WRONG, NULL, DLB_NO_OFFSET,
                        "the step on the GPU read other bytes than its buffer of %zu bytes holds: "
                        "copy and step overlap",
                        b->n_bytes);
    *out = dlb_hash64(cu->staging.back, b->n_bytes, 0);
    return DLB_OK;
}

static int cuda_made(void *dv, uint32_t buf, const uint8_t **out, size_t *n, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;

    if (dlb_cuda_check_buf(&cu->setup, buf, 0, err) != DLB_OK)
        return (int)err->status;
    if (!cu->staging.made_back)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "nothing was made of the batches");
    const struct dlb_cuda_buffer *b = &cu->bufs[buf];
    if (dlb_augment_count(cu->setup.augment, b->n_bytes, n, err) != DLB_OK)
        return (int)err->status;
    cudaError_t code =
        cudaMemcpyAsync(cu->staging.made_back, b->made, *n * cu->setup.augment->out_bytes,
                        cudaMemcpyDeviceToHost, cu->streams.side);
    *out = cu->staging.made_back;
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, fetching);
    return dlb_cuda_finish(&cu->waiting, cu->streams.side, cu->waiting.limit_ns, fetching, err);
}
#endif

const struct dlb_device dlb_dev_cuda = {
    .name = "cuda",
    .summary = "a GPU through the CUDA runtime: pinned copies on a stream, a synthetic step",
#ifdef DLB_HAVE_CUDA
    .state_bytes = sizeof(struct dlb_cuda),
    .open = dlb_cuda_open,
    .pin = cuda_pin,
    .copy = cuda_copy,
    .step = cuda_step,
    .poll = dlb_cuda_poll,
    .wait = dlb_cuda_wait,
    .checksum = cuda_checksum,
    .made = cuda_made,
    .end = dlb_cuda_end,
    .close = dlb_cuda_close,
    .probe = dlb_cuda_probe,
    .describe = dlb_cuda_describe,
    .ran = dlb_cuda_ran,
#else
    .missing = "built without CUDA (nvcc was not found)",
#endif
};

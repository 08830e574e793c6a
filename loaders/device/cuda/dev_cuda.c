/* A GPU, through the CUDA runtime, which is linked in: the program starts without a driver.
 *
 * Copies go over a stream of their own and steps over another (with prefetch 0 over one), fenced by
 * events; the same events, with their times, are what a step is accounted by. A buffer is copied to
 * again only after its last step, which the copy stream also waits for. */
#include "loaders/device/device.h"

#ifdef DLB_HAVE_CUDA
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "loaders/device/cuda/gpu.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

#define SCRATCH_MIN_BYTES (UINT64_C(256) << 20) /* several times the caches of today's GPUs */
#define END_NS                                                                                     \
    (5 * DLB_NS_PER_S) /* less than an interrupted run has to end by itself (child.c)              \
                        */
enum { ANCHOR_TRIES = 64 };

static cudaError_t new_zeroed(struct dlb_cuda *cu, void *out, size_t n_bytes)
{
    void *memory = NULL;
    cudaError_t code = cudaMalloc(&memory, n_bytes ? n_bytes : 1);
    memcpy(out, &memory, sizeof memory);
    return code == cudaSuccess ? cudaMemsetAsync(memory, 0, n_bytes ? n_bytes : 1, cu->compute)
                               : code;
}

static int open_gpu(struct dlb_cuda *cu, struct dlb_err *err)
{
    struct cudaDeviceProp prop;
    cudaError_t code = cudaSetDevice(0); /* CUDA_VISIBLE_DEVICES says which one that is */

    if (code == cudaSuccess)
        code = cudaFree(NULL); /* makes the context */
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&prop, 0);
    if (code == cudaSuccess)
        code = cudaDeviceGetPCIBusId(cu->pci_bus_id, (int)sizeof cu->pci_bus_id, 0);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&cu->compute, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&cu->copy, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&cu->side, cudaStreamNonBlocking);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "opening the GPU");
    (void)snprintf(cu->name, sizeof cu->name, "%.95s", prop.name);
    cu->n_sms = dlb_step_sms((uint32_t)prop.multiProcessorCount, cu->opts->sm_share);
    uint64_t half = 2 * (uint64_t)prop.l2CacheSize;
    half = half > SCRATCH_MIN_BYTES / 2 ? half : SCRATCH_MIN_BYTES / 2;
    cu->n_chunks = half / DLB_CUDA_CHUNK_BYTES;
    return DLB_OK;
}

static int out_of_memory(const struct dlb_cuda *cu, size_t free_bytes, size_t scratch_bytes,
                         struct dlb_err *err)
{
    char scratch[80] = "";
    if (scratch_bytes > 0)
        (void)snprintf(scratch, sizeof scratch, ", and %.1f MB for step_kind = \"memory\",",
                       (double)scratch_bytes / 1e6);
    return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET,
                    "the GPU is out of memory: %u batches of %.1f MB%s do not fit in %.2f GB "
                    "free; lower batch_size or device.prefetch",
                    cu->n_bufs, (double)(cu->buf_bytes + cu->made_bytes) / 1e6, scratch,
                    (double)free_bytes / 1e9);
}

static int open_memory(struct dlb_cuda *cu, struct dlb_err *err)
{
    size_t free_bytes = 0, total_bytes = 0, scratch_bytes = 0;
    cudaError_t code = cudaMemGetInfo(&free_bytes, &total_bytes);

    if (cu->opts->step_kind == DLB_STEP_MEMORY)
        scratch_bytes = 2 * cu->n_chunks * DLB_CUDA_CHUNK_BYTES;
    if (code == cudaSuccess)
        code = new_zeroed(cu, &cu->sums, cu->n_bufs * sizeof *cu->sums);
    if (code == cudaSuccess)
        code = new_zeroed(cu, &cu->stop, sizeof *cu->stop);
    if (code == cudaSuccess)
        code = new_zeroed(cu, &cu->sink, sizeof *cu->sink);
    if (code == cudaSuccess)
        code = new_zeroed(cu, &cu->sm_of_block, cu->n_sms * sizeof *cu->sm_of_block);
    if (code == cudaSuccess && scratch_bytes > 0)
        code = new_zeroed(cu, &cu->scratch, scratch_bytes);
    for (uint32_t i = 0; code == cudaSuccess && i < cu->n_bufs; i++) {
        code = new_zeroed(cu, &cu->bufs[i].data, cu->buf_bytes);
        if (code == cudaSuccess && cu->augment)
            code = new_zeroed(cu, &cu->bufs[i].made, cu->made_bytes);
    }
    if (code == cudaErrorMemoryAllocation)
        return out_of_memory(cu, free_bytes, scratch_bytes, err);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "allocating batches on the GPU");
    if (dlb_cuda_finish(cu, cu->compute, DLB_CUDA_ANSWER_NS, "clearing batches on the GPU", err) !=
        DLB_OK)
        return (int)err->status;
    cu->back = cu->keep_bytes ? malloc(cu->buf_bytes ? cu->buf_bytes : 1) : NULL;
    cu->made_back = cu->keep_bytes && cu->augment ? malloc(cu->made_bytes + 1) : NULL;
    if (cu->keep_bytes && (!cu->back || (cu->augment && !cu->made_back)))
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "memory to check batches in");
    return DLB_OK;
}

static int open_events(struct dlb_cuda *cu, struct dlb_err *err)
{
    cudaError_t code = cudaEventCreate(&cu->anchor);
    if (code == cudaSuccess)
        code = cudaEventCreate(&cu->spare);
    for (uint32_t i = 0; code == cudaSuccess && i < cu->n_bufs; i++) {
        struct CUevent_st **of[] = {&cu->bufs[i].copy_start, &cu->bufs[i].copy_end,
                                    &cu->bufs[i].step_start, &cu->bufs[i].step_end};
        for (size_t k = 0; code == cudaSuccess && k < sizeof of / sizeof *of; k++)
            code = cudaEventCreate(of[k]);
    }
    /* Before anything that waits for the GPU without a limit, as taking and freeing memory may. */
    if (code == cudaSuccess)
        code = cudaEventRecord(cu->spare, cu->compute);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "making events");
    return dlb_cuda_finish(cu, cu->compute, DLB_CUDA_ANSWER_NS, "asking the GPU for an answer",
                           err);
}

/* Brings the GPU's clock to the host's: of some tries on an idle stream, the one that was seen
 * complete soonest is kept. */
static int open_clock(struct dlb_cuda *cu, struct dlb_err *err)
{
    uint64_t best_ns = UINT64_MAX;

    for (int i = 0; i < ANCHOR_TRIES; i++) {
        uint64_t before_ns = dlb_now_ns();
        cudaError_t code = cudaEventRecord(cu->spare, cu->compute);
        while (code == cudaSuccess && (code = cudaEventQuery(cu->spare)) == cudaErrorNotReady) {
            code = cudaSuccess;
            if (dlb_now_ns() - before_ns > DLB_CUDA_ANSWER_NS)
                return dlb_cuda_hangs(cu, "what it was given", DLB_CUDA_ANSWER_NS, err);
        }
        uint64_t after_ns = dlb_now_ns();
        if (code != cudaSuccess)
            return dlb_cuda_fail(err, (int)code, "reading the GPU's clock");
        if (after_ns - before_ns >= best_ns)
            continue;
        best_ns = after_ns - before_ns;
        dlb_gpu_clock_anchor(&cu->clock, before_ns, after_ns);
        struct CUevent_st *kept = cu->spare;
        cu->spare = cu->anchor;
        cu->anchor = kept;
    }
    return DLB_OK;
}

static int cuda_open(void *dv, const struct dlb_device_open *how, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    *cu = (struct dlb_cuda){.opts = how->opts,
                            .rng = dlb_rng_seed(how->seed, 0x57e9, 0),
                            .copy_on_compute = how->copy_on_compute,
                            .keep_bytes = how->keep_bytes,
                            .n_bufs = how->n_bufs,
                            .buf_bytes = how->buf_bytes,
                            .memo = how->memo,
                            .augment = dlb_device_augment(how)};
    if (cu->augment)
        cu->made_bytes = how->buf_bytes / cu->augment->in_bytes * cu->augment->out_bytes;
    if (how->n_bufs == 0 || how->n_bufs > DLB_CUDA_MAX_BUFS)
        return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET,
                        "%u buffers: the CUDA device has 1 to %d", how->n_bufs,
                        (int)DLB_CUDA_MAX_BUFS);
    int rc = open_gpu(cu, err);
    if (rc == DLB_OK)
        rc = open_events(cu, err);
    if (rc == DLB_OK)
        rc = open_memory(cu, err);
    if (rc == DLB_OK)
        rc = dlb_cuda_calibrate(cu, err);
    if (rc == DLB_OK)
        rc = open_clock(cu, err);
    return rc;
}

/* A step that still runs is told to end: between its kernels it looks. */
static bool cuda_end(void *dv)
{
    struct dlb_cuda *cu = dv;
    struct CUstream_st *streams[] = {cu->side, cu->compute, cu->copy};
    struct dlb_err err;

    if (cu->hung || !cu->stop)
        return !cu->hung;
    (void)cudaMemsetAsync(cu->stop, 1, sizeof *cu->stop, cu->side);
    for (size_t i = 0; i < sizeof streams / sizeof *streams && !cu->hung; i++)
        (void)dlb_cuda_finish(cu, streams[i], END_NS, "ending what runs on the GPU", &err);
    return !cu->hung;
}

/* Called after a failed open too. What fails here has nobody to tell and nothing that depends on
 * it: the process is about to end, and the driver frees what is left. What still runs is waited
 * for, as it uses the buffers; where it does not end, every call below would wait as well, and some
 * of the memory may still be written. */
static void cuda_close(void *dv)
{
    struct dlb_cuda *cu = dv;

    if (!cuda_end(cu))
        return;
    for (uint32_t i = 0; i < cu->n_pinned; i++)
        (void)cudaHostUnregister(cu->pinned[i].addr);
    for (uint32_t i = 0; i < cu->n_bufs && i < DLB_CUDA_MAX_BUFS; i++) {
        struct dlb_cuda_buffer *b = &cu->bufs[i];
        struct CUevent_st *events[] = {b->copy_start, b->copy_end, b->step_start, b->step_end};
        for (size_t k = 0; k < sizeof events / sizeof *events; k++)
            if (events[k])
                (void)cudaEventDestroy(events[k]);
        if (b->data)
            (void)cudaFree(b->data);
        if (b->made)
            (void)cudaFree(b->made);
    }
    if (cu->anchor)
        (void)cudaEventDestroy(cu->anchor);
    if (cu->spare)
        (void)cudaEventDestroy(cu->spare);
    void *memory[] = {cu->sums, cu->stop, cu->sink, cu->sm_of_block, cu->scratch};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if (memory[i])
            (void)cudaFree(memory[i]);
    struct CUstream_st *streams[] = {cu->compute, cu->copy, cu->side};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (streams[i])
            (void)cudaStreamDestroy(streams[i]);
    free(cu->back);
    free(cu->made_back);
    free(cu->sm_seen);
}

/* The mapping is shared memory: its pages stay the same for workers that were forked before and
 * after, so that what they write is what the GPU reads. */
static int cuda_pin(void *dv, void *host, size_t n_bytes, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    if (cu->n_pinned == DLB_CUDA_MAX_PINNED)
        return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET,
                        "the CUDA device pins at most %d ranges", (int)DLB_CUDA_MAX_PINNED);
    cudaError_t code = cudaHostRegister(host, n_bytes, cudaHostRegisterDefault);
    if (code == cudaErrorMemoryAllocation || code == cudaErrorOperatingSystem)
        return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET,
                        "the driver cannot pin %.1f MB of batch memory (%s): lower batch_size or "
                        "num_workers, or pin_memory = false",
                        (double)n_bytes / 1e6, cudaGetErrorName(code));
    if (code == cudaErrorNotSupported || code == cudaErrorInvalidValue)
        return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET,
                        "the driver does not pin this machine's shared memory (%s): take "
                        "loader.pin_mode = \"thread\", or pin_memory = false",
                        cudaGetErrorName(code));
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "pinning batch memory");
    cu->pinned[cu->n_pinned].addr = host;
    cu->pinned[cu->n_pinned++].n_bytes = n_bytes;
    return DLB_OK;
}

static bool is_pinned(const struct dlb_cuda *cu, const uint8_t *host, size_t n_bytes)
{
    for (uint32_t i = 0; i < cu->n_pinned; i++)
        if (host >= cu->pinned[i].addr &&
            host + n_bytes <= cu->pinned[i].addr + cu->pinned[i].n_bytes)
            return true;
    return false;
}

static int queue_copy(struct dlb_cuda *cu, uint32_t buf, const void *host, size_t n_bytes,
                      struct dlb_err *err)
{
    static const char doing[] = "copying a batch to the GPU";
    struct CUstream_st *stream = cu->copy_on_compute ? cu->compute : cu->copy;
    cudaError_t code = cudaSuccess;

    if (dlb_cuda_check_buf(cu, buf, n_bytes, err) != DLB_OK)
        return (int)err->status;
    struct dlb_cuda_buffer *b = &cu->bufs[buf];
    b->n_bytes = n_bytes;
    b->copied = b->stepped = false;
    b->waited_ns = 0;
    if (!cu->copy_on_compute)
        code = cudaStreamWaitEvent(stream, b->step_end, 0);
    b->copy_call_ns = dlb_now_ns();
    if (code == cudaSuccess)
        code = cudaEventRecord(b->copy_start, stream);
    if (code == cudaSuccess && n_bytes > 0)
        code = cudaMemcpyAsync(b->data, host, n_bytes, cudaMemcpyHostToDevice, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord(b->copy_end, stream);
    if (code != cudaSuccess || is_pinned(cu, host, n_bytes))
        return dlb_cuda_checked((int)code, doing, err);
    /* As torch's .to(device) does from pageable memory: ATen's memcpy_and_sync. */
    return dlb_cuda_finish(cu, stream, DLB_CUDA_ANSWER_NS, doing, err);
}

static int queue_step(struct dlb_cuda *cu, uint32_t buf, struct dlb_err *err)
{
    cudaError_t code = cudaSuccess;

    if (dlb_cuda_check_buf(cu, buf, 0, err) != DLB_OK)
        return (int)err->status;
    struct dlb_cuda_buffer *b = &cu->bufs[buf];
    b->stepped = false;
    b->waited_ns = 0;
    b->step_ns = (double)dlb_step_draw_ns(cu->opts, &cu->rng);
    uint64_t n_iters = dlb_step_iters(&cu->calibration.model, b->step_ns, b->n_bytes);
    if (!cu->copy_on_compute)
        code = cudaStreamWaitEvent(cu->compute, b->copy_end, 0);
    if (code == cudaSuccess)
        code = cudaEventRecord(b->step_start, cu->compute);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "starting a step on the GPU");
    int rc = dlb_cuda_queue_augment(cu, buf, b->n_bytes, err);
    if (rc == DLB_OK)
        rc = dlb_cuda_queue_step(cu, buf, b->n_bytes, n_iters,
                                 dlb_step_launches(b->step_ns, cu->n_bufs), NULL, err);
    if (rc != DLB_OK)
        return rc;
    if (cu->augment) /* for who waits: it comes on top */
        b->step_ns += cu->calibration.augment_ns * (double)b->n_bytes / (double)cu->buf_bytes;
    return dlb_cuda_checked((int)cudaEventRecord(b->step_end, cu->compute),
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

/* The bytes are fetched back over a stream of its own, and hashed here; the sum that the step made
 * of them shows that it read what the buffer holds. Costs a copy, and is left to checked runs. */
static int cuda_checksum(void *dv, uint32_t buf, uint64_t *out, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    unsigned long long sum = 0;

    if (dlb_cuda_check_buf(cu, buf, 0, err) != DLB_OK)
        return (int)err->status;
    if (!cu->keep_bytes)
        return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET, "checksum without keep_bytes");
    const struct dlb_cuda_buffer *b = &cu->bufs[buf];
    cudaError_t code =
        cudaMemcpyAsync(cu->back, b->data, b->n_bytes, cudaMemcpyDeviceToHost, cu->side);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(&sum, &cu->sums[buf], sizeof sum, cudaMemcpyDeviceToHost, cu->side);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, fetching);
    if (dlb_cuda_finish(cu, cu->side, DLB_CUDA_ANSWER_NS, fetching, err) != DLB_OK)
        return (int)err->status;
    if (b->stepped && sum != dlb_step_sum(cu->back, b->n_bytes))
        return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET,
                        "the step on the GPU read other bytes than its buffer of %zu bytes holds: "
                        "copy and step overlap",
                        b->n_bytes);
    *out = dlb_hash64(cu->back, b->n_bytes, 0);
    return DLB_OK;
}

static int cuda_made(void *dv, uint32_t buf, const uint8_t **out, size_t *n, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;

    if (dlb_cuda_check_buf(cu, buf, 0, err) != DLB_OK)
        return (int)err->status;
    if (!cu->made_back)
        return dlb_fail(err, DLB_ERR_DEVICE, NULL, DLB_NO_OFFSET,
                        "nothing was made of the batches");
    const struct dlb_cuda_buffer *b = &cu->bufs[buf];
    if (dlb_augment_count(cu->augment, b->n_bytes, n, err) != DLB_OK)
        return (int)err->status;
    cudaError_t code = cudaMemcpyAsync(cu->made_back, b->made, *n * cu->augment->out_bytes,
                                       cudaMemcpyDeviceToHost, cu->side);
    *out = cu->made_back;
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, fetching);
    return dlb_cuda_finish(cu, cu->side, DLB_CUDA_ANSWER_NS, fetching, err);
}
#endif

const struct dlb_device dlb_dev_cuda = {
    .name = "cuda",
    .summary = "a GPU through the CUDA runtime: pinned copies on a stream, a synthetic step",
#ifdef DLB_HAVE_CUDA
    .state_bytes = sizeof(struct dlb_cuda),
    .open = cuda_open,
    .pin = cuda_pin,
    .copy = cuda_copy,
    .step = cuda_step,
    .poll = dlb_cuda_poll,
    .wait = dlb_cuda_wait,
    .checksum = cuda_checksum,
    .made = cuda_made,
    .end = cuda_end,
    .close = cuda_close,
    .probe = dlb_cuda_probe,
    .describe = dlb_cuda_describe,
#else
    .missing = "built without CUDA (nvcc was not found)",
#endif
};

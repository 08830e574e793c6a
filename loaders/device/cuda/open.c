/* Opening and closing a GPU: streams, events, memory, and its clock. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include "core/base/escape.h"
#include "core/base/clock.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH_MIN_BYTES (UINT64_C(256) << 20) /* several times the caches of today's GPUs */
/* Less than an interrupted run has to end by itself (child.c). */
#define END_NS (5 * DLB_NS_PER_S)

/* Zeroed device memory; the zeroing is queued on `stream`. */
static cudaError_t new_zeroed(struct CUstream_st *stream, void *out, size_t n_bytes)
{
    void *memory = NULL;
    cudaError_t code = cudaMalloc(&memory, n_bytes ? n_bytes : 1);
    memcpy(out, &memory, sizeof memory);
    return code == cudaSuccess ? cudaMemsetAsync(memory, 0, n_bytes ? n_bytes : 1, stream) : code;
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
        code = cudaDeviceGetPCIBusId(cu->gpu.pci_bus_id, (int)sizeof cu->gpu.pci_bus_id, 0);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&cu->streams.compute, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&cu->streams.copy, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&cu->streams.side, cudaStreamNonBlocking);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "opening the GPU");
    (void)snprintf(cu->gpu.name, sizeof cu->gpu.name, "%.*s", DLB_CUT(prop.name, 95));
    cu->kernels.n_sms = dlb_step_sms((uint32_t)prop.multiProcessorCount, cu->setup.opts->sm_share);
    uint64_t half = 2 * (uint64_t)prop.l2CacheSize;
    half = half > SCRATCH_MIN_BYTES / 2 ? half : SCRATCH_MIN_BYTES / 2;
    cu->kernels.n_chunks = half / DLB_CUDA_CHUNK_BYTES;
    return DLB_OK;
}

static int out_of_memory(const struct dlb_cuda_setup *setup, size_t free_bytes,
                         size_t scratch_bytes, struct dlb_err *err)
{
    char scratch[80] = "";
    if (scratch_bytes > 0)
        (void)snprintf(scratch, sizeof scratch, ", and %.1f MB for step_kind = \"memory\",",
                       (double)scratch_bytes / 1e6);
    return dlb_fail(err, DLB_ERR_GPU_MEMORY, NULL, DLB_NO_OFFSET,
                    "the GPU is out of memory: %u batches of %.1f MB%s do not fit in %.2f GB "
                    "free; lower batch_size or device.prefetch",
                    setup->n_bufs, (double)(setup->buf_bytes + setup->made_bytes) / 1e6, scratch,
                    (double)free_bytes / 1e9);
}

/* What the kernels work with, apart from the batches. */
static cudaError_t open_kernels(struct dlb_cuda *cu, size_t scratch_bytes)
{
    struct dlb_cuda_kernels *k = &cu->kernels;
    struct CUstream_st *stream = cu->streams.compute;
    cudaError_t code = new_zeroed(stream, &k->sums, cu->setup.n_bufs * sizeof *k->sums);

    if (code == cudaSuccess)
        code = new_zeroed(stream, &k->stop, sizeof *k->stop);
    if (code == cudaSuccess)
        code = new_zeroed(stream, &k->sink, sizeof *k->sink);
    if (code == cudaSuccess)
        code = new_zeroed(stream, &k->sm_of_block, k->n_sms * sizeof *k->sm_of_block);
    if (code == cudaSuccess && scratch_bytes > 0)
        code = new_zeroed(stream, &k->scratch, scratch_bytes);
    return code;
}

static cudaError_t open_buffers(struct dlb_cuda *cu)
{
    const struct dlb_cuda_setup *setup = &cu->setup;
    cudaError_t code = cudaSuccess;

    for (uint32_t i = 0; code == cudaSuccess && i < setup->n_bufs; i++) {
        code = new_zeroed(cu->streams.compute, &cu->bufs[i].data, setup->buf_bytes);
        if (code == cudaSuccess && setup->augment)
            code = new_zeroed(cu->streams.compute, &cu->bufs[i].made, setup->made_bytes);
    }
    return code;
}

static int open_staging(struct dlb_cuda_staging *staging, const struct dlb_cuda_setup *setup,
                        struct dlb_err *err)
{
    if (!setup->keep_bytes)
        return DLB_OK;
    staging->back = malloc(setup->buf_bytes ? setup->buf_bytes : 1);
    staging->made_back = setup->augment ? malloc(setup->made_bytes + 1) : NULL;
    if (!staging->back || (setup->augment && !staging->made_back))
        return dlb_fail_memory(err, NULL, setup->buf_bytes + setup->made_bytes);
    return DLB_OK;
}

static int open_memory(struct dlb_cuda *cu, struct dlb_err *err)
{
    size_t free_bytes = 0, total_bytes = 0, scratch_bytes = 0;
    cudaError_t code = cudaMemGetInfo(&free_bytes, &total_bytes);

    if (cu->setup.opts->step_kind == DLB_STEP_MEMORY)
        scratch_bytes = 2 * cu->kernels.n_chunks * DLB_CUDA_CHUNK_BYTES;
    if (code == cudaSuccess)
        code = open_kernels(cu, scratch_bytes);
    if (code == cudaSuccess)
        code = open_buffers(cu);
    if (code == cudaErrorMemoryAllocation)
        return out_of_memory(&cu->setup, free_bytes, scratch_bytes, err);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "allocating batches on the GPU");
    if (dlb_cuda_finish(&cu->waiting, cu->streams.compute, cu->waiting.limit_ns,
                        "clearing batches on the GPU", err) != DLB_OK)
        return (int)err->status;
    return open_staging(&cu->staging, &cu->setup, err);
}

static int open_events(struct dlb_cuda *cu, struct dlb_err *err)
{
    cudaError_t code = cudaEventCreate(&cu->time.anchor);
    if (code == cudaSuccess)
        code = cudaEventCreate(&cu->time.spare);
    if (code == cudaSuccess)
        code = cudaEventCreate(&cu->time.tried);
    for (uint32_t i = 0; code == cudaSuccess && i < cu->setup.n_bufs; i++) {
        struct CUevent_st **of[] = {&cu->bufs[i].copy_start, &cu->bufs[i].copy_end,
                                    &cu->bufs[i].step_start, &cu->bufs[i].step_end};
        for (size_t k = 0; code == cudaSuccess && k < sizeof of / sizeof *of; k++)
            code = cudaEventCreate(of[k]);
    }
    /* An event that was never recorded has no time. */
    for (uint32_t i = 0; code == cudaSuccess && i < cu->setup.n_bufs; i++)
        code = cudaEventRecord(cu->bufs[i].step_start, cu->streams.compute);
    /* First of all, because allocating and freeing memory may wait for the GPU without a limit. */
    if (code == cudaSuccess)
        code = cudaEventRecord(cu->time.spare, cu->streams.compute);
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "making events");
    return dlb_cuda_finish(&cu->waiting, cu->streams.compute, cu->waiting.limit_ns,
                           "asking the GPU for an answer", err);
}

#define NO_LIMIT_NS (UINT64_C(1) << 60) /* 30 years, to which times of waiting can be added */

static uint64_t hang_ns(double hang_s)
{
    return hang_s > 0 ? (uint64_t)(hang_s * 1e9) : NO_LIMIT_NS;
}

int dlb_cuda_open(void *dv, const struct dlb_device_open *how, struct dlb_err *err)
{
    struct dlb_cuda *cu = dv;
    *cu = (struct dlb_cuda){.rng = dlb_rng_seed(how->seed, 0x57e9, 0),
                            .waiting = {.limit_ns = hang_ns(how->opts->hang_s)},
                            .setup = {.opts = how->opts,
                                      .augment = dlb_device_augment(how),
                                      .memo = how->memo,
                                      .n_bufs = how->n_bufs,
                                      .buf_bytes = how->buf_bytes,
                                      .copy_on_compute = how->copy_on_compute,
                                      .keep_bytes = how->keep_bytes}};
    if (cu->setup.augment)
        cu->setup.made_bytes =
            how->buf_bytes / cu->setup.augment->in_bytes * cu->setup.augment->out_bytes;
    if (how->n_bufs == 0 || how->n_bufs > DLB_CUDA_MAX_BUFS)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
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
        rc = dlb_cuda_open_clock(cu, err);
    return rc;
}

/* Tells a step that still runs to end: it looks between its kernels. */
bool dlb_cuda_end(void *dv)
{
    struct dlb_cuda *cu = dv;
    struct CUstream_st *streams[] = {cu->streams.side, cu->streams.compute, cu->streams.copy};
    uint64_t limit_ns = cu->waiting.limit_ns == NO_LIMIT_NS ? NO_LIMIT_NS : END_NS;
    uint32_t *stop = cu->kernels.stop;
    struct dlb_err err;

    if (cu->waiting.hung || !stop)
        return !cu->waiting.hung;
    (void)cudaMemsetAsync(stop, 1, sizeof *stop, cu->streams.side);
    for (size_t i = 0; i < sizeof streams / sizeof *streams && !cu->waiting.hung; i++)
        (void)dlb_cuda_finish(&cu->waiting, streams[i], limit_ns, "ending what runs on the GPU",
                              &err);
    return !cu->waiting.hung;
}

static void destroy_event(struct CUevent_st *event)
{
    if (event)
        (void)cudaEventDestroy(event);
}

static void free_device(void *memory)
{
    if (memory)
        (void)cudaFree(memory);
}

static void close_buffer(const struct dlb_cuda_buffer *b)
{
    if (b->launch.exec)
        (void)cudaGraphExecDestroy(b->launch.exec);
    destroy_event(b->copy_start);
    destroy_event(b->copy_end);
    destroy_event(b->step_start);
    destroy_event(b->step_end);
    free_device(b->data);
    free_device(b->made);
}

/* Also called after a failed open. Errors here cannot be reported and nothing depends on them:
 * the process is about to end, and the driver frees the rest. A step that still runs uses the
 * buffers, so its end comes first. If it does not end, nothing is freed: every call below would
 * wait for it, and it may still write to the memory. */
void dlb_cuda_close(void *dv)
{
    struct dlb_cuda *cu = dv;
    const struct dlb_cuda_kernels *k = &cu->kernels;

    if (!dlb_cuda_end(cu))
        return;
    for (uint32_t i = 0; i < cu->pins.n; i++)
        (void)cudaHostUnregister(cu->pins.range[i].addr);
    for (uint32_t i = 0; i < cu->setup.n_bufs && i < DLB_CUDA_MAX_BUFS; i++)
        close_buffer(&cu->bufs[i]);
    destroy_event(cu->time.anchor);
    destroy_event(cu->time.spare);
    destroy_event(cu->time.tried);
    void *memory[] = {k->sums, k->stop, k->sink, k->sm_of_block, k->scratch};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free_device(memory[i]);
    struct CUstream_st *streams[] = {cu->streams.compute, cu->streams.copy, cu->streams.side};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (streams[i])
            (void)cudaStreamDestroy(streams[i]);
    free(cu->staging.back);
    free(cu->staging.made_back);
    free(cu->staging.sm_seen);
}
#endif

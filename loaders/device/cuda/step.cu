#include "loaders/device/cuda/step.h"

#include <cuda_runtime.h>

namespace
{

constexpr unsigned n_threads = DLB_CUDA_THREADS;
constexpr unsigned n_warps = n_threads / 32;
static_assert(n_threads * sizeof(uint4) == DLB_CUDA_CHUNK_BYTES, "a thread moves 16 bytes");

/* Where a block runs. */
__device__ uint32_t multiprocessor()
{
    uint32_t sm = 0;
#ifdef __CUDACC__ /* tests run the kernels on the CPU, too */
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
#endif
    return sm;
}

/* Whether the step was told to end. One thread reads it, so that the whole block agrees. */
__device__ bool stopped(const uint32_t *stop, uint32_t *sm_of_block)
{
    __shared__ uint32_t answer;
    if (threadIdx.x == 0) {
        answer = *static_cast<const volatile uint32_t *>(stop);
        if (sm_of_block)
            sm_of_block[blockIdx.x] = multiprocessor();
    }
    __syncthreads();
    return answer != 0;
}

__global__ void __launch_bounds__(n_threads)
    read_kernel(const unsigned char *data, size_t n_bytes, unsigned long long *sum,
                const uint32_t *stop, uint32_t *sm_of_block)
{
    __shared__ unsigned long long part[n_warps];
    if (stopped(stop, sm_of_block))
        return;
    const size_t n_pairs = n_bytes / sizeof(ulonglong2);
    const size_t stride = static_cast<size_t>(gridDim.x) * n_threads;
    const size_t me = static_cast<size_t>(blockIdx.x) * n_threads + threadIdx.x;
    const ulonglong2 *pairs = reinterpret_cast<const ulonglong2 *>(data);
    unsigned long long mine = 0;

#pragma unroll 4
    for (size_t i = me; i < n_pairs; i += stride) {
        const ulonglong2 pair = pairs[i];
        mine += pair.x * (4 * i + 1) + pair.y * (4 * i + 3); /* words 2i and 2i + 1 */
    }
    if (me == 0) { /* the last 0 to 15 bytes */
        for (size_t at = n_pairs * sizeof(ulonglong2); at < n_bytes; at++)
            mine +=
                (static_cast<unsigned long long>(data[at]) << (at % 8 * 8)) * (2 * (at / 8) + 1);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine += __shfl_down_sync(0xffffffffu, mine, lanes);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < n_warps; w++)
            mine += part[w];
        atomicAdd(sum, mine);
    }
}

/* Eight chains, each four deep: enough independent work for the pipes of a multiprocessor with 32
 * warps on it. The values settle at 1. */
__global__ void __launch_bounds__(n_threads)
    fma_kernel(uint64_t n_iters, float *sink, const uint32_t *stop, uint32_t *sm_of_block)
{
    if (stopped(stop, sm_of_block))
        return;
    const float keep = 0.9999f, add = 0.0001f;
    float x[8];
#pragma unroll
    for (int c = 0; c < 8; c++)
        x[c] = static_cast<float>(threadIdx.x + c) * 0.001f;
#pragma unroll 1
    for (uint64_t i = 0; i < n_iters; i++) {
#pragma unroll
        for (int depth = 0; depth < 4; depth++)
#pragma unroll
            for (int c = 0; c < 8; c++)
                x[c] = fmaf(x[c], keep, add);
    }
    float total = 0;
#pragma unroll
    for (int c = 0; c < 8; c++)
        total += x[c];
    if (total < -1.0f) /* never: all are positive; the compiler does not know */
        *sink = total;
}

__global__ void __launch_bounds__(n_threads)
    memory_kernel(uint64_t n_iters, uint4 *scratch, uint64_t n_chunks, uint64_t first,
                  const uint32_t *stop, uint32_t *sm_of_block)
{
    if (stopped(stop, sm_of_block))
        return;
    const uint4 *__restrict__ from = scratch;
    uint4 *__restrict__ to = scratch + n_chunks * n_threads;
    uint64_t chunk = (first + blockIdx.x) % n_chunks;
    const uint64_t stride = gridDim.x % n_chunks;

    /* Four loads in flight per thread: 64 KiB per multiprocessor cover the memory's latency. */
    uint64_t i = 0;
    for (; i + 4 <= n_iters; i += 4) {
        uint64_t at[4];
        uint4 held[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            at[k] = chunk * n_threads + threadIdx.x;
            chunk += stride;
            chunk = chunk >= n_chunks ? chunk - n_chunks : chunk;
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            held[k] = from[at[k]];
#pragma unroll
        for (int k = 0; k < 4; k++)
            to[at[k]] = held[k];
    }
    for (; i < n_iters; i++) {
        const uint64_t at = chunk * n_threads + threadIdx.x;
        to[at] = from[at];
        chunk += stride;
        chunk = chunk >= n_chunks ? chunk - n_chunks : chunk;
    }
}

/* One warp makes one row of an output, so that its loads and its stores are contiguous. Products
 * and sums are rounded separately, as on the host. */
__global__ void __launch_bounds__(n_threads)
    image_kernel(dlb_augment how, const unsigned char *in, size_t n_samples, float *out,
                 const uint32_t *stop)
{
    if (stopped(stop, nullptr))
        return;
    const unsigned lane = threadIdx.x % 32, size = how.size;
    const size_t plane = static_cast<size_t>(size) * size;
    const size_t n_rows = n_samples * size, stride = static_cast<size_t>(gridDim.x) * n_warps;

    for (size_t row = static_cast<size_t>(blockIdx.x) * n_warps + threadIdx.x / 32; row < n_rows;
         row += stride) {
        const size_t sample = row / size, y = row % size;
        const unsigned char *image = in + sample * how.in_bytes;
        const dlb_augment_place place =
            *reinterpret_cast<const dlb_augment_place *>(image + how.place_at);
        const unsigned char *line = image + ((place.y + y) * how.side + place.x) * 3;
        float *to = out + sample * 3 * plane + y * size;
#pragma unroll 4
        for (unsigned x = lane; x < size; x += 32) {
            const unsigned char *from = line + 3 * (place.flip ? size - 1 - x : x);
#pragma unroll
            for (int c = 0; c < 3; c++)
                to[c * plane + x] =
                    __fadd_rn(__fmul_rn(static_cast<float>(from[c]), how.scale[c]), how.shift[c]);
        }
    }
}

/* A block takes 1024 tokens of a sample at a time; each token is read once and written to x and y.
 */
template <typename T>
__global__ void __launch_bounds__(n_threads)
    widen_kernel(dlb_augment how, const T *in, size_t n_samples, long long *out,
                 const uint32_t *stop)
{
    if (stopped(stop, nullptr))
        return;
    const size_t last = how.n_tokens - 1, n_parts = last / n_threads + 1;

    for (size_t part = blockIdx.x; part < n_samples * n_parts; part += gridDim.x) {
        const size_t sample = part / n_parts, i = part % n_parts * n_threads + threadIdx.x;
        long long *x = out + sample * 2 * last, *y = x + last;
        if (i > last)
            continue;
        const long long token = static_cast<long long>(in[sample * how.n_tokens + i]);
        if (i < last)
            x[i] = token;
        if (i > 0)
            y[i - 1] = token;
    }
}

/* The error of this launch, not one that an earlier call left behind. */
template <typename... Parameters, typename... Arguments>
int launch(const dlb_cuda_work *work, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(work->n_blocks);
    config.blockDim = dim3(n_threads);
    config.stream = work->stream;
    return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

template <typename T>
int widen(const dlb_cuda_work *work, const dlb_augment *how, const void *in, size_t n_samples,
          void *out)
{
    return launch(work, widen_kernel<T>, *how, static_cast<const T *>(in), n_samples,
                  static_cast<long long *>(out), work->stop);
}

} // namespace

extern "C" int dlb_cuda_read(const struct dlb_cuda_work *work, const void *data, size_t n_bytes,
                             unsigned long long *sum)
{
    return launch(work, read_kernel, static_cast<const unsigned char *>(data), n_bytes, sum,
                  work->stop, work->sm_of_block);
}

extern "C" int dlb_cuda_fma(const struct dlb_cuda_work *work, uint64_t n_iters, float *sink)
{
    return launch(work, fma_kernel, n_iters, sink, work->stop, work->sm_of_block);
}

extern "C" int dlb_cuda_memory(const struct dlb_cuda_work *work, uint64_t n_iters, void *scratch,
                               uint64_t n_chunks, uint64_t first)
{
    return launch(work, memory_kernel, n_iters, static_cast<uint4 *>(scratch), n_chunks, first,
                  work->stop, work->sm_of_block);
}

extern "C" int dlb_cuda_augment(const struct dlb_cuda_work *work, const struct dlb_augment *how,
                                const void *in, size_t n_samples, void *out)
{
    if (how->kind == DLB_AUGMENT_IMAGE)
        return launch(work, image_kernel, *how, static_cast<const unsigned char *>(in), n_samples,
                      static_cast<float *>(out), work->stop);
    switch (how->element) {
    case DLB_ELEMENT_U8:
        return widen<uint8_t>(work, how, in, n_samples, out);
    case DLB_ELEMENT_I8:
        return widen<int8_t>(work, how, in, n_samples, out);
    case DLB_ELEMENT_U16:
        return widen<uint16_t>(work, how, in, n_samples, out);
    case DLB_ELEMENT_I16:
        return widen<int16_t>(work, how, in, n_samples, out);
    case DLB_ELEMENT_U32:
        return widen<uint32_t>(work, how, in, n_samples, out);
    case DLB_ELEMENT_I32:
        return widen<int32_t>(work, how, in, n_samples, out);
    case DLB_ELEMENT_U64:
    case DLB_ELEMENT_I64:
        return widen<int64_t>(work, how, in, n_samples, out);
    default:
        return cudaErrorInvalidValue;
    }
}

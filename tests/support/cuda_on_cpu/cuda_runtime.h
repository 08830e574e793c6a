/* Runs the step's kernels on the CPU, for sanitizers: in the stead of CUDA's header, for C++.
 * Blocks follow each other; each of a block's threads is a thread of the host, so that barriers and
 * warps are what they are on a GPU. A launch returns when the kernel has ended. */
#ifndef DLB_TESTS_SUPPORT_CUDA_ON_CPU_CUDA_RUNTIME_H
#define DLB_TESTS_SUPPORT_CUDA_ON_CPU_CUDA_RUNTIME_H

#ifdef __cplusplus
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define __global__
#define __device__
#define __shared__ static /* one block runs at a time */
#define __launch_bounds__(n)

struct dim3 {
    unsigned x = 1;
    dim3() = default;
    explicit dim3(unsigned n) : x(n)
    {
    }
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    void *stream;
};
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1 };

static thread_local dim3 threadIdx, blockIdx; /* one file includes this */
static dim3 gridDim;

namespace on_cpu
{
enum { warp = 32 };
static pthread_barrier_t all;
static unsigned long long lanes[1024];

inline void wait()
{
    (void)pthread_barrier_wait(&all);
}

struct job {
    void (*call)(const void *kernel);
    const void *kernel;
    unsigned thread, block;
};

inline void *run(void *arg)
{
    const job *j = static_cast<job *>(arg);
    threadIdx.x = j->thread;
    blockIdx.x = j->block;
    j->call(j->kernel);
    return nullptr;
}

inline int launch(const cudaLaunchConfig_t *how, void (*call)(const void *), const void *kernel)
{
    static pthread_t ids[1024];
    static job jobs[1024];
    pthread_attr_t small;

    const unsigned n_threads = how->blockDim.x;

    gridDim = how->gridDim;
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, 256 << 10);
    (void)pthread_barrier_init(&all, nullptr, n_threads);
    for (unsigned b = 0; b < gridDim.x; b++) {
        for (unsigned t = 0; t < n_threads; t++) {
            jobs[t] = {call, kernel, t, b};
            if (pthread_create(&ids[t], &small, run, &jobs[t]) != 0)
                abort();
        }
        for (unsigned t = 0; t < n_threads; t++)
            (void)pthread_join(ids[t], nullptr);
    }
    (void)pthread_barrier_destroy(&all);
    (void)pthread_attr_destroy(&small);
    return cudaSuccess;
}
} // namespace on_cpu

inline void __syncthreads()
{
    on_cpu::wait();
}

/* All threads of a block come here together: every kernel that uses it is written so. */
template <typename T> T __shfl_down_sync(unsigned, T value, int delta)
{
    const unsigned me = threadIdx.x, from = me + static_cast<unsigned>(delta);

    on_cpu::lanes[me] = value;
    on_cpu::wait();
    const T out = from / on_cpu::warp == me / on_cpu::warp ? on_cpu::lanes[from] : value;
    on_cpu::wait();
    return out;
}

inline void atomicAdd(unsigned long long *to, unsigned long long value)
{
    (void)__atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

inline float __fmul_rn(float a, float b)
{
    return a * b;
}

inline float __fadd_rn(float a, float b)
{
    return a + b;
}

template <typename... Parameters, typename... Arguments>
int cudaLaunchKernelEx(const cudaLaunchConfig_t *how, void (*kernel)(Parameters...),
                       Arguments... arguments)
{
    const auto all = [=] { kernel(arguments...); };
    return on_cpu::launch(
        how, [](const void *of) { (*static_cast<const decltype(all) *>(of))(); }, &all);
}

#endif

#endif

/* The kernels of a GPU's synthetic training step.
 *
 * Floor 3, private to the CUDA device. Each call queues one kernel on a stream and returns the
 * launch's cudaError_t as int. Blocks have 1024 threads, so that a multiprocessor holds one or two.
 * Streams are named by their struct tag, so that this header needs no CUDA header. */
#ifndef DLB_LOADERS_DEVICE_CUDA_STEP_H
#define DLB_LOADERS_DEVICE_CUDA_STEP_H

#include "formats/codecs/augment.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

/* Of a block; tests on the CPU take fewer. */
#ifndef DLB_CUDA_THREADS
#define DLB_CUDA_THREADS 1024
#endif
#define DLB_CUDA_CHUNK_BYTES ((size_t)DLB_CUDA_THREADS * 16) /* 16 KiB: a thread moves 16 bytes */

/* What the kernels of one step share. Pointers are into device memory. */
struct dlb_cuda_work {
    struct CUstream_st *stream;
    uint32_t n_blocks;     /* one per multiprocessor that computes */
    const uint32_t *stop;  /* not 0: kernels return at once */
    uint32_t *sm_of_block; /* [n_blocks] where each block ran; NULL: not wanted */
};

/* Reads every byte and adds dlb_step_sum of them to *sum. `data` is aligned to 16 bytes. */
int dlb_cuda_read(const struct dlb_cuda_work *work, const void *data, size_t n_bytes,
                  unsigned long long *sum);

/* n_iters iterations of 32 fused multiply-adds per thread. `sink` is one float that is written only
 * for a sum that does not occur: it keeps the compiler from removing the arithmetic. */
int dlb_cuda_fma(const struct dlb_cuda_work *work, uint64_t n_iters, float *sink);

/* Each block copies n_iters chunks from the first half of `scratch` to the second, which
 * have n_chunks each; blocks take turns, beginning with chunk `first`. */
int dlb_cuda_memory(const struct dlb_cuda_work *work, uint64_t n_iters, void *scratch,
                    uint64_t n_chunks, uint64_t first);

/* Makes what `how` asks for of n_samples at `in`, and writes it to `out`; both 16-byte aligned. */
int dlb_cuda_augment(const struct dlb_cuda_work *work, const struct dlb_augment *how,
                     const void *in, size_t n_samples, void *out);

#ifdef __cplusplus
}
#endif

#endif

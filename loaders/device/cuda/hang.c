/* A GPU that does not end what it was given. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include "core/base/clock.h"

#include <cuda_runtime_api.h>

int dlb_cuda_hangs(struct dlb_cuda_waiting *waiting, const char *what, uint64_t waited_ns,
                   struct dlb_err *err)
{
    waiting->hung = true;
    return dlb_fail(err, DLB_ERR_GPU_HANGS, NULL, DLB_NO_OFFSET,
                    "the GPU did not end %s within %llu s: it hangs, or another program has it; "
                    "nvidia-smi shows it",
                    what, (unsigned long long)(waited_ns / DLB_NS_PER_S));
}

int dlb_cuda_finish(struct dlb_cuda_waiting *waiting, struct CUstream_st *stream, uint64_t limit_ns,
                    const char *doing, struct dlb_err *err)
{
    uint64_t start_ns = dlb_now_ns();
    cudaError_t code;

    while ((code = cudaStreamQuery(stream)) == cudaErrorNotReady)
        if (dlb_now_ns() - start_ns > limit_ns)
            return dlb_cuda_hangs(waiting, "what it was given", limit_ns, err);
    return dlb_cuda_checked((int)code, doing, err);
}
#endif

/* One launch of a step: a CUDA graph of an event and kernels.
 *
 * Kernels that are launched one after the other reach an idle GPU microseconds after the event that
 * should tell their start. A graph reaches it as a whole. Its other events would be no safer: CUDA
 * does not say from when on a launched graph's event counts as not yet complete. So step_end, which
 * is waited for, is recorded behind the graph, and step_start is only read once step_end is
 * complete. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include <cuda_runtime_api.h>

static const char starting[] = "starting a step on the GPU";

struct dlb_cuda_work dlb_cuda_work(const struct dlb_cuda *cu)
{
    return (struct dlb_cuda_work){
        .stream = cu->streams.compute, .n_blocks = cu->kernels.n_sms, .stop = cu->kernels.stop};
}

static int queue_augment(const struct dlb_cuda *cu, uint32_t buf, size_t n_bytes,
                         struct dlb_err *err)
{
    const struct dlb_cuda_work work = dlb_cuda_work(cu);
    size_t n = 0;

    if (dlb_augment_count(cu->setup.augment, n_bytes, &n, err) != DLB_OK)
        return (int)err->status;
    int code =
        dlb_cuda_augment(&work, cu->setup.augment, cu->bufs[buf].data, n, cu->bufs[buf].made);
    return dlb_cuda_checked(code, "making samples on the GPU", err);
}

static int queue_step(const struct dlb_cuda *cu, uint32_t buf, const struct dlb_cuda_recipe *recipe,
                      uint64_t chunk, struct dlb_err *err)
{
    const struct dlb_cuda_kernels *k = &cu->kernels;
    struct dlb_cuda_work work = dlb_cuda_work(cu);
    uint64_t n_iters = recipe->n_iters;
    int code = cudaSuccess;

    work.sm_of_block = recipe->where;
    if (cu->setup.keep_bytes)
        code = (int)cudaMemsetAsync(&k->sums[buf], 0, sizeof *k->sums, work.stream);
    if (code == cudaSuccess)
        code = dlb_cuda_read(&work, cu->bufs[buf].data, recipe->n_bytes, &k->sums[buf]);
    for (uint32_t i = 0; code == cudaSuccess && i < recipe->n_launches && n_iters > 0; i++) {
        uint64_t n = n_iters / (recipe->n_launches - i);
        n_iters -= n;
        if (cu->setup.opts->step_kind == DLB_STEP_FMA) {
            code = dlb_cuda_fma(&work, n, k->sink);
        } else {
            code = dlb_cuda_memory(&work, n, k->scratch, k->n_chunks, chunk);
            chunk = (chunk + n % k->n_chunks * k->n_sms) % k->n_chunks;
        }
    }
    return dlb_cuda_checked(code, starting, err);
}

static int queue_recipe(const struct dlb_cuda *cu, uint32_t buf,
                        const struct dlb_cuda_recipe *recipe, uint64_t chunk, struct dlb_err *err)
{
    int rc = dlb_cuda_checked((int)cudaEventRecordWithFlags(cu->bufs[buf].step_start,
                                                            cu->streams.compute,
                                                            cudaEventRecordExternal),
                              starting, err);
    if (rc == DLB_OK && recipe->augments && cu->setup.augment)
        rc = queue_augment(cu, buf, recipe->n_bytes, err);
    return rc == DLB_OK && recipe->steps ? queue_step(cu, buf, recipe, chunk, err) : rc;
}

/* Whether two recipes make the same nodes, with other arguments. */
static bool same_shape(const struct dlb_cuda_recipe *a, const struct dlb_cuda_recipe *b)
{
    return a->augments == b->augments && a->steps == b->steps &&
           (a->n_iters > 0) == (b->n_iters > 0) && a->n_launches == b->n_launches;
}

/* Another graph of the same shape only changes the arguments of the one that is there. CUDA would
 * refuse any other, and compute-sanitizer counts a refusal as an error. */
static cudaError_t renew(struct dlb_cuda_launch *launch, const struct dlb_cuda_recipe *recipe,
                         cudaGraph_t graph)
{
    cudaGraphExecUpdateResultInfo info;

    if (launch->exec && same_shape(&launch->recipe, recipe))
        return cudaGraphExecUpdate(launch->exec, graph, &info);
    if (launch->exec)
        (void)cudaGraphExecDestroy(launch->exec);
    launch->exec = NULL;
    return cudaGraphInstantiate(&launch->exec, graph, 0);
}

static int record(struct dlb_cuda *cu, uint32_t buf, const struct dlb_cuda_recipe *recipe,
                  struct dlb_err *err)
{
    struct dlb_cuda_launch *launch = &cu->bufs[buf].launch;
    cudaGraph_t graph = NULL;
    struct dlb_err ending;

    int rc = dlb_cuda_checked(
        (int)cudaStreamBeginCapture(cu->streams.compute, cudaStreamCaptureModeThreadLocal),
        starting, err);
    if (rc != DLB_OK)
        return rc;
    rc = queue_recipe(cu, buf, recipe, cu->kernels.next_chunk, err);
    /* After an error, too: it ends the recording. */
    int ended = dlb_cuda_checked((int)cudaStreamEndCapture(cu->streams.compute, &graph), starting,
                                 rc == DLB_OK ? err : &ending);
    if (rc == DLB_OK && ended == DLB_OK)
        rc = dlb_cuda_checked((int)renew(launch, recipe, graph), starting, err);
    if (graph)
        (void)cudaGraphDestroy(graph);
    launch->recipe = *recipe;
    launch->first_chunk = cu->kernels.next_chunk;
    return rc == DLB_OK ? ended : rc;
}

static bool is_same(const struct dlb_cuda_recipe *a, const struct dlb_cuda_recipe *b)
{
    return a->n_bytes == b->n_bytes && a->augments == b->augments && a->steps == b->steps &&
           a->n_iters == b->n_iters && a->n_launches == b->n_launches && a->where == b->where;
}

int dlb_cuda_launch(struct dlb_cuda *cu, uint32_t buf, const struct dlb_cuda_recipe *recipe,
                    struct dlb_err *err)
{
    struct dlb_cuda_kernels *k = &cu->kernels;
    const struct dlb_cuda_launch *launch = &cu->bufs[buf].launch;
    bool memory = recipe->steps && cu->setup.opts->step_kind == DLB_STEP_MEMORY;
    bool ready = launch->exec && is_same(&launch->recipe, recipe) &&
                 (!memory || launch->first_chunk == k->next_chunk);

    int rc = ready ? DLB_OK : record(cu, buf, recipe, err);
    if (memory) /* the next step reads what is not in the caches */
        k->next_chunk = (k->next_chunk + recipe->n_iters % k->n_chunks * k->n_sms) % k->n_chunks;
    if (rc != DLB_OK)
        return rc;
    return dlb_cuda_checked((int)cudaGraphLaunch(launch->exec, cu->streams.compute), starting, err);
}

int dlb_cuda_load(struct dlb_cuda *cu, struct dlb_err *err)
{
    const struct dlb_cuda_work work = dlb_cuda_work(cu);
    const struct dlb_cuda_kernels *k = &cu->kernels;
    const struct dlb_cuda_buffer *b = &cu->bufs[0];

    int code = dlb_cuda_read(&work, b->data, 0, &k->sums[0]);
    if (code == cudaSuccess)
        code = dlb_cuda_fma(&work, 0, k->sink);
    if (code == cudaSuccess && k->scratch)
        code = dlb_cuda_memory(&work, 0, k->scratch, k->n_chunks, 0);
    if (code == cudaSuccess && cu->setup.augment)
        code = dlb_cuda_augment(&work, cu->setup.augment, b->data, 0, b->made);
    return dlb_cuda_checked(code, "loading the kernels", err);
}
#endif

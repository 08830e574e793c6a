/* CUDA graphs of the virtual GPU, which are recorded from a stream. A part of fake_cuda.h. */
#ifndef DLB_TESTS_SUPPORT_FAKE_GRAPH_H
#define DLB_TESTS_SUPPORT_FAKE_GRAPH_H

#ifdef DLB_HAVE_CUDA
#include "tests/support/fake_cuda.h"

/* An event of a graph is recorded when the GPU comes to it. Until then it is what it was before:
 * CUDA does not say whether a launch changes it earlier. */
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags)
{
    CALL;
    assert_int_equal(flags, cudaEventRecordExternal);
    assert_non_null(s->capturing);
    note('e', s);
    submit(s, &(struct gpu_op){.what = GPU_STAMP, .event = e}, false);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
    assert_int_equal(mode, cudaStreamCaptureModeThreadLocal);
    assert_null(s->capturing);
    fake.n_captures++;
    return make(&s->capturing, sizeof *s->capturing);
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *out)
{
    *out = s->capturing;
    s->capturing = NULL;
    CALL;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return drop(graph);
}

static void graph_copy(struct CUgraph_st *to, const struct CUgraph_st *from)
{
    to->n = from->n;
    memcpy(to->ops, from->ops, from->n * sizeof *to->ops);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags)
{
    assert_int_equal(flags, 0);
    cudaError_t made = make(out, sizeof **out);
    if (made == cudaSuccess)
        graph_copy(&(*out)->graph, graph);
    return made;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *info)
{
    CALL;
    bool same = exec->graph.n == graph->n;
    for (size_t i = 0; same && i < graph->n; i++)
        same = exec->graph.ops[i].what == graph->ops[i].what;
    fake.n_refused += !same;
    info->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    if (same)
        graph_copy(&exec->graph, graph);
    return same ? cudaSuccess : cudaErrorGraphExecUpdateFailure;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return drop(exec);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    CALL;
    note('g', s);
    for (size_t i = 0; i < exec->graph.n; i++)
        submit(s, &exec->graph.ops[i], i == 0);
    s->stuck = s->stuck || hangs();
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}
#endif

#endif

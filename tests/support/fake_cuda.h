/* The CUDA runtime's functions and the step's kernels, without a GPU: over a virtual one
 * (fake_gpu.h), with events that are read by a clock that drifts from the host's, memory from the
 * heap, and any one call told to fail. What a GPU really does is for tests/gpu.
 *
 * Defines external symbols: for one file of one test. Empty without CUDA's headers. */
#ifndef DLB_TESTS_SUPPORT_FAKE_CUDA_H
#define DLB_TESTS_SUPPORT_FAKE_CUDA_H

#ifdef DLB_HAVE_CUDA
#include "tests/support/fake_gpu.h"

#include <math.h>
#include <stdio.h>

#include "core/host/nvidia.h"
#include "loaders/device/cuda/gpu.h"

enum { SMS = 132 };
#define COPY_NS_PER_BYTE 0.02
#define READ_NS_PER_BYTE 0.0005
#define ITER_NS 71.0
#define LAUNCH_NS 2500
enum { MAX_LIVE = 256, SCRATCH_BYTES = 1 << 28 };

static struct {
    int fail_at, n_calls; /* the fail_at-th call fails, from 1; 0: none */
    cudaError_t with;
    bool sticky; /* all calls after it fail as well, as after an error that ends the context */
    int n_live;  /* streams, events, memory, registrations */
    void *live[MAX_LIVE];
    size_t n_taken_bytes; /* of device memory, since the test began */
    double drift;         /* device seconds per host second, less 1 */
    double answer_ns;     /* that an event takes on an idle stream */
    double copy_ns;       /* that a copy takes beside its bytes */
    uint32_t n_blocks;    /* of the last kernel */
    int n_streams;        /* made so far */
    int n_syncs;          /* looks at whole streams */
    int n_captures;       /* graphs that were recorded */
    int n_refused;        /* updates of graphs that have another shape */
    int n_read;           /* times read from events */
    int hangs_at;         /* from that call on the GPU does nothing more, from 1; 0: it works */
    bool kernels_blind;   /* the reading kernel reads nothing */
    char calls[64];       /* what was queued, in order: see `note` */
    const char *driver;   /* the kernel module's version; NULL: none is loaded */
} fake;

static bool fails(cudaError_t *code)
{
    int n = ++fake.n_calls;
    bool yes = n == fake.fail_at || (fake.sticky && fake.fail_at > 0 && n > fake.fail_at);
    gpu_catch_up();
    *code = yes ? fake.with : cudaSuccess;
    return yes;
}

static bool hangs(void)
{
    return fake.hangs_at > 0 && fake.n_calls >= fake.hangs_at;
}

/* What a driver does before it returns from some calls, however long that takes. */
static void wait_for_all(const char *call)
{
    if (hangs())
        fail_msg("%s never returns from a GPU that hangs", call);
    for (size_t i = 0; i < gpu.n; i++)
        now_ns = max_u64(now_ns, gpu.queued[i].end_ns);
    gpu_catch_up();
}

/* e: event, w: wait for one, c: copy to the device, z: memset, a: augment, r: read, f: fma, m:
 * memory, g: a graph of such. In capitals on the second stream that was made, which is the one for
 * copies. */
static void note(char what, cudaStream_t s)
{
    size_t n = strlen(fake.calls);
    if (n + 1 < sizeof fake.calls)
        fake.calls[n] = s->is_copy ? (char)(what - 'a' + 'A') : what;
}

/* In the stead of the kernel's own word (--wrap, in CMakeLists.txt). */
bool __wrap_dlb_nvidia_driver(struct dlb_nvidia_driver *out);
bool __wrap_dlb_nvidia_driver(struct dlb_nvidia_driver *out)
{
    if (!fake.driver)
        return false;
    *out = (struct dlb_nvidia_driver){.major = (uint32_t)atoi(fake.driver)};
    (void)snprintf(out->version, sizeof out->version, "%s", fake.driver);
    return true;
}

#define CALL                                                                                       \
    cudaError_t code;                                                                              \
    if (fails(&code))                                                                              \
    return code

/* Queues an operation, or makes it a part of the graph that is being recorded. */
static void submit(cudaStream_t s, const struct gpu_op *op, bool launched)
{
    if (s->capturing) {
        assert_true(s->capturing->n < GPU_MAX_NODES);
        s->capturing->ops[s->capturing->n++] = *op;
        return;
    }
    s->stuck = s->stuck || hangs();
    gpu_queue(s, *op, launched);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    CALL;
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    CALL;
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    CALL;
    (void)device;
    memset(prop, 0, sizeof *prop);
    memcpy(prop->name, "Fake GPU", 9);
    prop->major = 9;
    prop->multiProcessorCount = SMS;
    prop->l2CacheSize = 1 << 20;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int device)
{
    CALL;
    (void)len;
    (void)device;
    memcpy(id, "0000:3B:00.0", 13);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    CALL;
    (void)device;
    *value = attribute == cudaDevAttrMultiProcessorCount ? SMS : 9;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    CALL;
    *total_bytes = 1 << 30;
    *free_bytes = *total_bytes - fake.n_taken_bytes;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    CALL;
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    CALL;
    *version = CUDART_VERSION;
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaErrorUnknown            ? "planted"
           : code == cudaErrorMemoryAllocation ? "out of memory"
                                               : "another";
}

const char *cudaGetErrorName(cudaError_t code)
{
    return cudaGetErrorString(code);
}

/* Takes from `calloc`, so that sanitizers see what is lost. */
static cudaError_t make(void *out, size_t n_bytes)
{
    CALL;
    void *made = calloc(1, n_bytes);
    memcpy(out, &made, sizeof made);
    fake.n_live++;
    for (int i = 0; made; i++) {
        assert_true(i < MAX_LIVE);
        if (fake.live[i])
            continue;
        fake.live[i] = made;
        break;
    }
    return cudaSuccess;
}

static cudaError_t drop(void *made)
{
    for (int i = 0; made && i < MAX_LIVE; i++)
        if (fake.live[i] == made)
            fake.live[i] = NULL;
    fake.n_live -= made != NULL;
    free(made);
    return cudaSuccess;
}

/* What the driver does when a process has ended. */
static inline void drop_all(void)
{
    for (int i = 0; i < MAX_LIVE; i++)
        if (fake.live[i])
            (void)drop(fake.live[i]);
}

cudaError_t cudaMalloc(void **out, size_t n_bytes)
{
    fake.n_taken_bytes += n_bytes;
    return make(out, n_bytes < SCRATCH_BYTES ? n_bytes : 1); /* nothing here touches so much */
}

cudaError_t cudaFree(void *memory)
{
    CALL;
    if (memory)
        wait_for_all("cudaFree");
    return drop(memory);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    assert_int_equal(flags, cudaStreamNonBlocking);
    cudaError_t made = make(out, sizeof **out);
    if (made == cudaSuccess)
        (*out)->is_copy = ++fake.n_streams == 2;
    return made;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    return drop(s);
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return make(out, sizeof **out);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    return drop(e);
}

cudaError_t cudaHostRegister(void *host, size_t n_bytes, unsigned flags)
{
    CALL;
    assert_true(host && n_bytes > 0 && flags == cudaHostRegisterDefault);
    fake.n_live++;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *host)
{
    assert_non_null(host);
    wait_for_all("cudaHostUnregister");
    fake.n_live--;
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t n_bytes, cudaStream_t s)
{
    CALL;
    note('z', s);
    struct gpu_op op = {.what = n_bytes < SCRATCH_BYTES ? GPU_FILL : GPU_NOTHING,
                        .to = memory,
                        .value = value,
                        .n_bytes = n_bytes};
    submit(s, &op, false);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s)
{
    CALL;
    assert_true(kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToHost);
    if (kind == cudaMemcpyHostToDevice)
        note('c', s);
    if (kind == cudaMemcpyDeviceToHost && s->stuck) /* to memory that is not pinned */
        wait_for_all("cudaMemcpyAsync to the host");
    struct gpu_op op = {.what = GPU_COPY,
                        .to = to,
                        .from = from,
                        .n_bytes = n_bytes,
                        .ns = (double)n_bytes * COPY_NS_PER_BYTE + fake.copy_ns};
    submit(s, &op, false);
    return cudaSuccess;
}

/* Who looks again sees the end at once: on the fake's clock a look costs next to nothing. */
cudaError_t cudaStreamQuery(cudaStream_t s)
{
    CALL;
    fake.n_syncs++;
    if (s->stuck) {
        now_ns += DLB_NS_PER_S;
        return cudaErrorNotReady;
    }
    if (dlb_now_ns() >= s->free_ns)
        return cudaSuccess;
    now_ns = max_u64(now_ns, s->free_ns);
    gpu_catch_up();
    return cudaErrorNotReady;
}

#define WITHOUT_LIMIT(call)                                                                        \
    CALL;                                                                                          \
    wait_for_all(call);                                                                            \
    return cudaSuccess

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    (void)s;
    WITHOUT_LIMIT("cudaStreamSynchronize");
}

cudaError_t cudaDeviceSynchronize(void)
{
    WITHOUT_LIMIT("cudaDeviceSynchronize");
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    (void)e;
    WITHOUT_LIMIT("cudaEventSynchronize");
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    CALL;
    assert_int_equal(flags, 0);
    note('w', s);
    s->free_ns = max_u64(s->free_ns, e->at_ns);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    CALL;
    assert_null(s->capturing); /* it would be no event of the graph's: that takes a flag */
    note('e', s);
    s->stuck = s->stuck || hangs();
    uint64_t soonest_ns = dlb_now_ns() + (uint64_t)fake.answer_ns;
    e->at_ns = s->stuck ? UINT64_MAX : max_u64(s->free_ns, soonest_ns);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    CALL;
    if (e->at_ns == UINT64_MAX)
        now_ns += DLB_NS_PER_S;
    return dlb_now_ns() >= e->at_ns ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    CALL;
    fake.n_read++;
    assert_true(from->at_ns > 0);
    assert_true(from->at_ns <= to->at_ns); /* what a driver says otherwise is not documented */
    double ns = (double)(to->at_ns - from->at_ns) * (1 + fake.drift);
    assert_true(dlb_now_ns() >= from->at_ns && dlb_now_ns() >= to->at_ns); /* else not ready */
    *ms = (float)(round(ns / 500) * 500e-6);
    return cudaSuccess;
}

static int kernel(const struct dlb_cuda_work *work, struct gpu_op op)
{
    CALL;
    fake.n_blocks = work->n_blocks;
    for (uint32_t i = 0; work->sm_of_block && i < work->n_blocks; i++)
        work->sm_of_block[i] = i;
    op.stop = work->stop;
    op.ns += LAUNCH_NS;
    submit(work->stream, &op, true);
    return cudaSuccess;
}

int dlb_cuda_read(const struct dlb_cuda_work *work, const void *data, size_t n_bytes,
                  unsigned long long *sum)
{
    note('r', work->stream);
    return kernel(work, (struct gpu_op){.what = GPU_READ,
                                        .from = data,
                                        .n_bytes = fake.kernels_blind ? 0 : n_bytes,
                                        .to = sum,
                                        .ns = (double)n_bytes * READ_NS_PER_BYTE});
}

int dlb_cuda_augment(const struct dlb_cuda_work *work, const struct dlb_augment *how,
                     const void *in, size_t n_samples, void *out)
{
    note('a', work->stream);
    double n_bytes = (double)(n_samples * (how->in_bytes + how->out_bytes));
    return kernel(work, (struct gpu_op){.what = GPU_AUGMENT,
                                        .how = *how,
                                        .from = in,
                                        .n_bytes = n_samples * how->in_bytes,
                                        .to = out,
                                        .ns = n_bytes * READ_NS_PER_BYTE});
}

int dlb_cuda_fma(const struct dlb_cuda_work *work, uint64_t n_iters, float *sink)
{
    assert_non_null(sink);
    note('f', work->stream);
    return kernel(work, (struct gpu_op){.ns = (double)n_iters * ITER_NS, .computes = true});
}

int dlb_cuda_memory(const struct dlb_cuda_work *work, uint64_t n_iters, void *scratch,
                    uint64_t n_chunks, uint64_t first)
{
    assert_true(scratch && n_chunks > 0 && first < n_chunks);
    note('m', work->stream);
    return kernel(work, (struct gpu_op){.ns = (double)n_iters * 10 * ITER_NS, .computes = true});
}

#include "tests/support/fake_graph.h"
#endif

#endif

/* What tests/gpu/acceptance compares with and plants: a bare cudaMemcpyAsync loop, and device
 * memory that another program holds.
 *
 *   bare_copy info                              the GPU, as JSON; leaves with 77 where none answers
 *   bare_copy rate BYTES COPIES [pageable]      back-to-back copies from a ring of host buffers
 *   bare_copy hold LEAVE_BYTES                  holds device memory but that, until stdin ends
 * */
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 4, WARMUP = 4, NO_GPU = 77, MAX_HELD = 4096 };

static void check(cudaError_t status, const char *doing)
{
    if (status == cudaSuccess)
        return;
    (void)fprintf(stderr, "bare_copy: %s: %s (%s)\n", doing, cudaGetErrorString(status),
                  cudaGetErrorName(status));
    exit(status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver ? NO_GPU : 3);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int info(void)
{
    struct cudaDeviceProp prop;
    char bus[32] = "";
    int driver = 0, runtime = 0, mode = 0;

    check(cudaGetDeviceProperties(&prop, 0), "asking for the device");
    check(cudaDeviceGetPCIBusId(bus, sizeof bus, 0), "asking for its PCI address");
    check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    check(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0), "asking for its compute mode");
    (void)printf(
        "{\"name\": \"%s\", \"pci\": \"%s\", \"memory_bytes\": %zu, \"multiprocessors\": %d, "
        "\"cuda_driver\": \"%d.%d\", \"cuda_runtime\": \"%d.%d\", \"one_process\": %s}\n",
        prop.name, bus, prop.totalGlobalMem, prop.multiProcessorCount, driver / 1000,
        driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
        mode == cudaComputeModeExclusiveProcess ? "true" : "false");
    return 0;
}

struct loop {
    uint8_t *host[RING], *device[RING];
    cudaStream_t stream;
    cudaEvent_t *start, *end; /* of each copy */
};

static void loop_open(struct loop *loop, size_t n_bytes, unsigned n_copies, bool pageable)
{
    loop->start = calloc(n_copies, sizeof *loop->start);
    loop->end = calloc(n_copies, sizeof *loop->end);
    if (!loop->start || !loop->end) {
        (void)fprintf(stderr, "bare_copy: no memory for %u events\n", n_copies);
        exit(3);
    }
    check(cudaStreamCreateWithFlags(&loop->stream, cudaStreamNonBlocking), "making a stream");
    for (unsigned i = 0; i < n_copies; i++) {
        check(cudaEventCreate(&loop->start[i]), "making an event");
        check(cudaEventCreate(&loop->end[i]), "making an event");
    }
    for (unsigned i = 0; i < RING; i++) {
        if (pageable)
            loop->host[i] = malloc(n_bytes);
        else
            check(cudaHostAlloc((void **)&loop->host[i], n_bytes, cudaHostAllocDefault),
                  "page-locking host memory");
        if (!loop->host[i]) {
            (void)fprintf(stderr, "bare_copy: no memory for %zu bytes\n", n_bytes);
            exit(3);
        }
        memset(loop->host[i], (int)i + 1, n_bytes);
        check(cudaMalloc((void **)&loop->device[i], n_bytes), "taking device memory");
    }
}

/* Two rates: of the whole loop on the host's clock, and of the copies alone on the device's. */
static int rate(size_t n_bytes, unsigned n_copies, bool pageable)
{
    struct loop loop;
    double copies_ms = 0;
    uint64_t begin_ns = 0;

    loop_open(&loop, n_bytes, n_copies, pageable);
    for (unsigned i = 0; i < n_copies + WARMUP; i++) {
        if (i == WARMUP) {
            check(cudaStreamSynchronize(loop.stream), "warming up");
            begin_ns = now_ns();
        }
        if (i >= WARMUP)
            check(cudaEventRecord(loop.start[i - WARMUP], loop.stream), "recording an event");
        check(cudaMemcpyAsync(loop.device[i % RING], loop.host[i % RING], n_bytes,
                              cudaMemcpyHostToDevice, loop.stream),
              "copying");
        if (i >= WARMUP)
            check(cudaEventRecord(loop.end[i - WARMUP], loop.stream), "recording an event");
    }
    check(cudaStreamSynchronize(loop.stream), "waiting for the copies");
    double loop_s = (double)(now_ns() - begin_ns) * 1e-9;
    for (unsigned i = 0; i < n_copies; i++) {
        float ms = 0;
        check(cudaEventElapsedTime(&ms, loop.start[i], loop.end[i]), "reading an event");
        copies_ms += (double)ms;
    }
    double all_bytes = (double)n_bytes * n_copies;
    (void)printf("{\"bytes\": %zu, \"copies\": %u, \"pageable\": %s, \"loop_bytes_per_s\": %.6g, "
                 "\"copy_bytes_per_s\": %.6g}\n",
                 n_bytes, n_copies, pageable ? "true" : "false", all_bytes / loop_s,
                 all_bytes / (copies_ms * 1e-3));
    return 0; /* the driver takes everything back at exit */
}

static int hold(size_t leave_bytes)
{
    static void *held[MAX_HELD];
    size_t free_bytes = 0, all_bytes = 0, step = (size_t)1 << 30;
    unsigned n = 0;

    check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free memory");
    while (n < MAX_HELD && step >= (size_t)1 << 20) {
        check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for free memory");
        if (free_bytes < leave_bytes + step || cudaMalloc(&held[n], step) != cudaSuccess)
            step /= 2;
        else
            n++;
    }
    (void)cudaGetLastError(); /* a refused piece was expected */
    (void)printf("{\"free_bytes\": %zu}\n", free_bytes);
    (void)fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}

static uint64_t number(const char *text)
{
    char *end = NULL;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value == 0) {
        (void)fprintf(stderr, "bare_copy: \"%s\" is no number\n", text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "info") == 0)
        return info();
    if ((argc == 4 || (argc == 5 && strcmp(argv[4], "pageable") == 0)) &&
        strcmp(argv[1], "rate") == 0)
        return rate(number(argv[2]), (unsigned)number(argv[3]), argc == 5);
    if (argc == 3 && strcmp(argv[1], "hold") == 0)
        return hold(number(argv[2]));
    (void)fprintf(stderr,
                  "usage: bare_copy info | rate BYTES COPIES [pageable] | hold LEAVE_BYTES\n");
    return 2;
}

/* The part of NVML that core/host/nvml.c uses, with fixed answers. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct utilization {
    unsigned gpu, memory;
};
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

struct large_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
    unsigned long long protected_bytes;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out);
int nvmlDeviceGetUtilizationRates(void *gpu, struct utilization *out);
int nvmlDeviceGetClockInfo(void *gpu, int type, unsigned *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *out);
int nvmlDeviceGetCurrPcieLinkGeneration(void *gpu, unsigned *out);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *out);
int nvmlDeviceGetEnforcedPowerLimit(void *gpu, unsigned *out);
int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *pending);
int nvmlDeviceGetComputeRunningProcesses_v2(void *gpu, unsigned *n, struct process *out);
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n, struct large_process *out);

static unsigned n_clocks;

int nvmlInit_v2(void)
{
    n_clocks = 0;
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out)
{
    *out = &n_clocks;
    return strcmp(id, "0000:3B:00.0") == 0 ? 0 : 6; /* NVML_ERROR_NOT_FOUND */
}

int nvmlDeviceGetUtilizationRates(void *gpu, struct utilization *out)
{
    *out = (struct utilization){.gpu = 90, .memory = 40};
    return gpu == &n_clocks ? 0 : 2;
}

int nvmlDeviceGetClockInfo(void *gpu, int type, unsigned *out)
{
    *out = 1980 - 10 * n_clocks++;
    return gpu == &n_clocks && type == 1 ? 0 : 2; /* 1: NVML_CLOCK_SM */
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *out)
{
    *out = 0x5; /* idle, sw_power_cap */
    return gpu == &n_clocks ? 0 : 2;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *gpu, unsigned *out)
{
    *out = 5;
    return gpu == &n_clocks ? 0 : 2;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *out)
{
    *out = 0;
    return gpu == &n_clocks ? 3 : 2; /* NVML_ERROR_NOT_SUPPORTED */
}

int nvmlDeviceGetEnforcedPowerLimit(void *gpu, unsigned *out)
{
    *out = 350000;
    return gpu == &n_clocks ? 0 : 2;
}

int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *pending)
{
    *now = *pending = 0;
    return gpu == &n_clocks ? 0 : 2;
}

/* The process itself, and its parent as a neighbour on the GPU; where DLB_FAKE_LIST says so, none,
 * or another process on another part of the GPU. */
int nvmlDeviceGetComputeRunningProcesses_v2(void *gpu, unsigned *n, struct process *out)
{
    const char *list = getenv("DLB_FAKE_LIST");
    if (gpu != &n_clocks || *n < 3)
        return 2;
    out[0] = (struct process){.pid = (unsigned)getpid(), .bytes = 1 << 20};
    out[1] = (struct process){.pid = (unsigned)getppid(), .bytes = ULLONG_MAX};
    out[2] = (struct process){.pid = 1, .gpu_instance = 1};
    *n = !list ? 2 : strcmp(list, "parts") == 0 ? 3 : 0;
    return 0;
}

/* As drivers 535.43 to 535.86 fill it. */
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *n, struct large_process *out)
{
    for (unsigned i = 0; i < *n; i++)
        out[i] = (struct large_process){.pid = i + 1};
    return gpu == &n_clocks ? 0 : 2;
}

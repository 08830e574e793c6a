/* The part of NVML that core/host/nvml.c uses, with fixed answers. */
#include <string.h>

struct utilization {
    unsigned gpu, memory;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out);
int nvmlDeviceGetUtilizationRates(void *gpu, struct utilization *out);
int nvmlDeviceGetClockInfo(void *gpu, int type, unsigned *out);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *out);
int nvmlDeviceGetCurrPcieLinkGeneration(void *gpu, unsigned *out);
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *out);

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

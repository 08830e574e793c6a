/* The GPU itself: whether there is one, its facts, and the meaning of its errors. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include "core/base/escape.h"
#include "core/base/json.h"
#include "core/host/nvidia.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_MAJOR (CUDART_VERSION / 1000)
#define OLDEST_CC 75 /* cmake/cuda.cmake: Turing */

/* What a cudaError_t means to the user, and what to do about it. */
static const struct {
    cudaError_t error;
    enum dlb_code code;
    const char *advice;
} meanings[] = {
    {cudaErrorMemoryAllocation, DLB_ERR_GPU_MEMORY,
     "; lower loader.batch_size or device.prefetch, or end other programs on the GPU"},
    {cudaErrorDevicesUnavailable, DLB_ERR_GPU_TAKEN,
     "; another program has the GPU for itself: nvidia-smi shows it"},
    {cudaErrorNoKernelImageForDevice, DLB_ERR_GPU_TOO_OLD,
     "; this build has no code for this GPU: compute capability 7.5 or newer"},
    {cudaErrorLaunchTimeout, DLB_ERR_CUDA_CALL_FAILED,
     "; the GPU also drives a display, which forbids long steps"},
    {cudaErrorUnknown, DLB_ERR_CUDA_CALL_FAILED,
     "; may this user open /dev/nvidia*? dmesg may say more"},
    {cudaErrorInitializationError, DLB_ERR_CUDA_CALL_FAILED,
     "; may this user open /dev/nvidia*? dmesg may say more"},
    {cudaErrorSystemDriverMismatch, DLB_ERR_DRIVER_UNFIT,
     "; the driver and its libcuda.so.1 are of two versions: reboot, or update both"},
    {cudaErrorSystemNotReady, DLB_ERR_CUDA_CALL_FAILED, "; is nvidia-fabricmanager running?"},
    {cudaErrorECCUncorrectable, DLB_ERR_GPU_BROKEN,
     "; the GPU's memory lost data: nvidia-smi -q -d ECC,ROW_REMAPPER shows it; reset the GPU"},
    {cudaErrorJitCompilerNotFound, DLB_ERR_DRIVER_UNFIT,
     "; this build has no code for so new a GPU, and the driver's libnvidia-ptxjitcompiler.so.1, "
     "which would compile it, is missing here"},
    {cudaErrorUnsupportedPtxVersion, DLB_ERR_DRIVER_UNFIT,
     "; the driver is older than the CUDA release of this build, and the GPU newer: update the "
     "driver"},
    {cudaErrorLaunchFailure, DLB_ERR_GPU_BROKEN,
     "; the GPU gave up in the middle of its work: dmesg names the Xid"},
};

static int fail_call(struct dlb_err *err, cudaError_t error, const char *doing)
{
    enum dlb_code code = DLB_ERR_CUDA_CALL_FAILED;
    const char *advice = "";

    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].error != error)
            continue;
        code = meanings[i].code;
        advice = meanings[i].advice;
    }
    return dlb_fail(err, code, NULL, DLB_NO_OFFSET, "%s: %s%s", doing, cudaGetErrorString(error),
                    advice);
}

int dlb_cuda_fail(struct dlb_err *err, int code, const char *doing)
{
    if (code == cudaErrorInsufficientDriver) {
        struct dlb_nvidia_driver driver;
        char why[160];
        bool loaded = dlb_nvidia_driver(&driver);
        dlb_nvidia_driver_advice(loaded ? &driver : NULL, CUDA_MAJOR, why, sizeof why);
        (void)dlb_fail(err, DLB_ERR_DRIVER_UNFIT, NULL, DLB_NO_OFFSET, "%s", why);
    } else if (code == cudaErrorNoDevice) {
        (void)dlb_fail(err, DLB_ERR_GPU_NOT_FOUND, NULL, DLB_NO_OFFSET,
                       "the driver shows no GPU (CUDA_VISIBLE_DEVICES, or docker run "
                       "--gpus all)");
    } else {
        (void)fail_call(err, (cudaError_t)code, doing);
    }
    err->lib_code = code;
    return DLB_E_DEVICE;
}

int dlb_cuda_checked(int code, const char *doing, struct dlb_err *err)
{
    return code == cudaSuccess ? DLB_OK : dlb_cuda_fail(err, code, doing);
}

int dlb_cuda_check_buf(const struct dlb_cuda_setup *setup, uint32_t buf, size_t n_bytes,
                       struct dlb_err *err)
{
    if (buf >= setup->n_bufs || n_bytes > setup->buf_bytes)
        return dlb_fail(err, DLB_ERR_DEVICE_MISUSED, NULL, DLB_NO_OFFSET,
                        "buffer %u of %u cannot take %zu bytes (has %zu)", buf, setup->n_bufs,
                        n_bytes, setup->buf_bytes);
    return DLB_OK;
}

/* Creates a context, because a driver that lists a GPU may still refuse to run on it. */
int dlb_cuda_probe(char name[96], struct dlb_err *err)
{
    struct cudaDeviceProp prop;
    int n = 0;
    cudaError_t code = cudaGetDeviceCount(&n);

    if (code == cudaSuccess && n == 0)
        code = cudaErrorNoDevice;
    if (code == cudaSuccess)
        code = cudaSetDevice(0);
    if (code == cudaSuccess)
        code = cudaFree(NULL);
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&prop, 0);
    if (code == cudaSuccess && prop.major * 10 + prop.minor < OLDEST_CC)
        code = cudaErrorNoKernelImageForDevice;
    if (code != cudaSuccess)
        return dlb_cuda_fail(err, (int)code, "asking for a GPU");
    (void)snprintf(name, 96, "%.*s", DLB_CUT(prop.name, 95));
    return DLB_OK;
}

static json_t *version_json(int version)
{
    return version > 0 ? json_sprintf("%d.%d", version / 1000, version % 1000 / 10) : json_null();
}

static json_t *attribute_json(enum cudaDeviceAttr attribute)
{
    int value = 0;
    return cudaDeviceGetAttribute(&value, attribute, 0) == cudaSuccess ? json_integer(value)
                                                                       : json_null();
}

static json_t *positive_or_null(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

static json_t *step_json(const struct dlb_cuda *cu)
{
    static const char *const kinds[] = {[DLB_STEP_FMA] = "fma", [DLB_STEP_MEMORY] = "memory"};
    const struct dlb_cuda_calibration *c = &cu->calibration;
    bool verified = c->asked_ns > 0 && c->measured_ns > 0;
    return json_pack(
        "{ss, so, so, so, so, so, so, so, sb}", "kind", kinds[cu->setup.opts->step_kind],
        "asked_ns", positive_or_null(c->asked_ns), "measured_ns", positive_or_null(c->measured_ns),
        "error_frac", verified ? json_real(c->measured_ns / c->asked_ns - 1) : json_null(),
        "read_ns", positive_or_null(c->read_ns), "augment_ns",
        cu->setup.augment ? positive_or_null(c->augment_ns) : json_null(), "n_sms",
        json_integer((json_int_t)cu->kernels.n_sms), "n_sms_seen",
        c->n_sms_seen ? json_integer((json_int_t)c->n_sms_seen) : json_null(), "reused", c->reused);
}

static json_t *text_json(const char *text)
{
    return text && text[0] ? dlb_json_safe_text(text) : json_null();
}

static json_t *environment_json(void)
{
    return json_pack("{so, so}", "CUDA_LAUNCH_BLOCKING", text_json(getenv("CUDA_LAUNCH_BLOCKING")),
                     "CUDA_DEVICE_MAX_CONNECTIONS",
                     text_json(getenv("CUDA_DEVICE_MAX_CONNECTIONS")));
}

static json_t *width_json(uint32_t width)
{
    return width > 0 ? json_integer(width) : json_null();
}

static json_t *pcie_json(const char *bus_id)
{
    struct dlb_pci_link link;

    dlb_pci_link(bus_id, &link);
    return json_pack("{so, so, so, so}", "speed", text_json(link.speed), "width",
                     width_json(link.width), "speed_max", text_json(link.speed_max), "width_max",
                     width_json(link.width_max));
}

static json_t *ecc_json(void)
{
    int on = 0;
    return cudaDeviceGetAttribute(&on, cudaDevAttrEccEnabled, 0) == cudaSuccess ? json_boolean(on)
                                                                                : json_null();
}

json_t *dlb_cuda_describe(void *dv)
{
    const struct dlb_cuda *cu = dv;
    struct dlb_nvidia_driver driver;
    int driver_cuda = 0, runtime = 0, major = 0, minor = 0;
    bool has_driver = dlb_nvidia_driver(&driver);
    size_t free_bytes = 0, total_bytes = 0;
    bool has_memory = cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess;
    bool has_cc =
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
        cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess;

    if (cudaDriverGetVersion(&driver_cuda) != cudaSuccess)
        driver_cuda = 0;
    if (cudaRuntimeGetVersion(&runtime) != cudaSuccess)
        runtime = 0;
    /* json_pack takes the references, and returns NULL if one of them is NULL. */
    return json_pack(
        "{ss, ss, so, so, so, so, so, so, so, so, so, so, so, so}", "name", cu->gpu.name,
        "pci_bus_id", cu->gpu.pci_bus_id, "driver",
        has_driver ? json_string(driver.version) : json_null(), "driver_cuda",
        version_json(driver_cuda), "runtime_cuda", version_json(runtime), "compute_capability",
        has_cc ? json_sprintf("%d.%d", major, minor) : json_null(), "sms",
        attribute_json(cudaDevAttrMultiProcessorCount), "memory_bytes",
        has_memory ? json_integer((json_int_t)total_bytes) : json_null(), "copy_engines",
        attribute_json(cudaDevAttrAsyncEngineCount), "ecc", ecc_json(), "pcie",
        pcie_json(cu->gpu.pci_bus_id), "environment", environment_json(), "clock_error_ns",
        json_integer((json_int_t)cu->time.clock.error_ns), "step", step_json(cu));
}

json_t *dlb_cuda_ran(void *dv)
{
    const struct dlb_cuda *cu = dv;
    const struct dlb_cuda_ran *ran = &cu->ran;
    const struct dlb_gpu_clock *clock = &cu->time.clock;
    double n = (double)ran->n_steps;
    bool known = clock->rate < 1 || clock->rate > 1; /* exactly 1 until it was measured */

    return json_pack("{sI, so, so, sI, so, sI, sI}", "n_steps", (json_int_t)ran->n_steps,
                     "step_asked_ns", positive_or_null(n > 0 ? ran->asked_ns / n : 0),
                     "step_took_ns", positive_or_null(n > 0 ? ran->took_ns / n : 0),
                     "clock_shift_ns", (json_int_t)dlb_gpu_clock_shift_ns(clock),
                     "clock_drift_frac", known ? json_real(1 / clock->rate - 1) : json_null(),
                     "n_brackets", (json_int_t)clock->n_brackets, "n_narrow_brackets",
                     (json_int_t)clock->n_narrow);
}
#endif

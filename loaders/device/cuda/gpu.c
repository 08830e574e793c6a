/* The GPU itself: whether there is one, its facts, and the meaning of its errors. */
#ifdef DLB_HAVE_CUDA
#include "loaders/device/cuda/gpu.h"

#include "core/base/escape.h"
#include "core/host/nvidia.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
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
        "{ss, ss, so, so, so, so, so, so, so, so, so}", "name", cu->gpu.name, "pci_bus_id",
        cu->gpu.pci_bus_id, "driver", has_driver ? json_string(driver.version) : json_null(),
        "driver_cuda", version_json(driver_cuda), "runtime_cuda", version_json(runtime),
        "compute_capability", has_cc ? json_sprintf("%d.%d", major, minor) : json_null(), "sms",
        attribute_json(cudaDevAttrMultiProcessorCount), "memory_bytes",
        has_memory ? json_integer((json_int_t)total_bytes) : json_null(), "copy_engines",
        attribute_json(cudaDevAttrAsyncEngineCount), "clock_error_ns",
        json_integer((json_int_t)cu->time.clock.error_ns), "step", step_json(cu));
}
#endif

/* Checks of what the kernel offers and allows, and of the GPU's driver. */
#include "core/base/apart.h"
#include "core/base/sandbox.h"
#include "core/host/check_report.h"
#include "core/host/nvidia.h"
#include "core/host/osacct.h"
#include "core/host/pagecache_ways.h"
#include "core/host/procfs.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { SANDBOX_S = 10 }; /* how long that process may take */

void dlb_check_kernel(struct dlb_check_result *out)
{
    struct utsname name;
    unsigned major = 0, minor = 0;

    if (uname(&name) != 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) {
        dlb_check_found(out, DLB_CHECK_NOTE, "the kernel's version cannot be read");
        return;
    }
    /* Debian 12 has 6.1, the oldest kernel that this program supports in full. */
    bool old = major < 6 || (major == 6 && minor < 1);
    dlb_check_found(out, old ? DLB_CHECK_NOTE : DLB_CHECK_OK, "%s %s", name.release, name.machine);
    if (old)
        dlb_check_advise(
            out, "6.1 or newer is expected: on older kernels some measurements may be missing");
}

static void check_limit(struct dlb_check_result *out, int resource, uint64_t enough, double unit,
                        const char *unit_name, enum dlb_check_state when_low, const char *advice)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0) {
        dlb_check_found(out, DLB_CHECK_NOTE, "the limit cannot be read");
        return;
    }
    if (limit.rlim_cur == RLIM_INFINITY) {
        dlb_check_found(out, DLB_CHECK_OK, "no limit");
        return;
    }
    bool low = limit.rlim_cur < enough;
    if (limit.rlim_max == RLIM_INFINITY)
        dlb_check_found(out, low ? when_low : DLB_CHECK_OK, "%.0f%s", (double)limit.rlim_cur / unit,
                        unit_name);
    else
        dlb_check_found(out, low ? when_low : DLB_CHECK_OK, "%.0f%s (can be raised to %.0f%s)",
                        (double)limit.rlim_cur / unit, unit_name, (double)limit.rlim_max / unit,
                        unit_name);
    if (low)
        dlb_check_advise(out, "%s", advice);
}

void dlb_check_open_files(struct dlb_check_result *out)
{
    /* The default of most shells. It is enough for 64 workers with a dozen shards and files
     * each. */
    check_limit(out, RLIMIT_NOFILE, 1024, 1.0, " files", DLB_CHECK_BAD, "ulimit -n 65536");
}

void dlb_check_memlock(struct dlb_check_result *out)
{
    check_limit(out, RLIMIT_MEMLOCK, UINT64_C(1) << 30, 1048576.0, " MiB", DLB_CHECK_NOTE,
                "the emulated accelerator does not lock memory; registered io_uring buffers may: "
                "ulimit -l unlimited");
}

void dlb_check_cachestat(struct dlb_check_result *out)
{
    uint64_t resident_bytes;
    int fd = memfd_create("dlbench-check", MFD_CLOEXEC);

    if (fd < 0) {
        dlb_check_found(out, DLB_CHECK_NOTE, "no memory file to try it on: %s", strerror(errno));
        return;
    }
    if (ftruncate(fd, 4096) == 0 && dlb_residency_cachestat(fd, 4096, &resident_bytes)) {
        dlb_check_found(out, DLB_CHECK_OK, "available");
    } else {
        dlb_check_found(out, DLB_CHECK_NOTE, "not available (%s)", strerror(errno));
        dlb_check_advise(out, "Linux 6.5 has it; mincore(2) is used instead, which works only "
                              "for files that the user may write");
    }
    (void)close(fd);
}

void dlb_check_schedstat(struct dlb_check_result *out)
{
    struct dlb_os_thread thread;

    dlb_os_thread(0, &thread);
    if (thread.runqueue_ns != DLB_NOT_MEASURED) {
        dlb_check_found(out, DLB_CHECK_OK, "available");
        return;
    }
    dlb_check_found(out, DLB_CHECK_NOTE, "not available");
    dlb_check_advise(out, "workers that wait for a core cannot be told from workers that work: a "
                          "kernel with CONFIG_SCHED_INFO "
                          "can");
}

void dlb_check_io_accounting(struct dlb_check_result *out)
{
    struct dlb_os_process process;

    dlb_os_process(&process);
    if (process.read_chars != DLB_NOT_MEASURED && process.read_device_bytes != DLB_NOT_MEASURED) {
        dlb_check_found(out, DLB_CHECK_OK, "available");
        return;
    }
    dlb_check_found(out, DLB_CHECK_NOTE, "not available");
    dlb_check_advise(out,
                     "bytes read cannot be compared with what the kernel counted: a kernel with "
                     "CONFIG_TASK_IO_ACCOUNTING can");
}

void dlb_check_io_uring(struct dlb_check_result *out)
{
    struct io_uring_params params = {0};
    int fd = (int)syscall(SYS_io_uring_setup, 2, &params);

    if (fd >= 0) {
        (void)close(fd);
        dlb_check_found(out, DLB_CHECK_OK, "allowed");
        return;
    }
    int refused = errno;
    dlb_check_found(out, DLB_CHECK_NOTE, "refused (%s)", strerror(refused));
    if (refused == EPERM)
        dlb_check_advise(out, "a container's seccomp profile or kernel.io_uring_disabled forbids "
                              "it; plain reads are used");
    else
        dlb_check_advise(out, "plain reads are used");
}

static int confine(void *ctx, struct dlb_err *err)
{
    (void)err;
    *(int *)ctx = dlb_sandbox_reader();
    return DLB_OK;
}

static bool pass_errno(void *ctx, struct dlb_pipe *pipe)
{
    return dlb_pass(pipe, ctx, sizeof(int));
}

/* A container may refuse a filter of system calls, and an old kernel may lack it. */
void dlb_check_sandbox(struct dlb_check_result *out)
{
    int refused = 0;
    struct dlb_err err;
    struct dlb_apart how = {.path = "sandbox",
                            .who = "a process that only reads",
                            .doing = "giving up its rights",
                            .work = confine,
                            .pass = pass_errno,
                            .ctx = &refused,
                            .patience_s = SANDBOX_S};

    if (!dlb_sandbox_missing && dlb_apart(&how, &err) != DLB_OK) {
        dlb_check_found(out, DLB_CHECK_NOTE, "not known: %.120s", err.what);
    } else if (dlb_sandbox_missing || refused) {
        dlb_check_found(out, DLB_CHECK_NOTE, "system calls are not filtered (%s)",
                        dlb_sandbox_missing ? dlb_sandbox_missing : strerror(refused));
        dlb_check_advise(out, "a hostile HDF5, LMDB or TOML file could act with your rights: open "
                              "only files that you trust, or let the container use seccomp and "
                              "build with libseccomp");
    } else {
        dlb_check_found(out, DLB_CHECK_OK, "it can only read");
    }
}

void dlb_check_gpu(struct dlb_check_result *out)
{
    struct dlb_nvidia_driver driver;
    uint32_t cuda = dlb_nvidia_cuda_major(), needed = dlb_nvidia_driver_needed(cuda);

    if (dlb_nvidia_driver(&driver)) {
        bool old = driver.major < needed;
        if (cuda == 0) {
            dlb_check_found(out, DLB_CHECK_NOTE, "driver %s; this build is without CUDA",
                            driver.version);
            dlb_check_advise(out, "install the CUDA toolkit (nvcc) and build again, or runs use "
                                  "the emulated accelerator");
            return;
        }
        dlb_check_found(out, old ? DLB_CHECK_BAD : DLB_CHECK_OK,
                        "driver %s; this build (CUDA %" PRIu32 ") needs %" PRIu32 " or newer",
                        driver.version, cuda, needed);
        if (old)
            dlb_check_advise(out, "update the driver, or build with an older CUDA toolkit; until "
                                  "then device.kind = \"auto\" takes the emulated accelerator");
        return;
    }
    /* WSL has the library, but not the file in /proc. */
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library) {
        (void)dlclose(library);
        dlb_check_found(out, DLB_CHECK_OK,
                        "libcuda.so.1 is installed; the driver's version is not known");
        return;
    }
    if (cuda > 0)
        dlb_check_found(out, DLB_CHECK_NOTE,
                        "no driver: the emulated accelerator is used; a GPU would need driver "
                        "%" PRIu32 " or newer (CUDA %" PRIu32 ")",
                        needed, cuda);
    else
        dlb_check_found(out, DLB_CHECK_NOTE, "no driver: the emulated accelerator is used");
    dlb_check_advise(
        out, "if this machine has an NVIDIA GPU, install its driver; otherwise nothing is missing");
}

/* Devices: accelerators, real or emulated, that batches are copied to and that run training steps.
 *
 * Floor 3, below the loaders. All calls come from one consumer thread. All state is per instance,
 * because one process may drive several accelerators. A kind of device is one const struct
 * dlb_device in one file, and one line in devices.def.
 *
 * A device has n_bufs buffers. For each buffer the calls come in this order: copy, step, wait (or
 * poll), copy, ... A buffer may be copied to again only when its last step has reached
 * DLB_STEPPED. */
#ifndef DLB_LOADERS_DEVICE_DEVICE_H
#define DLB_LOADERS_DEVICE_DEVICE_H

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/opt.h"
#include "formats/codecs/augment.h"
#include "loaders/device/probe.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dlb_point { DLB_COPIED, DLB_STEPPED };

/* The last part of a wait for an emulated device is spun, not slept, if the device is about to run
 * dry: no step is queued that takes longer. On a virtual machine a sleeper wakes up late, by 0.1 ms
 * at the median and by 1.5 ms at p99, and the device would stand still meanwhile. CUDA's own wait
 * spins throughout if there are enough cores (cudaDeviceScheduleAuto). A consumer that waits for
 * data never spins. */
#define DLB_WATCH_NS (1 * DLB_NS_PER_MS)

/* Times of one buffer's last copy and step, converted from the device's clock to CLOCK_MONOTONIC
 * (for an emulated device the same clock). */
struct dlb_dev_times {
    uint64_t copy_start_ns, copy_end_ns;
    uint64_t step_start_ns, step_end_ns; /* valid after STEPPED */
    uint64_t oversleep_ns; /* how long after the point the wait returned; 0 when it did not sleep */
};

enum dlb_step_kind { DLB_STEP_FMA, DLB_STEP_MEMORY };
enum dlb_step_dist { DLB_STEP_CONSTANT, DLB_STEP_NORMAL, DLB_STEP_LOGNORMAL };

/* The `device` section. */
struct dlb_device_opts {
    int kind;       /* 0 = "auto", else 1 + place in dlb_devices */
    int profile;    /* place in dlb_device_profiles */
    double step_ms; /* mean duration of one training step on the device */
    int step_dist;  /* enum dlb_step_dist */
    double step_stdev_ms;
    char step_source[DLB_OPT_STRING_CAP]; /* where step_ms is from; only reported */
    int step_kind;                        /* enum dlb_step_kind; of a GPU */
    double sm_share; /* fraction of a GPU's multiprocessors that a step computes on; at least one */
    double host_busy_frac; /* of step_ms: CPU time that the training loop itself uses for a step */
    int64_t prefetch;      /* 0: copy on the compute stream and wait for each step; d >= 1: copy d
                              batches ahead on a stream of their own */
    double hang_s; /* a GPU that takes so much longer than it should hangs; 0: it never does */
    /* Emulated: rates measured elsewhere (0: the profile's), and the fixed cost of a copy. */
    double pinned_bytes_per_s, pageable_bytes_per_s, copy_us;
};
extern const struct dlb_opt_group dlb_device_group;

struct dlb_device_open {
    const struct dlb_device_opts *opts; /* borrowed until close */
    uint32_t n_bufs;
    size_t buf_bytes;
    uint64_t seed;                     /* of the step times */
    bool copy_on_compute;              /* prefetch = 0: one stream for copies and steps */
    bool keep_bytes;                   /* checksum will be called: copies move real bytes */
    const char *memo;                  /* see memo.h; may be NULL */
    const struct dlb_augment *augment; /* what each step first makes of its batch; borrowed until
                                          close; may be NULL */
};

/* What steps make of their batches; NULL: nothing. */
static inline const struct dlb_augment *dlb_device_augment(const struct dlb_device_open *how)
{
    return how->augment && how->augment->kind != DLB_AUGMENT_NONE ? how->augment : NULL;
}

struct dlb_device {
    const char *name, *summary;
    const char *missing;
    size_t state_bytes; /* the core allocates it, zeroed, 64-byte aligned */
    bool emulated;

    int (*open)(void *dv, const struct dlb_device_open *how, struct dlb_err *err);
    /* Page-locks host memory, so that copies from it are asynchronous. Borrowed until close. */
    int (*pin)(void *dv, void *host, size_t n_bytes, struct dlb_err *err);
    /* Copies to buffer `buf`. Returns at once from pinned memory; blocks from pageable memory, as
     * cudaMemcpy does. `host` must stay unchanged until DLB_COPIED. `host` NULL, of emulated
     * devices alone: another process has copied the batch, and n_bytes are those that the step
     * makes its samples of. */
    int (*copy)(void *dv, uint32_t buf, const void *host, size_t n_bytes, struct dlb_err *err);
    /* Starts a training step on `buf`, which begins after its copy and after the step before. It
     * first makes what `augment` asks for, which takes time in addition to device.step_ms. */
    int (*step)(void *dv, uint32_t buf, struct dlb_err *err);
    int (*poll)(void *dv, uint32_t buf, enum dlb_point point, bool *reached, struct dlb_err *err);
    /* When the point will be reached, which a virtual timeline knows beforehand. A thread that
     * drives several devices needs it. NULL: only waiting can tell. */
    uint64_t (*due)(void *dv, uint32_t buf, enum dlb_point point);
    /* The next step must not start before until_ns. NULL without `due`. */
    void (*hold)(void *dv, uint64_t until_ns);
    /* Waits until the point is reached or timeout_ns have passed; *reached says which. A driver
     * that cannot wait with a time limit may wait longer. */
    int (*wait)(void *dv, uint32_t buf, enum dlb_point point, uint64_t timeout_ns,
                struct dlb_dev_times *out, bool *reached, struct dlb_err *err);
    /* The samples that the step made of the batch: *n of augment->out_bytes each, borrowed until
     * the next call. Only with keep_bytes and an augment, after DLB_STEPPED. */
    int (*made)(void *dv, uint32_t buf, const uint8_t **out, size_t *n, struct dlb_err *err);
    /* dlb_hash64 with seed 0 of the bytes in the device's buffer; only with keep_bytes. */
    int (*checksum)(void *dv, uint32_t buf, uint64_t *out, struct dlb_err *err);
    /* Before close: ends the work that still runs. False: it does not end. Then the device's
     * memory, and the host memory that it copies from, must stay mapped, and the process must leave
     * by _exit. NULL: a device that never has running work. */
    bool (*end)(void *dv);
    void (*close)(void *dv); /* called after a failed open too */
    /* Whether "auto" may take this device; called in a child process. NULL: always. */
    dlb_probe_fn *probe;
    /* After open: name, pci_bus_id and other facts for the result (`device.gpu`). A new reference;
     * NULL when memory is short. NULL: no facts. */
    json_t *(*describe)(void *dv);
    /* After the run: what the device did (`device.gpu.run`). A new reference; NULL when memory is
     * short. NULL: nothing to tell. */
    json_t *(*ran)(void *dv);
};

extern const struct dlb_device
    *const dlb_devices[]; /* ends with NULL; in the order of devices.def */

/* device.kind of the first emulated device. */
int dlb_device_emulated(void);

/* Rates of an accelerator, and their source. */
struct dlb_device_profile {
    const char *name, *title;
    double pinned_bytes_per_s, pageable_bytes_per_s;
    const char *source;
    double memory_bytes_per_s; /* of its own memory, by NVIDIA's datasheet */
};
extern const struct dlb_device_profile dlb_device_profiles[]; /* ends with name == NULL */

/* The device that "auto" takes from a list that ends with NULL; see dlb_device_choose. */
const struct dlb_device *dlb_device_first(const struct dlb_device *const *devices, char why[160],
                                          struct dlb_err *err);

/* The device that `opts->kind` means on this machine. "auto" takes the first that answers, real
 * ones before emulated ones; `why` tells the reason. Drivers are asked in a child process, and only
 * once: per process, or for all processes that share a memo (memo.h; may be NULL). Control thread.
 * NULL with *err when there is no such device. */
const struct dlb_device *dlb_device_choose(const struct dlb_device_opts *opts, const char *memo,
                                           char why[160], struct dlb_err *err);

#endif

/* Devices: what the batches are copied to and computed on.
 *
 * Floor 3, next to loaders, which it never includes. Every call comes from one consumer thread; all
 * state is per instance, because one process may drive many accelerators. One const table, one
 * file, one line in devices.def.
 *
 * A device has n_bufs buffers. For one buffer the order is copy, step, (wait or poll), copy, ...; a
 * buffer may be copied to again only when its last step was STEPPED. */
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

/* The end of a wait for an emulated device is watched, not slept: a sleeper's wake-up comes late by
 * 0.1 ms at the median and by 1.5 ms at p99 on a virtual machine, and a queue of one or two short
 * steps runs dry meanwhile. CUDA's own wait spins throughout where there are cores enough
 * (cudaDeviceScheduleAuto). Only who waits for the device watches, never who waits for data; and
 * who drives many devices only where one of them is about to run dry. */
#define DLB_WATCH_NS (1 * DLB_NS_PER_MS)

/* Stamps of one buffer's last trip, on the device's clock brought to CLOCK_MONOTONIC (emulated: the
 * same clock). */
struct dlb_dev_times {
    uint64_t copy_start_ns, copy_end_ns;
    uint64_t step_start_ns, step_end_ns; /* valid after STEPPED */
    uint64_t oversleep_ns; /* this wait returned that much after the point was reached; 0 when it
                              did not sleep */
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
    int step_kind;    /* enum dlb_step_kind; of a GPU */
    double sm_share;  /* of a GPU's multiprocessors that a step computes on; at least one */
    int64_t prefetch; /* 0: copy on the compute stream, wait for each step; d >= 1: d batches ahead
                         on a copy stream */
    /* Emulated, measured elsewhere: in the profile's stead (0: its own), and what a copy takes
     * beside its bytes. */
    double pinned_bytes_per_s, pageable_bytes_per_s, copy_us;
};
extern const struct dlb_opt_group dlb_device_group;

struct dlb_device_open {
    const struct dlb_device_opts *opts; /* borrowed until close */
    uint32_t n_bufs;
    size_t buf_bytes;
    uint64_t seed;                     /* of the step times */
    bool copy_on_compute;              /* prefetch = 0: one stream for both */
    bool keep_bytes;                   /* checksum will be asked for: copies move real bytes */
    const char *memo;                  /* see memo.h; may be NULL */
    const struct dlb_augment *augment; /* what each step makes of its batch first; borrowed until
                                          close; may be NULL */
};

/* What steps make of their batches, or NULL: nothing. */
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
    /* Declares host memory page-locked: copies from it are asynchronous. Borrowed until close. */
    int (*pin)(void *dv, void *host, size_t n_bytes, struct dlb_err *err);
    /* Copies to buffer `buf`. From pinned memory it returns at once; from pageable memory it blocks
     * as cudaMemcpy does. `host` must stay untouched until COPIED. */
    int (*copy)(void *dv, uint32_t buf, const void *host, size_t n_bytes, struct dlb_err *err);
    /* One training step on `buf`, after its copy and after the step before. What `augment` asks for
     * is done first, and takes its time beside device.step_ms. */
    int (*step)(void *dv, uint32_t buf, struct dlb_err *err);
    int (*poll)(void *dv, uint32_t buf, enum dlb_point point, bool *reached, struct dlb_err *err);
    /* A timeline knows beforehand: when the point is reached. What one thread drives many devices
     * by; NULL where only waiting tells. */
    uint64_t (*due)(void *dv, uint32_t buf, enum dlb_point point);
    /* The next step starts no earlier than this. With `due` only. */
    void (*hold)(void *dv, uint64_t until_ns);
    /* Sleeps until the point is reached or timeout_ns have passed; *reached says which. A driver
     * that cannot wait with a time limit may wait longer. */
    int (*wait)(void *dv, uint32_t buf, enum dlb_point point, uint64_t timeout_ns,
                struct dlb_dev_times *out, bool *reached, struct dlb_err *err);
    /* What the step made of the batch: *n samples of augment->out_bytes, borrowed until the next
     * call; only with keep_bytes and an augment, after STEPPED. */
    int (*made)(void *dv, uint32_t buf, const uint8_t **out, size_t *n, struct dlb_err *err);
    /* dlb_hash64(bytes of the last copy, seed 0), read on the device; only with keep_bytes. */
    int (*checksum)(void *dv, uint32_t buf, uint64_t *out, struct dlb_err *err);
    /* Ends what still runs, before close. False: it does not end, the device's memory and the
     * host's that it copies from must stay, and the process must leave by _exit. NULL: nothing runs
     * on. */
    bool (*end)(void *dv);
    void (*close)(void *dv); /* called after a failed open too */
    /* Whether "auto" may take it; called in a throwaway child. NULL: always. */
    dlb_probe_fn *probe;
    /* After open: name, pci_bus_id and what else is worth a place in the result (`device.gpu`). New
     * reference, NULL when memory is short. NULL: there is nothing to tell. */
    json_t *(*describe)(void *dv);
};

extern const struct dlb_device
    *const dlb_devices[]; /* ends with NULL; in the order of devices.def */

/* Rates of an accelerator, and where they come from. */
struct dlb_device_profile {
    const char *name, *title;
    double pinned_bytes_per_s, pageable_bytes_per_s;
    const char *source;
    double memory_bytes_per_s; /* of its own memory; NVIDIA's datasheet of each */
};
extern const struct dlb_device_profile dlb_device_profiles[]; /* ends with name == NULL */

/* What "auto" means of a list that ends with NULL: see dlb_device_choose. */
const struct dlb_device *dlb_device_first(const struct dlb_device *const *devices, char why[160],
                                          struct dlb_err *err);

/* Which device `opts->kind` means here; `why` says how "auto" decided: the first that answers, real
 * ones before emulated ones. Asks drivers in a child, once: per process, or for all that share a
 * memo (memo.h; may be NULL). Control thread. NULL with *err when it cannot be had. */
const struct dlb_device *dlb_device_choose(const struct dlb_device_opts *opts, const char *memo,
                                           char why[160], struct dlb_err *err);

#endif

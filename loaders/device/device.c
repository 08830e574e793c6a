#include "loaders/device/device.h"

#include "core/base/escape.h"
#include "core/base/clock.h"
#include "loaders/device/memo.h"

#include <stdio.h>
#include <string.h>

#define X(name) extern const struct dlb_device dlb_dev_##name;
#include "loaders/device/devices.def"
#undef X

#define X(name) &dlb_dev_##name,
const struct dlb_device *const dlb_devices[] = {
#include "loaders/device/devices.def"
    NULL};
#undef X

static const char *const kind_names[] = {"auto",
#define X(name) #name,
#include "loaders/device/devices.def"
#undef X
                                         NULL};

/* Order as in dlb_device_profiles. */
static const char *const profile_names[] = {"a100", "h100", "h200", "b200", NULL};

/* Pageable copies reach a half to a sixth of the rate of pinned ones (measured across PCIe
 * generations). A quarter is assumed, and the emulated device adds the host's own bounce copy. */
#define GEN4_SOURCE "PCIe Gen4 x16: pinned 25-26 GB/s measured; pageable taken as a quarter"
#define GEN5_SOURCE "PCIe Gen5 x16: pinned about 55 GB/s measured; pageable taken as a quarter"
const struct dlb_device_profile dlb_device_profiles[] = {
    {"a100", "A100", 25e9, 25e9 / 4, GEN4_SOURCE, 2.039e12}, /* 80 GB SXM */
    {"h100", "H100", 55e9, 55e9 / 4, GEN5_SOURCE, 3.35e12},  /* 80 GB SXM */
    {"h200", "H200", 55e9, 55e9 / 4, GEN5_SOURCE, 4.8e12},
    {"b200", "B200", 55e9, 55e9 / 4, GEN5_SOURCE, 8e12},
    {NULL, NULL, 0, 0, NULL, 0}};

static const char *const step_kind_names[] = {"fma", "memory", NULL};
static const char *const dist_names[] = {"constant", "normal", "lognormal", NULL};

#define FIELD(field) .offset = offsetof(struct dlb_device_opts, field)
static const struct dlb_opt device_opts[] = {
    {.key = "kind",
     .type = DLB_OPT_CHOICE,
     FIELD(kind),
     .def = "auto",
     .choices = kind_names,
     .help = "Where batches go; auto takes a GPU if one answers, else the emulated accelerator"},
    {.key = "profile",
     .type = DLB_OPT_CHOICE,
     FIELD(profile),
     .def = "h100",
     .choices = profile_names,
     .help = "Accelerator that the emulated device stands for: rates of its host link"},
    {.key = "pinned_bytes_per_s",
     .type = DLB_OPT_FLOAT,
     FIELD(pinned_bytes_per_s),
     .min = 0,
     .max = 1000000000000,
     .def = "0",
     .unit = "B/s",
     .help = "Rate at which the emulated device copies from pinned memory; 0: the profile's"},
    {.key = "pageable_bytes_per_s",
     .type = DLB_OPT_FLOAT,
     FIELD(pageable_bytes_per_s),
     .min = 0,
     .max = 1000000000000,
     .def = "0",
     .unit = "B/s",
     .help = "Rate at which the emulated device copies from pageable memory, the host's own copy "
             "included; 0: the profile's, or this host's own copy if that is slower"},
    {.key = "copy_us",
     .type = DLB_OPT_FLOAT,
     FIELD(copy_us),
     .min = 0,
     .max = 1000000,
     .def = "0",
     .unit = "us",
     .help = "Fixed cost of each copy of the emulated device, in addition to its bytes"},
    {.key = "step_ms",
     .type = DLB_OPT_FLOAT,
     FIELD(step_ms),
     .min = 0,
     .max = 600000,
     .def = "100",
     .unit = "ms",
     .help = "Mean duration of one training step on the device"},
    {.key = "step_dist",
     .type = DLB_OPT_CHOICE,
     FIELD(step_dist),
     .def = "constant",
     .choices = dist_names,
     .help = "How step durations spread"},
    {.key = "step_stdev_ms",
     .shows_with = DLB_NEEDS_VARIED_STEPS,
     .type = DLB_OPT_FLOAT,
     FIELD(step_stdev_ms),
     .min = 0,
     .max = 600000,
     .def = "0",
     .unit = "ms",
     .help = "Standard deviation of normal and lognormal steps"},
    {.key = "step_source",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_STRING,
     FIELD(step_source),
     .def = "",
     .help = "Where step_ms is from, for the result; `dlbench calibrate` writes it"},
    {.key = "step_kind",
     .type = DLB_OPT_CHOICE,
     FIELD(step_kind),
     .def = "fma",
     .choices = step_kind_names,
     .help = "What a GPU's synthetic step does: arithmetic, or memory traffic that copies compete "
             "with; the emulated accelerator only takes the time"},
    {.key = "sm_share",
     .type = DLB_OPT_FLOAT,
     FIELD(sm_share),
     .min = 0,
     .max = 1,
     .def = "1",
     .help = "Share of a GPU's multiprocessors that a step computes on; at least one"},
    {.key = "host_busy_frac",
     .type = DLB_OPT_FLOAT,
     FIELD(host_busy_frac),
     .min = 0,
     .max = 1,
     .def = "0",
     .help = "CPU time that the training loop's thread uses for each step, as a share of step_ms: "
             "an eager PyTorch loop launches kernels for most of a step, and workers lack that "
             "core; one accelerator only"},
    {.key = "hang_s",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_FLOAT,
     FIELD(hang_s),
     .min = 0,
     .max = 86400,
     .def = "10",
     .unit = "s",
     .help = "A GPU that takes so much longer than its work should take is reported as hanging; "
             "0 disables the check, for a debugger"},
    {.key = "prefetch",
     .work = DLB_WORK_SAME,
     .type = DLB_OPT_INT,
     FIELD(prefetch),
     .min = 0,
     .max = 2,
     .def = "1",
     .unit = "batches",
     .help = "Batches copied ahead on a stream of their own; 0 copies on the compute stream and "
             "waits for each step"},
    DLB_OPT_END};

const struct dlb_opt_group dlb_device_group = {.section = "device",
                                               .title = "The accelerator that consumes the batches",
                                               .opts = device_opts,
                                               .n_bytes = sizeof(struct dlb_device_opts)};

static const struct dlb_device *choose_named(const struct dlb_device *device, char why[160],
                                             struct dlb_err *err)
{
    if (device->missing) {
        (void)dlb_fail(err, DLB_ERR_DEVICE_NOT_BUILT, NULL, DLB_NO_OFFSET,
                       "device.kind = \"%s\": %s; take \"auto\" or another kind", device->name,
                       device->missing);
        return NULL;
    }
    (void)snprintf(why, 160, "asked for by device.kind");
    return device;
}

/* Initialising a driver takes 0.1 to 3 s, and over 10 s on machines with many GPUs and no
 * persistence mode. */
#define PROBE_NS (30 * DLB_NS_PER_S)

const struct dlb_device *dlb_device_first(const struct dlb_device *const *devices, char why[160],
                                          struct dlb_err *err)
{
    const char *without = NULL; /* why there is no GPU */
    char name[96];
    struct dlb_err refused = {.offset_bytes = DLB_NO_OFFSET};

    for (int pass = 0; pass < 2; pass++) { /* real ones, then emulated ones */
        for (const struct dlb_device *const *at = devices; *at; at++) {
            const struct dlb_device *device = *at;
            if (device->emulated != (pass == 1))
                continue;
            if (device->missing) {
                without = without ? without : device->missing;
            } else if (device->emulated) {
                (void)snprintf(why, 160, "auto: %.*s",
                               DLB_CUT(without ? without : "no GPU is driven", 140));
                return device;
            } else if (!device->probe ||
                       dlb_device_probe(device->probe, PROBE_NS, name, &refused) == DLB_OK) {
                (void)snprintf(why, 160, "auto: %s answers", device->probe ? name : device->name);
                return device;
            } else {
                without = refused.what;
            }
        }
    }
    (void)dlb_fail(err, DLB_ERR_DEVICE_NOT_FOUND, NULL, DLB_NO_OFFSET,
                   "device.kind = \"auto\": %.*s",
                   DLB_CUT(without ? without : "no device in this build", 120));
    return NULL;
}

int dlb_device_emulated(void)
{
    int place = 0;
    while (dlb_devices[place] && !dlb_devices[place]->emulated)
        place++;
    return place + 1;
}

/* What "auto" found on this machine. */
struct answer {
    int kind; /* 1 + place in dlb_devices; 0: nothing was found yet */
    char why[160];
};

static int kind_of(const struct dlb_device *device)
{
    for (int i = 0; dlb_devices[i]; i++)
        if (dlb_devices[i] == device)
            return i + 1;
    DLB_BUG("a device that is not in the list");
}

const struct dlb_device *dlb_device_choose(const struct dlb_device_opts *opts, const char *memo,
                                           char why[160], struct dlb_err *err)
{
    static struct answer found;
    int n_kinds = (int)(sizeof dlb_devices / sizeof *dlb_devices) - 1;

    if (opts->kind > 0)
        return choose_named(dlb_devices[opts->kind - 1], why, err);
    if (found.kind == 0 && dlb_memo_recall(memo, "auto", &found, sizeof found) &&
        (found.kind < 1 || found.kind > n_kinds || dlb_devices[found.kind - 1]->missing))
        found.kind = 0;
    if (found.kind == 0) {
        const struct dlb_device *device = dlb_device_first(dlb_devices, found.why, err);
        if (!device)
            return NULL;
        found.kind = kind_of(device);
        dlb_memo_keep(memo, "auto", &found, sizeof found);
    }
    found.why[sizeof found.why - 1] = '\0';
    memcpy(why, found.why, sizeof found.why);
    return dlb_devices[found.kind - 1];
}

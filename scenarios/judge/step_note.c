#include "scenarios/judge/step_note.h"

#include "core/base/json.h"
#include "scenarios/judge/note.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STEP_NOTED 0.02 /* what a GPU's calibrated step promises */
/* On an idle GPU about 1 us passes between the event of the step's start and its kernels
 * (docs/device.md): what that may add to short steps. */
#define STEP_LATE_NS 3000
enum { TEXT_BYTES = 600 };

__attribute__((format(printf, 2, 3))) static void add(char text[TEXT_BYTES], const char *fmt, ...)
{
    size_t n = strlen(text);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text + n, TEXT_BYTES - n, fmt, args);
    va_end(args);
}

static void add_processes(const json_t *nvml, char text[TEXT_BYTES])
{
    const json_t *others = json_object_get(nvml, "other_processes");
    double n = dlb_json_number(nvml, "n_other_processes");
    const char *before = "; other programs on the GPU: ";

    if (!json_is_array(others) && n > 0)
        add(text, "; other programs on the GPU: %.0f", n);
    for (size_t i = 0; i < json_array_size(others); i++, before = ", ") {
        const json_t *one = json_array_get(others, i);
        add(text, "%s%s (%.0f)", before, dlb_json_text(one, "name"), dlb_json_number(one, "pid"));
    }
}

/* What the driver saw: "" where nothing was seen. */
static void causes(const json_t *gpu, char text[TEXT_BYTES])
{
    const json_t *nvml = json_object_get(gpu, "nvml");
    const json_t *throttle = json_object_get(nvml, "throttle");
    double mean_mhz = dlb_json_number(nvml, "sm_clock_mean_mhz");
    double max_mhz = dlb_json_number(nvml, "sm_clock_max_mhz");
    double limit_w = dlb_json_number(nvml, "power_limit_w");
    double default_w = dlb_json_number(nvml, "power_limit_default_w");

    for (size_t i = 0; i < json_array_size(throttle); i++) {
        const char *reason = json_string_value(json_array_get(throttle, i));
        add(text, "%s%s", i == 0 ? "; throttled: " : ", ", reason ? reason : "?");
    }
    if (mean_mhz > 0 && max_mhz > 0)
        add(text, "; clock %.0f of %.0f MHz", mean_mhz, max_mhz);
    if (limit_w > 0 && limit_w < default_w)
        add(text, "; power limit %.0f of %.0f W", limit_w, default_w);
    add_processes(nvml, text);
    if (!text[0])
        add(text, "%s", ": other programs on the GPU, or clocks that moved (device.gpu.nvml)");
}

/* How far off the steps of a cell were over the run; where that was not measured, those of its
 * calibration. */
struct steps {
    const struct dlb_device_result *device;
    bool ran;
    double asked_ns, took_ns, off; /* off: 0 where nothing is known */
};

static double off_by(double took_ns, double asked_ns)
{
    double off = took_ns / asked_ns - 1;
    return isfinite(off) ? off : 0;
}

static struct steps steps_of(const struct dlb_device_result *device)
{
    const json_t *run = json_object_get(device->gpu, "run");
    double asked_ns = dlb_json_number(run, "step_asked_ns");
    double took_ns = dlb_json_number(run, "step_took_ns");
    struct steps out = {.device = device, .ran = isfinite(took_ns / asked_ns)};
    double calibrated = off_by(device->step_measured_ns, device->step_asked_ns);
    double late_ns = took_ns - asked_ns;

    out.asked_ns = out.ran ? asked_ns : device->step_asked_ns;
    out.took_ns = out.ran ? took_ns : device->step_measured_ns;
    out.off = off_by(out.took_ns, out.asked_ns);
    if (out.ran && late_ns > 0 && late_ns < STEP_LATE_NS && fabs(calibrated) <= STEP_NOTED)
        out.off = 0;
    return out;
}

static void say(const struct steps *worst, const char *where, json_t *notes)
{
    const struct dlb_device_result *device = worst->device;
    char why[TEXT_BYTES] = "";

    if (device->step_read_ns >= device->step_asked_ns) {
        dlb_note(notes, DLB_NOTE_STEP_OFF,
                 "%sa step of %.3g ms was asked for, but reading the batch alone takes the GPU "
                 "%.3g ms, so steps took %.3g ms: raise device.step_ms, or lower loader.batch_size",
                 where, worst->asked_ns / 1e6, device->step_read_ns / 1e6, worst->took_ns / 1e6);
        return;
    }
    causes(device->gpu, why);
    dlb_note(notes, DLB_NOTE_STEP_OFF,
             "%sa step of %.3g ms was asked for, but %s %.3g ms (%+.1f%%)%s", where,
             worst->asked_ns / 1e6, worst->ran ? "steps took" : "calibrated to",
             worst->took_ns / 1e6, worst->off * 100, why);
}

void dlb_note_steps(const struct dlb_judgement *j, json_t *notes)
{
    struct steps worst = {.off = 0};
    uint32_t n_off = 0, number = 0;
    char where[96] = "";

    for (uint32_t i = 0; i < j->n_cells; i++) {
        if (!j->cells[i].shown)
            continue;
        struct steps one = steps_of(&j->cells[i].shown->device);
        if (fabs(one.off) <= STEP_NOTED)
            continue;
        if (n_off++ == 0 || fabs(one.off) > fabs(worst.off)) {
            worst = one;
            number = i;
        }
    }
    if (n_off == 0)
        return;
    if (j->n_cells > 1)
        (void)snprintf(where, sizeof(where), "in %u of %u cells, furthest off in cell %u: ", n_off,
                       j->n_cells, number);
    say(&worst, where, notes);
}

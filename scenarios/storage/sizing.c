#include "scenarios/storage/sizing.h"

#include <math.h>

static uint64_t clamped(double value)
{
    return value < 0x1p63 ? (uint64_t)value : UINT64_C(1) << 63;
}

void dlb_sizing_fill(struct dlb_sizing *s)
{
    double sample = s->n_samples > 0 ? (double)s->n_bytes / (double)s->n_samples : 0;
    double step_samples = (double)s->batch_size * (double)s->n_accelerators;
    double for_steps = DLB_SIZING_STEPS * step_samples;
    double for_ram = sample > 0 ? ceil(DLB_SIZING_RAM_MULTIPLE * (double)s->ram_bytes / sample) : 0;
    double needed = fmax(for_steps, for_ram);

    s->steps_per_epoch = step_samples > 0 ? clamped((double)s->n_samples / step_samples) : 0;
    s->ram_multiple = s->ram_bytes > 0 ? (double)s->n_bytes / (double)s->ram_bytes : (double)NAN;
    s->needed_samples = clamped(needed);
    s->needed_bytes = clamped(needed * sample);
    s->covers_ram = s->ram_multiple >= DLB_SIZING_RAM_MULTIPLE;
    s->covers_steps = s->steps_per_epoch >= DLB_SIZING_STEPS;
    s->write_s = (double)s->n_bytes / s->write_bytes_per_s;
    if (!(s->write_bytes_per_s > 0))
        s->write_s = (double)NAN;
}

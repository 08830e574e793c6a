#include "core/measure/disturbed.h"

#include <math.h>

const char *const dlb_disturbance_names[DLB_N_DISTURBANCES] = {"steal", "other-programs",
                                                               "cpu-pressure", "quota", "heat"};

uint32_t dlb_disturbed(const struct dlb_strain *s)
{
    double unsure = DLB_DISTURBED_TICKS_SE / sqrt(s->n_ticks);
    uint32_t causes = 0;
    if (s->stolen_frac >= DLB_DISTURBED_STOLEN &&
        s->stolen_frac * s->n_ticks >= DLB_DISTURBED_STOLEN_TICKS)
        causes |= DLB_BY_STEAL;
    if (s->others_frac >= DLB_DISTURBED_OTHERS + unsure && s->idle_frac < DLB_DISTURBED_IDLE)
        causes |= DLB_BY_OTHERS;
    if (s->pressure_frac >= DLB_DISTURBED_PRESSURE &&
        s->others_frac >= DLB_DISTURBED_PRESSURE_OTHERS + unsure)
        causes |= DLB_BY_PRESSURE;
    if (s->throttled_frac >= DLB_DISTURBED_THROTTLED)
        causes |= DLB_BY_QUOTA;
    if (s->n_hot >= 1)
        causes |= DLB_BY_HEAT;
    return causes;
}

void dlb_strain_unknown(struct dlb_strain *strain)
{
    const double nan = (double)NAN;
    *strain = (struct dlb_strain){nan, nan, nan, nan, nan, nan, nan};
}

bool dlb_again_is_pointless(uint32_t n_repeated, uint32_t n_quiet)
{
    return n_repeated >= DLB_AGAIN_TRIED && n_quiet < DLB_AGAIN_QUIET * n_repeated;
}

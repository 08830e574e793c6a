#include "bench/live/typed.h"

bool dlb_typed_q(struct dlb_typed *typed, uint32_t n_q, uint32_t n_other)
{
    bool meant = typed->asked && n_other == 0;
    typed->asked = n_q > 0 && n_other == 0 && !typed->was_other;
    typed->was_other = n_other > 0;
    return meant;
}

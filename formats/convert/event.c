#include "formats/convert/event.h"

#include "core/base/told.h"
#include "formats/element.h"

bool dlb_convert_told_makes_sense(const struct dlb_convert_told *told)
{
    return (told->phase == DLB_CONVERT_WRITE || told->phase == DLB_CONVERT_CHECK) &&
           (told->n_total == 0 || told->n_done <= told->n_total) && told->rc >= DLB_OK &&
           told->rc <= DLB_E_CANCELLED && dlb_told_err(told->err) &&
           (told->rc == DLB_OK || told->err->status != DLB_OK);
}

bool dlb_converted_makes_sense(const struct dlb_converted *converted)
{
    uint64_t n = converted->n_samples;

    return converted->element <= DLB_ELEMENT_F64 && converted->n_verified <= n &&
           converted->n_unlabelled <= n &&
           (converted->n_damaged <= n || converted->n_damaged == DLB_NOT_COUNTED);
}

#include "formats/shape.h"

#include "core/base/told.h"
#include "formats/element.h"

bool dlb_shape_makes_sense(const struct dlb_shape *shape)
{
    bool sense = dlb_told_bool(&shape->iterable) && shape->n_samples > 0 &&
                 shape->element <= DLB_ELEMENT_F64 && (!shape->iterable || shape->n_shards > 0) &&
                 dlb_told_text(shape->library, sizeof shape->library) &&
                 dlb_told_text(shape->undecoded, sizeof shape->undecoded) &&
                 dlb_told_text(shape->about, sizeof shape->about);

    for (size_t i = 0; sense && i < sizeof shape->odd / sizeof *shape->odd; i++)
        sense = dlb_told_text(shape->odd[i], sizeof shape->odd[i]);
    return sense;
}

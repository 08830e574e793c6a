/* Whether a data set's shape, as another process tells it, can be one.
 *
 * Floor 2. Any thread. */
#ifndef DLB_FORMATS_SHAPE_H
#define DLB_FORMATS_SHAPE_H

#include "formats/reader.h"

/* That it has samples, an element that exists, as many shards as it needs, and texts that end. */
bool dlb_shape_makes_sense(const struct dlb_shape *shape);

#endif

/* Other ranks, whose accelerators other processes drive. An accelerator that has measured its
 * max_batches trains on, unmeasured, until those of all ranks have: otherwise the last ones would
 * be measured with less competition. Where all meet at each step (barrier.h) they do not: they end
 * together, but for those that have fewer batches, or smaller rounds where a rank has fewer shards
 * than workers. The others run their last steps without these.
 *
 * Floor 3, private to the consumer. Its thread. */
#ifndef DLB_LOADERS_TRAIN_OTHERS_H
#define DLB_LOADERS_TRAIN_OTHERS_H

#include "loaders/meet.h"

#include <stdbool.h>

struct dlb_others {
    struct dlb_meet *meet; /* NULL: there are none, or all meet at each step */
    bool told;
};

/* The accelerators of this process have measured. */
static inline void dlb_others_tell(struct dlb_others *others)
{
    if (others->meet && !others->told)
        dlb_meet_ask_measured(others->meet);
    others->told = true;
}

/* False: all that run have measured. Does not block. */
static inline bool dlb_others_measure(const struct dlb_others *others)
{
    return others->meet && !(others->told && dlb_meet_is_answered(others->meet));
}

#endif

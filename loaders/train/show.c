#include "loaders/train/show.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void dlb_train_show(const struct dlb_consume *how, const struct dlb_feed *feed, uint32_t buf,
                    const struct dlb_step *step, uint64_t now_ns)
{
    const struct dlb_device *device = how->device;
    uint32_t number = (uint32_t)(feed - how->feeds);

    if (!how->live)
        return;
    dlb_live_step(how->live, step->n_samples, now_ns);
    if (number >= DLB_LIVE_DEVICES)
        return;
    struct dlb_live_device *shown = &how->live->device[number];
    uint64_t before_ns = atomic_load_explicit(&shown->until_ns, memory_order_relaxed);
    uint64_t start_ns = later(later(now_ns, before_ns), step->held_until_ns);
    uint64_t end_ns = start_ns + (uint64_t)how->step_ns;
    if (device->due) {
        start_ns = later(start_ns, device->due(feed->device_state, buf, DLB_COPIED));
        end_ns = later(start_ns, device->due(feed->device_state, buf, DLB_STEPPED));
    }
    dlb_live_give(shown, start_ns, end_ns);
}

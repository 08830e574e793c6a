#include "loaders/torch/weight.h"

#include "core/host/group.h"

#define FACTOR 8 /* so many times the batches from one read to the next */

static void *read_when_asked(void *arg)
{
    struct dlb_weight *weight = arg;
    uint32_t seen = 0;

    while (!atomic_load(&weight->stopping)) {
        dlb_event_wait(&weight->asked, seen, UINT64_MAX);
        uint32_t now = dlb_event_seq(&weight->asked);
        if (now == seen || atomic_load(&weight->stopping))
            continue;
        seen = now;
        struct dlb_os_process ignored;
        uint64_t n_bytes;
        dlb_os_group(weight->group, &ignored, &n_bytes);
        if (n_bytes > atomic_load(&weight->most_bytes))
            atomic_store(&weight->most_bytes, n_bytes);
    }
    return NULL;
}

void dlb_weight_begin(struct dlb_weight *weight, pid_t group)
{
    *weight = (struct dlb_weight){.group = group, .next = 1};
    weight->runs = pthread_create(&weight->thread, NULL, read_when_asked, weight) == 0;
}

void dlb_weight_batch(struct dlb_weight *weight)
{
    if (!weight->runs || ++weight->n_batches < weight->next)
        return;
    weight->next *= FACTOR;
    dlb_event_signal(&weight->asked);
}

uint64_t dlb_weight_end(struct dlb_weight *weight)
{
    if (weight->runs) {
        atomic_store(&weight->stopping, true);
        dlb_event_signal(&weight->asked);
        (void)pthread_join(weight->thread, NULL);
        weight->runs = false;
    }
    return atomic_load(&weight->most_bytes);
}

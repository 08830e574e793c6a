#include "scenarios/gap/cures.h"

static const struct {
    const char *rung, *how;
} known[] = {
    {"dlbench", "workers that gather into reused pinned memory, copied ahead"},
    {"torch-gather", "X[idx] with a shuffled idx, no DataLoader"},
    {"torch-batch-sampler", "a BatchSampler as sampler, batch_size=None"},
    {"torch-dataloader-workers", "num_workers, and pin_memory where there is a GPU"},
    {"torch-out-of-order", "num_workers and in_order=False"},
};
enum { N_KNOWN = sizeof(known) / sizeof(known[0]) };
_Static_assert(N_KNOWN <= DLB_GAP_MAX_CURES, "a cure would not fit");

static bool comes_before(const struct dlb_gap_cure *one, const struct dlb_gap_cure *other)
{
    return one->helps != other->helps ? one->helps : one->gain > other->gain;
}

void dlb_gap_find_cures(struct dlb_gap_judgement *j)
{
    const struct dlb_gap_judged *loader = dlb_gap_measured(j, "torch-dataloader");
    for (size_t i = 0; loader && i < N_KNOWN; i++) {
        const struct dlb_gap_judged *rung = dlb_gap_measured(j, known[i].rung);
        if (!rung)
            continue;
        struct dlb_gap_cure cure = {.rung = rung,
                                    .how = known[i].how,
                                    .gain = loader->seconds.median / rung->seconds.median,
                                    .helps = dlb_gap_is_faster(j, rung, loader)};
        uint32_t at = j->n_cures++;
        for (; at > 0 && comes_before(&cure, &j->cure[at - 1]); at--)
            j->cure[at] = j->cure[at - 1];
        j->cure[at] = cure;
    }
    for (uint32_t i = 1; i < j->n_cures; i++)
        j->cure[i].tied =
            j->cure[i].helps && !dlb_gap_is_faster(j, j->cure[i - 1].rung, j->cure[i].rung);
}

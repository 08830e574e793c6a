#include "core/measure/straggler.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void dlb_rank_steps_join(struct dlb_rank_step *steps, uint32_t n)
{
    double longest_ms = 0;
    for (uint32_t i = 0; i < n; i++)
        longest_ms = fmax(longest_ms, steps[i].step_ms);
    for (uint32_t i = 0; i < n; i++) {
        steps[i].wait_ms = longest_ms - steps[i].step_ms;
        steps[i].step_ms = isnan(steps[i].step_ms) ? steps[i].step_ms : longest_ms;
    }
}

struct waiting {
    double ms;
    uint32_t rank;
};

static int by_wait(const void *a, const void *b)
{
    const struct waiting *x = a, *y = b;
    if (x->ms != y->ms)
        return x->ms < y->ms ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The least and the upper median wait. False: memory is short, or a step or a wait is not known. */
static int choose(const struct dlb_rank_step *steps, uint32_t n, struct dlb_straggler *out)
{
    struct waiting *order = n > 1 ? malloc(n * sizeof(*order)) : NULL;
    int known = order != NULL;
    for (uint32_t i = 0; known && i < n; i++) {
        order[i] = (struct waiting){steps[i].wait_ms, i};
        known = isfinite(steps[i].wait_ms) && isfinite(steps[i].step_ms) && steps[i].step_ms > 0;
    }
    if (known) {
        qsort(order, n, sizeof(*order), by_wait);
        out->culprit = order[0].rank;
        out->victim = order[n / 2].rank;
        out->cost_ms = order[n / 2].ms - order[0].ms;
    }
    free(order);
    return known;
}

void dlb_straggler_find(const struct dlb_rank_step *steps, uint32_t n, struct dlb_straggler *out)
{
    *out = (struct dlb_straggler){.kind = DLB_STRAGGLER_NONE};
    if (!choose(steps, n, out))
        return;
    const struct dlb_rank_step *culprit = &steps[out->culprit], *victim = &steps[out->victim];
    out->score = out->cost_ms / victim->step_ms;
    if (!(out->score >= DLB_STRAGGLER_WARN && isfinite(out->score)))
        return;
    const struct {
        enum dlb_straggler_kind kind;
        double culprit_ms, victim_ms;
    } parts[] = {{DLB_STRAGGLER_INPUT, culprit->input_ms, victim->input_ms},
                 {DLB_STRAGGLER_H2D, culprit->h2d_ms, victim->h2d_ms},
                 {DLB_STRAGGLER_COMPUTE, culprit->compute_ms, victim->compute_ms}};
    double most = 0;
    out->kind = DLB_STRAGGLER_OTHER;
    out->culprit_ms = culprit->wait_ms;
    out->victim_ms = victim->wait_ms;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        bool known = isfinite(parts[i].culprit_ms) && isfinite(parts[i].victim_ms);
        double covered = fmin(1, (parts[i].culprit_ms - parts[i].victim_ms) / out->cost_ms);
        if (!known || covered < DLB_STRAGGLER_COVERED || covered <= most)
            continue;
        most = covered;
        out->kind = parts[i].kind;
        out->culprit_ms = parts[i].culprit_ms;
        out->victim_ms = parts[i].victim_ms;
    }
}

const char *dlb_straggler_name(enum dlb_straggler_kind kind)
{
    static const char *const names[] = {NULL, "INPUT STRAGGLER", "H2D STRAGGLER",
                                        "COMPUTE STRAGGLER", "STRAGGLER"};
    return names[kind];
}

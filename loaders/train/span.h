/* Which batches of an accelerator its window measures.
 *
 * Floor 3, private to the consumer. Pure.
 *
 * The window opens with the first batch after the warm-up. It may close at the same place of a
 * round (core/measure/pace.h) only: W workers deliver in bursts of W, and a window that held
 * another part of a burst at its end than at its beginning would be too fast or too slow by up to
 * W / n. */
#ifndef DLB_LOADERS_TRAIN_SPAN_H
#define DLB_LOADERS_TRAIN_SPAN_H

#include <stdbool.h>
#include <stdint.h>

enum dlb_mark {
    DLB_MARK_NONE,  /* warm-up, or behind the window */
    DLB_MARK_OPEN,  /* the window begins with this batch's step */
    DLB_MARK_IN,    /* measured */
    DLB_MARK_ROUND, /* the same, at the place of a round where the window opened */
    DLB_MARK_CLOSE, /* the window ends where this batch's step starts; at such a place, too */
};

struct dlb_span {
    uint64_t n_warmup, n_measured; /* n_measured 0: no limit */
    uint32_t round;                /* at least 1 */
    uint64_t n;                    /* batches so far */
    uint64_t place;                /* of the window's first batch in its epoch */
    bool open, closed;
};

/* What the next batch is; `nth`: its number in its epoch. */
enum dlb_mark dlb_span_next(struct dlb_span *span, uint64_t nth);
/* Whether the next batch closes the window. */
bool dlb_span_closes(const struct dlb_span *span, uint64_t nth);

#endif

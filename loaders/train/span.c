#include "loaders/train/span.h"

enum dlb_mark dlb_span_next(struct dlb_span *span, uint64_t nth)
{
    uint64_t n = span->n++;

    if (n < span->n_warmup || span->closed)
        return DLB_MARK_NONE;
    if (!span->open) {
        span->open = true;
        span->place = nth;
        return DLB_MARK_OPEN;
    }
    if (nth % span->round != span->place % span->round)
        return DLB_MARK_IN;
    span->closed = span->n_measured > 0 && n - span->n_warmup >= span->n_measured;
    return span->closed ? DLB_MARK_CLOSE : DLB_MARK_ROUND;
}

bool dlb_span_closes(const struct dlb_span *span, uint64_t nth)
{
    struct dlb_span then = *span;
    return dlb_span_next(&then, nth) == DLB_MARK_CLOSE;
}

#include "loaders/worker/quick.h"

/* What the samples beside a slow one took. */
static uint64_t others_ns(const struct dlb_quick *quick, uint64_t ns, uint32_t n)
{
    uint64_t others = (uint64_t)quick->usual_ns * (n - 1) / quick->n_usual;
    others = others < DLB_QUICK_NS ? others : DLB_QUICK_NS;
    return others < ns ? others : ns;
}

void dlb_quick_count(struct dlb_quick *quick, struct dlb_hist *hist, uint64_t ns, uint32_t n)
{
    if (ns > DLB_QUICK_SLOW_NS) {
        uint64_t others = n > 1 && quick->n_usual > 0 ? others_ns(quick, ns, n) : 0;
        if (others > 0) {
            dlb_hist_share(hist, others, n - 1);
            dlb_hist_add(hist, ns - others);
        } else {
            dlb_hist_share(hist, ns, n);
        }
        quick->n = 1;
        return;
    }
    dlb_hist_share(hist, ns, n);
    if (n < quick->n) /* the batch ended */
        return;
    quick->n_usual = n;
    quick->usual_ns = (uint32_t)ns;
    /* By powers of two: a division takes as long as a stamp on some CPUs. */
    if (ns <= DLB_QUICK_NS / 2 && n < DLB_QUICK_MOST)
        quick->n = 2 * n;
    else if (ns > DLB_QUICK_NS && n > 1)
        quick->n = n / 2;
}

#include "loaders/worker/quick.h"

/* One of n took most of the time; more than one share a stamp only after usual ones. */
static void count_slow(const struct dlb_quick *quick, struct dlb_hist *hist, uint64_t ns,
                       uint32_t n)
{
    uint64_t others_ns = 0;
    if (n > 1) {
        others_ns = (uint64_t)quick->usual_ns * (n - 1) / quick->n_usual;
        others_ns = others_ns < DLB_QUICK_NS ? others_ns : DLB_QUICK_NS;
        dlb_hist_share(hist, others_ns, n - 1);
    }
    dlb_hist_add(hist, ns - others_ns);
}

void dlb_quick_count(struct dlb_quick *quick, struct dlb_hist *hist, uint64_t ns, uint32_t n)
{
    if (ns > DLB_QUICK_SLOW_NS) {
        count_slow(quick, hist, ns, n);
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

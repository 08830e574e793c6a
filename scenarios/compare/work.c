#include "scenarios/compare/work.h"

#include "core/base/json.h"

#include <math.h>

/* Shares of samples skipped, over the results of a side. */
struct range {
    double least, most;
    bool unknown;
};

static struct range range_of(const json_t *const *cells, uint32_t n)
{
    struct range out = {.least = INFINITY};
    for (uint32_t i = 0; i < n; i++) {
        double skipped = dlb_json_number(cells[i], "skipped_frac");
        bool any = dlb_json_number(cells[i], "skipped_samples") > 0 ||
                   dlb_json_number(cells[i], "cut_shards") > 0;
        if (!cells[i])
            continue;
        if (!isfinite(skipped)) { /* results of before it was counted have none */
            out.unknown = out.unknown || any;
            skipped = 0;
        }
        out.least = fmin(out.least, skipped);
        out.most = fmax(out.most, skipped);
    }
    return out;
}

struct dlb_work dlb_work_of(const json_t *const *a, uint32_t n_a, const json_t *const *b,
                            uint32_t n_b, double smallest_frac)
{
    struct range of_a = range_of(a, n_a), of_b = range_of(b, n_b);
    double a_more = of_a.most - of_b.least, b_more = of_b.most - of_a.least;
    return (struct dlb_work){.a = of_a.unknown      ? (double)NAN
                                  : a_more > b_more ? of_a.most
                                                    : of_a.least,
                             .b = of_b.unknown      ? (double)NAN
                                  : a_more > b_more ? of_b.least
                                                    : of_b.most,
                             .differs = of_a.unknown || of_b.unknown ||
                                        fmax(a_more, b_more) > smallest_frac};
}

void dlb_work_put(json_t *pair, const struct dlb_work *work)
{
    dlb_json_put(pair, "a_skipped_frac", dlb_json_real_or_null(work->a));
    dlb_json_put(pair, "b_skipped_frac", dlb_json_real_or_null(work->b));
    dlb_json_put(pair, "work_differs", json_boolean(work->differs));
}

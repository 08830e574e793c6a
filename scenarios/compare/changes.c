#include "scenarios/compare/changes.h"

#include "core/base/json.h"

json_t *dlb_change_json(const struct dlb_change *change)
{
    return dlb_json_made(json_pack(
        "{so, so, so, ss, so}", "change_frac", dlb_json_real_or_null(change->change_frac), "low",
        dlb_json_real_or_null(change->low), "high", dlb_json_real_or_null(change->high), "verdict",
        dlb_compare_verdict_name(change->verdict), "detectable_frac",
        dlb_json_real_or_null(change->detectable_frac)));
}

void dlb_changes_put(json_t *compare, const struct dlb_compare *how,
                     const struct dlb_comparison *over)
{
    const char *by = how->paired                    ? "pairs"
                     : how->n_a > 1 || how->n_b > 1 ? "repeated results"
                                                    : "allowance";
    dlb_json_put(compare, "overall", dlb_change_json(&over->all));
    dlb_json_put(compare, "smallest_frac", dlb_json_real_or_null(how->smallest_frac));
    dlb_json_put(compare, "level", json_real(1 - DLB_COMPARE_MISSES));
    dlb_json_put(compare, "intervals", json_integer(over->n_intervals));
    dlb_json_put(compare, "noise_frac", dlb_json_real_or_null(over->noise_frac));
    dlb_json_put(compare, "between",
                 dlb_json_made(json_pack("{so, so, so, ss}", "disturbed_frac",
                                         dlb_json_real_or_null(how->disturbed_frac), "allowed_frac",
                                         dlb_json_real_or_null(how->between_frac), "used_frac",
                                         dlb_json_real_or_null(over->result_frac), "by", by)));
}

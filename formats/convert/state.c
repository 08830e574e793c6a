#include "formats/convert/state.h"

#define MOST_KEY_BYTES (UINT64_C(1) << 30) /* of at least 32 million samples */
enum { REPORT_SAMPLES = 64, REPORT_BYTES = 4 << 20 };

void dlb_convert_state_init(struct dlb_convert_state *state, const struct dlb_convert *how,
                            const struct dlb_convert_target *target, struct dlb_converted *out)
{
    *state = (struct dlb_convert_state){
        .how = how,
        .target = target,
        .out = out,
        .check = {.label_each = how->to->writer->label_each, .most_key_bytes = MOST_KEY_BYTES}};
}

void dlb_convert_state_free(struct dlb_convert_state *state)
{
    dlb_convert_check_free(&state->check);
    dlb_convert_sums_free(&state->have);
    dlb_convert_sums_free(&state->got);
}

bool dlb_convert_is_cancelled(const struct dlb_convert *how)
{
    const atomic_bool *cancel = how->watch->cancel;
    return cancel && atomic_load_explicit(cancel, memory_order_relaxed);
}

int dlb_convert_fail_cancelled(const struct dlb_convert *how, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_CANCELLED, how->to_path, DLB_NO_OFFSET,
                    "interrupted; everything written was removed");
}

void dlb_convert_report(struct dlb_convert_state *state, enum dlb_convert_phase phase,
                        uint64_t n_done, uint64_t n_total, uint64_t n_bytes)
{
    if (n_done % REPORT_SAMPLES && n_done != n_total && n_bytes - state->told_bytes < REPORT_BYTES)
        return;
    state->told_bytes = n_bytes;
    state->how->watch->report(state->how->watch->ctx, phase, n_done, n_total, n_bytes);
}

#include "loaders/train/account.h"

void dlb_account_begin(struct dlb_account *account, uint64_t now_ns)
{
    account->open = true;
    account->start_ns = now_ns;
}

void dlb_account_end(struct dlb_account *account, uint64_t now_ns, struct dlb_share *share)
{
    uint64_t wall_ns = now_ns - account->start_ns;

    share->wall_ns = wall_ns;
    share->unaccounted_ns = wall_ns > account->covered_ns ? wall_ns - account->covered_ns : 0;
    account->open = false;
    account->closed = true;
}

void dlb_account_spend(struct dlb_account *account, enum dlb_consumer_stage stage,
                       uint64_t start_ns, uint64_t end_ns)
{
    dlb_trace_add(account->loop, (uint8_t)stage, account->open, start_ns, end_ns);
    if (!account->open)
        return;
    dlb_hist_add(&account->stage[stage], end_ns - start_ns);
    account->covered_ns += end_ns - start_ns;
}

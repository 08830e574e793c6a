/* Who spent an epoch's time on what, and what the kernel says of each thread meanwhile.
 *
 * Floor 4. The ledger lies in memory that forked workers share. A thread writes to its own account
 * only; the loop reads all of them when the others have closed theirs. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_LEDGER_H
#define DLB_SCENARIOS_GAP_RUNGS_LEDGER_H

#include "core/base/err.h"
#include "core/host/osacct.h"
#include "scenarios/gap/rungs/memory.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_gap_part {
#define X(name) DLB_GAP_PART_##name,
#include "scenarios/gap/rungs/parts.def"
#undef X
    DLB_GAP_N_PARTS
};

struct dlb_gap_account {
    char name[24];    /* "loop", "worker 3", "pin thread" */
    bool own_process; /* rather than a thread of the loop's */
    bool closed;      /* of this epoch */
    uint64_t part_ns[DLB_GAP_N_PARTS], part_faults[DLB_GAP_N_PARTS];
    bool has_part[DLB_GAP_N_PARTS];
    uint64_t begin_ns, begin_faults; /* of the part that is under way */
    struct dlb_os_self before, after;
};

struct dlb_gap_ledger {
    uint32_t n_accounts;
    double batch_huge_frac;           /* of a full batch, on huge pages; NaN: nobody has looked */
    struct dlb_gap_account account[]; /* the loop first */
};

/* For the loop and n_others more. */
int dlb_gap_ledger_open(struct dlb_gap_memory *memory, struct dlb_gap_ledger **ledger,
                        uint32_t n_others, struct dlb_err *err);

static inline size_t dlb_gap_ledger_bytes(const struct dlb_gap_ledger *ledger)
{
    return sizeof *ledger + ledger->n_accounts * sizeof ledger->account[0];
}

/* Names stay, figures go: before each epoch. */
void dlb_gap_ledger_reset(struct dlb_gap_ledger *ledger);

/* By the thread whose account it is. Parts neither nest nor overlap; what lies between them is
 * unexplained. */
void dlb_gap_account_open(struct dlb_gap_account *account);
void dlb_gap_account_close(struct dlb_gap_account *account);
void dlb_gap_begin(struct dlb_gap_account *account);
void dlb_gap_end(struct dlb_gap_account *account, enum dlb_gap_part part);

uint64_t dlb_gap_faults(const struct dlb_gap_account *account); /* minor, while it was open */

/* New references; NULL when memory is short. `wall_ns`: of the epoch, for "unexplained"; 0: there
 * is none. */
json_t *dlb_gap_parts_json(const struct dlb_gap_account *accounts, uint32_t n, uint64_t wall_ns);
json_t *dlb_gap_os_json(const struct dlb_gap_ledger *ledger);

#endif

/* Where each thread's time of an epoch went, and what the kernel accounted to it.
 *
 * Floor 4. The ledger lies in memory that forked workers share. A thread writes only to its own
 * account; the loop reads all accounts after the other threads have closed theirs. */
#ifndef DLB_SCENARIOS_GAP_RUNGS_LEDGER_H
#define DLB_SCENARIOS_GAP_RUNGS_LEDGER_H

#include "core/base/err.h"
#include "core/host/osacct.h"
#include "scenarios/gap/rungs/memory.h"
#include "scenarios/gap/rungs/rung_result.h"

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
    bool own_process; /* else a thread of the loop's process */
    bool closed;      /* for this epoch */
    uint64_t part_ns[DLB_GAP_N_PARTS], part_faults[DLB_GAP_N_PARTS];
    bool has_part[DLB_GAP_N_PARTS];
    uint64_t begin_ns, begin_faults; /* of the part in progress */
    struct dlb_os_self before, after;
};

struct dlb_gap_ledger {
    uint32_t n_accounts;
    double batch_huge_frac;           /* share of a full batch on huge pages; NaN: not known */
    struct dlb_gap_account account[]; /* the loop first */
};

/* Accounts for the loop and n_others more. */
int dlb_gap_ledger_open(struct dlb_gap_memory *memory, struct dlb_gap_ledger **ledger,
                        uint32_t n_others, struct dlb_err *err);

static inline size_t dlb_gap_ledger_bytes(const struct dlb_gap_ledger *ledger)
{
    return sizeof *ledger + ledger->n_accounts * sizeof ledger->account[0];
}

/* Before each epoch: keeps names and clears figures. */
void dlb_gap_ledger_reset(struct dlb_gap_ledger *ledger);

/* Called by the thread that owns the account. Parts neither nest nor overlap; time between parts is
 * unexplained. */
void dlb_gap_account_open(struct dlb_gap_account *account);
void dlb_gap_account_close(struct dlb_gap_account *account);
void dlb_gap_begin(struct dlb_gap_account *account);
void dlb_gap_end(struct dlb_gap_account *account, enum dlb_gap_part part);

/* Minor faults while the account was open. */
uint64_t dlb_gap_faults(const struct dlb_gap_account *account);

/* Adds the parts that any of these accounts has, each summed over the accounts. */
void dlb_gap_add_parts(const struct dlb_gap_account *accounts, uint32_t n,
                       struct dlb_rung_parts *out);

/* Adds "unexplained": what the parts so far leave of wall_ns. */
void dlb_gap_add_unexplained(uint64_t wall_ns, struct dlb_rung_parts *out);

/* The kernel's accounts of all closed accounts, and their sum. */
void dlb_gap_fill_os(const struct dlb_gap_ledger *ledger, struct dlb_rung_os *out);

#endif

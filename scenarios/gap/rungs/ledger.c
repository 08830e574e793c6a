#include "scenarios/gap/rungs/ledger.h"

#include "core/base/clock.h"
#include "core/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const part_names[] = {
#define X(name) #name,
#include "scenarios/gap/rungs/parts.def"
#undef X
};

int dlb_gap_ledger_open(struct dlb_gap_memory *memory, struct dlb_gap_ledger **ledger,
                        uint32_t n_others, struct dlb_err *err)
{
    size_t n_bytes = sizeof **ledger + (n_others + 1) * sizeof(*ledger)->account[0];
    int rc = dlb_gap_map(memory, n_bytes, DLB_GAP_SHARED, DLB_GAP_PAGES_KERNEL, err);
    if (rc == DLB_OK)
        rc = dlb_gap_populate(memory, NULL, err);
    if (rc != DLB_OK)
        return rc;
    *ledger = (struct dlb_gap_ledger *)(void *)memory->addr;
    (*ledger)->n_accounts = n_others + 1;
    (*ledger)->batch_huge_frac = (double)NAN;
    (void)snprintf((*ledger)->account[0].name, sizeof(*ledger)->account[0].name, "loop");
    return DLB_OK;
}

void dlb_gap_ledger_reset(struct dlb_gap_ledger *ledger)
{
    for (uint32_t i = 0; i < ledger->n_accounts; i++) {
        struct dlb_gap_account *a = &ledger->account[i];
        struct dlb_gap_account kept = {.own_process = a->own_process};
        memcpy(kept.name, a->name, sizeof kept.name);
        *a = kept;
    }
}

void dlb_gap_account_open(struct dlb_gap_account *account)
{
    dlb_os_self(&account->before);
}

void dlb_gap_account_close(struct dlb_gap_account *account)
{
    dlb_os_self(&account->after);
    account->closed = true;
}

void dlb_gap_begin(struct dlb_gap_account *account)
{
    account->begin_faults = dlb_os_self_minor_faults();
    account->begin_ns = dlb_now_ns();
}

void dlb_gap_end(struct dlb_gap_account *account, enum dlb_gap_part part)
{
    account->part_ns[part] += dlb_now_ns() - account->begin_ns;
    account->part_faults[part] += dlb_os_self_minor_faults() - account->begin_faults;
    account->has_part[part] = true;
}

uint64_t dlb_gap_faults(const struct dlb_gap_account *account)
{
    return dlb_count_rise(account->after.minor_faults, account->before.minor_faults);
}

void dlb_gap_add_parts(const struct dlb_gap_account *accounts, uint32_t n,
                       struct dlb_rung_parts *out)
{
    for (int part = 0; part < DLB_GAP_N_PARTS; part++) {
        uint64_t ns = 0, faults = 0;
        bool any = false;
        for (uint32_t i = 0; i < n; i++) {
            ns += accounts[i].part_ns[part];
            faults += accounts[i].part_faults[part];
            any |= accounts[i].has_part[part];
        }
        if (any)
            dlb_rung_add_part(out, part_names[part], (double)ns * 1e-9, faults);
    }
}

void dlb_gap_add_unexplained(uint64_t wall_ns, struct dlb_rung_parts *out)
{
    double left_s = (double)wall_ns * 1e-9;
    for (uint32_t i = 0; i < out->n; i++)
        left_s -= out->part[i].seconds;
    dlb_rung_add_part(out, "unexplained", left_s, DLB_NOT_MEASURED);
}

static struct dlb_rung_account account_of(const struct dlb_gap_account *a)
{
    const struct dlb_os_self *from = &a->before, *to = &a->after;
    struct dlb_rung_account out = {
        .own_process = a->own_process,
        .wall_ns = dlb_count_rise(to->now_ns, from->now_ns),
        .cpu_ns = dlb_count_rise(to->cpu_ns, from->cpu_ns),
        .runqueue_wait_ns = dlb_count_rise(to->runqueue_ns, from->runqueue_ns),
        .blocked_ns = DLB_NOT_MEASURED,
        .voluntary_switches = dlb_count_rise(to->voluntary_switches, from->voluntary_switches),
        .involuntary_switches =
            dlb_count_rise(to->involuntary_switches, from->involuntary_switches),
        .minor_faults = dlb_count_rise(to->minor_faults, from->minor_faults),
        .major_faults = dlb_count_rise(to->major_faults, from->major_faults),
    };
    (void)snprintf(out.name, sizeof out.name, "%s", a->name);
    if (out.cpu_ns != DLB_NOT_MEASURED && out.runqueue_wait_ns != DLB_NOT_MEASURED) {
        /* The kernel's two clocks differ from the wall clock by some microseconds. */
        uint64_t on_or_ready_ns = out.cpu_ns + out.runqueue_wait_ns;
        out.blocked_ns = out.wall_ns > on_or_ready_ns ? out.wall_ns - on_or_ready_ns : 0;
    }
    return out;
}

static void add(uint64_t *into, uint64_t from)
{
    *into = *into == DLB_NOT_MEASURED || from == DLB_NOT_MEASURED ? DLB_NOT_MEASURED : *into + from;
}

static void add_account(struct dlb_rung_account *sum, const struct dlb_rung_account *a)
{
    add(&sum->wall_ns, a->wall_ns);
    add(&sum->cpu_ns, a->cpu_ns);
    add(&sum->runqueue_wait_ns, a->runqueue_wait_ns);
    add(&sum->blocked_ns, a->blocked_ns);
    add(&sum->voluntary_switches, a->voluntary_switches);
    add(&sum->involuntary_switches, a->involuntary_switches);
    add(&sum->minor_faults, a->minor_faults);
    add(&sum->major_faults, a->major_faults);
}

void dlb_gap_fill_os(const struct dlb_gap_ledger *ledger, struct dlb_rung_os *out)
{
    *out = (struct dlb_rung_os){
        .threads = dlb_mem_array(ledger->n_accounts, sizeof *out->threads),
        .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
    };
    for (uint32_t i = 0; i < ledger->n_accounts; i++) {
        if (!ledger->account[i].closed)
            continue;
        struct dlb_rung_account *thread = &out->threads[out->n_threads++];
        *thread = account_of(&ledger->account[i]);
        add_account(&out->process, thread);
    }
}

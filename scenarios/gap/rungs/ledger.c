#include "scenarios/gap/rungs/ledger.h"

#include "core/base/clock.h"
#include "scenarios/spec/flat.h"

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

static uint64_t difference(uint64_t after, uint64_t before)
{
    if (after == DLB_NOT_MEASURED || before == DLB_NOT_MEASURED || after < before)
        return DLB_NOT_MEASURED;
    return after - before;
}

uint64_t dlb_gap_faults(const struct dlb_gap_account *account)
{
    return difference(account->after.minor_faults, account->before.minor_faults);
}

static bool put_part(json_t *parts, const char *name, uint64_t ns, uint64_t faults)
{
    return dlb_json_put(
        parts, name,
        json_pack("{sf, sI}", "seconds", (double)ns * 1e-9, "minor_faults", (json_int_t)faults));
}

json_t *dlb_gap_parts_json(const struct dlb_gap_account *accounts, uint32_t n, uint64_t wall_ns)
{
    json_t *parts = json_object();
    uint64_t explained_ns = 0;
    bool ok = parts != NULL;

    for (int part = 0; ok && part < DLB_GAP_N_PARTS; part++) {
        uint64_t ns = 0, faults = 0;
        bool any = false;
        for (uint32_t i = 0; i < n; i++) {
            ns += accounts[i].part_ns[part];
            faults += accounts[i].part_faults[part];
            any |= accounts[i].has_part[part];
        }
        explained_ns += ns;
        if (any)
            ok = put_part(parts, part_names[part], ns, faults);
    }
    if (ok && wall_ns > 0)
        ok = dlb_json_put(
            parts, "unexplained",
            json_pack("{sf}", "seconds", ((double)wall_ns - (double)explained_ns) * 1e-9));
    if (ok)
        return parts;
    json_decref(parts);
    return NULL;
}

/* Of one thread, or of several together. */
struct figures {
    uint64_t wall_ns, cpu_ns, runqueue_ns, blocked_ns;
    uint64_t voluntary, involuntary, minor_faults, major_faults;
};

static struct figures figures_of(const struct dlb_gap_account *a)
{
    struct figures f = {
        .wall_ns = difference(a->after.now_ns, a->before.now_ns),
        .cpu_ns = difference(a->after.cpu_ns, a->before.cpu_ns),
        .runqueue_ns = difference(a->after.runqueue_ns, a->before.runqueue_ns),
        .blocked_ns = DLB_NOT_MEASURED,
        .voluntary = difference(a->after.voluntary_switches, a->before.voluntary_switches),
        .involuntary = difference(a->after.involuntary_switches, a->before.involuntary_switches),
        .minor_faults = difference(a->after.minor_faults, a->before.minor_faults),
        .major_faults = difference(a->after.major_faults, a->before.major_faults),
    };
    if (f.cpu_ns != DLB_NOT_MEASURED && f.runqueue_ns != DLB_NOT_MEASURED) {
        /* The two clocks that are taken off differ from the wall's by some microseconds. */
        uint64_t on_or_ready_ns = f.cpu_ns + f.runqueue_ns;
        f.blocked_ns = f.wall_ns > on_or_ready_ns ? f.wall_ns - on_or_ready_ns : 0;
    }
    return f;
}

static void add(uint64_t *into, uint64_t from)
{
    *into = *into == DLB_NOT_MEASURED || from == DLB_NOT_MEASURED ? DLB_NOT_MEASURED : *into + from;
}

static json_t *figures_json(const struct figures *f)
{
    return json_pack(
        "{so, so, so, so, so, so, so, so}", "wall_ns", dlb_json_u64_or_null(f->wall_ns), "cpu_ns",
        dlb_json_u64_or_null(f->cpu_ns), "runqueue_wait_ns", dlb_json_u64_or_null(f->runqueue_ns),
        "blocked_ns", dlb_json_u64_or_null(f->blocked_ns), "voluntary_switches",
        dlb_json_u64_or_null(f->voluntary), "involuntary_switches",
        dlb_json_u64_or_null(f->involuntary), "minor_faults", dlb_json_u64_or_null(f->minor_faults),
        "major_faults", dlb_json_u64_or_null(f->major_faults));
}

json_t *dlb_gap_os_json(const struct dlb_gap_ledger *ledger)
{
    json_t *threads = json_array();
    struct figures sum = {0};
    bool ok = threads != NULL;

    for (uint32_t i = 0; ok && i < ledger->n_accounts; i++) {
        const struct dlb_gap_account *a = &ledger->account[i];
        if (!a->closed)
            continue;
        struct figures f = figures_of(a);
        const struct {
            uint64_t *into, from;
        } pairs[] = {{&sum.wall_ns, f.wall_ns},           {&sum.cpu_ns, f.cpu_ns},
                     {&sum.runqueue_ns, f.runqueue_ns},   {&sum.blocked_ns, f.blocked_ns},
                     {&sum.voluntary, f.voluntary},       {&sum.involuntary, f.involuntary},
                     {&sum.minor_faults, f.minor_faults}, {&sum.major_faults, f.major_faults}};
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
            add(pairs[k].into, pairs[k].from);
        json_t *thread = figures_json(&f);
        ok = dlb_json_put(thread, "name", json_string(a->name)) &&
             dlb_json_put(thread, "own_process", json_boolean(a->own_process)) &&
             json_array_append(threads, thread) == 0;
        json_decref(thread);
    }
    json_t *os =
        ok ? json_pack("{so, so, sI}", "process", figures_json(&sum), "threads",
                       json_incref(threads), "page_bytes", (json_int_t)sysconf(_SC_PAGESIZE))
           : NULL;
    json_decref(threads);
    return os;
}

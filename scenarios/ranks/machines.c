#include "scenarios/ranks/machines.h"

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "core/host/osacct.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *dlb_machine_of(const struct dlb_link *link)
{
    uint64_t program = 0;
    bool known = dlb_hash_file("/proc/self/exe", &program);
    return dlb_json_made(json_pack("{so, sI, sI, so, so}", "node", dlb_json_safe_text(link->node),
                                   "cpus", (json_int_t)dlb_os_n_cpus(&(double){0}), "cpus_there",
                                   (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "ram_bytes",
                                   dlb_json_u64_or_null(dlb_os_ram_bytes()), "program",
                                   known ? dlb_json_hex(program) : json_null()));
}

int dlb_machines_check(const json_t *machines, struct dlb_err *err)
{
    const json_t *first = json_array_get(machines, 0), *one;
    size_t i;
    json_array_foreach(machines, i, one) {
        if (json_equal(json_object_get(one, "program"), json_object_get(first, "program")))
            continue;
        return dlb_fail(err, DLB_ERR_RANKS_PROGRAM, NULL, DLB_NO_OFFSET,
                        "rank %zu on %s runs another build of dlbench than rank 0 on %s", i,
                        dlb_json_text(one, "node"), dlb_json_text(first, "node"));
    }
    return DLB_OK;
}

/* The number of ranks on the machine of `one`, which is among them. */
static uint32_t ranks_beside(const json_t *machines, const json_t *one)
{
    const json_t *other;
    uint32_t n = 1;
    size_t i;
    json_array_foreach(machines, i, other)
        n += other != one &&
             json_equal(json_object_get(one, "node"), json_object_get(other, "node"));
    return n;
}

/* Launchers bind processes to CPUs as suits programs that compute: Open MPI two ranks to one core
 * each. Workers would all run there. */
void dlb_machines_note_bound(const json_t *machines)
{
    const json_t *one;
    size_t i;
    json_array_foreach(machines, i, one) {
        uint64_t there = dlb_json_u64(one, "cpus_there", 0), cpus = dlb_json_u64(one, "cpus", 0);
        uint64_t share = there / ranks_beside(machines, one);
        if (cpus >= share)
            continue;
        dlb_say_note("rank %zu on %s may use %llu of %llu CPUs, less than its share of %llu: "
                     "does the launcher bind it (mpirun --bind-to none does not)?",
                     i, dlb_json_text(one, "node"), (unsigned long long)cpus,
                     (unsigned long long)there, (unsigned long long)share);
        return;
    }
}

/* A rank that is bound has its CPUs to itself; ranks that are not share those of the machine. */
static uint32_t own_cpus(const json_t *one, uint32_t n_beside)
{
    uint64_t cpus = dlb_json_u64(one, "cpus", 1);
    uint64_t share = dlb_json_u64(one, "cpus_there", 1) / n_beside;
    uint64_t own = cpus < share ? cpus : share;
    return own > 0 ? (uint32_t)own : 1;
}

struct dlb_ranks_share dlb_machines_share(const json_t *machines)
{
    const json_t *one;
    struct dlb_ranks_share out = {.n_cpus = UINT32_MAX};
    double ram_bytes = 0;
    size_t i;
    json_array_foreach(machines, i, one) {
        uint32_t n_beside = ranks_beside(machines, one), cpus = own_cpus(one, n_beside);
        out.n_cpus = cpus < out.n_cpus ? cpus : out.n_cpus;
        ram_bytes += (double)dlb_json_u64(one, "ram_bytes", 0) / n_beside;
        if (i == 0)
            out.n_here = n_beside;
    }
    out.ram_bytes = (uint64_t)ram_bytes;
    return out;
}

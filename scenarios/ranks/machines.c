#include "scenarios/ranks/machines.h"

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "core/host/cpulist.h"
#include "core/host/osacct.h"

#include <stdio.h>
#include <unistd.h>

static json_t *place_json(const struct dlb_rank_place *place)
{
    char cpus[DLB_CPULIST_TEXT];
    if (!place->gpu[0])
        return json_null();
    dlb_cpulist_text(&place->near.cpus, cpus, sizeof(cpus));
    return dlb_json_made(json_pack("{ss, sI, ss}", "gpu", place->gpu, "numa_node",
                                   (json_int_t)place->near.node, "cpus", cpus));
}

json_t *dlb_machine_of(const struct dlb_link *link)
{
    uint64_t program = 0;
    double quota = 0;
    bool known = dlb_hash_file("/proc/self/exe", &program);
    uint32_t cpus = dlb_os_n_cpus(&quota);
    return dlb_json_made(
        json_pack("{so, sI, so, so, sI, so, so, so}", "node", dlb_json_safe_text(link->node),
                  "cpus", (json_int_t)cpus, "cpu_set", dlb_json_hex(dlb_os_cpu_set_hash()), "quota",
                  quota > 0 ? json_real(quota) : json_null(), "cpus_there",
                  (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "ram_bytes",
                  dlb_json_u64_or_null(dlb_os_ram_bytes()), "program",
                  known ? dlb_json_hex(program) : json_null(), "place", place_json(&link->place)));
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

static bool same_text(const json_t *a, const json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key));
}

/* How one rank stands to those of its machine. Both numbers count itself. */
struct place {
    uint32_t n_beside; /* ranks on the machine */
    uint32_t n_alike;  /* of these, those that may use the same CPUs */
    uint64_t cpus, there, share, own;
};

/* Ranks with the same CPUs share them, whether the launcher binds them, a container or a quota
 * limits them, or nothing does. A rank has at most its share of the machine: sets may overlap. */
static struct place place_of(const json_t *machines, const json_t *one)
{
    struct place p = {.n_beside = 1,
                      .n_alike = 1,
                      .cpus = dlb_json_u64(one, "cpus", 1),
                      .there = dlb_json_u64(one, "cpus_there", 1)};
    const json_t *other;
    size_t i;
    json_array_foreach(machines, i, other) {
        bool beside = other != one && same_text(one, other, "node");
        p.n_beside += beside;
        p.n_alike += beside && same_text(one, other, "cpu_set") && same_text(one, other, "quota");
    }
    p.share = p.there / p.n_beside;
    p.own = p.cpus / p.n_alike;
    p.own = p.own < p.share ? p.own : p.share;
    p.own = p.own > 0 ? p.own : 1;
    return p;
}

static bool is_placed(const json_t *one)
{
    return json_is_object(json_object_get(one, "place"));
}

/* Where all ranks of a machine have the same few CPUs, a container has no more. A rank that has a
 * place was not bound before. */
static bool is_bound(const json_t *one, const struct place *p)
{
    double quota = dlb_json_number(one, "quota");
    bool by_quota = (double)p->cpus >= quota;
    return p->own < p->share && !by_quota && !is_placed(one) &&
           (p->n_beside == 1 || p->n_alike < p->n_beside);
}

int64_t dlb_machines_bound(const json_t *machines)
{
    const json_t *one;
    size_t i;
    json_array_foreach(machines, i, one) {
        struct place p = place_of(machines, one);
        if (is_bound(one, &p))
            return (int64_t)i;
    }
    return -1;
}

/* Launchers bind processes to CPUs as suits programs that compute: Open MPI two ranks to one core
 * each. Workers would all run there. */
void dlb_machines_note_bound(const json_t *machines)
{
    int64_t rank = dlb_machines_bound(machines);
    if (rank < 0)
        return;
    const json_t *one = json_array_get(machines, (size_t)rank);
    struct place p = place_of(machines, one);
    char others[40] = "";
    if (p.n_alike > 1)
        (void)snprintf(others, sizeof(others), " with %u other rank%s", p.n_alike - 1,
                       p.n_alike == 2 ? "" : "s");
    dlb_say_note("rank %lld on %s may use %llu of %llu CPUs%s, less than its share of %llu: does "
                 "the launcher bind it (mpirun --bind-to none does not), or a container?",
                 (long long)rank, dlb_json_text(one, "node"), (unsigned long long)p.cpus,
                 (unsigned long long)p.there, others, (unsigned long long)p.share);
}

void dlb_machines_note_placed(const json_t *machines)
{
    const json_t *one;
    size_t i, n = 0;
    json_array_foreach(machines, i, one)
        n += is_placed(one);
    if (n > 0)
        dlb_say_note("%zu of %zu ranks run on the CPUs of their GPU's NUMA node", n,
                     json_array_size(machines));
}

struct dlb_ranks_share dlb_machines_share(const json_t *machines)
{
    const json_t *one;
    struct dlb_ranks_share out = {.n_cpus = UINT32_MAX};
    double ram_bytes = 0;
    size_t i;
    json_array_foreach(machines, i, one) {
        struct place p = place_of(machines, one);
        out.n_cpus = p.own < out.n_cpus ? (uint32_t)p.own : out.n_cpus;
        ram_bytes += (double)dlb_json_u64(one, "ram_bytes", 0) / p.n_beside;
        if (i == 0) {
            out.n_here = p.n_beside;
            out.n_alike = p.n_alike;
        }
    }
    out.ram_bytes = (uint64_t)ram_bytes;
    return out;
}

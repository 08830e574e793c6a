#include "core/host/topo.h"

#include "core/host/osacct.h"

#include <stdlib.h>

#ifdef DLB_HAVE_HWLOC

#include <errno.h>
#include <hwloc.h>
#include <stdbool.h>
#include <stdio.h>

const char *const dlb_topo_missing = NULL;

struct places {
    hwloc_bitmap_t *set; /* owned; only PUs that this process may use, never empty */
    uint32_t n;
};

struct dlb_topo {
    hwloc_topology_t hwloc;
    struct places cores, nodes;
    uint32_t n_pus;
};

const char *dlb_topo_library(void)
{
    static char text[32]; /* HWLOC_API_VERSION is 0x00XXYYZZ */
    unsigned version = hwloc_get_api_version();
    (void)snprintf(text, sizeof text, "%u.%u.%u", version >> 16, version >> 8 & 0xffu,
                   version & 0xffu);
    return text;
}

static void places_free(struct places *places)
{
    for (uint32_t i = 0; i < places->n; i++)
        hwloc_bitmap_free(places->set[i]);
    free(places->set);
}

/* Collects the objects of this type on which this process may run, in the machine's order. False
 * when memory is short. */
static bool places_find(struct places *out, hwloc_topology_t hwloc, hwloc_obj_type_t type,
                        hwloc_const_bitmap_t allowed)
{
    int n_objects = hwloc_get_nbobjs_by_type(hwloc, type);

    *out = (struct places){.n = 0};
    if (n_objects <= 0)
        return true;
    if (!(out->set = calloc((size_t)n_objects, sizeof(hwloc_bitmap_t))))
        return false;
    for (int i = 0; i < n_objects; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(hwloc, type, (unsigned)i);
        if (!object || !object->cpuset || !hwloc_bitmap_intersects(object->cpuset, allowed))
            continue;
        hwloc_bitmap_t set = hwloc_bitmap_dup(object->cpuset);
        if (!set)
            return false;
        out->set[out->n++] = set;
        if (hwloc_bitmap_and(set, set, allowed) != 0)
            return false;
    }
    return true;
}

static bool read_topology(struct dlb_topo *topo)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    bool fine = false;

    if (!allowed)
        return false;
    /* The CPUs that taskset allows, as this thread has them; other threads may be bound already.
     * If the kernel does not say, all CPUs that the process may have. */
    if (hwloc_get_cpubind(topo->hwloc, allowed, HWLOC_CPUBIND_THREAD) != 0 ||
        hwloc_bitmap_iszero(allowed))
        if (hwloc_bitmap_copy(allowed, hwloc_topology_get_allowed_cpuset(topo->hwloc)) != 0)
            goto out;
    if (hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_topology_cpuset(topo->hwloc)) != 0)
        goto out;
    topo->n_pus = (uint32_t)hwloc_bitmap_weight(allowed);
    if (!places_find(&topo->cores, topo->hwloc, HWLOC_OBJ_CORE, allowed) ||
        !places_find(&topo->nodes, topo->hwloc, HWLOC_OBJ_NUMANODE, allowed))
        goto out;
    /* Some virtual machines show no cores; then each hardware thread counts as one. */
    if (topo->cores.n == 0) {
        places_free(&topo->cores);
        if (!places_find(&topo->cores, topo->hwloc, HWLOC_OBJ_PU, allowed))
            goto out;
    }
    fine = topo->n_pus > 0 && topo->cores.n > 0 && topo->nodes.n > 0;
out:
    hwloc_bitmap_free(allowed);
    return fine;
}

int dlb_topo_open(struct dlb_topo **out, struct dlb_err *err)
{
    struct dlb_topo *topo = calloc(1, sizeof *topo);

    *out = NULL;
    /* hwloc's plugins look for displays and accelerators. They would load graphics stacks and
     * start their threads in a process that is about to fork. CPUs and NUMA nodes need no
     * plugin. */
    (void)setenv("HWLOC_PLUGINS_PATH", "", 0);
    if (!topo)
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "no memory for the machine's topology");
    if (hwloc_topology_init(&topo->hwloc) != 0) {
        free(topo);
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "no memory for the machine's topology");
    }
    if (hwloc_topology_load(topo->hwloc) != 0 || !read_topology(topo)) {
        dlb_topo_close(topo);
        return dlb_fail(err, DLB_ERR_TOPOLOGY, NULL, DLB_NO_OFFSET,
                        "hwloc cannot read the machine's topology: is /sys mounted? loader.bind = "
                        "\"none\" does without");
    }
    *out = topo;
    return DLB_OK;
}

void dlb_topo_close(struct dlb_topo *topo)
{
    if (!topo)
        return;
    places_free(&topo->cores);
    places_free(&topo->nodes);
    hwloc_topology_destroy(topo->hwloc);
    free(topo);
}

uint32_t dlb_topo_n_cores(const struct dlb_topo *topo)
{
    return topo->cores.n;
}

uint32_t dlb_topo_n_pus(const struct dlb_topo *topo)
{
    return topo->n_pus;
}

uint32_t dlb_topo_n_numa(const struct dlb_topo *topo)
{
    return topo->nodes.n;
}

int dlb_topo_bind_self(const struct dlb_topo *topo, enum dlb_bind how, uint32_t nth,
                       struct dlb_err *err)
{
    if (how == DLB_BIND_NONE)
        return DLB_OK;
    const struct places *places = how == DLB_BIND_CORE ? &topo->cores : &topo->nodes;
    if (hwloc_set_cpubind(topo->hwloc, places->set[nth % places->n], HWLOC_CPUBIND_THREAD) != 0)
        return dlb_fail_errno(
            err, NULL, DLB_NO_OFFSET,
            how == DLB_BIND_CORE
                ? "cannot bind a thread to its core (loader.bind = \"none\" does without)"
                : "cannot bind a thread to its NUMA node (loader.bind = \"none\" does "
                  "without)");
    return DLB_OK;
}

/* Strict: a page that cannot be moved is an error. */
int dlb_topo_bind_memory(const struct dlb_topo *topo, uint32_t node, void *addr, size_t n_bytes,
                         bool *bound, struct dlb_err *err)
{
    hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(topo->hwloc, node);

    *bound = false;
    if (hwloc_get_nbobjs_by_type(topo->hwloc, HWLOC_OBJ_NUMANODE) < 2)
        return DLB_OK;
    if (!object)
        return dlb_fail(err, DLB_ERR_NUMA_NODE_UNKNOWN, NULL, DLB_NO_OFFSET,
                        "NUMA node %u is not one that this process may use", node);
    if (hwloc_set_area_membind(topo->hwloc, addr, n_bytes, object->nodeset, HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_STRICT |
                                   HWLOC_MEMBIND_MIGRATE) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "moving memory to a NUMA node");
    *bound = true;
    return DLB_OK;
}

#else

const char *const dlb_topo_missing = "built without hwloc";

struct dlb_topo {
    uint32_t n_pus;
};

const char *dlb_topo_library(void)
{
    return NULL;
}

int dlb_topo_open(struct dlb_topo **out, struct dlb_err *err)
{
    double quota_cores;

    if (!(*out = calloc(1, sizeof **out)))
        return dlb_fail(err, DLB_ERR_NOMEM, NULL, DLB_NO_OFFSET,
                        "no memory for the machine's topology");
    (*out)->n_pus = dlb_os_n_cpus(&quota_cores);
    return DLB_OK;
}

void dlb_topo_close(struct dlb_topo *topo)
{
    free(topo);
}

uint32_t dlb_topo_n_cores(const struct dlb_topo *topo)
{
    return topo->n_pus;
}

uint32_t dlb_topo_n_pus(const struct dlb_topo *topo)
{
    return topo->n_pus;
}

uint32_t dlb_topo_n_numa(const struct dlb_topo *topo)
{
    (void)topo;
    return 1;
}

int dlb_topo_bind_self(const struct dlb_topo *topo, enum dlb_bind how, uint32_t nth,
                       struct dlb_err *err)
{
    (void)topo;
    (void)nth;
    if (how == DLB_BIND_NONE)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET,
                    "threads cannot be placed: %s; set loader.bind = \"none\", or install "
                    "libhwloc-dev and build again",
                    dlb_topo_missing);
}

int dlb_topo_bind_memory(const struct dlb_topo *topo, uint32_t node, void *addr, size_t n_bytes,
                         bool *bound, struct dlb_err *err)
{
    (void)topo;
    (void)node;
    (void)addr;
    (void)n_bytes;
    *bound = false;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET, "%s", dlb_topo_missing);
}

#endif

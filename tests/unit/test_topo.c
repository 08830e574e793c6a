#include "core/host/topo.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cpu_set_t usable(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

static bool is_subset(const cpu_set_t *part, const cpu_set_t *whole)
{
    cpu_set_t both;
    CPU_AND(&both, part, whole);
    return CPU_EQUAL(&both, part);
}

static void counts(void **state)
{
    (void)state;
    struct dlb_topo *topo;
    struct dlb_err err;
    cpu_set_t set = usable();
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    assert_true(dlb_topo_n_cores(topo) >= 1);
    assert_true(dlb_topo_n_numa(topo) >= 1);
    assert_true(dlb_topo_n_cores(topo) <= dlb_topo_n_pus(topo));
    if (!dlb_topo_missing)
        assert_int_equal(dlb_topo_n_pus(topo), CPU_COUNT(&set));
    dlb_topo_close(topo);
    dlb_topo_close(NULL);
}

struct binding {
    const struct dlb_topo *topo;
    enum dlb_bind how;
    uint32_t nth;
    int status;
    struct dlb_err err;
    cpu_set_t got;
};

static void *bind_thread(void *arg)
{
    struct binding *b = arg;
    b->status = dlb_topo_bind_self(b->topo, b->how, b->nth, &b->err);
    (void)sched_getaffinity(0, sizeof b->got, &b->got);
    return NULL;
}

static struct binding bind_in_thread(const struct dlb_topo *topo, enum dlb_bind how, uint32_t nth)
{
    struct binding b = {.topo = topo, .how = how, .nth = nth};
    pthread_t id;
    assert_int_equal(pthread_create(&id, NULL, bind_thread, &b), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    return b;
}

static void none_changes_nothing(void **state)
{
    (void)state;
    struct dlb_topo *topo;
    struct dlb_err err;
    cpu_set_t before = usable();
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    struct binding b = bind_in_thread(topo, DLB_BIND_NONE, 3);
    assert_int_equal(b.status, DLB_OK);
    assert_true(CPU_EQUAL(&b.got, &before));
    dlb_topo_close(topo);
}

static void without_hwloc_it_says_why(void **state)
{
    (void)state;
    struct dlb_topo *topo;
    struct dlb_err err;
    if (!dlb_topo_missing)
        skip();
    assert_null(dlb_topo_library());
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    struct binding b = bind_in_thread(topo, DLB_BIND_CORE, 0);
    assert_int_equal(b.status, DLB_E_MISSING);
    assert_int_equal(b.err.code, DLB_ERR_MISSING);
    assert_non_null(strstr(b.err.what, dlb_topo_missing));
    dlb_topo_close(topo);
}

static void cores_are_disjoint_and_wrap(void **state)
{
    (void)state;
    struct dlb_topo *topo;
    struct dlb_err err;
    if (dlb_topo_missing)
        skip();
    cpu_set_t all = usable(), together;
    CPU_ZERO(&together);
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    uint32_t n_cores = dlb_topo_n_cores(topo);
    for (uint32_t i = 0; i < n_cores; i++) {
        struct binding b = bind_in_thread(topo, DLB_BIND_CORE, i),
                       wrapped = bind_in_thread(topo, DLB_BIND_CORE, i + n_cores);
        cpu_set_t overlap;
        assert_int_equal(b.status, DLB_OK);
        assert_true(CPU_COUNT(&b.got) >= 1);
        assert_true(is_subset(&b.got, &all));
        CPU_AND(&overlap, &b.got, &together);
        assert_int_equal(CPU_COUNT(&overlap), 0);
        CPU_OR(&together, &together, &b.got);
        assert_true(CPU_EQUAL(&b.got, &wrapped.got));
    }
    assert_true(CPU_EQUAL(&together, &all));
    cpu_set_t after = usable();
    assert_true(CPU_EQUAL(&after, &all)); /* only the thread was bound */
    dlb_topo_close(topo);
}

static void nodes_cover_what_is_usable(void **state)
{
    (void)state;
    struct dlb_topo *topo;
    struct dlb_err err;
    if (dlb_topo_missing)
        skip();
    cpu_set_t all = usable(), together;
    CPU_ZERO(&together);
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    for (uint32_t i = 0; i < dlb_topo_n_numa(topo); i++) {
        struct binding b = bind_in_thread(topo, DLB_BIND_NUMA, i);
        assert_int_equal(b.status, DLB_OK);
        assert_true(is_subset(&b.got, &all));
        CPU_OR(&together, &together, &b.got);
    }
    assert_true(CPU_EQUAL(&together, &all));
    dlb_topo_close(topo);
}

/* Binding must not bring back CPUs that taskset excluded. */
static void affinity_is_respected(void **state)
{
    (void)state;
    struct dlb_topo *topo;
    struct dlb_err err;
    cpu_set_t old = usable(), one;
    size_t cpu = CPU_SETSIZE - 1;
    while (!CPU_ISSET(cpu, &old))
        cpu--;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    assert_int_equal(dlb_topo_n_pus(topo), 1);
    assert_int_equal(dlb_topo_n_cores(topo), 1);
    assert_int_equal(dlb_topo_n_numa(topo), 1);
    if (!dlb_topo_missing) {
        struct binding core = bind_in_thread(topo, DLB_BIND_CORE, 5),
                       numa = bind_in_thread(topo, DLB_BIND_NUMA, 5);
        assert_int_equal(core.status, DLB_OK);
        assert_true(CPU_EQUAL(&core.got, &one));
        assert_int_equal(numa.status, DLB_OK);
        assert_true(CPU_EQUAL(&numa.got, &one));
    }
    dlb_topo_close(topo);
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
}

/* A machine of two nodes is made up for hwloc; the kernel has node 0 of it, and moves memory there.
 */
static void memory_is_moved_where_there_are_nodes(void **state)
{
    static uint8_t memory[1 << 16] __attribute__((aligned(4096)));
    struct dlb_topo *topo;
    struct dlb_err err = {0};
    bool bound = true;

    (void)state;
    if (dlb_topo_missing)
        skip();
    memset(memory, 7, sizeof memory);
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "numa:2 core:512 pu:1", 1), 0);
    assert_int_equal(setenv("HWLOC_THISSYSTEM", "1", 1), 0);
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    int rc = dlb_topo_bind_memory(topo, 0, memory, sizeof memory, &bound, &err);
    if (rc == DLB_OK)
        assert_true(bound);
    else /* a container that does not allow it */
        assert_int_not_equal(err.sys_errno, 0);
    assert_int_equal(memory[sizeof memory - 1], 7);
    bound = true;
    assert_int_equal(dlb_topo_bind_memory(topo, 9, memory, sizeof memory, &bound, &err),
                     DLB_E_CONFIG);
    assert_int_equal(err.code, DLB_ERR_NUMA_NODE_UNKNOWN);
    assert_non_null(strstr(err.what, " 9 "));
    assert_false(bound);
    dlb_topo_close(topo);
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "numa:1 core:512 pu:1", 1), 0);
    assert_int_equal(dlb_topo_open(&topo, &err), DLB_OK);
    bound = true;
    assert_int_equal(dlb_topo_bind_memory(topo, 0, memory, sizeof memory, &bound, &err), DLB_OK);
    assert_false(bound); /* there is one node */
    dlb_topo_close(topo);
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    assert_int_equal(unsetenv("HWLOC_THISSYSTEM"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(none_changes_nothing),
        cmocka_unit_test(without_hwloc_it_says_why),
        cmocka_unit_test(cores_are_disjoint_and_wrap),
        cmocka_unit_test(nodes_cover_what_is_usable),
        cmocka_unit_test(affinity_is_respected),
        cmocka_unit_test(memory_is_moved_where_there_are_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* On which CPUs a rank runs, by its GPU: on made-up /proc, /sys and /dev trees, with a kernel that
 * has 64 CPUs. */
#include "core/base/json.h"
#include "core/host/cpulist.h"
#include "scenarios/ranks/gpu.h"
#include "scenarios/ranks/machines.h"
#include "tests/support/folder.h"

#define N_GPUS 8
#define LEFT "0-15,32-47"
#define RIGHT "16-31,48-63"

static const char *const bus_ids[N_GPUS] = {"0000:07:00.0", "0000:0b:00.0", "0000:48:00.0",
                                            "0000:4c:00.0", "0000:88:00.0", "0000:8b:00.0",
                                            "8000:c8:00.0", "10000:01:00.0"};

/* What the process runs on, and what its control group lets it have. */
static cpu_set_t mine, most;

int __wrap_sched_getaffinity(pid_t pid, size_t n_bytes, cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t n_bytes, const cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t pid, size_t n_bytes, cpu_set_t *set)
{
    (void)pid;
    assert_true(n_bytes >= sizeof mine);
    memset(set, 0, n_bytes);
    memcpy(set, &mine, sizeof mine);
    return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t n_bytes, const cpu_set_t *set)
{
    cpu_set_t cut;
    (void)pid;
    assert_int_equal(n_bytes, sizeof mine);
    CPU_AND(&cut, set, &most);
    if (CPU_COUNT(&cut) == 0)
        return -1;
    mine = cut;
    return 0;
}

static void write_below(const char *path, const char *text)
{
    char full[256];
    (void)snprintf(full, sizeof full, "%s/%s", folder, path);
    for (char *slash = full + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(full, 0755);
        *slash = '/';
    }
    folder_write(path, text, strlen(text));
}

static void put_node(unsigned node, const char *cpus)
{
    char path[64];
    (void)snprintf(path, sizeof path, "sys/devices/system/node/node%u/cpulist", node);
    write_below(path, cpus);
}

static void put_gpu(unsigned nth, const char *node, const char *model)
{
    char path[96], text[256];
    (void)snprintf(path, sizeof path, "sys/bus/pci/devices/%s/numa_node", bus_ids[nth]);
    write_below(path, node);
    (void)snprintf(path, sizeof path, "proc/driver/nvidia/gpus/%s/information", bus_ids[nth]);
    (void)snprintf(text, sizeof text,
                   "Model: \t\t %s\nIRQ:   \t\t 7\nGPU UUID: \t GPU-%u0a1b2c3-0000\n"
                   "Bus Location: \t %s\nDevice Minor: \t %u\nGPU Excluded:\t No\n",
                   model, nth, bus_ids[nth], 7 - nth);
    write_below(path, text);
    (void)snprintf(path, sizeof path, "dev/nvidia%u", 7 - nth);
    write_below(path, "");
}

/* Two nodes with four GPUs each. */
static int make_machine(void **state)
{
    if (folder_make(state) != 0)
        return -1;
    put_node(0, LEFT "\n");
    put_node(1, RIGHT "\n");
    for (unsigned i = N_GPUS; i-- > 0;)
        put_gpu(i, i < 4 ? "0\n" : "1\n", "NVIDIA H100 80GB HBM3");
    return dlb_cpulist_parse("0-63", &most) ? 0 : -1;
}

/* What the launcher gave: NULL: not set. */
static void set_or_not(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static struct dlb_rank_place placed(uint32_t local_rank, uint32_t n_local, const char *visible)
{
    struct dlb_rank_place place;
    set_or_not("CUDA_VISIBLE_DEVICES", visible);
    mine = most;
    dlb_rank_gpu_choose(folder, local_rank, n_local, &place);
    return place;
}

static void runs_on(const char *cpus)
{
    char text[DLB_CPULIST_TEXT];
    dlb_cpulist_text(&mine, text, sizeof text);
    assert_string_equal(text, cpus);
}

static void has_place(const struct dlb_rank_place *place, unsigned nth, const char *cpus)
{
    assert_string_equal(place->gpu, bus_ids[nth]);
    assert_int_equal(place->near.node, nth / 4);
    assert_true(CPU_EQUAL(&place->near.cpus, &mine));
    runs_on(cpus);
}

static void has_none(const struct dlb_rank_place *place)
{
    assert_string_equal(place->gpu, "");
    runs_on("0-63");
}

/* One rank for each GPU. They divide the CPUs of the machine as evenly as before. */
static void each_is_near_its_gpu(void **state)
{
    (void)state;
    json_t *all = json_array();
    for (unsigned i = 0; i < N_GPUS; i++) {
        struct dlb_link link = {.node = "a"};
        char number[8];
        set_or_not("CUDA_DEVICE_ORDER", NULL);
        link.place = placed(i, N_GPUS, NULL);
        has_place(&link.place, i, i < 4 ? LEFT : RIGHT);
        (void)snprintf(number, sizeof number, "%u", i);
        assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), number);
        assert_string_equal(getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
        json_t *one = dlb_machine_of(&link);
        const json_t *said = json_object_get(one, "place");
        assert_string_equal(dlb_json_text(said, "gpu"), bus_ids[i]);
        assert_string_equal(dlb_json_text(said, "cpus"), i < 4 ? LEFT : RIGHT);
        assert_int_equal(dlb_json_u64(said, "numa_node", 9), i / 4);
        assert_int_equal(dlb_json_u64(one, "cpus", 0), 32);
        dlb_json_put(one, "cpus_there", json_integer(64));
        dlb_json_put(one, "quota", json_null()); /* this machine's */
        dlb_json_append(all, one);
    }
    struct dlb_ranks_share share = dlb_machines_share(all);
    assert_int_equal(share.n_cpus, 8);
    assert_int_equal(share.n_alike, 4);
    assert_int_equal(dlb_machines_bound(all), -1);
    json_decref(all);
}

/* Its ranks would leave the CPUs near other GPUs unused, or share a GPU. */
static void only_one_rank_for_each_gpu(void **state)
{
    (void)state;
    static const uint32_t n_local[] = {0, 1, 2, 4, 7, 9, 16};
    for (size_t i = 0; i < sizeof n_local / sizeof *n_local; i++) {
        struct dlb_rank_place place = placed(0, n_local[i], NULL);
        has_none(&place);
        assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "0");
    }
}

static void a_node_that_is_not_known(void **state)
{
    (void)state;
    put_gpu(1, "-1\n", "NVIDIA H100 80GB HBM3");
    put_gpu(2, "2\n", "NVIDIA H100 80GB HBM3"); /* a node without CPUs has an empty list */
    put_node(2, "\n");
    for (unsigned i = 1; i <= 2; i++) {
        struct dlb_rank_place place = placed(i, N_GPUS, NULL);
        has_none(&place);
    }
}

static void one_node(void **state)
{
    (void)state;
    put_node(0, "0-63\n");
    struct dlb_rank_place place = placed(0, N_GPUS, NULL);
    has_none(&place);
}

/* What it was bound to stays, also where that is more than the node. */
static void bound_by_the_launcher(void **state)
{
    (void)state;
    static const char *const sets[] = {"0", "0-31", "16-31", "1-63"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct dlb_rank_place place;
        set_or_not("CUDA_VISIBLE_DEVICES", NULL);
        assert_true(dlb_cpulist_parse(sets[i], &mine));
        dlb_rank_gpu_choose(folder, 0, N_GPUS, &place);
        assert_string_equal(place.gpu, "");
        runs_on(sets[i]);
    }
}

/* A control group's CPUs are all that it can have, so it is not bound by them. */
static void in_a_control_group(void **state)
{
    (void)state;
    assert_true(dlb_cpulist_parse("0-19", &most));
    struct dlb_rank_place place = placed(0, N_GPUS, NULL);
    has_place(&place, 0, "0-15");
    place = placed(4, N_GPUS, NULL);
    has_place(&place, 4, "16-19");
    assert_true(dlb_cpulist_parse("0-7", &most));
    for (uint32_t i = 0; i < N_GPUS; i += 4) {
        place = placed(i, N_GPUS, NULL);
        assert_string_equal(place.gpu, "");
        runs_on("0-7");
    }
}

static void by_what_the_launcher_chose(void **state)
{
    static const struct {
        const char *visible;
        uint32_t local_rank, n_local;
        int nth; /* -1: no place */
    } rows[] = {
        {"5", 1, 2, 5},
        {"5", 0, 1, -1}, /* alone */
        {"8", 1, 2, -1},
        {"0,4", 1, 2, 4},
        {"0,4", 1, 3, -1},
        {"GPU-60a1b2c3-0000", 0, 2, 6},
        {"GPU-6", 0, 2, 6},
        {"GPU-20a1b2c3-0000,GPU-30a1b2c3-0000", 1, 2, 3},
        {"GPU-", 0, 2, -1}, /* any */
        {"GPU-99", 0, 2, -1},
        {"MIG-60a1b2c3-0000", 0, 2, -1},
        {"MIG-GPU-60a1b2c3-0000/1/0", 0, 2, -1},
        {"-1", 0, 2, -1},
        {"", 0, 2, -1},
        {"4x", 0, 2, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_or_not("CUDA_DEVICE_ORDER", NULL);
        struct dlb_rank_place place = placed(rows[i].local_rank, rows[i].n_local, rows[i].visible);
        if (rows[i].nth < 0)
            has_none(&place);
        else
            has_place(&place, (unsigned)rows[i].nth, rows[i].nth < 4 ? LEFT : RIGHT);
        assert_null(getenv("CUDA_DEVICE_ORDER")); /* its numbers keep their meaning */
    }
}

/* CUDA's own order has the fastest GPU first, so a number says nothing. */
static void numbers_of_gpus_that_differ(void **state)
{
    (void)state;
    put_gpu(3, "0\n", "NVIDIA L4");
    set_or_not("CUDA_DEVICE_ORDER", NULL);
    struct dlb_rank_place place = placed(1, 2, "0,4");
    has_none(&place);
    place = placed(0, 2, "GPU-60a1b2c3-0000");
    has_place(&place, 6, RIGHT);
    set_or_not("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    place = placed(1, 2, "0,4");
    has_place(&place, 4, RIGHT);
    set_or_not("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
    place = placed(4, N_GPUS, NULL);
    has_none(&place);
    assert_string_equal(getenv("CUDA_DEVICE_ORDER"), "FASTEST_FIRST");
}

/* A control group hides a GPU's device file, and CUDA then does not count it. */
static void hidden_gpus(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "dev/nvidia%u", 7 - 2 * i); /* of GPU 2i */
        assert_int_equal(remove(folder_path(name)), 0);
    }
    set_or_not("CUDA_DEVICE_ORDER", NULL);
    for (unsigned i = 0; i < 4; i++) {
        struct dlb_rank_place place = placed(i, 4, NULL);
        has_place(&place, 2 * i + 1, i < 2 ? LEFT : RIGHT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_is_near_its_gpu, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(only_one_rank_for_each_gpu, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(a_node_that_is_not_known, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(one_node, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(bound_by_the_launcher, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(in_a_control_group, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(by_what_the_launcher_chose, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(numbers_of_gpus_that_differ, make_machine, folder_remove),
        cmocka_unit_test_setup_teardown(hidden_gpus, make_machine, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Launchers by their environment, and what is left of it for programs that are started. */
#include "scenarios/ranks/launcher.h"
#include "scenarios/ranks/module.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX 8

struct row {
    const char *set[MAX]; /* "NAME=value" */
    const char *module;   /* NULL with a name: none fits */
    bool there;
    uint32_t rank, size, local, n_local;
};

static const struct row rows[] = {
    {{NULL}, NULL, false, 0, 0, 0, 0},
    {{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_LOCAL_RANK=1",
      "OMPI_COMM_WORLD_LOCAL_SIZE=2", "PMIX_RANK=3", "PMIX_NAMESPACE=x"},
     "openmpi",
     true,
     3,
     4,
     1,
     2},
    {{"PMI_SIZE=2", "PMI_RANK=1", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2", "PMI_FD=99"},
     "mpich",
     true,
     1,
     2,
     1,
     2},
    {{"PMI_SIZE=8", "PMI_RANK=5", "SLURM_LOCALID=1"}, "mpich", true, 5, 8, 1, 0}, /* with pmi2 */
    {{"PMI_SIZE=2"}, NULL, false, 0, 0, 0, 0},
    {{"PMI_SIZE=two", "PMI_RANK=1"}, NULL, false, 0, 0, 0, 0},
    {{"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=8", "SLURM_PROCID=5", "SLURM_LOCALID=1"},
     NULL,
     true,
     5,
     8,
     1,
     0},
    {{"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=8", "SLURM_PROCID=5", "SLURM_LOCALID=1",
      "PMIX_RANK=5", "SLURM_STEP_TASKS_PER_NODE=4(x2)", "SLURM_NODEID=1"},
     "openmpi",
     true,
     5,
     8,
     1,
     4},
    /* a batch script is one process, however many tasks its job has */
    {{"SLURM_JOB_ID=7", "SLURM_NTASKS=8", "SLURM_PROCID=0"}, NULL, false, 0, 0, 0, 0},
    {{"PMIX_RANK=3", "PMIX_NAMESPACE=x"}, "openmpi", true, 3, 0, 0, 0},
    {{"PMI_SIZE=4", "PMI_RANK=2"}, "mpich", true, 2, 4, 0, 0},
};

static void set_all(const struct row *row)
{
    for (int i = 0; i < MAX && row->set[i]; i++) {
        char text[64];
        assert_true(strlen(row->set[i]) < sizeof(text));
        strcpy(text, row->set[i]);
        char *equals = strchr(text, '=');
        *equals = '\0';
        assert_int_equal(setenv(text, equals + 1, 1), 0);
    }
}

static void test_launchers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        dlb_launcher_forget();
        set_all(&rows[i]);
        struct dlb_launcher out = dlb_launcher_look();
        assert_int_equal(out.name != NULL, rows[i].there);
        if (!out.name)
            continue;
        assert_true(rows[i].module ? out.module && strcmp(out.module, rows[i].module) == 0
                                   : out.module == NULL);
        assert_int_equal(out.rank, rows[i].rank);
        assert_int_equal(out.size, rows[i].size);
        assert_int_equal(out.local_rank, rows[i].local);
        assert_int_equal(out.n_local, rows[i].n_local);
    }
}

/* Not every launcher says which rank of its machine a process is. */
static void test_knows_local(void **state)
{
    static const struct {
        const char *set;
        bool knows;
    } more[] = {{"MPI_LOCALRANKID", true}, {"SLURM_LOCALID", true}, {"SLURM_NODEID", false}};
    (void)state;
    for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++) {
        dlb_launcher_forget();
        set_all(&(struct row){.set = {"PMI_SIZE=4", "PMI_RANK=2"}});
        assert_false(dlb_launcher_look().knows_local);
        assert_int_equal(setenv(more[i].set, "0", 1), 0);
        assert_int_equal(dlb_launcher_look().knows_local, more[i].knows);
    }
    assert_int_equal(unsetenv("SLURM_NODEID"), 0);
    dlb_launcher_forget();
}

/* Slurm's list of all machines. */
static void test_ranks_of_this_machine(void **state)
{
    static const struct {
        const char *list, *node;
        uint32_t n_local;
    } nodes[] = {{"8", "0", 8},       {"2(x3),1", "0", 2}, {"2(x3),1", "2", 2}, {"2(x3),1", "3", 1},
                 {"2(x3),1", "4", 0}, {"1,2,3", "1", 2},   {"2(x", "0", 0},     {"", "0", 0},
                 {"x", "0", 0},       {"4", "x", 0},       {"-1(x2)", "0", 0}};
    (void)state;
    dlb_launcher_forget();
    set_all(&rows[3]);
    for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
        assert_int_equal(setenv("SLURM_STEP_TASKS_PER_NODE", nodes[i].list, 1), 0);
        assert_int_equal(setenv("SLURM_NODEID", nodes[i].node, 1), 0);
        assert_int_equal(dlb_launcher_look().n_local, nodes[i].n_local);
    }
    assert_int_equal(unsetenv("SLURM_NODEID"), 0);
    dlb_launcher_forget();
}

static void test_nothing_is_left(void **state)
{
    (void)state;
    assert_int_equal(setenv("DLB_KEPT", "1", 1), 0);
    assert_int_equal(setenv("SLURM_JOB_ID", "7", 1), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        set_all(&rows[i]);
        dlb_launcher_forget();
        assert_null(dlb_launcher_look().name);
        assert_null(getenv("OMPI_COMM_WORLD_SIZE"));
        assert_null(getenv("PMI_FD"));
        assert_null(getenv("PMIX_NAMESPACE"));
        assert_non_null(getenv("DLB_KEPT"));
        assert_non_null(getenv("SLURM_JOB_ID"));
    }
    assert_int_equal(unsetenv("SLURM_JOB_ID"), 0);
}

/* The test's folder has no module. */
static void test_no_module(void **state)
{
    (void)state;
    struct dlb_err err;
    struct dlb_launcher launcher = {.name = "mpirun", .module = "none-such", .size = 2};
    assert_null(dlb_ranks_load(&launcher, &err));
    assert_int_equal(err.code, DLB_ERR_RANKS_NO_MODULE);
    launcher.module = NULL;
    assert_null(dlb_ranks_load(&launcher, &err));
    assert_int_equal(err.code, DLB_ERR_RANKS_NO_MODULE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launchers),
        cmocka_unit_test(test_knows_local),
        cmocka_unit_test(test_ranks_of_this_machine),
        cmocka_unit_test(test_nothing_is_left),
        cmocka_unit_test(test_no_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The runner against programs that misbehave: scripts stand in for the cell. */
#include "core/base/mem.h"
#include "core/base/pulse.h"
#include "scenarios/plan/plan.h"
#include "scenarios/run/runner.h"
#include "scenarios/spec/spec.h"
#include "tests/support/scripted.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
    char folder[64], exe[96];
    struct dlb_plan plan;
    struct dlb_results results;
    atomic_bool cancel;
    uint32_t n_start, n_done, n_block, n_ticks_until_cancel;
    uint32_t n_known;     /* events with an ETA ... */
    uint32_t n_paced;     /* ... of which while the first task ran */
    uint32_t n_uncounted; /* ... of which before anything was known */
    double last_eta_s;
};

static void open_bench(struct bench *b, const char *script, const char *const *settings)
{
    struct dlb_err err;
    memset(b, 0, sizeof(*b));
    strcpy(b->folder, "/tmp/dlb_runner_XXXXXX");
    assert_non_null(mkdtemp(b->folder));
    (void)snprintf(b->exe, sizeof(b->exe), "%s/cell", b->folder);
    assert_int_equal(scripted_write(b->exe, script), 0);
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    assert_int_equal(dlb_config_set(cfg, "sweep.exhaustive=true", &err), DLB_OK);
    for (; *settings; settings++)
        assert_int_equal(dlb_config_set(cfg, *settings, &err), DLB_OK);
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 2, .iterable = false};
    assert_int_equal(dlb_scenario_by_name("sweep")->plan(&in, &b->plan, &err), DLB_OK);
    dlb_results_init(&b->results, &b->plan);
    dlb_config_free(cfg);
}

static void close_bench(struct bench *b)
{
    dlb_results_free(&b->results);
    dlb_plan_free(&b->plan);
    (void)unlink(b->exe);
    assert_int_equal(rmdir(b->folder), 0); /* the runner left nothing behind */
}

static void on_event(void *ctx, const struct dlb_runner_event *event)
{
    struct bench *b = ctx;
    b->n_start += event->what == DLB_RUNNER_START;
    b->n_done += event->what == DLB_RUNNER_DONE;
    b->n_block += event->what == DLB_RUNNER_BLOCK;
    b->n_known += isfinite(event->eta_s);
    b->n_paced += isfinite(event->eta_s) && event->n_done == 0;
    b->n_uncounted += isfinite(event->eta_s) && event->n_done == 0 && event->n_batches == 0;
    b->last_eta_s = event->eta_s;
    if (event->what == DLB_RUNNER_TICK && b->n_ticks_until_cancel > 0 &&
        --b->n_ticks_until_cancel == 0)
        atomic_store(&b->cancel, true);
}

static void execute(struct bench *b, uint64_t stall_ns)
{
    struct dlb_err err;
    struct dlb_runner runner = {.exe = b->exe,
                                .scratch = b->folder,
                                .stall_ns = stall_ns,
                                .cancel = &b->cancel,
                                .event = on_event,
                                .ctx = b};
    if (dlb_runner_execute(&runner, &b->plan, &b->results, &err))
        fail_msg("%s %s", err.path, err.what);
}

static const struct dlb_cell_result *rep_of(const struct bench *b, uint32_t cell, uint32_t rep)
{
    assert_true(rep < b->results.cells[cell].n);
    return &b->results.cells[cell].rep[rep];
}

/* The cell's first repetition failed so, and says this. */
static void assert_failed(const struct bench *b, uint32_t cell, enum dlb_code code,
                          const char *word)
{
    const struct dlb_cell_result *rep = rep_of(b, cell, 0);
    assert_int_equal(rep->status, DLB_REP_FAILED);
    assert_int_equal(rep->error, dlb_code_status(code));
    if (rep->code != code || !strstr(rep->reason, word))
        fail_msg("%s: %s", rep->code < DLB_N_CODES ? dlb_code_name(rep->code) : "no code",
                 rep->reason);
}

static const char *const two_cells[] = {"dataset.format=files", "dataset.codec=raw",
                                        "sweep.loader.num_workers=[1, 2]", "run.repeats=2", NULL};
static const char good[] = "echo '{\"status\": \"ok\", \"window_ns\": 5}' >\"$result\"";

static void test_every_task_runs(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, good, two_cells);
    execute(&b, 0);
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(rep_of(&b, i, k)->status, DLB_REP_OK);
            assert_int_equal(rep_of(&b, i, k)->block, k);
            assert_int_equal(rep_of(&b, i, k)->loop.total.window_ns, 5);
        }
    assert_int_equal(b.results.ceilings[0].n, 2);
    assert_int_equal(b.results.reference.n, 3);
    assert_int_equal(b.results.warm.n, 1);
    assert_int_equal(b.n_start, 1 + 2 * 4 + 1);
    assert_int_equal(b.n_done, b.n_start);
    assert_true(b.n_block >= 1);
    assert_false(b.results.interrupted);
    close_bench(&b);
}

static void test_spec_holds_the_cell(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b,
               "w=$(sed -n 's/.*\"loader.num_workers\": \\([0-9]*\\).*/\\1/p' \"$spec\")\n"
               "echo \"{\\\"status\\\": \\\"ok\\\", \\\"window_ns\\\": $w, \\\"device\\\": "
               "{\\\"name\\\": \\\"$mode\\\"}}\" >\"$result\"",
               two_cells);
    execute(&b, 0);
    assert_int_equal(rep_of(&b, 0, 0)->loop.total.window_ns, 1);
    assert_int_equal(rep_of(&b, 1, 0)->loop.total.window_ns, 2);
    assert_string_equal(rep_of(&b, 1, 0)->device.name, "measure");
    assert_string_equal(b.results.ceilings[0].rep[0].device.name, "ceiling");
    assert_string_equal(b.results.warm.rep[0].device.name, "warm");
    close_bench(&b);
}

/* All that runs in a block has its seed; the first block's is the user's. */
static void test_each_block_has_its_seed(void **state)
{
    (void)state;
    struct bench b;
    const char *const settings[] = {"dataset.codec=raw", "sweep.loader.num_workers=[1, 2]",
                                    "run.repeats=3", "run.seed=77", NULL};
    open_bench(&b,
               "s=$(sed -n 's/.*\"run.seed\": \\([0-9]*\\).*/\\1/p' \"$spec\")\n"
               "echo \"{\\\"status\\\": \\\"ok\\\", \\\"window_ns\\\": $s}\" >\"$result\"",
               settings);
    execute(&b, 0);
    assert_int_equal(dlb_plan_block_seed(77, 0), 77);
    for (uint32_t k = 0; k < 3; k++) {
        uint64_t seed = (uint64_t)dlb_plan_block_seed(77, k);
        assert_true(k == 0 || seed != (uint64_t)dlb_plan_block_seed(77, k - 1));
        for (uint32_t i = 0; i < 2; i++)
            assert_true(rep_of(&b, i, k)->loop.total.window_ns == seed);
        assert_true(b.results.reference.rep[k].loop.total.window_ns == seed);
    }
    assert_int_equal(b.results.ceilings[0].n, 3);
    for (uint32_t k = 0; k < 3; k++)
        assert_true(b.results.ceilings[0].rep[k].loop.total.window_ns ==
                    (uint64_t)dlb_plan_block_seed(77, b.results.ceilings[0].rep[k].block));
    close_bench(&b);
}

/* One cell dies each time it runs; the other goes on, and the dead one is not run again. */
static void test_a_death_costs_one_cell(void **state)
{
    (void)state;
    struct bench b;
    char script[256];
    (void)snprintf(script, sizeof(script),
                   "grep -q 'num_workers\": 2' \"$spec\" && grep -q 'epochs\": 1' \"$spec\" && "
                   "[ $mode = measure ] && { echo last words >&2; kill -9 $$; }\n%s",
                   good);
    open_bench(&b, script, two_cells);
    execute(&b, 0);
    assert_int_equal(b.results.cells[0].n, 2);
    assert_int_equal(b.results.cells[1].n, 1);
    assert_failed(&b, 1, DLB_ERR_CELL_KILLED, "SIGKILL");
    assert_failed(&b, 1, DLB_ERR_CELL_KILLED, "last words");
    close_bench(&b);
}

/* What reads the samples is in the heartbeat, behind its three numbers and the process. */
static void test_a_death_inside_a_library(void **state)
{
    (void)state;
    struct bench b;
    const char *const settings[] = {"dataset.format=hdf5",     "dataset.codec=raw",
                                    "dataset.path=/data/a.h5", "sweep.loader.num_workers=[1]",
                                    "run.repeats=1",           NULL};
    assert_int_equal(offsetof(struct dlb_pulse, library), 28);
    open_bench(&b,
               "printf libhdf5 | dd of=/proc/self/fd/$beat bs=1 seek=28 conv=notrunc 2>/dev/null\n"
               "kill -SEGV $$",
               settings);
    execute(&b, 0);
    assert_failed(&b, 0, DLB_ERR_CELL_KILLED, "SIGSEGV");
    assert_failed(&b, 0, DLB_ERR_CELL_KILLED, "libhdf5: /data/a.h5");
    close_bench(&b);
}

static void test_exit_code_and_missing_result(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b, "exit 7", two_cells);
    execute(&b, 0);
    assert_failed(&b, 0, DLB_ERR_CELL_NO_RESULT, "code 7");
    close_bench(&b);
    open_bench(&b, "echo '{\"status\": ' >\"$result\"", two_cells);
    execute(&b, 0);
    assert_failed(&b, 0, DLB_ERR_CELL_NO_RESULT, "");
    close_bench(&b);
    open_bench(&b, "echo '{\"status\": \"well\"}' >\"$result\"", two_cells);
    execute(&b, 0);
    assert_failed(&b, 0, DLB_ERR_CELL_NO_RESULT, "");
    close_bench(&b);
    /* A sanitizer that complains at the very end: the result is there, and does not count. */
    open_bench(&b, "echo '{\"status\": \"ok\"}' >\"$result\"\nexit 23", two_cells);
    execute(&b, 0);
    assert_failed(&b, 0, DLB_ERR_CELL_NO_RESULT, "code 23");
    close_bench(&b);
}

/* Each cell is held to the id that the first task found in a data set of its settings. The script
 * tells 10 of one data set and 20 of the other, and as a figure what it is held to. */
static void test_each_data_set_keeps_its_id(void **state)
{
    (void)state;
    struct bench b;
    const char *const settings[] = {"dataset.format=files",
                                    "dataset.codec=raw",
                                    "sweep.dataset.path=[\"/data/a\", \"/data/b\"]",
                                    "sweep.loader.num_workers=[1, 2]",
                                    "run.repeats=2",
                                    NULL};
    open_bench(&b,
               "own=a; grep -q /data/b \"$spec\" && own=14\n"
               "echo \"{\\\"status\\\": \\\"ok\\\", \\\"window_ns\\\": $((0x$id)), "
               "\\\"data_id\\\": \\\"$own\\\"}\" >\"$result\"",
               settings);
    execute(&b, 0);
    uint32_t n_free = 0;
    for (uint32_t i = 0; i < b.plan.n_cells; i++) {
        bool first = strcmp(b.plan.cells[i].spec->dataset.path, "/data/a") == 0;
        for (uint32_t k = 0; k < 2; k++) {
            uint64_t id = rep_of(&b, i, k)->loop.total.window_ns;
            assert_true(id == 0 || id == (first ? 10 : 20));
            n_free += id == 0;
        }
    }
    for (uint32_t k = 0; k < b.results.reference.n; k++)
        n_free += b.results.reference.rep[k].loop.total.window_ns == 0;
    assert_int_equal(b.plan.n_cells, 4);
    assert_int_equal(n_free, 2); /* the first task of each */
    close_bench(&b);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 /* a sanitizer wants to be loaded before the preload */
#else
#define SANITIZED 0
#endif

/* The program itself, in whose cell the first look at the data does not return. */
static void test_a_hang_while_opening_ends(void **state)
{
    (void)state;
    struct bench b;
    struct dlb_err err;
    char path[80], setting[100], plant[200];
    const char *const settings[] = {"dataset.format=files",
                                    "dataset.codec=raw",
                                    setting,
                                    "run.cache=cold",
                                    "run.repeats=1",
                                    "sweep.loader.num_workers=[1]",
                                    NULL};
    if (SANITIZED)
        skip();
    strcpy(path, "/tmp/dlb_data_XXXXXX");
    assert_non_null(mkdtemp(path));
    (void)snprintf(setting, sizeof(setting), "dataset.path=%s", path);
    (void)snprintf(plant, sizeof(plant), "at=list,in=cell,path=%s,effect=hang", path);
    open_bench(&b, good, settings);
    struct dlb_runner runner = {
        .exe = getenv("DLB_BIN"), .scratch = b.folder, .stall_ns = 700000000, .cancel = &b.cancel};
    assert_non_null(runner.exe);
    (void)setenv("DLB_FAULT", plant, 1);
    (void)setenv("LD_PRELOAD", DLB_FAULTS, 1);
    int rc = dlb_runner_execute(&runner, &b.plan, &b.results, &err);
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("DLB_FAULT");
    assert_int_equal(rc, DLB_OK);
    assert_failed(&b, 0, DLB_ERR_CELL_HANGS, "");
    close_bench(&b);
    assert_int_equal(rmdir(path), 0);
}

static void test_a_hang_ends(void **state)
{
    (void)state;
    struct bench b;
    const char *const settings[] = {"dataset.format=synthetic", "dataset.codec=raw",
                                    "sweep.loader.num_workers=[1]", "run.repeats=1", NULL};
    open_bench(&b, "trap '' INT TERM\nsleep 60 & sleep 60", settings);
    execute(&b, 300000000);
    assert_failed(&b, 0, DLB_ERR_CELL_HANGS, "");
    close_bench(&b);
}

/* The heartbeat is what tells a slow cell from one that hangs. */
static void test_slow_is_no_hang(void **state)
{
    (void)state;
    struct bench b;
    char script[512];
    const char *const settings[] = {"dataset.format=synthetic", "dataset.codec=raw",
                                    "sweep.loader.num_workers=[1]", "run.repeats=1", NULL};
    (void)snprintf(
        script, sizeof(script),
        "for i in 1 2 3 4 5 6 7 8; do sleep 0.2; "
        "printf \"\\\\00$i\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\" >/proc/self/fd/$beat; done\n%s",
        good);
    open_bench(&b, script, settings);
    execute(&b, 1000000000);
    assert_int_equal(rep_of(&b, 0, 0)->status, DLB_REP_OK);
    close_bench(&b);
}

/* Before its first batch it opens what may be much: the second number of the heartbeat. */
static void test_opening_is_no_hang(void **state)
{
    (void)state;
    struct bench b;
    char script[1024];
    const char *const settings[] = {"dataset.format=synthetic", "dataset.codec=raw",
                                    "sweep.loader.num_workers=[1]", "run.repeats=1", NULL};
    (void)snprintf(script, sizeof(script),
                   "for i in 1 2 3 4 5 6 7 8; do sleep 0.4; "
                   "printf \"\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\00$i"
                   "\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\\\\0\" >/proc/self/fd/$beat; done\n%s",
                   good);
    open_bench(&b, script, settings);
    execute(&b, 1000000000);
    assert_int_equal(rep_of(&b, 0, 0)->status, DLB_REP_OK);
    close_bench(&b);
}

/* Of a cell 8 steps of 100 ms where all is read but a short batch; where less is, with one worker
 * 2, 1 to warm up and 1 that ends the window, with two 2, 2 and 1; none where nothing is known.
 * Ceilings have steps of their own. */
static void test_steps_alone_take_their_time(void **state)
{
    (void)state;
    struct bench b;
    const char *settings[] = {"dataset.format=files",
                              "dataset.codec=raw",
                              "loader.batch_size=10",
                              "loader.drop_last=true",
                              "device.step_ms=100",
                              "run.warmup_batches=1",
                              "run.repeats=2",
                              "sweep.loader.num_workers=[1, 2]",
                              NULL,
                              NULL};
    double ceilings_s = 0;
    for (int part = 0; part < 2; part++) {
        settings[8] = part ? "run.max_batches=2" : NULL;
        open_bench(&b, good, settings);
        uint32_t n = 0;
        double cells_s = 0;
        for (uint32_t i = 0; i < b.plan.n_tasks; i++) {
            const struct dlb_task *task = &b.plan.tasks[i];
            if (task->kind != DLB_TASK_CELL && task->kind != DLB_TASK_REFERENCE)
                continue;
            bool two = b.plan.cells[task->index].spec->loader.num_workers == 2;
            cells_s += part ? two ? 0.7 : 0.4 : 0.8; /* two workers may have four batches ready */
            n++;
        }
        assert_true(n >= 4);
        double known_s = dlb_runner_least_s(&b.plan, 89),
               unknown_s = dlb_runner_least_s(&b.plan, 0);
        ceilings_s = part ? ceilings_s : unknown_s;
        assert_true(fabs(known_s - ceilings_s - cells_s) < 1e-9);
        assert_true(!part || unknown_s == known_s);
        close_bench(&b);
    }
}

/* No ETA is better than "0 s": before the first batch nothing is known; then there is a pace. */
static void test_eta_is_known_or_nan(void **state)
{
    (void)state;
    struct bench b;
    char script[512];
    const char *const settings[] = {"dataset.format=synthetic",
                                    "dataset.codec=raw",
                                    "generate.samples=80",
                                    "loader.batch_size=10",
                                    "sweep.loader.num_workers=[1, 2]",
                                    "run.repeats=1",
                                    NULL};
    (void)snprintf(script, sizeof(script),
                   "sleep 0.5\nprintf \"\\004\\0\\0\\0\\0\\0\\0\\0\" "
                   ">/proc/self/fd/$beat\nsleep 0.5\n%s",
                   good);
    open_bench(&b, script, settings);
    execute(&b, 0);
    assert_int_equal(b.n_uncounted, 0);
    assert_true(b.n_paced > 0);
    assert_true(b.n_known > b.n_paced);
    assert_true(b.last_eta_s == 0); /* all is done */
    close_bench(&b);
}

/* A cell like the last, for whose tasks no time is left. */
static int add_a_cell(struct dlb_plan *plan, const struct dlb_results *results, struct dlb_err *err)
{
    (void)results;
    (void)err;
    plan->cells = dlb_mem_grow(plan->cells, (size_t)plan->n_cells + 1, sizeof(*plan->cells));
    struct dlb_plan_cell *cell = &plan->cells[plan->n_cells];
    *cell = plan->cells[plan->n_cells - 1];
    cell->spec = dlb_mem_new(sizeof(*cell->spec));
    *cell->spec = *plan->cells[plan->n_cells++ - 1].spec;
    return DLB_OK;
}

static void test_a_cell_without_tasks_has_results(void **state)
{
    (void)state;
    struct bench b;
    struct dlb_err err;
    struct dlb_scenario grows = *dlb_scenario_by_name("sweep");
    grows.next = add_a_cell;
    open_bench(&b, good, two_cells);
    b.plan.grows = true;
    struct dlb_runner runner = {.exe = b.exe,
                                .scratch = b.folder,
                                .cancel = &b.cancel,
                                .event = on_event,
                                .ctx = &b,
                                .scenario = &grows};
    assert_int_equal(dlb_runner_execute(&runner, &b.plan, &b.results, &err), DLB_OK);
    assert_int_equal(b.results.n_cells, 3);
    assert_int_equal(b.results.cells[2].n, 0);
    close_bench(&b);
}

static void test_interrupt_reaches_the_cell(void **state)
{
    (void)state;
    struct bench b;
    open_bench(&b,
               "trap 'echo \"{\\\"status\\\": \\\"cancelled\\\"}\" >\"$result\"; exit 0' INT\n"
               "while :; do sleep 0.05; done",
               two_cells);
    b.n_ticks_until_cancel = 2;
    execute(&b, 0);
    assert_true(b.results.interrupted);
    assert_int_equal(b.n_start, 1);
    assert_int_equal(b.results.warm.rep[0].status, DLB_REP_CANCELLED);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_task_runs),
        cmocka_unit_test(test_spec_holds_the_cell),
        cmocka_unit_test(test_each_block_has_its_seed),
        cmocka_unit_test(test_a_death_costs_one_cell),
        cmocka_unit_test(test_a_death_inside_a_library),
        cmocka_unit_test(test_exit_code_and_missing_result),
        cmocka_unit_test(test_each_data_set_keeps_its_id),
        cmocka_unit_test(test_a_hang_ends),
        cmocka_unit_test(test_a_hang_while_opening_ends),
        cmocka_unit_test(test_slow_is_no_hang),
        cmocka_unit_test(test_opening_is_no_hang),
        cmocka_unit_test(test_steps_alone_take_their_time),
        cmocka_unit_test(test_eta_is_known_or_nan),
        cmocka_unit_test(test_a_cell_without_tasks_has_results),
        cmocka_unit_test(test_interrupt_reaches_the_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

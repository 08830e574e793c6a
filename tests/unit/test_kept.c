/* The runner with a journal: killed at each of its events, it goes on where it was. Scripts stand
 * in for the cell, and note each time that they run. */
#include "core/base/json.h"
#include "scenarios/plan/plan.h"
#include "scenarios/run/runner.h"
#include "scenarios/spec/spec.h"
#include "tests/support/folder.h"
#include "tests/support/scripted.h"

#include <math.h>
#include <sys/wait.h>

static const char *const settings[] = {"dataset.format=files",
                                       "dataset.codec=raw",
                                       "sweep.loader.num_workers=[1, 2]",
                                       "sweep.exhaustive=true",
                                       "run.repeats=2",
                                       "run.seed=77",
                                       NULL};
enum {
    N_BLOCK_0 = 1 + 4, /* warm, reference, two cells, a ceiling */
    N_BLOCK_1 = 4,
    N_ALL = N_BLOCK_0 + N_BLOCK_1 + 1, /* and the reference once more */
    MAX_EVENTS = 64
};

/* Its figure is made of what it was given, so that each repetition has one of its own. */
static const char script[] =
    "w=$(sed -n 's/.*\"loader.num_workers\": \\([0-9]*\\).*/\\1/p' \"$spec\")\n"
    "s=$(sed -n 's/.*\"run.seed\": \\([0-9]*\\).*/\\1/p' \"$spec\")\n"
    "[ -e \"$(dirname \"$0\")/full\" ] && exit 28\n" /* DLB_CHILD_EXIT_NO_SPACE */
    "echo \"$mode $w $s\" >>\"$(dirname \"$0\")/ran\"\n"
    "echo \"{\\\"status\\\": \\\"ok\\\", \\\"window_ns\\\": $((s % 100000 + w)), "
    "\\\"machine_busy_frac\\\": 0.1}\" >\"$result\"";

struct session {
    struct dlb_journal journal;
    struct dlb_kept kept;
    struct dlb_plan plan;
    struct dlb_results results;
    atomic_bool cancel;
    int n_events, die_at, cancel_at;
};

static void on_event(void *ctx, const struct dlb_runner_event *event)
{
    struct session *s = ctx;
    if (event->what == DLB_RUNNER_TICK) /* how many there are is the machine's affair */
        return;
    if (++s->n_events == s->die_at)
        (void)kill(getpid(), SIGKILL);
    if (s->n_events == s->cancel_at)
        atomic_store(&s->cancel, true);
}

static void make_plan(struct session *s, const char *more)
{
    struct dlb_err err;
    struct dlb_config *cfg = dlb_config_new(dlb_spec_groups());
    for (const char *const *set = settings; *set; set++)
        assert_int_equal(dlb_config_set(cfg, *set, &err), DLB_OK);
    if (more)
        assert_int_equal(dlb_config_set(cfg, more, &err), DLB_OK);
    struct dlb_plan_input in = {.cfg = cfg, .n_cpus = 2};
    assert_int_equal(dlb_scenario_by_name("sweep")->plan(&in, &s->plan, &err), DLB_OK);
    dlb_results_init(&s->results, &s->plan);
    dlb_config_free(cfg);
}

static void open_session(struct session *s, const char *more)
{
    struct dlb_err err;
    json_t *records;
    memset(s, 0, sizeof(*s));
    make_plan(s, more);
    if (!folder_has("journal")) {
        json_t *head = dlb_json_made(json_pack("{ss}", "is", "run"));
        assert_int_equal(dlb_journal_create(&s->journal, folder_path("journal"), head, &err),
                         DLB_OK);
        json_decref(head);
        dlb_kept_begin(&s->kept, &s->journal);
        return;
    }
    assert_int_equal(dlb_journal_open(&s->journal, folder_path("journal"), &records, &err), DLB_OK);
    assert_int_equal(dlb_kept_open(&s->kept, &s->journal, records, &err), DLB_OK);
    json_decref(records);
}

static int run_session(struct session *s, struct dlb_err *err)
{
    static char scratch[512], exe[512];
    (void)snprintf(scratch, sizeof(scratch), "%s", folder_path("scratch"));
    (void)snprintf(exe, sizeof(exe), "%s", folder_path("cell"));
    struct dlb_runner runner = {.exe = exe,
                                .scratch = scratch,
                                .cancel = &s->cancel,
                                .event = on_event,
                                .ctx = s,
                                .kept = &s->kept,
                                .scenario = dlb_scenario_by_name("sweep")};
    return dlb_runner_execute(&runner, &s->plan, &s->results, err);
}

static void close_session(struct session *s)
{
    dlb_results_free(&s->results);
    dlb_plan_free(&s->plan);
    dlb_kept_close(&s->kept);
    dlb_journal_close(&s->journal);
}

static void open_folder(void **state)
{
    assert_int_equal(folder_make(state), 0);
    folder_sub("scratch");
    assert_int_equal(scripted_write(folder_path("cell"), script), 0);
}

/* How often the script ran, in all sessions. */
static int n_ran(void)
{
    size_t n_bytes;
    int n = 0;
    if (!folder_has("ran"))
        return 0;
    uint8_t *text = folder_read("ran", &n_bytes);
    for (size_t i = 0; i < n_bytes; i++)
        n += text[i] == '\n';
    free(text);
    return n;
}

/* A session that is killed at its n-th event. False: it ended before. */
static bool killed_at(int n)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct session s;
        struct dlb_err err;
        open_session(&s, NULL);
        s.die_at = n;
        _exit(run_session(&s, &err) ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
}

static void assert_reps(const struct dlb_reps *reps, uint32_t n, uint64_t workers)
{
    assert_int_equal(reps->n, n);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t seed = (uint64_t)dlb_plan_block_seed(77, reps->rep[i].block);
        assert_int_equal(reps->rep[i].block, i);
        assert_true(reps->rep[i].loop.total.window_ns == seed % 100000 + workers);
    }
}

/* Each repetition is there once, with the figure of its cell and block. */
static void assert_whole(const struct session *s)
{
    assert_reps(&s->results.cells[0], 2, 1);
    assert_reps(&s->results.cells[1], 2, 2);
    assert_reps(&s->results.reference, 3, s->plan.reference == 0 ? 1 : 2);
    assert_int_equal(s->results.ceilings[0].n, 2);
    assert_false(s->results.interrupted);
}

/* What the journal has: every repetition that was measured, in whatever session. */
static void assert_journal(int n_reps)
{
    struct dlb_journal journal;
    struct dlb_err err;
    json_t *records;
    int n = 0;
    assert_int_equal(dlb_journal_open(&journal, folder_path("journal"), &records, &err), DLB_OK);
    for (size_t i = 0; i < json_array_size(records); i++)
        n += strcmp(dlb_json_text(json_array_get(records, i), "is"), "repetition") == 0;
    json_decref(records);
    dlb_journal_close(&journal);
    assert_int_equal(n, n_reps);
}

static void finish(int n_sessions)
{
    struct session s;
    struct dlb_err err;
    open_session(&s, NULL);
    if (run_session(&s, &err))
        fail_msg("%s %s", err.path, err.what);
    assert_whole(&s);
    assert_true(s.results.n_resumed <= (uint32_t)n_sessions);
    /* Those that were judged, those that were not, and no other. */
    int n_rewarms = (int)s.results.warm.n - 1;
    assert_journal(N_ALL + n_rewarms + (int)s.kept.n_unjudged);
    close_session(&s);
}

static void test_without_a_kill(void **state)
{
    open_folder(state);
    assert_false(killed_at(0));
    assert_int_equal(n_ran(), N_ALL);
    assert_journal(N_ALL);
    finish(0); /* all of it is taken over, nothing runs */
    assert_int_equal(n_ran(), N_ALL);
    assert_int_equal(folder_remove(state), 0);
}

static void test_killed_at_each_event(void **state)
{
    int n = 1;
    for (;; n++) {
        open_folder(state);
        bool killed = killed_at(n);
        if (killed)
            finish(1);
        assert_int_equal(folder_remove(state), 0);
        if (!killed)
            break;
        assert_true(n < MAX_EVENTS);
    }
    assert_true(n > 2 * N_ALL); /* a start and an end of each */
}

/* Three sessions, each killed somewhere. */
static void test_killed_again_and_again(void **state)
{
    static const int at[][3] = {{1, 1, 1},  {3, 14, 2}, {14, 4, 17},
                                {16, 2, 5}, {20, 9, 3}, {9, 9, 9}};
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
        open_folder(state);
        for (int k = 0; k < 3; k++)
            (void)killed_at(at[i][k]);
        finish(3);
        assert_int_equal(folder_remove(state), 0);
    }
}

/* Twice within the first block: neither left a block, and both are told. */
static void test_resumed_without_a_block(void **state)
{
    struct session s;
    struct dlb_err err;
    open_folder(state);
    for (int k = 0; k < 3; k++)
        assert_true(killed_at(3));
    open_session(&s, NULL);
    assert_int_equal(s.kept.n_taken, 0);
    assert_int_equal(run_session(&s, &err), DLB_OK);
    assert_whole(&s);
    assert_int_equal(s.results.n_resumed, 3);
    assert_int_equal(s.results.n_unjudged, 3);
    close_session(&s);
    assert_int_equal(folder_remove(state), 0);
}

/* The time of what is not judged counts, and is told apart. The data are read once more. */
static void test_time_counts_on(void **state)
{
    struct session s;
    struct dlb_err err;
    open_folder(state);
    assert_true(killed_at(2 * N_BLOCK_0 + 1 + 5)); /* in the second block, two of it have ended */
    open_session(&s, NULL);
    assert_int_equal(s.kept.n_taken, N_BLOCK_0);
    assert_int_equal(s.kept.n_unjudged, 2);
    double spent_s = s.kept.spent.elapsed_s;
    assert_true(spent_s > 0);
    assert_int_equal(run_session(&s, &err), DLB_OK);
    assert_whole(&s);
    assert_int_equal(s.results.n_resumed, 1);
    assert_int_equal(s.results.n_unjudged, 2);
    assert_int_equal(s.results.warm.n, 2);
    assert_true(s.results.elapsed_s > spent_s);
    assert_true(s.results.unjudged_s > 0 && s.results.unjudged_s < s.results.elapsed_s);
    assert_int_equal(n_ran(), N_ALL + 1 + 2);
    close_session(&s);
    assert_int_equal(folder_remove(state), 0);
}

/* A repetition that was interrupted is no repetition; its block runs anew. */
static void test_interrupted(void **state)
{
    struct session s;
    struct dlb_err err;
    open_folder(state);
    open_session(&s, NULL);
    s.cancel_at = 2 * N_BLOCK_0 + 1 + 4;
    assert_int_equal(run_session(&s, &err), DLB_OK);
    assert_true(s.results.interrupted);
    close_session(&s);
    finish(1);
    assert_int_equal(folder_remove(state), 0);
}

/* A full disk is no failure of the cell: the run ends, and goes on where there is space again. */
static void test_no_space_for_a_result(void **state)
{
    struct session s;
    struct dlb_err err;
    open_folder(state);
    assert_true(killed_at(2 * N_BLOCK_0 + 1 + 2));
    folder_sub("full");
    open_session(&s, NULL);
    assert_int_equal(run_session(&s, &err), DLB_E_IO);
    assert_int_equal(err.code, DLB_ERR_NO_SPACE);
    close_session(&s);
    assert_int_equal(rmdir(folder_path("full")), 0);
    finish(2);
    assert_int_equal(folder_remove(state), 0);
}

/* Another plan is refused at the first repetition that it would not measure; nothing runs. */
static void test_another_plan(void **state)
{
    static const char *const others[] = {"run.seed=78", "device.step_ms=3",
                                         "sweep.loader.num_workers=[2, 1]"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct session s;
        struct dlb_err err;
        open_folder(state);
        assert_true(killed_at(2 * N_BLOCK_0 + 1 + 5));
        int n = n_ran();
        open_session(&s, others[i]);
        assert_int_equal(run_session(&s, &err), DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_JOURNAL_DIVERGES);
        assert_int_equal(n_ran(), n);
        close_session(&s);
        assert_int_equal(folder_remove(state), 0);
    }
}

/* Records that are whole and none of the runner's. */
static void test_records_of_another_kind(void **state)
{
    static const char *const records[] = {
        "{}",
        "{\"is\": \"notes\"}",
        "{\"is\": \"repetition\"}",
        "{\"is\": \"resumed\", \"elapsed_s\": -1, \"unjudged_s\": 0}",
        "{\"is\": \"resumed\", \"elapsed_s\": 1, \"unjudged_s\": 2}",
        ("{\"is\": \"repetition\", \"task\": \"nap\", \"took_s\": 1, \"elapsed_s\": 1, "
         "\"unjudged_s\": 0, \"result\": {}}")};
    (void)state;
    for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
        struct dlb_journal journal = {.fd = -1, .path = "j"};
        struct dlb_kept kept;
        struct dlb_err err;
        json_t *all =
            dlb_json_made(json_pack("[{ss}, o]", "is", "run", json_loads(records[i], 0, NULL)));
        assert_int_equal(dlb_kept_open(&kept, &journal, all, &err), DLB_E_FORMAT);
        assert_int_equal(err.code, DLB_ERR_JOURNAL_DAMAGED);
        dlb_kept_close(&kept);
        json_decref(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_kill),
        cmocka_unit_test(test_killed_at_each_event),
        cmocka_unit_test(test_killed_again_and_again),
        cmocka_unit_test(test_resumed_without_a_block),
        cmocka_unit_test(test_time_counts_on),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_no_space_for_a_result),
        cmocka_unit_test(test_another_plan),
        cmocka_unit_test(test_records_of_another_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Speakers and runners of several ranks, with forked processes instead of MPI: commands reach all
 * ranks, cells meet, and a rank that dies or hangs is named. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/host/osacct.h"
#include "scenarios/ranks/answers.h"
#include "scenarios/ranks/team.h"
#include "tests/support/fake_job.h"
#include "tests/support/fake_parts.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

static int follow(struct dlb_link *link)
{
    struct dlb_err err;
    return dlb_team_follow(link, &err) ? 1 : 0;
}

/* --- all is well */

static int lead(struct dlb_link *link)
{
    struct dlb_err err;
    json_t *nodes = NULL;
    if (dlb_team_meet(link, &nodes, &err))
        return 1;
    if (json_array_size(nodes) != FAKE_RANKS ||
        strcmp(dlb_json_text(json_array_get(nodes, 2), "node"), "node2") != 0)
        return 2;
    json_t *clocks = dlb_team_clocks(link);
    bool right = dlb_json_number(clocks, "max") == 2.0 && dlb_json_number(clocks, "error") == 0.5;
    json_decref(clocks);
    json_decref(nodes);
    return right ? 0 : 3;
}

static void test_hello_and_clocks(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {lead, follow, follow};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

/* --- cells meet: each ends its step by another time; all go on when the last one does */

#define ROUNDS 20
#define SLACK_NS (15 * DLB_NS_PER_MS)

/* As a cold cell does before and after it drops its data: the round is none of its loop's. */
static bool meet_before(struct dlb_link *link)
{
    dlb_meet_ask(link->meet, dlb_now_ns(), 0);
    if (!dlb_meet_wait(link->meet, NULL) || link->meet->alone || link->meet->started_ns == 0)
        return false;
    dlb_meet_again(link->meet);
    return link->meet->started_ns == 0;
}

static int meet_often(struct dlb_link *link)
{
    struct dlb_err err;
    struct dlb_message message;
    uint32_t n_late = 0;
    if (!meet_before(link))
        return 9;
    for (uint32_t i = 0; i <= ROUNDS; i++) { /* the first one is the start */
        uint32_t longest = i % FAKE_RANKS;
        uint64_t now_ns = dlb_now_ns(), mine_ns = (link->rank == longest ? 40 : 1) * DLB_NS_PER_MS;
        dlb_meet_ask(link->meet, now_ns + mine_ns, link->rank == longest ? 7 : 1);
        if (!dlb_meet_wait(link->meet, NULL))
            return 10;
        if (link->meet->alone || link->meet->input_ns != 7)
            return 11;
        n_late += link->meet->end_ns > now_ns + 40 * DLB_NS_PER_MS + SLACK_NS;
        if (link->rank == longest && link->meet->end_ns + SLACK_NS < now_ns + mine_ns)
            return 12;
    }
    json_t *answer = json_pack("{si}", "late", (int)n_late);
    int rc = dlb_link_send(link, DLB_SAY_ANSWER, answer, &err);
    json_decref(answer);
    if (rc || link->meet->n_rounds != ROUNDS || link->meet->cost.count == 0)
        return 13;
    if (link->rank > 0)
        return dlb_message_receive(link->fd, &message) && message.kind == DLB_SAY_END ? 0 : 14;
    rc = dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, &err);
    free(message.bytes);
    return rc ? 15 : n_late < ROUNDS / 2 ? 0 : 16; /* a busy machine is late sometimes */
}

static int meet_as_first(struct dlb_link *link)
{
    struct dlb_err err;
    json_t *command = json_object();
    int rc = dlb_link_send(link, DLB_SAY_COMMAND, command, &err);
    json_decref(command);
    return rc ? 17 : meet_often(link);
}

static int meet_as_other(struct dlb_link *link)
{
    struct dlb_message message;
    if (!dlb_message_receive(link->fd, &message) || message.kind != DLB_SAY_COMMAND)
        return 18;
    free(message.bytes);
    return meet_often(link);
}

static void test_cells_meet(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {meet_as_first, meet_as_other, meet_as_other};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

/* --- a rank is lost while a command runs: rank 0's runner hears which, in time */

static int expect_lost(struct dlb_link *link, const char *who)
{
    struct dlb_err err;
    struct dlb_message message;
    uint64_t start_ns = dlb_now_ns();
    json_t *command = json_object();
    if (dlb_link_send(link, DLB_SAY_COMMAND, command, &err))
        return 20;
    json_decref(command);
    while (!dlb_link_look(link) && dlb_now_ns() - start_ns < 15 * DLB_NS_PER_S)
        (void)dlb_sleep_until_ns(dlb_now_ns() + 20 * DLB_NS_PER_MS);
    if (dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, &err) == DLB_OK)
        return 21;
    if (err.code != DLB_ERR_RANK_LOST || !strstr(err.what, who) || !atomic_load(&link->cancel))
        return 22;
    return dlb_now_ns() - start_ns < 15 * DLB_NS_PER_S ? 0 : 23;
}

static int expect_killed(struct dlb_link *link)
{
    return expect_lost(link, "rank 2 on node2: its runner was killed by SIGKILL");
}

static int expect_silent(struct dlb_link *link)
{
    return expect_lost(link, "rank 1 on node1");
}

static int stop(struct dlb_link *link)
{
    struct dlb_message message;
    (void)dlb_message_receive(link->fd, &message);
    (void)kill(getpid(), SIGSTOP);
    return 32;
}

static int stop_speaker(struct dlb_link *link)
{
    struct dlb_message message;
    (void)dlb_message_receive(link->fd, &message);
    (void)dlb_sleep_until_ns(dlb_now_ns() + 1500 * DLB_NS_PER_MS); /* it was heard before */
    (void)kill(getppid(), SIGSTOP);
    return take_command(link);
}

static void test_killed_runner(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {expect_killed, take_command, die};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_int_equal(codes[0], 0);
}

static void test_stopped_runner(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {expect_silent, stop, take_command};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_int_equal(codes[0], 0);
}

static void test_stopped_speaker(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {expect_silent, stop_speaker, take_command};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_int_equal(codes[0], 0);
}

/* --- a runner that cannot begin is named at once */

static int end_early(struct dlb_link *link)
{
    (void)link;
    return 3;
}

static int expect_early(struct dlb_link *link)
{
    uint64_t start_ns = dlb_now_ns();
    int code = expect_lost(link, "rank 1 on node1: its runner ended early");
    return code ? code : dlb_now_ns() - start_ns < DEADLINE_NS ? 0 : 24;
}

static void test_early_end(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {expect_early, end_early, take_command};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_int_equal(codes[0], 0);
}

/* --- a command that another rank's failure ends is ended at a rank that has not read it yet, and
 * the next command is not */

static int fail_first(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : answer_as(link, DLB_SAY_FAILED);
    code = code ? code : begin_next(link);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static int read_late(struct dlb_link *link)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + 1000 * DLB_NS_PER_MS);
    int code = begin_next(link);
    if (!code && !atomic_load(&link->cancel))
        return 42;
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    code = code ? code : begin_next(link);
    if (!code && atomic_load(&link->cancel))
        return 43;
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static int lead_twice(struct dlb_link *link)
{
    struct dlb_err err;
    struct dlb_message message;
    int code = 0;
    for (int i = 0; i < 2 && !code; i++) {
        json_t *command = json_object();
        dlb_meet_reset(link->meet);
        dlb_link_begin(link);
        code = dlb_link_send(link, DLB_SAY_COMMAND, command, &err) ? 44 : 0;
        json_decref(command);
        code = code ? code : answer_as(link, DLB_SAY_ANSWER);
        if (!code && dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, &err))
            return 45;
        free(message.bytes);
    }
    return code;
}

static void test_early_cancel(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {lead_twice, read_late, fail_first};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

/* --- a job that was stopped as a whole, for longer than the deadline, goes on */

#define PAUSE_NS (DEADLINE_NS + 2 * DLB_NS_PER_S)
/* Of the three seconds without the pause; each second two come and two go. */
#define LEAST_NOTES (2 * (FAKE_RANKS - 1))
#define MOST_NOTES (20 * 2 * (FAKE_RANKS - 1))

static void signal_all(int number)
{
    for (int i = 0; i < FAKE_RANKS; i++)
        (void)kill(atomic_load(&fake->speaker[i]), number);
}

static int look_for(struct dlb_link *link, uint64_t ns)
{
    uint64_t end_ns = dlb_now_ns() + ns;
    while (dlb_now_ns() < end_ns)
        if (dlb_link_look(link))
            return 50;
        else
            (void)dlb_sleep_until_ns(dlb_now_ns() + 50 * DLB_NS_PER_MS);
    return 0;
}

static int last_through(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : look_for(link, PAUSE_NS + 3 * DLB_NS_PER_S);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static int pause_all(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : look_for(link, DLB_NS_PER_S);
    signal_all(SIGSTOP);
    (void)dlb_sleep_until_ns(dlb_now_ns() + PAUSE_NS);
    signal_all(SIGCONT);
    code = code ? code : look_for(link, 2 * DLB_NS_PER_S);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static int lead_through(struct dlb_link *link)
{
    struct dlb_err err;
    struct dlb_message message;
    json_t *command = json_object();
    dlb_meet_reset(link->meet);
    dlb_link_begin(link);
    int code = dlb_link_send(link, DLB_SAY_COMMAND, command, &err) ? 51 : 0;
    json_decref(command);
    code = code ? code : look_for(link, PAUSE_NS + 3 * DLB_NS_PER_S);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    if (code || dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, &err))
        return code ? code : 52;
    uint64_t n_notes = dlb_answers_n_notes(&message);
    free(message.bytes);
    return n_notes >= LEAST_NOTES && n_notes <= MOST_NOTES ? 0 : 53;
}

static void test_pause(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {lead_through, pause_all, last_through};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

/* --- a runner that no CPU has run for longer than the deadline has not hung */

static void on_one_cpu(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)sched_getcpu(), &cpus);
    (void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Beside a process that needs all of its CPU. */
static int starve(struct dlb_link *link)
{
    struct dlb_os_self begun, now;
    int code = begin_next(link);
    on_one_cpu();
    pid_t other = fork();
    if (other == 0) {
        (void)alarm(TEST_S);
        for (;;)
            ;
    }
    (void)setpriority(PRIO_PROCESS, 0, 19); /* many short waits */
    dlb_os_self(&begun);
    do {
        dlb_os_self(&now);
    } while (now.now_ns - begun.now_ns < PAUSE_NS);
    (void)kill(other, SIGKILL);
    (void)waitpid(other, NULL, 0);
    if (now.runqueue_ns - begun.runqueue_ns < DEADLINE_NS)
        code = 60;
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static void test_starved_runner(void **state)
{
    (void)state;
    part_fn *const parts[FAKE_RANKS] = {lead_through, starve, last_through};
    int codes[FAKE_RANKS];
    struct dlb_os_self self;
    dlb_os_self(&self);
    if (self.runqueue_ns == DLB_NOT_MEASURED)
        skip();
    run_ranks(parts, codes);
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello_and_clocks), cmocka_unit_test(test_cells_meet),
        cmocka_unit_test(test_killed_runner),    cmocka_unit_test(test_stopped_runner),
        cmocka_unit_test(test_stopped_speaker),  cmocka_unit_test(test_early_end),
        cmocka_unit_test(test_early_cancel),     cmocka_unit_test(test_pause),
        cmocka_unit_test(test_starved_runner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Speakers and runners of several ranks, with forked processes instead of MPI: commands reach all
 * ranks, cells meet, and a rank that dies or hangs is named. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "scenarios/ranks/speaker.h"
#include "scenarios/ranks/team.h"
#include "tests/support/fake_ranks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEADLINE_NS DLB_NS_PER_S
#define TEST_S 60 /* for a test that hangs */

/* What one rank's runner does; the exit code says how it went: 0 is fine. */
typedef int part_fn(struct dlb_link *link);

/* In a process of its own: the speaker of a rank, and its runner. */
static _Noreturn void be_rank(uint32_t rank, part_fn *part)
{
    static const struct dlb_launcher launcher = {.name = "test", .size = FAKE_RANKS};
    struct dlb_link link;
    struct dlb_err err;
    int fd = -1, status = 0;
    fake_rank = rank;
    (void)alarm(TEST_S);
    if (dlb_link_make(&link, &fd, &err))
        _exit(90);
    pid_t runner = fork();
    if (runner == 0) {
        (void)close(fd);
        (void)alarm(TEST_S);
        int code = dlb_link_join(&link, &err) ? 91 : part(&link);
        if (link.rank == 0)
            (void)dlb_link_send(&link, DLB_SAY_END, NULL, &err);
        _exit(code);
    }
    (void)close(link.fd);
    const struct dlb_speaker_how how = {.launcher = &launcher,
                                        .ranks = &fake_ranks,
                                        .fd = fd,
                                        .meet = link.meet,
                                        .runner = runner,
                                        .deadline_ns = DEADLINE_NS};
    int rc = dlb_speaker_run(&how, &status, &err);
    /* As a launcher would, once rank 0 has aborted. */
    for (int i = 0; rc && rank > 0 && i < 100 && atomic_load(&fake->n_aborted) == 0; i++)
        (void)dlb_sleep_until_ns(dlb_now_ns() + 50 * DLB_NS_PER_MS);
    if (rc && rank == 0)
        atomic_fetch_add(&fake->n_aborted, 1);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 92);
}

/* The exit codes of the ranks; a rank that waits for its abort is killed when rank 0 has ended. */
static void run_ranks(part_fn *const parts[FAKE_RANKS], int codes[FAKE_RANKS])
{
    pid_t pids[FAKE_RANKS];
    int status = 0;
    fake_begin();
    for (uint32_t i = 0; i < FAKE_RANKS; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be_rank(i, parts[i]);
    }
    assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
    codes[0] = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    bool aborted = atomic_load(&fake->n_aborted) > 0;
    for (uint32_t i = 1; i < FAKE_RANKS; i++) {
        if (aborted)
            (void)kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    }
    fake_end();
}

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

static int meet_often(struct dlb_link *link)
{
    struct dlb_err err;
    struct dlb_message message;
    uint32_t n_late = 0;
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
    rc = dlb_link_await(link, DLB_SAY_ANSWERS, &message, &err);
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
    while (!dlb_link_look(link) && dlb_now_ns() - start_ns < 10 * DLB_NS_PER_S)
        (void)dlb_sleep_until_ns(dlb_now_ns() + 20 * DLB_NS_PER_MS);
    if (dlb_link_await(link, DLB_SAY_ANSWERS, &message, &err) == DLB_OK)
        return 21;
    if (err.code != DLB_ERR_RANK_LOST || !strstr(err.what, who) || !atomic_load(&link->cancel))
        return 22;
    return dlb_now_ns() - start_ns < 10 * DLB_NS_PER_S ? 0 : 23;
}

static int expect_killed(struct dlb_link *link)
{
    return expect_lost(link, "rank 2 on node2: its runner was killed by SIGKILL");
}

static int expect_silent(struct dlb_link *link)
{
    return expect_lost(link, "rank 1 on node1");
}

static int take_command(struct dlb_link *link)
{
    struct dlb_message message;
    if (!dlb_message_receive(link->fd, &message))
        return 30;
    free(message.bytes);
    while (!dlb_link_look(link)) /* as a runner that watches a cell */
        (void)dlb_sleep_until_ns(dlb_now_ns() + 50 * DLB_NS_PER_MS);
    return 0;
}

static int die(struct dlb_link *link)
{
    struct dlb_message message;
    (void)dlb_message_receive(link->fd, &message);
    (void)kill(getpid(), SIGKILL);
    return 31;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello_and_clocks), cmocka_unit_test(test_cells_meet),
        cmocka_unit_test(test_killed_runner),    cmocka_unit_test(test_stopped_runner),
        cmocka_unit_test(test_stopped_speaker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

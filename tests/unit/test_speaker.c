/* Speakers and runners of several ranks, with forked processes instead of MPI: commands reach all
 * ranks, cells meet, and a rank that dies or hangs is named. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "scenarios/ranks/team.h"
#include "tests/support/fake_job.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    while (!dlb_link_look(link) && dlb_now_ns() - start_ns < 15 * DLB_NS_PER_S)
        (void)dlb_sleep_until_ns(dlb_now_ns() + 20 * DLB_NS_PER_MS);
    if (dlb_link_await(link, DLB_SAY_ANSWERS, &message, &err) == DLB_OK)
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

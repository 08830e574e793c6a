/* How commands and jobs of several ranks end, with forked processes instead of MPI: a cancel
 * reaches all, whenever it comes; the rank that is lost is named, and no other; nothing is left. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "scenarios/ranks/team.h"
#include "tests/support/fake_job.h"
#include "tests/support/fake_parts.h"
#include "tests/support/folder.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_fine(part_fn *const parts[FAKE_RANKS])
{
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

static void nap_ms(uint64_t ms)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + ms * DLB_NS_PER_MS);
}

static int command(struct dlb_link *link)
{
    struct dlb_err err;
    json_t *doc = json_object();
    dlb_meet_reset(link->meet);
    dlb_link_begin(link);
    int rc = dlb_link_send(link, DLB_SAY_COMMAND, doc, &err);
    json_decref(doc);
    return rc ? 10 : 0;
}

static int await_answers(struct dlb_link *link, const atomic_bool *cancel)
{
    struct dlb_err err;
    struct dlb_message message;
    int rc = dlb_link_await(link, DLB_SAY_ANSWERS, cancel, &message, &err);
    free(message.bytes);
    return rc ? 11 : 0;
}

/* Works at a command until it is told to end. */
static int work_until_cancel(struct dlb_link *link)
{
    int code = begin_next(link);
    for (int i = 0; !code && !atomic_load(&link->cancel) && i < 300; i++)
        nap_ms(10);
    if (!code && !atomic_load(&link->cancel))
        return 12;
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

/* --- rank 0's runner fails before its speaker has told the others what to do */

static int fail_at_once(struct dlb_link *link)
{
    (void)kill(getppid(), SIGSTOP); /* so that it reads both at once */
    nap_ms(50);
    int code = command(link);
    code = code ? code : answer_as(link, DLB_SAY_FAILED);
    (void)kill(getppid(), SIGCONT);
    return code ? code : await_answers(link, NULL);
}

static void test_early_failure(void **state)
{
    (void)state;
    expect_fine((part_fn *const[]){fail_at_once, work_until_cancel, work_until_cancel});
}

/* --- a rank fails before the command has reached another one */

static int do_nothing(struct dlb_link *link)
{
    int code = command(link);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_answers(link, NULL);
}

static int fail_next(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : answer_as(link, DLB_SAY_FAILED);
    return code ? code : await_end(link);
}

static int hear_late(struct dlb_link *link)
{
    atomic_store(&fake->late_ms[link->rank], 500);
    return work_until_cancel(link);
}

static void test_cancel_ahead(void **state)
{
    (void)state;
    expect_fine((part_fn *const[]){do_nothing, fail_next, hear_late});
}

/* --- the user wants an end when rank 0 has done its part, and the others have not */

static int interrupted_while_waiting(struct dlb_link *link)
{
    atomic_bool wants = true;
    int code = command(link);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_answers(link, &wants);
}

static void test_interrupt_at_the_end(void **state)
{
    (void)state;
    expect_fine(
        (part_fn *const[]){interrupted_while_waiting, work_until_cancel, work_until_cancel});
}

static int answer_next(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

/* --- SIGHUP, which nohup had ignored when the job began */

static int hang_up(struct dlb_link *link)
{
    int code = begin_next(link);
    (void)kill(getppid(), SIGHUP);
    nap_ms(300);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static void test_nohup(void **state)
{
    (void)state;
    (void)signal(SIGHUP, SIG_IGN);
    expect_fine((part_fn *const[]){do_nothing, hang_up, answer_next});
    (void)signal(SIGHUP, SIG_DFL);
}

/* --- a scheduler's SIGTERM to a runner and its cell, which ends at once: rank 0's runner hears
 * that the job is to end before it gets the answers */

static int end_at_once(struct dlb_link *link)
{
    int code = begin_next(link);
    (void)kill(getpid(), SIGTERM);
    if (!code && !atomic_load(&link->cancel))
        return 21;
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static volatile sig_atomic_t n_asked;

static void on_asked(int number)
{
    (void)number;
    n_asked = n_asked + 1;
}

static int hear_interrupt(struct dlb_link *link)
{
    (void)signal(SIGTERM, on_asked);
    int code = do_nothing(link);
    return code ? code : n_asked == 1 ? 0 : 22;
}

static void test_scheduler(void **state)
{
    (void)state;
    expect_fine((part_fn *const[]){hear_interrupt, end_at_once, answer_next});
}

/* --- rank 2 is lost while rank 0's runner does something else for longer than the deadline */

static int look_up_late(struct dlb_link *link)
{
    struct dlb_err err;
    int code = command(link);
    nap_ms(DEADLINE_NS / DLB_NS_PER_MS + 3000);
    if (code || !dlb_link_look(link))
        return 13;
    (void)dlb_link_send(link, DLB_SAY_ANSWER, NULL, &err);
    bool named = strstr(err.what, "rank 2 on node2") && strstr(err.what, "SIGKILL");
    _exit(err.code == DLB_ERR_RANK_LOST && named ? 14 : 15); /* as one that has said it */
}

static void test_lost_meanwhile(void **state)
{
    (void)state;
    part_fn *const parts[] = {look_up_late, take_command, die};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_int_equal(codes[0], 14);
    assert_int_equal(job_gave_up, 0);
    assert_string_equal(job_why, ""); /* its runner has said it */
}

/* --- rank 0's runner dies of it: its speaker names the rank */

static int die_when_told(struct dlb_link *link)
{
    int code = command(link);
    while (!code && !dlb_link_look(link))
        nap_ms(20);
    (void)kill(getpid(), SIGKILL);
    return code;
}

static void test_lost_and_not_said(void **state)
{
    (void)state;
    part_fn *const parts[] = {die_when_told, take_command, die};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_non_null(strstr(job_why, "rank 2 on node2"));
    assert_non_null(strstr(job_why, "SIGKILL"));
}

/* --- rank 0's runner ends by itself within a command */

static int leave(struct dlb_link *link)
{
    (void)command(link);
    nap_ms(200);
    _exit(7);
}

static void test_own_end(void **state)
{
    (void)state;
    part_fn *const parts[] = {leave, take_command, take_command};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_non_null(strstr(job_why, "rank 0 on node0"));
}

/* --- a speaker that has said why, and has ended */

static void test_last_words(void **state)
{
    static const char why[] = "rank 9 on node9: gone";
    struct dlb_link link;
    struct dlb_err err;
    int fd = -1;
    (void)state;
    assert_int_equal(dlb_link_make(&link, &fd, &err), DLB_OK);
    assert_true(dlb_message_send(fd, DLB_SAY_LOST, why, strlen(why)));
    assert_int_equal(close(fd), 0);
    assert_int_equal(dlb_link_send(&link, DLB_SAY_ANSWER, NULL, &err), DLB_E_WORKER);
    assert_string_equal(err.what, why);
    assert_true(atomic_load(&link.cancel));
    (void)close(link.fd);
}

/* --- a rank whose loop has ended, and whose cell takes its time, does not hold up the others */

#define TEARDOWN_MS 2500

static int meet_once(struct dlb_link *link)
{
    dlb_meet_ask(link->meet, dlb_now_ns(), 0);
    return dlb_meet_wait(link->meet, NULL) ? 0 : 16;
}

static int step_on(struct dlb_link *link)
{
    int code = meet_once(link);
    uint64_t start_ns = dlb_now_ns();
    for (int i = 0; i < 5 && !code; i++)
        code = meet_once(link);
    if (!code && dlb_now_ns() - start_ns > TEARDOWN_MS / 2 * DLB_NS_PER_MS)
        return 17;
    dlb_meet_end(link->meet, true);
    return code ? code : answer_as(link, DLB_SAY_ANSWER);
}

static int lead_steps(struct dlb_link *link)
{
    int code = command(link);
    code = code ? code : step_on(link);
    return code ? code : await_answers(link, NULL);
}

static int follow_steps(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : step_on(link);
    return code ? code : await_end(link);
}

static int end_first(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : meet_once(link);
    dlb_meet_end(link->meet, true);
    nap_ms(TEARDOWN_MS);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static void test_loop_ends_early(void **state)
{
    (void)state;
    expect_fine((part_fn *const[]){lead_steps, follow_steps, end_first});
}

/* --- without a barrier a rank that has measured hears when all have, or if one has ended without
 */

#define MEASURED_MS 300

/* The last rank measures for so much longer, or ends without it. */
static int measure_all(struct dlb_link *link, bool ends)
{
    struct dlb_meet *meet = link->meet;
    int code = meet_once(link);
    uint64_t start_ns = dlb_now_ns();
    if (link->rank == FAKE_RANKS - 1)
        nap_ms(MEASURED_MS);
    if (!ends)
        dlb_meet_ask_measured(meet);
    if (code || dlb_meet_waits(meet) || (!ends && !dlb_meet_wait(meet, NULL)))
        return code ? code : 50;
    if (dlb_now_ns() - start_ns < MEASURED_MS / 2 * DLB_NS_PER_MS)
        return 51;
    dlb_meet_end(meet, !ends);
    /* No step was met. */
    bool none = meet->n_rounds == 0 && meet->wait_ns == 0 && meet->cost.count == 0;
    code = answer_as(link, DLB_SAY_ANSWER);
    return code ? code : none ? 0 : 52;
}

static int lead_measured(struct dlb_link *link)
{
    int code = command(link);
    code = code ? code : measure_all(link, false);
    bool alone = link->meet->alone;
    code = code ? code : await_answers(link, NULL);
    return code ? code : alone ? 60 : 0;
}

static int follow_measured(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : measure_all(link, false);
    return code ? code : await_end(link);
}

static int follow_unmeasured(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : measure_all(link, true);
    return code ? code : await_end(link);
}

static void test_all_measured(void **state)
{
    (void)state;
    expect_fine((part_fn *const[]){lead_measured, follow_measured, follow_measured});
}

static void test_one_ends_unmeasured(void **state)
{
    (void)state;
    part_fn *const parts[] = {lead_measured, follow_measured, follow_unmeasured};
    int codes[FAKE_RANKS];
    run_ranks(parts, codes);
    assert_int_equal(codes[0], 60);
    assert_int_equal(codes[1] + codes[2], 0);
}

/* --- a runner that is killed has its folder removed; one that loses its speaker removes it */

static int kill_next(struct dlb_link *link)
{
    struct dlb_err err;
    json_t *nodes = NULL;
    int code = dlb_team_meet(link, &nodes, &err) ? 18 : 0;
    json_decref(nodes);
    (void)kill(atomic_load(&fake->runner[1]), SIGKILL);
    code = code ? code : command(link);
    while (!code && !dlb_link_look(link))
        nap_ms(20);
    return code ? code : 19;
}

static int follow(struct dlb_link *link)
{
    struct dlb_err err;
    return dlb_team_follow(link, &err) ? 20 : 0;
}

static int count_entries(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

static void test_scratch(void **state)
{
    (void)state;
    part_fn *const parts[] = {kill_next, follow, follow};
    int codes[FAKE_RANKS];
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    run_ranks(parts, codes);
    assert_int_equal(codes[0], 19);
    for (int i = 0; i < 50 && count_entries() > 0; i++)
        nap_ms(100);
    assert_int_equal(count_entries(), 0);
}

/* --- a rank is lost before this runner has joined */

static void test_lost_early(void **state)
{
    static const char who[] = "rank 2 on node2: its runner was killed by SIGKILL";
    static struct dlb_link link;
    struct dlb_err err;
    int fd = -1;
    (void)state;
    assert_int_equal(dlb_link_make(&link, &fd, &err), DLB_OK);
    assert_true(dlb_message_send(fd, DLB_SAY_LOST, who, strlen(who)));
    assert_int_equal(dlb_link_join(&link, &err), DLB_E_WORKER);
    assert_int_equal(err.code, DLB_ERR_RANK_LOST);
    assert_non_null(strstr(err.what, "rank 2 on node2"));
    assert_true(link.lost);
    (void)close(fd);
    (void)close(link.fd);
    (void)close(link.meet_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_early_failure),
        cmocka_unit_test(test_cancel_ahead),
        cmocka_unit_test(test_interrupt_at_the_end),
        cmocka_unit_test(test_nohup),
        cmocka_unit_test(test_scheduler),
        cmocka_unit_test(test_lost_meanwhile),
        cmocka_unit_test(test_lost_and_not_said),
        cmocka_unit_test(test_own_end),
        cmocka_unit_test(test_last_words),
        cmocka_unit_test(test_loop_ends_early),
        cmocka_unit_test(test_all_measured),
        cmocka_unit_test(test_one_ends_unmeasured),
        cmocka_unit_test_setup_teardown(test_scratch, folder_make, folder_remove),
        cmocka_unit_test(test_lost_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

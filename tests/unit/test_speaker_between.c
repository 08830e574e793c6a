/* Rank 0's runner between two commands, with forked processes instead of MPI: one that works is
 * left alone, one that shows no sign of life is told of, and lost if it is stopped or stays silent.
 */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "tests/support/fake_job.h"
#include "tests/support/fake_parts.h"
#include "tests/support/folder.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static void nap_ms(uint64_t ms)
{
    (void)dlb_sleep_until_ns(dlb_now_ns() + ms * DLB_NS_PER_MS);
}

/* Rank 0: one command for all, which does nothing. */
static int command_all(struct dlb_link *link)
{
    struct dlb_err err;
    struct dlb_message message;
    json_t *doc = json_object();
    dlb_meet_reset(link->meet);
    dlb_link_begin(link);
    int rc = dlb_link_send(link, DLB_SAY_COMMAND, doc, &err);
    json_decref(doc);
    int code = rc ? 10 : answer_as(link, DLB_SAY_ANSWER);
    if (code || dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, &err))
        return code ? code : 11;
    free(message.bytes);
    return 0;
}

static int answer_once(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : await_end(link);
}

static int answer_twice(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    return code ? code : answer_once(link);
}

/* Runs the parts; what they print on stderr: how many lines there name rank 0. */
static int count_notes(part_fn *const parts[FAKE_RANKS], int codes[FAKE_RANKS])
{
    char line[1024];
    int n = 0, kept = dup(2), fd = open(folder_path("err"), O_RDWR | O_CREAT | O_APPEND, 0600);
    assert_true(kept >= 0 && fd >= 0);
    (void)fflush(stderr);
    assert_int_equal(dup2(fd, 2), 2);
    run_ranks(parts, codes);
    assert_int_equal(dup2(kept, 2), 2);
    FILE *file = fopen(folder_path("err"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        n += strstr(line, "rank 0 on node0") != NULL;
    (void)fclose(file);
    (void)close(fd);
    (void)close(kept);
    return n;
}

static void expect_fine(const int codes[FAKE_RANKS])
{
    for (int i = 0; i < FAKE_RANKS; i++)
        assert_int_equal(codes[i], 0);
}

/* --- stopped: lost after the deadline */

/* Beside a program that it started, which works on. */
static int be_stopped(struct dlb_link *link)
{
    int code = command_all(link);
    pid_t parent = getpid(), child = fork();
    while (child == 0 && getppid() == parent)
        nap_ms(100);
    if (child == 0)
        _exit(0);
    (void)kill(getpid(), SIGSTOP);
    return code ? code : 12;
}

static void test_stopped(void **state)
{
    (void)state;
    part_fn *const parts[] = {be_stopped, answer_twice, answer_twice};
    int codes[FAKE_RANKS];
    uint64_t start_ns = dlb_now_ns();
    assert_int_equal(count_notes(parts, codes), 1);
    assert_true(dlb_now_ns() - start_ns < SILENT_NS);
    assert_int_equal(codes[0], 92); /* killed */
    assert_non_null(strstr(job_why, "rank 0 on node0"));
    assert_non_null(strstr(job_why, "stopped by a signal"));
}

/* --- stopped when it has answered, and the answers of all are more than a socket holds */

#define N_MUCH (FAKE_BYTES - 100)

static int send_much(struct dlb_link *link)
{
    struct dlb_err err;
    char *text = calloc(1, N_MUCH + 1);
    int code = begin_next(link);
    if (!text)
        return 14;
    memset(text, 'x', N_MUCH);
    json_t *answer = json_pack("{ss}", "much", text);
    code = code ? code : dlb_link_send(link, DLB_SAY_ANSWER, answer, &err) ? 15 : 0;
    json_decref(answer);
    free(text);
    return code;
}

static int answer_much(struct dlb_link *link)
{
    int code = send_much(link);
    return code ? code : await_end(link);
}

/* Rank 0, which does not read yet what the others answer. */
static int command_early(struct dlb_link *link)
{
    struct dlb_err err;
    json_t *doc = json_object();
    dlb_meet_reset(link->meet);
    dlb_link_begin(link);
    int code = dlb_link_send(link, DLB_SAY_COMMAND, doc, &err) ? 16 : 0;
    json_decref(doc);
    return code ? code : answer_as(link, DLB_SAY_ANSWER);
}

static int stop_early(struct dlb_link *link)
{
    int code = command_early(link);
    (void)kill(getpid(), SIGSTOP);
    return code ? code : 17;
}

static void test_stopped_before_it_reads(void **state)
{
    (void)state;
    part_fn *const parts[] = {stop_early, answer_much, answer_much};
    int codes[FAKE_RANKS];
    assert_int_equal(count_notes(parts, codes), 1);
    assert_int_equal(codes[0], 92); /* killed */
    assert_int_equal(job_gave_up, 0);
    assert_non_null(strstr(job_why, "rank 0 on node0"));
    assert_non_null(strstr(job_why, "stopped by a signal"));
}

/* --- the same, and another rank is lost within the deadline: that one is named */

static int answer_much_and_die(struct dlb_link *link)
{
    int code = send_much(link);
    nap_ms(700); /* by then the answers are on their way */
    (void)kill(getpid(), SIGKILL);
    return code;
}

static void test_lost_before_it_reads(void **state)
{
    (void)state;
    part_fn *const parts[] = {stop_early, answer_much, answer_much_and_die};
    int codes[FAKE_RANKS];
    uint64_t start_ns = dlb_now_ns();
    assert_int_equal(count_notes(parts, codes), 0);
    assert_true(dlb_now_ns() - start_ns < DEADLINE_NS + 6 * DLB_NS_PER_S);
    assert_int_equal(codes[0], 92); /* killed */
    assert_int_equal(job_gave_up, 0);
    assert_non_null(strstr(job_why, "rank 2 on node2"));
    assert_non_null(strstr(job_why, "SIGKILL"));
}

/* --- it reads late, but within a moment: it gets the answers, and then hears which rank is lost */

static int read_late(struct dlb_link *link)
{
    struct dlb_err err;
    struct dlb_message message;
    int code = command_early(link);
    nap_ms(1500);
    if (code || dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, &err))
        return code ? code : 18;
    free(message.bytes);
    while (!dlb_link_look(link))
        nap_ms(20);
    return strstr(link->why.what, "rank 2 on node2") ? 19 : 20;
}

static void test_lost_while_it_is_late(void **state)
{
    (void)state;
    part_fn *const parts[] = {read_late, answer_much, answer_much_and_die};
    int codes[FAKE_RANKS];
    (void)count_notes(parts, codes);
    assert_int_equal(codes[0], 19);
    assert_string_equal(job_why, ""); /* its runner has said it */
}

/* --- slow storage: a note, once, and the job goes on */

static int wait_long(struct dlb_link *link)
{
    int code = command_all(link);
    nap_ms((DEADLINE_NS + 2 * DLB_NS_PER_S) / DLB_NS_PER_MS);
    return code ? code : command_all(link);
}

static void test_slow(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* the sanitizer's own thread shows life */
#endif
    part_fn *const parts[] = {wait_long, answer_twice, answer_twice};
    int codes[FAKE_RANKS];
    assert_int_equal(count_notes(parts, codes), 1);
    expect_fine(codes);
}

/* --- for longer than that it is lost */

static int wait_forever(struct dlb_link *link)
{
    int code = command_all(link);
    for (;;)
        (void)pause();
    return code;
}

static void test_silent(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* as above */
#endif
    part_fn *const parts[] = {wait_forever, answer_twice, answer_twice};
    int codes[FAKE_RANKS];
    uint64_t start_ns = dlb_now_ns();
    (void)count_notes(parts, codes);
    assert_true(dlb_now_ns() - start_ns >= SILENT_NS);
    assert_int_equal(codes[0], 92);
    assert_non_null(strstr(job_why, "rank 0 on node0"));
    assert_null(strstr(job_why, "stopped"));
}

/* --- it waits for another program, which works */

static int wait_for_child(struct dlb_link *link)
{
    int code = command_all(link);
    pid_t child = fork();
    if (child == 0) {
        for (uint64_t ms = 0; ms < SILENT_NS / DLB_NS_PER_MS + 1500; ms += 250)
            nap_ms(250);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
    return code ? code : command_all(link);
}

static void test_working(void **state)
{
    (void)state;
    part_fn *const parts[] = {wait_for_child, answer_twice, answer_twice};
    int codes[FAKE_RANKS];
    assert_int_equal(count_notes(parts, codes), 0);
    expect_fine(codes);
}

/* --- the whole job is stopped for longer than the deadline */

static int work_on(struct dlb_link *link)
{
    int code = command_all(link);
    for (int i = 0; i < 80; i++)
        nap_ms(100);
    return code ? code : command_all(link);
}

static void signal_job(int number)
{
    (void)kill(atomic_load(&fake->runner[0]), number);
    for (int i = 0; i < FAKE_RANKS; i++)
        (void)kill(atomic_load(&fake->speaker[i]), number);
}

static int stop_job(struct dlb_link *link)
{
    int code = begin_next(link);
    code = code ? code : answer_as(link, DLB_SAY_ANSWER);
    nap_ms(1500);
    signal_job(SIGSTOP);
    nap_ms((DEADLINE_NS + 1500 * DLB_NS_PER_MS) / DLB_NS_PER_MS);
    signal_job(SIGCONT);
    return code ? code : answer_once(link);
}

static void test_pause(void **state)
{
    (void)state;
    part_fn *const parts[] = {work_on, stop_job, answer_twice};
    int codes[FAKE_RANKS];
    assert_int_equal(count_notes(parts, codes), 0);
    expect_fine(codes);
}

/* --- a runner that does not read, and is not worth waiting for: an end of file follows */

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void test_not_read(void **state)
{
    const struct dlb_ranks_idle idle = {.idle = never};
    const size_t n_much = 8 << 20;
    struct dlb_link link;
    struct dlb_message message;
    struct dlb_err err;
    int fd = -1;
    char *much = calloc(1, n_much);
    (void)state;
    assert_non_null(much);
    assert_int_equal(dlb_link_make(&link, &fd, &err), DLB_OK);
    uint64_t start_ns = dlb_now_ns();
    assert_true(dlb_message_send_awake(fd, DLB_SAY_LOST, much, 100, &idle));
    assert_false(dlb_message_send_awake(fd, DLB_SAY_ANSWERS, much, n_much, &idle));
    assert_false(dlb_message_send_awake(fd, DLB_SAY_LOST, much, 100, &idle));
    assert_true(dlb_now_ns() - start_ns < 10 * DLB_NS_PER_S);
    assert_true(dlb_message_receive(link.fd, &message));
    assert_int_equal(message.n_bytes, 100);
    free(message.bytes);
    assert_false(dlb_message_receive(link.fd, &message));
    free(much);
    (void)close(fd);
    (void)close(link.fd);
    (void)close(link.meet_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stopped, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_stopped_before_it_reads, folder_make, folder_remove),
        cmocka_unit_test(test_not_read),
        cmocka_unit_test_setup_teardown(test_lost_before_it_reads, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_lost_while_it_is_late, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_slow, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_silent, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_working, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_pause, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A job of FAKE_RANKS ranks, each with a speaker and a runner: processes of this machine that share
 * memory instead of MPI. Header-only. */
#ifndef DLB_TESTS_SUPPORT_FAKE_JOB_H
#define DLB_TESTS_SUPPORT_FAKE_JOB_H

#include "core/base/clock.h"
#include "scenarios/ranks/speaker.h"
#include "tests/support/fake_ranks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

#define DEADLINE_NS (4 * DLB_NS_PER_S) /* ranks tell each second that they live */
#define QUIET_NS (2 * DLB_NS_PER_S)
#define SILENT_NS (8 * DLB_NS_PER_S)
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
    atomic_store(&fake->speaker[rank], getpid());
    (void)alarm(TEST_S);
    if (dlb_link_make(&link, &fd, &err))
        _exit(90);
    link.rank = rank;
    pid_t runner = fork();
    if (runner == 0) {
        (void)close(fd);
        (void)alarm(TEST_S);
        int code = dlb_link_join(&link, &err) ? 91 : part(&link);
        if (link.rank == 0)
            (void)dlb_link_send(&link, DLB_SAY_END, NULL, &err);
        _exit(code);
    }
    atomic_store(&fake->runner[rank], runner);
    (void)close(link.fd);
    const struct dlb_speaker_how how = {.launcher = &launcher,
                                        .ranks = &fake_ranks,
                                        .fd = fd,
                                        .meet = link.meet,
                                        .runner = runner,
                                        .deadline_ns = DEADLINE_NS,
                                        .quiet_ns = QUIET_NS,
                                        .silent_ns = SILENT_NS};
    int rc = dlb_speaker_run(&how, &status, &err);
    if (rc && rank > 0)
        atomic_fetch_add(&fake->n_gave_up, 1);
    else if (rc && rc != DLB_END)
        (void)snprintf(fake->why, sizeof(fake->why), "%s", err.what);
    /* As a launcher would, once rank 0 has aborted. */
    for (int i = 0; rc && rank > 0 && i < 100 && atomic_load(&fake->n_aborted) == 0; i++)
        (void)dlb_sleep_until_ns(dlb_now_ns() + 50 * DLB_NS_PER_MS);
    if (rc && rank == 0)
        atomic_fetch_add(&fake->n_aborted, 1);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 92);
}

/* Of the last job, when rank 0 ended: ranks that had ended it, and the error of rank 0's speaker.
 */
static uint32_t job_gave_up;
static char job_why[512];

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
    (void)snprintf(job_why, sizeof(job_why), "%s", fake->why);
    job_gave_up = atomic_load(&fake->n_gave_up);
    for (uint32_t i = 1; i < FAKE_RANKS; i++) {
        if (aborted)
            (void)kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        codes[i] = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    }
    fake_end();
}

#endif

#include "loaders/device/probe.h"

#include "core/base/clock.h"
#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAP_NS (2 * DLB_NS_PER_S) /* from its last word to its end */

struct answer {
    int rc;
    char name[96];
    struct dlb_err err;
};

__attribute__((noreturn)) static void answer_and_leave(dlb_probe_fn *ask, int to)
{
    struct answer answer = {.err = {.offset_bytes = DLB_NO_OFFSET}};
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (null >= 0) { /* keeps the driver's output off the user's terminal */
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
    }
    answer.rc = ask(answer.name, &answer.err);
    /* Smaller than PIPE_BUF: written whole. */
    _exit(write(to, &answer, sizeof answer) == (ssize_t)sizeof answer ? 0 : 1);
}

static bool read_answer(int from, uint64_t deadline_ns, struct answer *answer, bool *timed_out)
{
    size_t n = 0;
    *timed_out = false;
    while (n < sizeof *answer) {
        uint64_t now_ns = dlb_now_ns();
        struct pollfd wait = {.fd = from, .events = POLLIN};
        struct timespec left = dlb_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
        int ready = ppoll(&wait, 1, &left, NULL);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            *timed_out = ready == 0;
            return false;
        }
        ssize_t got = read(from, (char *)answer + n, sizeof *answer - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    return true;
}

static int no_answer(bool timed_out, bool reaped, int status, uint64_t timeout_ns,
                     struct dlb_err *err)
{
    if (timed_out)
        return dlb_fail(err, DLB_ERR_DRIVER_HANGS, NULL, DLB_NO_OFFSET,
                        "the driver gave no answer within %.1f s; nvidia-smi may tell why",
                        (double)timeout_ns / 1e9);
    if (reaped && WIFSIGNALED(status))
        return dlb_fail(err, DLB_ERR_DRIVER_CRASHED, NULL, DLB_NO_OFFSET,
                        "asking the driver ended by signal %d (%s); nvidia-smi may tell why",
                        WTERMSIG(status), strsignal(WTERMSIG(status)));
    return dlb_fail(err, DLB_ERR_DRIVER_CRASHED, NULL, DLB_NO_OFFSET,
                    "asking the driver ended without an answer; nvidia-smi may tell why");
}

int dlb_device_probe(dlb_probe_fn *ask, uint64_t timeout_ns, char name[96], struct dlb_err *err)
{
    struct answer answer;
    int ends[2], status;
    bool timed_out = false;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "asking the driver");
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        answer_and_leave(ask, ends[1]);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "asking the driver");
    }
    bool answered = read_answer(ends[0], dlb_now_ns() + timeout_ns, &answer, &timed_out);
    (void)close(ends[0]);
    bool kills = answered || timed_out; /* it is not needed any more */
    bool reaped =
        kills ? dlb_process_end(pid, 0, &status) : dlb_process_reap(pid, REAP_NS, &status);
    if (!answered)
        return no_answer(timed_out, reaped, status, timeout_ns, err);
    if (answer.rc != DLB_OK) {
        *err = answer.err;
        return answer.rc;
    }
    memcpy(name, answer.name, sizeof answer.name);
    name[sizeof answer.name - 1] = '\0';
    return DLB_OK;
}

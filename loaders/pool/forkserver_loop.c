#include "loaders/pool/forkserver_loop.h"

#include "core/base/clock.h"
#include "core/base/err.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A worker's exit code when it returned from its work. It is not 0, so that a library that calls
 * exit(0) inside a worker is noticed. */
enum { LEFT_IN_ORDER = 87 };

struct server {
    const struct dlb_forkserver_how *how;
    int fd, signal_fd;
    pid_t *pids; /* [n_workers] 0: does not run */
    uint32_t n_running;
    bool killing;
    struct dlb_fork_request pending; /* JOIN or STOP that waits for workers to end */
    bool is_pending;
};

const char *dlb_death_text(int status, char *text, size_t n_text)
{
    if (WIFSIGNALED(status)) {
        int signo = WTERMSIG(status);
        const char *name = sigabbrev_np(signo);
        (void)snprintf(text, n_text, "was killed by SIG%s%s", name ? name : "?",
                       signo == SIGKILL  ? " (out of memory?)"
                       : signo == SIGBUS ? " (a mapped file shrank, or shared memory ran out?)"
                                         : "");
    } else {
        (void)snprintf(text, n_text, "left with exit code %d", WEXITSTATUS(status));
    }
    return text;
}

/* The training process acts on Ctrl-C and the like, and ends its workers itself. */
static void ignore_interrupts(void)
{
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
}

static void name_process(const char *fmt, uint32_t id)
{
    char name[32]; /* the kernel keeps 15 of it */
    (void)snprintf(name, sizeof name, fmt, id);
    (void)prctl(PR_SET_NAME, name);
}

static void die_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_FAILURE); /* it died before the request took effect */
}

static _Noreturn void be_worker(const struct server *s, uint32_t id, uint64_t epoch, pid_t server)
{
    sigset_t none;

    die_with(server);
    name_process("dlb-worker-%u", id);
    (void)close(s->fd); /* else the channel would outlive the server */
    (void)close(s->signal_fd);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    s->how->work(s->how->ctx, id, epoch);
    _exit(LEFT_IN_ORDER);
}

static int spawn(struct server *s, uint64_t epoch, struct dlb_err *err)
{
    pid_t self = getpid();

    for (uint32_t id = 0; id < s->how->n_workers; id++) {
        if (s->pids[id] != 0)
            continue;
        pid_t pid = fork();
        if (pid == 0)
            be_worker(s, id, epoch, self);
        if (pid < 0)
            return dlb_fail(err, DLB_ERR_WORKER_NOT_STARTED, NULL, DLB_NO_OFFSET,
                            "starting worker %u of %u: %s (limit of processes or memory?)", id,
                            s->how->n_workers, strerror(errno));
        s->pids[id] = pid;
        s->n_running++;
    }
    return DLB_OK;
}

static void reap(struct server *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        uint32_t id = 0;
        while (id < s->how->n_workers && s->pids[id] != pid)
            id++;
        if (id == s->how->n_workers)
            continue; /* a child that some library started */
        s->pids[id] = 0;
        s->n_running--;
        bool in_order = WIFEXITED(status) && WEXITSTATUS(status) == LEFT_IN_ORDER;
        if (in_order || s->killing)
            continue;
        char what[96];
        s->how->died(s->how->ctx, id, pid, dlb_death_text(status, what, sizeof what));
    }
}

static void kill_all(struct server *s)
{
    s->killing = true;
    for (uint32_t id = 0; id < s->how->n_workers; id++)
        if (s->pids[id] != 0)
            (void)kill(s->pids[id], SIGKILL);
}

static void reply(struct server *s, const struct dlb_err *err)
{
    if (send(s->fd, err, sizeof *err, MSG_NOSIGNAL) != (ssize_t)sizeof *err)
        _exit(EXIT_FAILURE); /* the training process is gone; the workers die with this process */
    s->is_pending = false;
}

/* Answers the request that is pending; after STOP the server ends. */
static void reply_last(struct server *s, const struct dlb_err *err)
{
    reply(s, err);
    if (s->pending.op == DLB_FORK_STOP)
        _exit(EXIT_SUCCESS);
}

static void not_ended(const struct server *s, struct dlb_err *err)
{
    uint32_t id = 0;
    while (id + 1 < s->how->n_workers && s->pids[id] == 0)
        id++;
    (void)dlb_fail(err, DLB_ERR_WORKER_HANGS, NULL, DLB_NO_OFFSET,
                   "worker %u (pid %d) does not end%s", id, (int)s->pids[id],
                   s->killing ? ", although it was killed" : "");
}

/* Answers the pending request when all workers have ended, or at its deadline. */
static void settle(struct server *s)
{
    struct dlb_err err = {.status = DLB_OK};
    uint64_t now_ns = dlb_now_ns();

    if (!s->is_pending)
        return;
    if (s->n_running == 0) {
        reply_last(s, &err);
    } else if (s->pending.op == DLB_FORK_JOIN ? now_ns >= s->pending.soft_ns
                                              : now_ns >= s->pending.hard_ns) {
        not_ended(s, &err);
        reply_last(s, &err);
    } else if (s->pending.op == DLB_FORK_STOP && now_ns >= s->pending.soft_ns && !s->killing) {
        kill_all(s);
    }
}

static void answer(struct server *s)
{
    struct dlb_fork_request request;
    struct dlb_err err = {.status = DLB_OK};
    ssize_t n = recv(s->fd, &request, sizeof request, 0);

    if (n < 0 && errno == EINTR)
        return;
    if (n != (ssize_t)sizeof request) { /* the other end is closed */
        kill_all(s);
        _exit(EXIT_SUCCESS);
    }
    if (request.op == DLB_FORK_SPAWN) {
        (void)spawn(s, request.epoch, &err);
        reply(s, &err);
    } else {
        s->pending = request;
        s->is_pending = true;
    }
}

static int wait_ms(const struct server *s)
{
    uint64_t now_ns = dlb_now_ns(), until_ns = s->pending.soft_ns;

    if (!s->is_pending)
        return -1;
    if (s->pending.op == DLB_FORK_STOP && s->killing)
        until_ns = s->pending.hard_ns;
    uint64_t ms = until_ns > now_ns ? (until_ns - now_ns) / DLB_NS_PER_MS + 1 : 0;
    return ms > 1000 ? 1000 : (int)ms;
}

_Noreturn void dlb_forkserver_loop(const struct dlb_forkserver_how *how, int fd, pid_t parent)
{
    struct server s = {.how = how, .fd = fd};
    sigset_t child;

    die_with(parent);
    ignore_interrupts();
    name_process("dlb-forkserver", 0);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &child, NULL);
    s.signal_fd = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    s.pids = calloc(how->n_workers, sizeof *s.pids);
    if (s.signal_fd < 0 || !s.pids)
        _exit(EXIT_FAILURE);
    for (;;) {
        struct pollfd wait[] = {{.fd = fd, .events = POLLIN},
                                {.fd = s.signal_fd, .events = POLLIN}};
        (void)poll(wait, 2, wait_ms(&s));
        struct signalfd_siginfo info;
        while (read(s.signal_fd, &info, sizeof info) > 0)
            ;
        reap(&s);
        if (wait[0].revents)
            answer(&s);
        settle(&s);
    }
}

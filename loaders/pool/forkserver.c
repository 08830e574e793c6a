#include "loaders/pool/forkserver.h"

#include "core/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPLY_SLACK_NS DLB_NS_PER_S  /* how late after the request's deadline a reply may come */
#define SPAWN_NS (60 * DLB_NS_PER_S) /* for all forks together; usually milliseconds */

int dlb_forkserver_start(struct dlb_forkserver *server, const struct dlb_forkserver_how *how,
                         struct dlb_err *err)
{
    int ends[2];
    pid_t parent = getpid();

    *server = (struct dlb_forkserver){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "a channel to the fork server");
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        dlb_forkserver_loop(how, ends[1], parent);
    }
    int why = errno;
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return dlb_fail(err, DLB_ERR_WORKER_NOT_STARTED, NULL, DLB_NO_OFFSET,
                        "starting the fork server: %s", strerror(why));
    }
    *server = (struct dlb_forkserver){.pid = pid, .fd = ends[0]};
    return DLB_OK;
}

/* Waits until the server has ended, or until the deadline. True when it was reaped. */
static bool reap_server(struct dlb_forkserver *server, uint64_t deadline_ns, int *status)
{
    for (;;) {
        pid_t got = waitpid(server->pid, status, WNOHANG);
        if (got == server->pid || (got < 0 && errno == ECHILD))
            return true;
        if (dlb_now_ns() >= deadline_ns)
            return false;
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    }
}

static int lost(struct dlb_forkserver *server, struct dlb_err *err)
{
    char how[96] = "does not answer";
    int status = 0;

    if (server->pid == 0)
        return dlb_fail(err, DLB_ERR_FORKSERVER_DIED, NULL, DLB_NO_OFFSET,
                        "the fork server has ended");
    pid_t pid = server->pid;
    if (reap_server(server, dlb_now_ns() + REPLY_SLACK_NS, &status)) {
        (void)dlb_death_text(status, how, sizeof how);
        server->pid = 0;
        (void)close(server->fd);
        server->fd = -1;
    }
    return dlb_fail(err, DLB_ERR_FORKSERVER_DIED, NULL, DLB_NO_OFFSET,
                    "the fork server (pid %d) %s", (int)pid, how);
}

/* Waits until the socket has something to read or was closed; false at the deadline. */
static bool readable(int fd, uint64_t deadline_ns)
{
    for (;;) {
        uint64_t now_ns = dlb_now_ns();
        uint64_t left_ms = deadline_ns > now_ns ? (deadline_ns - now_ns) / DLB_NS_PER_MS + 1 : 0;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int n = poll(&wait, 1, left_ms > 1000 ? 1000 : (int)left_ms);
        if (n > 0)
            return true;
        if (left_ms == 0)
            return false;
    }
}

static bool tell(const struct dlb_forkserver *server, const struct dlb_fork_request *request)
{
    return send(server->fd, request, sizeof *request, MSG_NOSIGNAL) == (ssize_t)sizeof *request;
}

static int hear(struct dlb_forkserver *server, uint64_t deadline_ns, struct dlb_err *err)
{
    struct dlb_err reply;

    if (!readable(server->fd, deadline_ns + REPLY_SLACK_NS) ||
        recv(server->fd, &reply, sizeof reply, 0) != (ssize_t)sizeof reply)
        return lost(server, err);
    if (reply.status != DLB_OK)
        *err = reply;
    return (int)reply.status;
}

static int ask(struct dlb_forkserver *server, const struct dlb_fork_request *request,
               uint64_t deadline_ns, struct dlb_err *err)
{
    if (server->pid == 0 || !tell(server, request))
        return lost(server, err);
    return hear(server, deadline_ns, err);
}

int dlb_forkserver_join(struct dlb_forkserver *server, uint64_t deadline_ns, struct dlb_err *err)
{
    struct dlb_fork_request request = {.op = DLB_FORK_JOIN, .soft_ns = deadline_ns};
    return ask(server, &request, deadline_ns, err);
}

int dlb_forkserver_spawn(struct dlb_forkserver *server, uint64_t epoch, struct dlb_err *err)
{
    struct dlb_fork_request request = {.op = DLB_FORK_SPAWN, .epoch = epoch};
    return ask(server, &request, dlb_now_ns() + SPAWN_NS, err);
}

int dlb_forkserver_check(struct dlb_forkserver *server, struct dlb_err *err)
{
    struct pollfd look = {.fd = server->fd};

    if (server->pid == 0 || (poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR))))
        return lost(server, err);
    return DLB_OK;
}

void dlb_forkserver_dismiss(struct dlb_forkserver *server, uint64_t soft_ns, uint64_t hard_ns)
{
    struct dlb_fork_request request = {.op = DLB_FORK_STOP, .soft_ns = soft_ns, .hard_ns = hard_ns};

    if (server->pid == 0 || server->hard_ns != 0)
        return;
    server->hard_ns = hard_ns;
    (void)tell(server, &request); /* if the server is gone, waiting for its answer finds that out */
}

int dlb_forkserver_stop(struct dlb_forkserver *server, struct dlb_err *err)
{
    int status = 0;

    if (server->pid == 0)
        return DLB_OK;
    int rc = hear(server, server->hard_ns, err);
    if (server->pid ==
        0) /* it had died before, and its workers with it; that was reported when it was found */
        return DLB_OK;
    (void)close(server->fd); /* which also ends it */
    server->fd = -1;
    if (!reap_server(server, dlb_now_ns() + REPLY_SLACK_NS, &status)) {
        (void)kill(server->pid, SIGKILL);
        if (!reap_server(server, dlb_now_ns() + REPLY_SLACK_NS, &status))
            return dlb_fail(err, DLB_ERR_WORKER_HANGS, NULL, DLB_NO_OFFSET,
                            "the fork server (pid %d) does not end", (int)server->pid);
    }
    server->pid = 0;
    return rc;
}

#include "core/base/apart.h"

#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/base/mem.h"
#include "core/base/process.h"
#include "core/base/sandbox.h"
#include "core/base/told.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MS = 1000 };
enum { SIGN = 1, DONE = 2 }; /* bytes that a child sends before its result */

static int sign_fd = -1; /* in a child whose work may give signs: its pipe */

static bool say(int fd, const char *data, size_t n_bytes)
{
    struct dlb_err ignored;
    return dlb_write_all(fd, NULL, data, n_bytes, &ignored) == DLB_OK;
}

/* Whether there is something to read, or the end. */
static bool wait_for(struct dlb_pipe *pipe)
{
    const struct dlb_apart *how = pipe->how;
    uint64_t n_ticks = 0, cut_ns = 0; /* ticks, not time: both sides may have been stopped */

    for (;;) {
        uint64_t start_ns = dlb_now_ns();
        int ready = poll(&(struct pollfd){.fd = pipe->fd, .events = POLLIN}, 1, TICK_MS);
        pipe->cancelled = how->cancel && atomic_load(how->cancel);
        if (pipe->cancelled || (ready < 0 && errno != EINTR))
            return false;
        if (ready > 0)
            return true;
        cut_ns += ready < 0 ? dlb_now_ns() - start_ns : 0; /* a signal ended the wait */
        if (ready == 0 || cut_ns >= TICK_MS * DLB_NS_PER_MS) {
            n_ticks++;
            cut_ns = 0;
        }
        pipe->late = how->patience_s && n_ticks > how->patience_s;
        if (pipe->late)
            return false;
        if (ready == 0 && how->waiting)
            how->waiting(how->ctx);
    }
}

static bool hear(struct dlb_pipe *pipe, char *data, size_t n_bytes)
{
    for (size_t done = 0; done < n_bytes;) {
        if (!wait_for(pipe))
            return false;
        ssize_t n = read(pipe->fd, data + done, n_bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        pipe->ended = n == 0;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool dlb_pass(struct dlb_pipe *pipe, void *data, size_t n_bytes)
{
    return pipe->tells ? say(pipe->fd, data, n_bytes) : hear(pipe, data, n_bytes);
}

bool dlb_pass_array(struct dlb_pipe *pipe, void **array, uint64_t n, size_t each_bytes)
{
    if (n == 0)
        return true;
    if (n > SIZE_MAX / each_bytes)
        return false;
    if (!pipe->tells)
        *array = malloc(n * each_bytes);
    return *array && dlb_pass(pipe, *array, n * each_bytes);
}

void dlb_apart_sign(void)
{
    const char sign = SIGN;
    if (sign_fd >= 0)
        (void)say(sign_fd, &sign, 1); /* fails only when the parent has ended */
}

static _Noreturn void child(const struct dlb_apart *how, int fd, pid_t parent)
{
    static const int fatal[] = {SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM, SIGHUP};
    struct dlb_pipe pipe = {.fd = fd, .tells = true, .how = how};
    struct dlb_err err = {.status = DLB_OK};

    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    if (getppid() != parent)
        _exit(1);
    dlb_mem_at_exhaustion(NULL, NULL);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (fatal[i] != SIGHUP || !dlb_signal_is_ignored(SIGHUP)) /* nohup's */
            (void)signal(fatal[i], SIG_DFL);
    if (how->sandboxed)
        (void)dlb_sandbox_reader(); /* `dlbench doctor` says what it returns */
    sign_fd = how->most_signs ? fd : -1;
    int rc = how->work(how->ctx, &err);
    sign_fd = -1;
    err.status = (enum dlb_status)rc;
    char done = DONE;
    bool said = dlb_pass(&pipe, &done, 1) && dlb_pass(&pipe, &err, sizeof err);
    if (said && rc == DLB_OK)
        said = how->pass(how->ctx, &pipe);
    _exit(said ? 0 : 1);
}

/* Until the work is done. */
static bool hear_signs(struct dlb_pipe *pipe)
{
    char byte = 0;

    for (uint64_t n_signs = 0; dlb_pass(pipe, &byte, 1) && byte == SIGN; n_signs++) {
        pipe->endless = n_signs >= pipe->how->most_signs;
        if (pipe->endless)
            return false;
    }
    return byte == DONE;
}

static bool listen_to(struct dlb_pipe *pipe, struct dlb_err *told)
{
    if (!hear_signs(pipe) || !dlb_pass(pipe, told, sizeof *told) || !dlb_told_err(told))
        return false;
    return told->status != DLB_OK || pipe->how->pass(pipe->how->ctx, pipe);
}

/* One that is silent, interrupted, or talks nonsense is killed; others end by themselves. */
static bool end_child(const struct dlb_pipe *pipe, pid_t pid, bool heard, int *status)
{
    uint64_t patience_s = pipe->how->patience_s;
    uint64_t limit_ns = patience_s ? patience_s * DLB_NS_PER_S : DLB_NO_LIMIT;
    bool ends = heard || (pipe->ended && !pipe->late && !pipe->cancelled);

    return (ends && dlb_process_reap(pid, limit_ns, status)) || dlb_process_end(pid, 0, status);
}

static int conclude(const struct dlb_pipe *pipe, pid_t pid, bool heard, struct dlb_err *err)
{
    const struct dlb_apart *how = pipe->how;
    const char *doing = how->doing ? how->doing : "opening it";
    int status;

    bool gone = end_child(pipe, pid, heard, &status);
    if (heard)
        return DLB_OK;
    if (pipe->cancelled)
        return dlb_fail(err, DLB_ERR_CANCELLED, how->path, DLB_NO_OFFSET, "interrupted while %s",
                        doing);
    if (pipe->late)
        return dlb_fail(err, DLB_ERR_CHILD_HANGS, how->path, DLB_NO_OFFSET,
                        "%s was silent for %u s while %s: the file is damaged, or its "
                        "storage hangs",
                        how->who, how->patience_s, doing);
    if (pipe->endless)
        return dlb_fail(err, DLB_ERR_CHILD_HANGS, how->path, DLB_NO_OFFSET,
                        "%s did not come to an end while %s: the file is damaged, or hostile",
                        how->who, doing);
    if (gone && WIFEXITED(status) && WEXITSTATUS(status) == DLB_MEM_EXIT)
        return dlb_fail(err, DLB_ERR_NOMEM, how->path, DLB_NO_OFFSET,
                        "%s ran out of memory while %s", how->who, doing);
    if (!gone || !WIFSIGNALED(status) || !pipe->ended)
        return dlb_fail(err, DLB_ERR_CHILD_GAVE_UP, how->path, DLB_NO_OFFSET,
                        "%s gave up on %s: the file is damaged", how->who, doing);
    if (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGHUP)
        return dlb_fail(err, DLB_ERR_CANCELLED, how->path, DLB_NO_OFFSET, "interrupted");
    (void)dlb_fail(err, DLB_ERR_CHILD_CRASHED, how->path, DLB_NO_OFFSET,
                   WTERMSIG(status) == SIGKILL
                       ? "%s was killed (%s) while %s: out of memory?"
                       : "%s crashed (%s) while %s: the file is damaged, or hostile",
                   how->who, strsignal(WTERMSIG(status)), doing);
    err->lib_code = WTERMSIG(status);
    return (int)err->status;
}

int dlb_apart(const struct dlb_apart *how, struct dlb_err *err)
{
    struct dlb_err told = {.status = DLB_OK};
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return dlb_fail_errno(err, how->path, DLB_NO_OFFSET, "a pipe to look at it through");
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        child(how, ends[1], parent);
    }
    if (pid < 0)
        (void)dlb_fail_errno(err, how->path, DLB_NO_OFFSET, "a process to look at it in");
    (void)close(ends[1]);
    struct dlb_pipe pipe = {.fd = ends[0], .how = how};
    bool heard = pid > 0 && listen_to(&pipe, &told);
    (void)close(ends[0]); /* so that a child that still writes gets an error and ends */
    int rc = pid > 0 ? conclude(&pipe, pid, heard, err) : (int)err->status;
    if (rc == DLB_OK && told.status != DLB_OK) {
        *err = told;
        rc = (int)told.status;
    }
    return rc;
}

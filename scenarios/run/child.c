#include "scenarios/run/child.h"

#include "core/base/escape.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/pause.h"
#include "core/base/pulse.h"
#include "core/base/say.h"
#include "core/host/stuck.h"
#include "scenarios/run/child_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_MS 200
/* At the limit the child itself names the stuck worker, if it can. So it is killed a little
 * later. */
#define SPARE_NS (30 * DLB_NS_PER_S)
/* Time between interrupt and kill: longer than loaders and fork servers take to end their
 * workers, so that the child can report its measurements. */
#define GRACE_NS (15 * DLB_NS_PER_S)
#define PAUSE_TOLD_NS (5 * DLB_NS_PER_S) /* so long a pause is worth a note */
#define RESULT_MAX_BYTES (64u << 20)
#define PATH_SHOWN 300 /* bytes of a path; its end is in the configuration */

struct child {
    char spec[PATH_MAX], result[PATH_MAX], log_path[PATH_MAX];
    pid_t pid;
    int pidfd, beat_fd;
    struct dlb_child_log log;
    struct dlb_pulse *pulse;
};

static int fill_path(char out[PATH_MAX], const char *folder, const char *name, struct dlb_err *err)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    if (n < 0 || n >= PATH_MAX)
        return dlb_fail(err, DLB_ERR_SCRATCH_PATH_TOO_LONG, folder, DLB_NO_OFFSET,
                        "path is too long");
    return DLB_OK;
}

static int prepare(const struct dlb_child *how, struct child *c, struct dlb_err *err)
{
    int rc = fill_path(c->spec, how->scratch, "spec.json", err);
    if (!rc)
        rc = fill_path(c->result, how->scratch, "result.json", err);
    if (!rc)
        rc = fill_path(c->log_path, how->scratch, "log.txt", err);
    if (rc)
        return rc;
    char *text = dlb_mem_check(json_dumps(how->config, JSON_INDENT(1)));
    rc = dlb_write_file_atomic(c->spec, text, strlen(text), err);
    free(text);
    if (rc)
        return rc;
    (void)unlink(c->result);
    c->log.fd = dlb_open_writing(c->log_path, O_RDWR | O_TRUNC, 0600);
    if (c->log.fd < 0)
        return dlb_fail_errno(err, c->log_path, DLB_NO_OFFSET, "cannot write");
    c->beat_fd = memfd_create("dlbench-heartbeat", MFD_CLOEXEC);
    if (c->beat_fd < 0 || ftruncate(c->beat_fd, (off_t)sizeof(*c->pulse)))
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot make shared memory");
    c->pulse = mmap(NULL, sizeof(*c->pulse), PROT_READ | PROT_WRITE, MAP_SHARED, c->beat_fd, 0);
    if (c->pulse == MAP_FAILED) {
        c->pulse = NULL;
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot map shared memory");
    }
    c->pulse->stall_ns = how->stall_ns;
    return DLB_OK;
}

/* In the forked child: only async-signal-safe calls, until it is another program. */
static _Noreturn void become(const struct dlb_child *how, const struct child *c, pid_t parent,
                             char *const argv[])
{
    sigset_t none;
    sigemptyset(&none);
    (void)setpgid(0, 0); /* the terminal's Ctrl-C is the parent's to hand on */
    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    if (getppid() != parent)
        _exit(127);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    int null_fd = open("/dev/null", O_RDONLY);
    if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(c->log.fd, 1) < 0 || dup2(c->log.fd, 2) < 0 ||
        fcntl(c->beat_fd, F_SETFD, 0) < 0 ||
        (how->meet_fd > 0 && fcntl(how->meet_fd, F_SETFD, 0) < 0))
        _exit(127);
    execv(how->exe, argv);
    static const char words[] = "the program itself cannot be started\n";
    if (write(2, words, sizeof(words) - 1) < 0)
        _exit(126);
    _exit(127);
}

/* execv does not change its words, but its prototype lacks const. */
static size_t add_words(char **argv, size_t n, const char *const *words)
{
    for (size_t i = 0; words && words[i]; i++)
        argv[n++] = (char *)(uintptr_t)words[i];
    return n;
}

static int start(const struct dlb_child *how, struct child *c, struct dlb_err *err)
{
    char beat_fd[16], meet_fd[16];
    (void)snprintf(beat_fd, sizeof(beat_fd), "%d", c->beat_fd);
    (void)snprintf(meet_fd, sizeof(meet_fd), "%d", how->meet_fd);
    const char *const files[] = {"--spec", c->spec, "--result", c->result, NULL};
    const char *const beat[] = {"--heartbeat-fd", beat_fd, NULL};
    const char *const meet[] = {"--meet-fd", meet_fd, NULL};
    char *argv[2 * DLB_CHILD_MAX_WORDS + 10] = {NULL};
    size_t n = add_words(argv, 0, how->lead);
    n = add_words(argv, n, files);
    n = add_words(argv, n, how->tail);
    n = add_words(argv, n, beat);
    if (how->meet_fd > 0)
        (void)add_words(argv, n, meet);
    pid_t parent = getpid();
    c->pid = fork();
    if (c->pid < 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot start a process");
    if (c->pid == 0)
        become(how, c, parent, argv);
    c->pulse->pid = c->pid;
    (void)setpgid(c->pid, c->pid); /* parent and child both call it: either may run first */
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0U);
    return DLB_OK;
}

/* Sleeps until the child ends, a signal comes or a tick has passed; whether it has ended. */
static bool ended(const struct child *c, int *status)
{
    struct pollfd wait = {.fd = c->pidfd, .events = POLLIN};
    (void)poll(&wait, c->pidfd >= 0 ? 1 : 0, c->pidfd >= 0 ? TICK_MS : TICK_MS / 10);
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid != c->pid)
        return false;
    /* The child is not reaped yet, so its group number is not reused. Processes that it started
     * must not outlive it. */
    (void)kill(-c->pid, SIGKILL);
    return waitpid(c->pid, status, 0) == c->pid;
}

static void kill_group(const struct child *c, int signo)
{
    if (kill(-c->pid, signo))
        (void)kill(c->pid, signo);
}

static bool is_cancelled(const struct dlb_child *how)
{
    return how->cancel && atomic_load(how->cancel);
}

/* How a child ended that has no result to be believed. */
struct end {
    int status;
    bool stalled;                /* it was killed because it made no progress */
    char stuck[PATH_SHOWN + 48]; /* ... and what it waited in; empty: not known */
    bool cut_short;              /* it ended early, and dlbench had not asked it to */
};

/* At another rank's cell, for which it waits as long as that one's runner does. */
static bool waits_for_others(const struct dlb_child *how)
{
    return how->meet && dlb_meet_waits(how->meet);
}

/* The child was stopped with this process, or this one alone. Its own silence it is not. */
static void take_pause(uint64_t pause_ns, uint64_t now_ns, uint64_t *beat_ns)
{
    *beat_ns = dlb_pause_later(*beat_ns, pause_ns, now_ns);
    if (pause_ns >= PAUSE_TOLD_NS)
        dlb_say_note("this process was stopped for %" PRIu64 " s while it watched a repetition: if "
                     "that was stopped, too, its figures have that time",
                     pause_ns / DLB_NS_PER_S);
}

/* Waits until the child has ended, and kills it if needed. */
static void watch(const struct dlb_child *how, struct child *c, struct end *end)
{
    uint64_t beats = 0, beat_ns = dlb_now_ns(), looked_ns = beat_ns, asked_ns = 0;
    uint64_t spare_ns = how->stall_ns / 2 < SPARE_NS ? how->stall_ns / 2 : SPARE_NS;
    bool killed = false;
    while (!ended(c, &end->status)) {
        uint64_t now_ns = dlb_now_ns(), n = atomic_load(&c->pulse->n_batches);
        uint64_t pause_ns = dlb_pause_ns(looked_ns, now_ns);
        take_pause(pause_ns, now_ns, &beat_ns);
        if (asked_ns != 0)
            asked_ns = dlb_pause_later(asked_ns, pause_ns, now_ns);
        if (n + atomic_load(&c->pulse->n_signs) != beats || waits_for_others(how)) {
            beats = n + atomic_load(&c->pulse->n_signs);
            beat_ns = now_ns;
        }
        dlb_child_log_bound(&c->log);
        if (how->tick)
            how->tick(how->ctx, c->pulse);
        if (is_cancelled(how) && asked_ns == 0) {
            kill_group(c, SIGINT);
            asked_ns = now_ns;
        }
        bool late = asked_ns != 0 && now_ns - asked_ns > GRACE_NS;
        bool stalls =
            how->stall_ns > 0 && asked_ns == 0 && now_ns - beat_ns > how->stall_ns + spare_ns;
        if (stalls && !end->stalled) {
            end->stalled = true;
            (void)dlb_stuck_in(c->pid, end->stuck, sizeof(end->stuck));
        }
        if ((late || end->stalled) && !killed) {
            kill_group(c, SIGKILL);
            killed = true;
        }
        looked_ns = dlb_now_ns(); /* what was done in between is no pause */
    }
    bool well = WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0;
    if (how->tick && !well) /* a signal that ended it may have been for all */
        how->tick(how->ctx, c->pulse);
}

/* Where it was is not known: empty unless a library reads samples for it. */
static void tell_library(const struct dlb_child *how, const struct child *c, char *text,
                         size_t n_text)
{
    char name[sizeof(c->pulse->library)];
    memcpy(name, c->pulse->library, sizeof(name));
    name[sizeof(name) - 1] = '\0';
    if (name[0])
        (void)snprintf(text, n_text, " (its samples are read through %s: %.*s)", name,
                       DLB_CUT(how->data_path ? how->data_path : "no path", PATH_SHOWN));
}

static enum dlb_code code_of(const struct dlb_child *how, const struct end *end)
{
    if (is_cancelled(how))
        return DLB_ERR_CANCELLED;
    if (end->stalled)
        return how->program ? DLB_ERR_PROGRAM_HANGS : DLB_ERR_CELL_HANGS;
    if (WIFEXITED(end->status) && WEXITSTATUS(end->status) == DLB_CHILD_EXIT_NOMEM)
        return DLB_ERR_NOMEM;
    return WIFSIGNALED(end->status) || end->cut_short ? DLB_ERR_CELL_KILLED
                                                      : DLB_ERR_CELL_NO_RESULT;
}

static void obituary(const struct dlb_child *how, const struct child *c, const struct end *end,
                     struct dlb_cell_result *result)
{
    int status = end->status;
    char why[sizeof(end->stuck) + 120], tail[DLB_LOG_TAIL_BYTES + 1], library[PATH_SHOWN + 80] = "";
    char text[sizeof(why) + sizeof(library) + sizeof(tail) + PATH_SHOWN + 48];
    if (end->stalled && how->program) {
        (void)snprintf(why, sizeof(why),
                       "hung: no sign of life for %" PRIu64 " s, so it was killed",
                       how->stall_ns / DLB_NS_PER_S);
    } else if (end->stalled) {
        (void)snprintf(why, sizeof(why), "hung: no batch for %" PRIu64 " s%s%s, so it was killed%s",
                       how->stall_ns / DLB_NS_PER_S, end->stuck[0] ? ", " : "", end->stuck,
                       end->stuck[0] ? "" : " (storage that does not answer?)");
    } else if (WIFSIGNALED(status)) {
        int signo = WTERMSIG(status);
        const char *name = sigabbrev_np(signo);
        (void)snprintf(why, sizeof(why), "was killed by SIG%s%s", name ? name : "?",
                       signo == SIGKILL ? " (out of memory?)" : "");
        tell_library(how, c, library, sizeof(library));
    } else if (end->cut_short) {
        (void)snprintf(why, sizeof(why),
                       "was told to end by a signal that dlbench did not send (SIGTERM from a job "
                       "scheduler or a user?)");
    } else if (WEXITSTATUS(status) == 0) {
        (void)snprintf(why, sizeof(why), "left without a result");
    } else {
        (void)snprintf(why, sizeof(why), "left with exit code %d", WEXITSTATUS(status));
    }
    dlb_child_log_tail(&c->log, tail);
    (void)snprintf(text, sizeof(text), "%.*s%sthe process %s%s%s%s",
                   DLB_CUT(how->program ? how->program : "", PATH_SHOWN), how->program ? ": " : "",
                   why, library, tail[0] ? "; it printed: " : "", tail);
    struct dlb_err err;
    (void)dlb_fail(&err, code_of(how, end), NULL, DLB_NO_OFFSET, "%s", text);
    dlb_cell_result_init(result);
    dlb_cell_result_fail(result, &err);
    /* An error holds less than the last words take behind a long path. */
    dlb_cut_text(result->reason, sizeof(result->reason), text);
}

static bool read_result(const struct child *c, bool keeps, struct dlb_cell_result *result)
{
    struct dlb_err ignored;
    char *text = NULL;
    size_t n_bytes = 0;
    if (dlb_read_file(c->result, RESULT_MAX_BYTES, &text, &n_bytes, &ignored))
        return false;
    json_t *doc = json_loadb(text, n_bytes, 0, NULL);
    free(text);
    bool ok = doc && dlb_cell_result_from_json(result, doc, &ignored) == DLB_OK;
    if (ok && keeps)
        result->document = json_incref(doc);
    json_decref(doc);
    return ok;
}

/* Whether all that failed is that the result could not be stored. */
static bool had_no_space(const struct dlb_child *how, int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == DLB_CHILD_EXIT_NO_SPACE &&
           !is_cancelled(how);
}

static void clean(struct child *c)
{
    if (c->pulse)
        (void)munmap((void *)c->pulse, sizeof(*c->pulse));
    if (c->pidfd >= 0)
        (void)close(c->pidfd);
    if (c->beat_fd >= 0)
        (void)close(c->beat_fd);
    if (c->log.fd >= 0)
        (void)close(c->log.fd);
    (void)unlink(c->spec);
    (void)unlink(c->result);
    (void)unlink(c->log_path);
}

int dlb_child_run(const struct dlb_child *how, bool keeps, struct dlb_cell_result *result,
                  struct dlb_err *err)
{
    struct child *c = dlb_mem_new(sizeof(*c));
    struct end end = {.status = 0};
    c->pidfd = c->beat_fd = c->log.fd = -1;
    int rc = prepare(how, c, err);
    if (!rc)
        rc = start(how, c, err);
    if (!rc) {
        watch(how, c, &end);
        bool clean_end = WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0;
        bool told = clean_end && read_result(c, keeps, result);
        end.cut_short = told && result->status == DLB_REP_CANCELLED && !is_cancelled(how);
        if (end.cut_short)
            dlb_cell_result_free(result);
        if (had_no_space(how, end.status)) {
            errno = ENOSPC;
            rc = dlb_fail_errno(err, c->result, DLB_NO_OFFSET, "writing what was measured");
        } else if (!told || end.cut_short) {
            obituary(how, c, &end, result);
        }
    }
    clean(c);
    free(c);
    return rc;
}

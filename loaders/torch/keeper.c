#include "loaders/torch/keeper.h"

#include "core/base/clock.h"
#include "core/base/process.h"
#include "loaders/torch/left.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT_START 127
#define SLACK_NS 50000UL              /* Linux's own: the cell's threads have less */
#define SPARED_NS (3 * DLB_NS_PER_S)  /* torch_shm_manager waits 2 s for another client */
#define PAUSE_NS (16 * DLB_NS_PER_MS) /* at the most, while those that are spared clean up */
#define END_NS (5 * DLB_NS_PER_S)     /* of the keeper itself */

/* What the keeper tells last. */
struct ending {
    int status; /* of the program, as waitpid has it */
    int error;  /* errno of what kept it from being run; 0: it ran */
};

/* In the program's process. A program that runs closes error_fd. */
static _Noreturn void become(char *const argv[], int fd, bool quiet, int error_fd)
{
    sigset_t none;

    sigemptyset(&none);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
    (void)prctl(PR_SET_TIMERSLACK, SLACK_NS);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    int null_fd = open("/dev/null", O_RDWR);
    if (null_fd >= 0 && dup2(null_fd, 0) >= 0 && (!quiet || dup2(null_fd, 2) >= 0) &&
        dup2(2, 1) >= 0 && (fd == DLB_KEEPER_FD || dup2(fd, DLB_KEEPER_FD) >= 0) &&
        fcntl(DLB_KEEPER_FD, F_SETFD, 0) >= 0) {
        (void)syscall(SYS_close_range, DLB_KEEPER_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC);
        (void)execv(argv[0], argv);
    }
    int error = errno;
    _exit(write(error_fd, &error, sizeof error) < 0 ? CANNOT_START + 1 : CANNOT_START);
}

/* A file of the process; its bytes end with a zero. Returns how many they are. */
static size_t read_proc(pid_t pid, const char *name, char *text, size_t n_text)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, n_text - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* Python's and torch's own processes that unlink what the others leave in /dev/shm, once these have
 * ended. */
static bool cleans_up(pid_t pid)
{
    char text[4096];
    size_t n = read_proc(pid, "cmdline", text, sizeof text);

    return memmem(text, n, "resource_tracker", 16) || memmem(text, n, "torch_shm_manager", 17);
}

/* Whether it is a child of this process, in whatever group, or in the group; 0: in none. */
static bool is_ours(pid_t pid, pid_t of_group)
{
    char text[512];
    int parent = 0, group = 0;

    (void)read_proc(pid, "stat", text, sizeof text);
    const char *name_end = strrchr(text, ')');
    return name_end && sscanf(name_end, ") %*c %d %d", &parent, &group) == 2 && pid != getpid() &&
           (parent == getpid() || (of_group > 0 && group == of_group));
}

/* A killed one's children become ours. Returns how many were killed. */
static uint32_t kill_ours(pid_t group, bool spare, struct dlb_left *left)
{
    DIR *proc = opendir("/proc");
    uint32_t n = 0;

    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && is_ours(pid, group) && !(spare && cleans_up(pid))) {
            dlb_left_add(left, pid); /* its parent may reap it before that is killed, too */
            n += kill(pid, SIGKILL) == 0;
        }
    }
    if (proc)
        (void)closedir(proc);
    return n;
}

/* Returns when no process descends from this one. Those that clean up have a while for it. What
 * they all have left in /dev/shm is unlinked then. */
static void end_all(pid_t program, int *status, struct dlb_left *left)
{
    uint64_t spared_until_ns = dlb_now_ns() + SPARED_NS, pause_ns = DLB_NS_PER_MS;
    pid_t group = program; /* once: when all in it have ended, another may get its number */
    int one;

    for (;;) {
        pid_t pid = waitpid(-1, &one, WNOHANG);
        if (pid == program)
            *status = one;
        dlb_left_add(left, pid);
        if (pid < 0 && errno == ECHILD) {
            (void)dlb_left_unlink(left);
            return;
        }
        if (pid == 0) {
            if (kill_ours(group, dlb_now_ns() < spared_until_ns, left) > 0)
                pause_ns = DLB_NS_PER_MS;
            (void)dlb_sleep_until_ns(dlb_now_ns() + pause_ns);
            pause_ns = pause_ns < PAUSE_NS ? 2 * pause_ns : pause_ns;
            group = 0;
        }
    }
}

/* Reaps children that end, until that is the program, or the other side closes `life_fd`: false. */
static bool wait_for_end(pid_t program, int life_fd, int signal_fd, int *status,
                         struct dlb_left *left)
{
    struct signalfd_siginfo info;
    struct pollfd wait[] = {{.fd = life_fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};

    for (;;) {
        int one;
        for (pid_t pid; (pid = waitpid(-1, &one, WNOHANG)) > 0;) {
            dlb_left_add(left, pid);
            if (pid == program) {
                *status = one;
                return true;
            }
        }
        wait[0].revents = wait[1].revents = 0;
        (void)poll(wait, 2, -1);
        if (wait[0].revents)
            return false;
        if (wait[1].revents && read(signal_fd, &info, sizeof info) < 0)
            continue;
    }
}

static void close_from_to(unsigned from, unsigned to)
{
    if (syscall(SYS_close_range, from, to, 0U) == 0)
        return;
    long n = sysconf(_SC_OPEN_MAX); /* Linux before 5.9, or a filter of system calls */
    for (unsigned i = from; i <= to && (long)i < n; i++)
        (void)close((int)i);
}

/* Closes all descriptors but stdin, stdout, stderr and these. */
static void close_others(const int *fd, uint32_t n)
{
    unsigned from = STDERR_FILENO + 1, next = 0;

    for (; next != ~0U; from = next + 1) {
        next = ~0U;
        for (uint32_t i = 0; i < n; i++)
            if ((unsigned)fd[i] >= from && (unsigned)fd[i] < next)
                next = (unsigned)fd[i];
        if (next > from)
            close_from_to(from, next == ~0U ? next : next - 1);
    }
}

/* The keeper: a group of its own, so that a signal to this process's group does not end it before
 * its work is done. An earlier keeper's life_fd must be open in the program alone. */
static _Noreturn void keep(char *const argv[], int fd, bool quiet, int life_fd, int told_fd)
{
    sigset_t chld;
    struct ending ending = {.status = CANNOT_START << 8};
    struct dlb_left left;
    int error[2] = {-1, -1};

    dlb_left_begin(&left);
    close_others((const int[]){fd, life_fd, told_fd}, 3);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1UL);
    (void)prctl(PR_SET_NAME, "dlbench-keeper");
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    (void)sigprocmask(SIG_SETMASK, &chld, NULL);
    int signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
    pid_t program = signal_fd < 0 || pipe2(error, O_CLOEXEC) != 0 ? -1 : fork();
    if (program == 0) /* above the descriptor that `fd` becomes */
        become(argv, fd, quiet, fcntl(error[1], F_DUPFD_CLOEXEC, DLB_KEEPER_FD + 1));
    int said = program > 0 ? (int)program : -errno;
    (void)close(fd);
    (void)close(error[1]);
    if (write(told_fd, &said, sizeof said) < 0 || program < 0)
        _exit(1);
    bool ended = wait_for_end(program, life_fd, signal_fd, &ending.status, &left);
    if (!ended)
        end_all(program, &ending.status, &left);
    if (read(error[0], &ending.error, sizeof ending.error) < 0)
        ending.error = errno;
    bool told = write(told_fd, &ending, sizeof ending) >= 0;
    if (ended) /* what the program left is not waited for */
        end_all(program, &ending.status, &left);
    _exit(!told);
}

static int pipe_of(int ends[2], struct dlb_err *err)
{
    return pipe2(ends, O_CLOEXEC) == 0
               ? DLB_OK
               : dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot make a pipe");
}

static void close_both(const int ends[2])
{
    (void)close(ends[0]);
    (void)close(ends[1]);
}

int dlb_keeper_start(struct dlb_keeper *keeper, char *const argv[], int fd, bool quiet,
                     struct dlb_err *err)
{
    int life[2], told[2], program = -EIO; /* if the keeper itself ends */

    *keeper = (struct dlb_keeper){.life_fd = -1, .told_fd = -1};
    if (pipe_of(life, err))
        return (int)err->status;
    if (pipe_of(told, err)) {
        close_both(life);
        return (int)err->status;
    }
    keeper->pid = fork();
    if (keeper->pid < 0)
        program = -errno;
    if (keeper->pid == 0) {
        keep(argv, fd, quiet, life[0], told[1]);
    }
    (void)close(life[0]);
    (void)close(told[1]);
    keeper->life_fd = life[1];
    keeper->told_fd = told[0];
    if (keeper->pid > 0 &&
        TEMP_FAILURE_RETRY(read(told[0], &program, sizeof program)) == sizeof program &&
        program > 0) {
        keeper->program = program;
        return DLB_OK;
    }
    errno = -program;
    (void)dlb_fail_errno(err, argv[0], DLB_NO_OFFSET, "cannot start a process");
    if (keeper->pid < 0) { /* there is none to end */
        (void)close(life[1]);
        (void)close(told[0]);
        *keeper = (struct dlb_keeper){.life_fd = -1, .told_fd = -1};
    }
    (void)dlb_keeper_end(keeper, 0);
    return (int)err->status;
}

bool dlb_keeper_ended(struct dlb_keeper *keeper)
{
    struct pollfd wait = {.fd = keeper->told_fd, .events = POLLIN};
    struct ending ending;

    if (keeper->ended || keeper->told_fd < 0 || poll(&wait, 1, 0) <= 0)
        return keeper->ended;
    if (read(keeper->told_fd, &ending, sizeof ending) != sizeof ending) { /* it was killed itself */
        ending = (struct ending){.status = SIGKILL};
        if (keeper->program > 0)
            (void)kill(-keeper->program, SIGKILL);
    }
    keeper->status = ending.status;
    keeper->error = ending.error;
    keeper->ended = true;
    return true;
}

bool dlb_keeper_end(struct dlb_keeper *keeper, uint64_t patience_ns)
{
    uint64_t end_ns = dlb_now_ns() + patience_ns;
    int ignored;

    if (keeper->pid <= 0)
        return true;
    while (!dlb_keeper_ended(keeper) && dlb_now_ns() < end_ns)
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    if (keeper->life_fd >= 0)
        (void)close(keeper->life_fd);
    keeper->life_fd = -1;
    (void)kill(keeper->pid, SIGCONT); /* a keeper that is stopped cannot end them */
    if (!dlb_process_reap(keeper->pid, END_NS, &ignored))
        return false;
    (void)dlb_keeper_ended(keeper);
    if (keeper->told_fd >= 0)
        (void)close(keeper->told_fd);
    keeper->told_fd = -1;
    keeper->pid = 0;
    return true;
}

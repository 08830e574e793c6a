#include "scenarios/storage/fio.h"

#include "core/base/clock.h"
#include "core/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX_BYTES (16u << 20)
enum { LOOK_EVERY_MS = 200 };
enum { MOST_OPEN = 4096 };
#define PATIENCE_NS (2 * DLB_NS_PER_S) /* after an interrupt, and after the kill */

int dlb_fio_check(struct dlb_err *err)
{
    const char *at = getenv("PATH");
    char program[PATH_MAX];
    while (at && *at) {
        int n_folder = (int)strcspn(at, ":");
        int n = snprintf(program, sizeof(program), "%.*s/fio", n_folder, at);
        if (n > 0 && (size_t)n < sizeof(program) && access(program, X_OK) == 0)
            return DLB_OK;
        at += n_folder + (at[n_folder] == ':');
    }
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET,
                    "--baseline fio: fio is not installed (on Debian and Ubuntu: apt install fio); "
                    "leave --baseline out to measure without it");
}

/* It ends when this process ends, even by a crash. */
static int spawn_fio(char *const argv[], int out_fd, pid_t *pid, struct dlb_err *err)
{
    pid_t parent = getpid();
    *pid = fork();
    if (*pid < 0)
        return dlb_fail_errno(err, "fio", DLB_NO_OFFSET, "cannot start it");
    if (*pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
        if (getppid() != parent || dup2(out_fd, STDOUT_FILENO) < 0)
            _exit(127);
        (void)execvp(argv[0], argv);
        _exit(127);
    }
    return DLB_OK;
}

/* A process that hangs in the kernel dies later, and is not waited for. */
static int reap(pid_t pid, bool interrupted, struct dlb_err *err)
{
    uint64_t start_ns = dlb_now_ns();
    bool killed = false;
    int status = 0;
    if (interrupted)
        (void)kill(pid, SIGTERM);
    for (;;) {
        pid_t ended = waitpid(pid, &status, interrupted ? WNOHANG : 0);
        if (ended == pid || (ended < 0 && errno != EINTR))
            break;
        uint64_t waited_ns = dlb_now_ns() - start_ns;
        if (interrupted && waited_ns > 2 * PATIENCE_NS)
            return DLB_OK;
        if (interrupted && waited_ns > PATIENCE_NS && !killed) {
            (void)kill(pid, SIGKILL);
            killed = true;
        }
        (void)dlb_sleep_until_ns(dlb_now_ns() + 10 * DLB_NS_PER_MS);
    }
    if (interrupted || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return DLB_OK;
    if (WIFEXITED(status))
        return dlb_fail(err, DLB_ERR_IO, "fio", DLB_NO_OFFSET, "it left with exit code %d%s",
                        WEXITSTATUS(status),
                        WEXITSTATUS(status) == 127 ? ": it cannot be started" : "");
    return dlb_fail(err, DLB_ERR_IO, "fio", DLB_NO_OFFSET, "it was killed by SIG%s",
                    sigabbrev_np(WTERMSIG(status)));
}

/* All that it prints. */
static int collect(int fd, const struct dlb_cell_watch *watch, struct dlb_bytes *out,
                   struct dlb_err *err)
{
    char part[65536];
    for (;;) {
        struct pollfd waited = {.fd = fd, .events = POLLIN};
        int ready = poll(&waited, 1, LOOK_EVERY_MS);
        if (watch->cancel && atomic_load(watch->cancel))
            return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, part, sizeof(part));
        if (n == 0)
            return DLB_OK;
        if (n < 0 && errno != EINTR)
            return dlb_fail_errno(err, "fio", DLB_NO_OFFSET, "reading what it prints");
        int rc = n > 0 ? dlb_bytes_append(out, part, (size_t)n, err) : DLB_OK;
        if (rc)
            return rc;
        if (out->len_bytes > OUTPUT_MAX_BYTES)
            return dlb_fail(err, DLB_ERR_FORMAT, "fio", DLB_NO_OFFSET, "it prints without end");
    }
}

static int run_fio(char *const argv[], const struct dlb_cell_watch *watch,
                   struct dlb_baseline_result *result, struct dlb_err *err)
{
    struct dlb_bytes out = {0};
    pid_t pid = -1;
    int pipe_fd[2];
    if (pipe2(pipe_fd, O_CLOEXEC))
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot make a pipe");
    int rc = spawn_fio(argv, pipe_fd[1], &pid, err);
    (void)close(pipe_fd[1]);
    if (!rc) {
        rc = collect(pipe_fd[0], watch, &out, err);
        struct dlb_err end;
        int ended = reap(pid, rc != DLB_OK, &end);
        /* fio's own message is more useful than its exit code, if there is one. */
        if (!rc)
            rc = dlb_fio_parse((const char *)out.data, out.len_bytes, result, err);
        if (ended && rc != DLB_E_IO && rc != DLB_E_CANCELLED) {
            *err = end;
            rc = ended;
        }
    }
    (void)close(pipe_fd[0]);
    dlb_bytes_free(&out);
    return rc;
}

/* The words with a space between. Owned. */
static char *command_text(char *const argv[])
{
    size_t n = 1, at = 0;
    for (size_t i = 0; argv[i]; i++)
        n += strlen(argv[i]) + 1;
    char *text = dlb_mem_array(n, 1);
    for (size_t i = 0; argv[i]; i++)
        at += (size_t)snprintf(text + at, n - at, "%s%s", i > 0 ? " " : "", argv[i]);
    return text;
}

/* Half of this process's descriptors, divided by all jobs, because they are threads of fio. */
static uint32_t files_at_a_time(uint32_t n_jobs)
{
    struct rlimit limit = {.rlim_cur = 1024};
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    uint64_t each = (uint64_t)limit.rlim_cur / 2 / n_jobs;
    return each < 1 ? 1 : each > MOST_OPEN ? MOST_OPEN : (uint32_t)each;
}

void dlb_fio_run(const struct dlb_spec *spec, const struct dlb_cell_watch *watch,
                 struct dlb_cell_result *out)
{
    struct dlb_err err = {.offset_bytes = DLB_NO_OFFSET};
    struct dlb_fio_args args = {.argv = {NULL}};
    struct dlb_dataset dataset;
    struct dlb_fio_job job;
    char *files = NULL;
    dlb_cell_result_init(out);
    out->has_baseline = true;
    int rc = dlb_dataset_open(&dataset, &spec->dataset, &spec->transform, &spec->generate,
                              dlb_spec_format_opts(spec), &err);
    if (!rc) {
        dlb_fio_job_of(spec, &dataset.shape, &job);
        rc = dlb_fio_files(spec, &dataset, &files, &err);
        dlb_dataset_close(&dataset);
    }
    if (!rc) {
        job.folder = spec->dataset.path;
        job.files = files;
        job.n_open = files_at_a_time(job.n_jobs);
        dlb_fio_args_fill(&job, &args);
        out->baseline.command = command_text(args.argv);
        rc = run_fio(args.argv, watch, &out->baseline, &err);
    }
    if (rc)
        dlb_cell_result_fail(out, &err);
    dlb_fio_args_free(&args);
    free(files);
}

#include "scenarios/storage/fio.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/process.h"
#include "core/base/pulse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#define PATIENCE_NS (2 * DLB_NS_PER_S) /* between the request to end and the kill */
/* Beyond the run time, where no watcher says otherwise: fio lists, opens and closes the files. */
#define MARGIN_NS (300 * DLB_NS_PER_S)

int dlb_fio_check(struct dlb_err *err)
{
    char program[PATH_MAX];
    if (dlb_find_program("fio", program))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_MISSING, NULL, DLB_NO_OFFSET,
                    "--baseline fio: fio is not installed (on Debian and Ubuntu: apt install fio); "
                    "leave --baseline out to measure without it");
}

struct fio {
    const struct dlb_cell_watch *watch;
    const char *program; /* its path, for messages */
    uint32_t seconds;    /* its run time */
    uint64_t limit_ns, start_ns;
    pid_t pid;
};

/* It ends when this process ends, even by a crash. It stays in this process's group: when the cell
 * has ended, whatever is left of its group is killed, and so is what fio started. */
static int spawn_fio(struct fio *fio, char *const argv[], int out_fd, struct dlb_err *err)
{
    pid_t parent = getpid();
    fio->start_ns = dlb_now_ns();
    fio->pid = fork();
    if (fio->pid < 0)
        return dlb_fail_errno(err, fio->program, DLB_NO_OFFSET, "cannot start it");
    if (fio->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL);
        if (getppid() != parent || dup2(out_fd, STDOUT_FILENO) < 0)
            _exit(127);
        (void)execv(fio->program, argv);
        _exit(127);
    }
    return DLB_OK;
}

/* Looks whether to go on waiting. fio gives no sign of life, so its run time limits it. */
static int check_time(const struct fio *fio, struct dlb_err *err)
{
    if (fio->watch->cancel && atomic_load(fio->watch->cancel))
        return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    if (dlb_now_ns() - fio->start_ns > fio->limit_ns)
        return dlb_fail(err, DLB_ERR_PROGRAM_HANGS, fio->program, DLB_NO_OFFSET,
                        "fio was killed: it did not end within %" PRIu64
                        " s, and its run time is %u s",
                        fio->limit_ns / DLB_NS_PER_S, fio->seconds);
    dlb_pulse_sign(fio->watch->pulse);
    return DLB_OK;
}

/* What fio started runs on until the cell ends, and with it all of its process group. */
static void kill_fio(const struct fio *fio)
{
    int ignored;
    (void)dlb_process_end(fio->pid, PATIENCE_NS, &ignored);
}

/* Waits until it has ended; it has closed its output. */
static int reap(const struct fio *fio, struct dlb_err *err)
{
    int status;
    while (!dlb_process_reap(fio->pid, LOOK_EVERY_MS * DLB_NS_PER_MS, &status)) {
        int rc = check_time(fio, err);
        if (rc) {
            kill_fio(fio);
            return rc;
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DLB_OK;
    if (WIFEXITED(status))
        return dlb_fail(err, DLB_ERR_IO, fio->program, DLB_NO_OFFSET,
                        "fio left with exit code %d%s", WEXITSTATUS(status),
                        WEXITSTATUS(status) == 127 ? ": it cannot be started" : "");
    return dlb_fail(err, DLB_ERR_IO, fio->program, DLB_NO_OFFSET, "fio was killed by SIG%s",
                    sigabbrev_np(WTERMSIG(status)));
}

/* All that it prints. */
static int collect(const struct fio *fio, int fd, struct dlb_bytes *out, struct dlb_err *err)
{
    char part[65536];
    for (;;) {
        struct pollfd waited = {.fd = fd, .events = POLLIN};
        int ready = poll(&waited, 1, LOOK_EVERY_MS);
        int rc = check_time(fio, err);
        if (rc)
            return rc;
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, part, sizeof(part));
        if (n == 0)
            return DLB_OK;
        if (n < 0 && errno != EINTR)
            return dlb_fail_errno(err, fio->program, DLB_NO_OFFSET, "reading what it prints");
        rc = n > 0 ? dlb_bytes_append(out, part, (size_t)n, err) : DLB_OK;
        if (rc)
            return rc;
        if (out->len_bytes > OUTPUT_MAX_BYTES)
            return dlb_fail(err, DLB_ERR_FIO_OUTPUT, fio->program, DLB_NO_OFFSET,
                            "it prints without end");
    }
}

static int run_fio(struct fio *fio, char *const argv[], struct dlb_baseline_result *result,
                   struct dlb_err *err)
{
    struct dlb_bytes out = {0};
    struct dlb_err end;
    int pipe_fd[2];
    if (pipe2(pipe_fd, O_CLOEXEC))
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot make a pipe");
    int rc = spawn_fio(fio, argv, pipe_fd[1], err);
    (void)close(pipe_fd[1]);
    if (!rc) {
        rc = collect(fio, pipe_fd[0], &out, err);
        if (rc) {
            kill_fio(fio);
        } else {
            int ended = reap(fio, &end);
            /* fio's own message is more useful than its exit code, if there is one. */
            rc = dlb_fio_parse((const char *)out.data, out.len_bytes, result, err);
            if (ended && (rc != DLB_E_IO || end.code == DLB_ERR_PROGRAM_HANGS)) {
                *err = end;
                rc = ended;
            }
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

/* Where there is a watcher, its limit of silence is the margin. */
static uint64_t limit_of(const struct dlb_cell_watch *watch, uint32_t seconds)
{
    uint64_t margin_ns =
        watch->pulse && watch->pulse->stall_ns ? watch->pulse->stall_ns : MARGIN_NS;
    return seconds * DLB_NS_PER_S + margin_ns;
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
        char program[PATH_MAX] = "fio";
        (void)dlb_find_program("fio", program);
        struct fio fio = {.watch = watch,
                          .program = program,
                          .seconds = job.seconds,
                          .limit_ns = limit_of(watch, job.seconds)};
        rc = run_fio(&fio, args.argv, &out->baseline, &err);
    }
    if (rc)
        dlb_cell_result_fail(out, &err);
    dlb_fio_args_free(&args);
    free(files);
}

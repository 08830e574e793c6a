#include "bench/cli/together.h"

#include "bench/cli/verb.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/say.h"
#include "scenarios/ranks/gpu.h"
#include "scenarios/ranks/launcher.h"
#include "scenarios/ranks/module.h"
#include "scenarios/ranks/speaker.h"
#include "scenarios/ranks/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct dlb_link link_here;
static bool is_linked;

struct dlb_link *dlb_together(void)
{
    return is_linked ? &link_here : NULL;
}

int dlb_together_share(const char *format, bool many_files, bool *shared, struct dlb_err *err)
{
    struct dlb_link *link = dlb_together();
    json_t *nodes = NULL;
    *shared = link && link->size > 1 && many_files;
    if (link && link->size > 1 && !many_files)
        dlb_say_note("format %s is written by rank 0 alone", format);
    int rc = *shared ? dlb_team_greet(link, &nodes, err) : DLB_OK;
    json_decref(nodes);
    return rc;
}

#define AFTER_RANK_0_NS (2 * DLB_NS_PER_S)

/* Of an error that all ranks meet only rank 0's is to be read: when it ends most launchers kill the
 * others. One that another machine meets alone is read after this time, from its first rank. */
static int print_once(const struct dlb_launcher *launcher, const struct dlb_err *err)
{
    const struct timespec later = dlb_timespec(AFTER_RANK_0_NS);
    char node[256] = "", text[sizeof(err->what) + 256];
    struct dlb_err named;
    if (launcher->rank == 0)
        return dlb_print_err(err);
    (void)nanosleep(&later, NULL);
    if (!launcher->module ||
        launcher->local_rank > 0) /* of a module that all lack, each has this */
        return dlb_exit_code(err->status);
    (void)gethostname(node, sizeof(node) - 1);
    (void)dlb_err_text(err, text, sizeof(text));
    (void)dlb_fail(&named, err->code, NULL, DLB_NO_OFFSET, "rank %u on %s: %s", launcher->rank,
                   node, text);
    return dlb_print_err(&named);
}

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : DLB_EXIT_FAILED;
}

#define READ_LOOKS 20
#define READ_LOOK_NS (50 * DLB_NS_PER_MS)
#define FORWARD_NS                                                                                 \
    (300 * DLB_NS_PER_MS) /* from the launcher's process on this machine to its first */

/* A launcher that is told to end the job may drop what ranks have printed before. */
static void await_printed(void)
{
    int n_bytes = 0;
    (void)fflush(stderr);
    for (int i = 0; i < READ_LOOKS && ioctl(STDERR_FILENO, FIONREAD, &n_bytes) == 0 && n_bytes > 0;
         i++)
        (void)dlb_sleep_until_ns(dlb_now_ns() + READ_LOOK_NS);
    (void)dlb_sleep_until_ns(dlb_now_ns() + FORWARD_NS);
}

/* The process that the launcher started, once it has forked the runner. MPI's own exit functions
 * are not wanted where it was not closed. */
static _Noreturn void speak(const struct dlb_launcher *launcher, int fd, pid_t runner)
{
    struct dlb_err err;
    int code, status = 0;
    (void)dup2(STDERR_FILENO, STDOUT_FILENO); /* UCX, below MPICH, logs to stdout */
    const struct dlb_ranks *ranks = dlb_ranks_load(launcher, &err);
    if (!ranks)
        _exit(print_once(launcher, &err));
    const struct dlb_speaker_how how = {.launcher = launcher,
                                        .ranks = ranks,
                                        .fd = fd,
                                        .meet = link_here.meet,
                                        .runner = runner,
                                        .deadline_ns = DLB_SPEAKER_DEADLINE_NS,
                                        .quiet_ns = DLB_SPEAKER_QUIET_NS,
                                        .silent_ns = DLB_SPEAKER_SILENT_NS};
    int rc = dlb_speaker_run(&how, &status, &err);
    code = exit_code(status);
    if (rc == DLB_E_MISSING) {
        code = print_once(launcher, &err);
    } else if (rc) {
        if (rc != DLB_END)
            code = dlb_print_err(&err);
        await_printed();
        dlb_speaker_abort(&how);
    }
    _exit(code);
}

/* By the launcher's numbers of this machine's ranks, or, where it gives none, by those counted. */
static void choose_gpu(const struct dlb_launcher *launcher)
{
    const struct dlb_ranks_local *counted = &link_here.local;
    dlb_rank_gpu_choose("", launcher->knows_local ? launcher->local_rank : counted->rank,
                        launcher->n_local > 0 ? launcher->n_local : counted->n, &link_here.place);
}

/* The runner: not in the launcher's process group, whose signals the speaker hands on, so that a
 * part of a result is written even if the launcher kills. */
static bool run_here(const struct dlb_launcher *launcher, int *code)
{
    struct dlb_err err;
    (void)setsid();
    dlb_launcher_forget();
    if (link_here.rank == 0) { /* a signal that killed it would read as a lost rank */
        dlb_interrupts_only_ask();
        dlb_catch_interrupts();
    }
    int rc = dlb_link_join(&link_here, &err);
    is_linked = rc == DLB_OK;
    *code = rc == DLB_END ? DLB_EXIT_FAILED : rc ? dlb_print_err(&err) : DLB_EXIT_OK;
    if (rc)
        return true;
    if (link_here.size > 1)
        choose_gpu(launcher);
    if (link_here.rank == 0)
        return false;
    *code = dlb_team_follow(&link_here, &err) ? dlb_print_err(&err) : DLB_EXIT_OK;
    return true;
}

static bool run_alone(const struct dlb_launcher *launcher, int *code)
{
    *code = DLB_EXIT_OK;
    dlb_launcher_forget();
    if (launcher->rank > 0)
        return true;
    dlb_say_note("%s started several processes: this command runs in the first alone",
                 launcher->name);
    return false;
}

bool dlb_together_begin(bool all, int *code)
{
    const struct dlb_launcher launcher = dlb_launcher_look();
    struct dlb_err err;
    int speaker_fd = -1;
    if (!launcher.name)
        return false;
    if (launcher.size == 1) { /* a shell of srun, or a job of one process: as without a launcher */
        dlb_launcher_forget();
        return false;
    }
    if (!all)
        return run_alone(&launcher, code);
    pid_t runner = -1;
    if (dlb_link_make(&link_here, &speaker_fd, &err) == DLB_OK) {
        runner = fork();
        if (runner < 0)
            (void)dlb_fail_errno(&err, NULL, DLB_NO_OFFSET, "cannot start a process");
    }
    if (runner < 0) {
        *code = dlb_print_err(&err);
        return true;
    }
    (void)close(runner == 0 ? speaker_fd : link_here.fd);
    link_here.rank = launcher.rank;
    if (runner > 0)
        speak(&launcher, speaker_fd, runner);
    return run_here(&launcher, code);
}

void dlb_together_end(void)
{
    struct dlb_err ignored;
    if (is_linked)
        (void)dlb_link_send(&link_here, DLB_SAY_END, NULL, &ignored);
}

int dlb_together_settings(const struct dlb_link *link, struct dlb_config *cfg, struct dlb_err *err)
{
    char text[40];
    if (!link)
        return DLB_OK;
    if (dlb_config_has(cfg, "run.rank") || dlb_config_has(cfg, "run.world"))
        return dlb_fail(err, DLB_ERR_RANKS_SETTINGS, NULL, DLB_NO_OFFSET,
                        "run.rank and run.world are set, and a launcher started %u ranks: leave "
                        "them out",
                        link->size);
    (void)snprintf(text, sizeof(text), "run.world=%u", link->size);
    return link->size > 1 ? dlb_config_set(cfg, text, err) : DLB_OK;
}

int dlb_together_meet(struct dlb_link *link, struct dlb_config *cfg, json_t **nodes,
                      struct dlb_err *err)
{
    int rc = dlb_together_settings(link, cfg, err);
    *nodes = NULL;
    return rc || !link ? rc : dlb_team_meet(link, nodes, err);
}

#include "scenarios/ranks/watch.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/pause.h"
#include "core/base/process.h"
#include "core/base/remove.h"
#include "core/base/say.h"
#include "core/host/life.h"
#include "core/host/osacct.h"
#include "core/host/stuck.h"
#include "scenarios/ranks/speaker.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define LOOK_NS (2 * DLB_NS_PER_MS)
#define TELL_NS DLB_NS_PER_S
#define RUNNER_S UINT64_C(30) /* for a runner to end its cell and to write what it has */
#define ASK_S UINT64_C(15)    /* ... before it is also asked by a signal */
#define CLEAR_SOON_NS (300 * DLB_NS_PER_MS) /* to remove its folder, before the others are told */
#define CLEAR_S UINT64_C(5)                 /* ... and before that is given up */

enum dlb_note_kind {
    NOTE_ALIVE,     /* text: the machine */
    NOTE_INTERRUPT, /* to rank 0: the launcher or a user wants the job to end */
    NOTE_CANCEL,    /* to rank 0: a cell of this command failed; from rank 0: end it */
    NOTE_LOST,      /* to rank 0: the runner of `rank` is gone or hangs */
};

void dlb_ranks_watch_begin(struct dlb_ranks_watch *w, const struct dlb_speaker_how *how)
{
    *w = (struct dlb_ranks_watch){.how = how, .ranks = how->ranks};
}

void dlb_ranks_watch_opened(struct dlb_ranks_watch *w)
{
    uint64_t now_ns = dlb_now_ns();
    w->seen = dlb_mem_array(w->ranks->size(), sizeof(*w->seen));
    for (uint32_t i = 0; i < w->ranks->size(); i++)
        w->seen[i].at_ns = now_ns;
    w->opened = true;
}

static void tell(struct dlb_ranks_watch *w, uint32_t to, const struct dlb_ranks_note *note)
{
    w->n_notes++;
    w->ranks->tell(to, note);
}

static void tell_all(struct dlb_ranks_watch *w, const struct dlb_ranks_note *note)
{
    if (w->ranks->rank() > 0) {
        tell(w, 0, note);
        return;
    }
    for (uint32_t i = 1; i < w->ranks->size(); i++)
        tell(w, i, note);
}

/* At rank 0 the job is over; other ranks tell it, and go on until it ends them. */
static void lose(struct dlb_ranks_watch *w, const struct dlb_ranks_note *lost)
{
    if (w->over || w->lost.text[0])
        return;
    w->lost = *lost;
    if (w->ranks->rank() == 0)
        w->over = true;
    else
        tell(w, 0, lost);
}

static void lose_rank(struct dlb_ranks_watch *w, uint32_t rank, int signo, const char *why)
{
    struct dlb_ranks_note note = {.kind = NOTE_LOST, .rank = rank, .signal = signo};
    (void)snprintf(note.text, sizeof(note.text), "%s", why);
    lose(w, &note);
}

static void lose_own(struct dlb_ranks_watch *w, int signo, const char *why)
{
    char text[sizeof(w->lost.text)];
    const char *name = signo ? sigabbrev_np(signo) : NULL;
    (void)snprintf(text, sizeof(text), "rank %u on %.64s: %s%s%s", w->ranks->rank(),
                   w->ranks->node(), why, name ? " SIG" : "", name ? name : "");
    lose_rank(w, w->ranks->rank(), signo, text);
}

static void *remove_main(void *scratch)
{
    dlb_remove_tree(AT_FDCWD, scratch);
    return NULL;
}

/* Whether the thread has ended. */
static bool await_clearer(struct dlb_ranks_watch *w, uint64_t ns)
{
    struct timespec until = dlb_timespec(dlb_now_ns() + ns);
    w->clears = w->clears && pthread_clockjoin_np(w->clearer, NULL, CLOCK_MONOTONIC, &until) != 0;
    return !w->clears;
}

/* A runner that was killed has left its folder. A thread removes it: storage that hangs would hold
 * up what the others are to be told, and they would end this process before. */
static void runner_ended(struct dlb_ranks_watch *w)
{
    w->runner_ended = true;
    w->left = WIFSIGNALED(w->status) && w->scratch;
    w->clears = w->left && pthread_create(&w->clearer, NULL, remove_main, w->scratch) == 0;
    if (w->clears && await_clearer(w, CLEAR_SOON_NS))
        w->left = false;
}

void dlb_ranks_watch_reap(struct dlb_ranks_watch *w, bool waits)
{
    uint64_t limit_ns = waits ? RUNNER_S * DLB_NS_PER_S : 0;
    if (w->runner_ended || !dlb_process_reap(w->how->runner, limit_ns, &w->status))
        return;
    runner_ended(w);
    if (w->opened && WIFSIGNALED(w->status))
        lose_own(w, WTERMSIG(w->status), "its runner was killed by");
    else if (w->opened && (w->ranks->rank() > 0 ? !w->ends : w->in_command))
        lose_own(w, 0, "its runner ended early");
}

static void cancel_runner(const struct dlb_ranks_watch *w)
{
    atomic_store(&w->how->meet->cancelled, true);
    (void)kill(w->how->runner, SIGUSR1);
}

void dlb_ranks_watch_cancel(struct dlb_ranks_watch *w)
{
    struct dlb_ranks_note note = {
        .kind = NOTE_CANCEL, .rank = w->ranks->rank(), .number = w->n_commands};
    w->cancel_early = !w->in_command;
    if (w->cancelled || !w->in_command)
        return;
    w->cancelled = true;
    tell_all(w, &note);
    if (w->ranks->rank() == 0)
        cancel_runner(w);
}

static void cancel_here(struct dlb_ranks_watch *w)
{
    if (w->ranks->rank() == 0)
        dlb_ranks_watch_cancel(w);
    else
        cancel_runner(w);
}

/* How long the runner has waited for a CPU since it began; 0 where the kernel does not count. */
static uint64_t runner_starved_ns(const struct dlb_ranks_watch *w)
{
    struct dlb_os_thread thread;
    dlb_os_first_thread(w->how->runner, &thread);
    return thread.runqueue_ns == DLB_NOT_MEASURED ? 0 : thread.runqueue_ns;
}

void dlb_ranks_watch_command(struct dlb_ranks_watch *w, bool begins, bool answered)
{
    w->in_command = begins;
    w->busy = begins && !answered;
    w->n_commands += begins;
    w->cancelled = false;
    w->signs_ns = dlb_now_ns();
    w->starved_ns = runner_starved_ns(w);
    if (!begins)
        return;
    w->n_notes = 0;
    if (w->cancel_heard >= w->n_commands)
        cancel_here(w);
    else if (w->cancel_early)
        dlb_ranks_watch_cancel(w);
    w->cancel_early = false;
}

bool dlb_ranks_watch_interrupt(struct dlb_ranks_watch *w)
{
    struct dlb_ranks_note note = {.kind = NOTE_INTERRUPT};
    if (!w->opened)
        return false;
    if (w->ranks->rank() > 0)
        tell(w, 0, &note);
    else if (!w->interrupted)
        (void)kill(w->how->runner, SIGTERM);
    w->interrupted = true; /* a second signal would kill the runner */
    return true;
}

/* One of an earlier command comes too late; one of the next is for when it begins here. */
static void take_cancel(struct dlb_ranks_watch *w, uint32_t number)
{
    w->cancel_heard = number > w->cancel_heard ? number : w->cancel_heard;
    if (number == w->n_commands && w->in_command)
        cancel_here(w);
}

static void take(struct dlb_ranks_watch *w, const struct dlb_ranks_note *note, uint32_t from)
{
    w->seen[from].at_ns = dlb_now_ns();
    if (note->kind == NOTE_ALIVE)
        (void)snprintf(w->seen[from].node, sizeof(w->seen[from].node), "%.63s", note->text);
    else if (note->kind == NOTE_INTERRUPT)
        (void)dlb_ranks_watch_interrupt(w);
    else if (note->kind == NOTE_LOST)
        lose(w, note);
    else if (note->kind == NOTE_CANCEL)
        take_cancel(w, note->number);
}

/* One that hangs: it is killed before the launcher ends this process, because it would stay. */
static void lose_runner(struct dlb_ranks_watch *w, uint64_t now_ns)
{
    char why[sizeof(w->lost.text)], where[100];
    bool known = dlb_stuck_in(w->how->runner, where, sizeof(where));
    (void)snprintf(why, sizeof(why), "its runner hangs: no sign of life for %llu s%s%s",
                   (unsigned long long)((now_ns - w->signs_ns) / DLB_NS_PER_S), known ? ", " : "",
                   known ? where : "");
    (void)kill(w->how->runner, SIGKILL);
    lose_own(w, 0, why);
    w->busy = w->awaits_order = false;
}

/* A runner signs several times a second while it watches a cell. One that waits its turn, on a
 * machine with too many processes, does not hang: waits for a CPU that have ended do not count. */
static void look_at_runner(struct dlb_ranks_watch *w, uint64_t now_ns)
{
    uint64_t n = atomic_load(&w->how->meet->n_signs);
    if (n != w->n_signs) {
        w->n_signs = n;
        w->signs_ns = now_ns;
        w->starved_ns = runner_starved_ns(w);
    }
    if (!w->busy || w->runner_ended || now_ns - w->signs_ns <= w->how->deadline_ns)
        return;
    uint64_t starved_ns = runner_starved_ns(w);
    if (starved_ns > w->starved_ns &&
        now_ns - w->signs_ns <= w->how->deadline_ns + (starved_ns - w->starved_ns))
        return;
    lose_runner(w, now_ns);
}

static void tell_quiet(struct dlb_ranks_watch *w)
{
    char where[400];
    bool known = dlb_stuck_in(w->how->runner, where, sizeof(where));
    w->told_quiet = true;
    dlb_say_note("rank %u on %s: its runner shows no sign of life for %llu s%s%s", w->ranks->rank(),
                 w->ranks->node(), (unsigned long long)(w->how->quiet_ns / DLB_NS_PER_S),
                 known ? ", " : "", known ? where : "");
}

/* Between two commands rank 0's runner decides, writes, and may run other programs: whatever takes
 * time on a CPU is a sign. Slow storage may leave none for long, but one that is stopped does not
 * work. */
static void look_between(struct dlb_ranks_watch *w)
{
    uint64_t life = 0, now_ns = dlb_now_ns();
    if (!w->awaits_order || w->runner_ended)
        return;
    bool stopped = dlb_is_stopped(w->how->runner); /* programs that it started may work on */
    if (!dlb_life_of(w->how->runner, &life) || (life != w->life && !stopped)) {
        w->life = life;
        w->signs_ns = now_ns;
        w->told_quiet = false;
    }
    uint64_t silent_ns = now_ns - w->signs_ns;
    if (silent_ns > w->how->silent_ns || (silent_ns > w->how->deadline_ns && stopped))
        lose_runner(w, now_ns);
    else if (silent_ns > w->how->quiet_ns && !w->told_quiet)
        tell_quiet(w);
}

void dlb_ranks_watch_orders(struct dlb_ranks_watch *w)
{
    w->awaits_order = true;
    w->told_quiet = false;
    w->signs_ns = dlb_now_ns();
}

static void look_at_ranks(struct dlb_ranks_watch *w, uint64_t now_ns)
{
    uint32_t n = w->ranks->rank() == 0 ? w->ranks->size() : 1;
    char text[sizeof(w->lost.text)];
    for (uint32_t i = 0; i < n; i++) {
        if (i == w->ranks->rank() || now_ns - w->seen[i].at_ns <= w->how->deadline_ns)
            continue;
        (void)snprintf(text, sizeof(text),
                       "rank %u%s%s: no sign of life for %llu s: its process hangs, or its machine "
                       "is out of reach",
                       i, w->seen[i].node[0] ? " on " : "", w->seen[i].node,
                       (unsigned long long)(w->how->deadline_ns / DLB_NS_PER_S));
        lose_rank(w, i, 0, text);
        w->over = true;
    }
}

/* Silence counts only while this process looks: a job that was stopped, or whose machine was, has
 * heard nothing meanwhile and goes on. */
static void forgive_pause(struct dlb_ranks_watch *w, uint64_t now_ns)
{
    uint64_t pause_ns = dlb_pause_ns(w->looked_ns, now_ns);
    if (pause_ns == 0)
        return;
    for (uint32_t i = 0; i < w->ranks->size(); i++)
        w->seen[i].at_ns = dlb_pause_later(w->seen[i].at_ns, pause_ns, now_ns);
    w->signs_ns = dlb_pause_later(w->signs_ns, pause_ns, now_ns);
}

/* False: it is not yet time. */
static bool tell_alive(struct dlb_ranks_watch *w, uint64_t now_ns)
{
    struct dlb_ranks_note note = {.kind = NOTE_ALIVE, .rank = w->ranks->rank()};
    if (now_ns - w->told_ns < TELL_NS)
        return false;
    (void)snprintf(note.text, sizeof(note.text), "%.63s", w->ranks->node());
    tell_all(w, &note);
    w->told_ns = now_ns;
    return true;
}

void dlb_ranks_watch_hear(struct dlb_ranks_watch *w)
{
    struct dlb_ranks_note note;
    uint32_t from = 0;
    for (; w->ranks->heard(&note, &from); w->n_notes++)
        take(w, &note, from);
}

bool dlb_ranks_watch_look(struct dlb_ranks_watch *w)
{
    uint64_t now_ns = dlb_now_ns();
    if (!w->opened || w->over || now_ns - w->looked_ns < LOOK_NS)
        return !w->over;
    forgive_pause(w, now_ns);
    w->looked_ns = now_ns;
    dlb_ranks_watch_reap(w, false);
    dlb_ranks_watch_hear(w);
    now_ns = dlb_now_ns(); /* no earlier than what was heard */
    look_at_runner(w, now_ns);
    if (tell_alive(w, now_ns)) {
        look_at_ranks(w, now_ns);
        look_between(w);
    }
    return !w->over;
}

int dlb_ranks_watch_error(const struct dlb_ranks_watch *w, struct dlb_err *err)
{
    if (w->reported && WIFEXITED(w->status) && WEXITSTATUS(w->status) != 0)
        return DLB_END; /* the runner has said it, with its result */
    return dlb_fail(err, DLB_ERR_RANK_LOST, NULL, DLB_NO_OFFSET, "%s", w->lost.text);
}

/* Until the runner has ended, or is stopped for longer than the deadline. The others hear meanwhile
 * that this rank lives: else they would name it, not the one that is lost. */
static void await_runner(struct dlb_ranks_watch *w, bool first)
{
    uint64_t start_ns = dlb_now_ns(), looked_ns = start_ns;
    uint64_t moved_ns = w->awaits_order ? w->signs_ns : start_ns; /* when it was not stopped */
    struct dlb_ranks_note ignored;
    uint32_t from;
    /* A signal would end another rank's runner before it has cleared up, and a second one rank 0's
     * before it has written. */
    bool asked = !first || w->interrupted;
    for (;;) {
        dlb_ranks_watch_reap(w, false);
        uint64_t now_ns = dlb_now_ns(), gone_ns = now_ns - start_ns;
        moved_ns = dlb_is_stopped(w->how->runner)
                       ? dlb_pause_later(moved_ns, dlb_pause_ns(looked_ns, now_ns), now_ns)
                       : now_ns;
        looked_ns = now_ns;
        if (w->runner_ended || gone_ns > RUNNER_S * DLB_NS_PER_S ||
            now_ns - moved_ns > w->how->deadline_ns)
            return;
        if (!asked && gone_ns > ASK_S * DLB_NS_PER_S) {
            asked = w->interrupted = true;
            w->reported = false; /* it may take this for the user's wish */
            (void)kill(w->how->runner, SIGTERM);
        }
        while (w->ranks->heard(&ignored, &from))
            ;
        (void)tell_alive(w, now_ns);
        (void)dlb_sleep_until_ns(now_ns + LOOK_NS);
    }
}

static bool in_vain(void *ctx)
{
    (void)ctx;
    return false;
}

/* To rank 0's runner, which may not read. */
static bool tell_lost(const struct dlb_ranks_watch *w)
{
    const struct dlb_ranks_idle idle = {.idle = in_vain};
    return dlb_message_send_awake(w->how->fd, DLB_SAY_LOST, w->lost.text, strlen(w->lost.text),
                                  &idle);
}

void dlb_ranks_watch_end(struct dlb_ranks_watch *w)
{
    bool first = w->ranks->rank() == 0;
    const char *mpi = w->ranks->why();
    if (!w->lost.text[0] && !mpi[0]) /* what is left: nothing can be sent to the runner */
        dlb_ranks_watch_reap(w, true);
    if (!w->lost.text[0])
        (void)snprintf(w->lost.text, sizeof(w->lost.text), "rank %u on %.64s: %s", w->ranks->rank(),
                       w->ranks->node(), mpi[0] ? mpi : "its runner ended early");
    if (first && !w->runner_ended)
        w->reported = tell_lost(w);
    else
        (void)shutdown(w->how->fd, SHUT_RDWR); /* its runner ends its cell and removes its folder */
    await_runner(w, first);
    if (w->runner_ended)
        return;
    w->reported = false;
    if (dlb_process_end(w->how->runner, 0, &w->status))
        runner_ended(w);
}

void dlb_ranks_watch_clear_up(struct dlb_ranks_watch *w)
{
    bool started = w->clears;
    if (!await_clearer(w, CLEAR_S * DLB_NS_PER_S)) {
        (void)pthread_detach(w->clearer);
        return; /* it still uses the path */
    }
    if (w->left && !started)
        dlb_remove_tree(AT_FDCWD, w->scratch);
    free(w->scratch);
    w->scratch = NULL;
}

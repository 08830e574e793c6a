#include "scenarios/ranks/speaker.h"

#include "core/base/burn.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/process.h"
#include "scenarios/ranks/local.h"
#include "scenarios/ranks/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAP_NS (10 * DLB_NS_PER_MS) /* between looks for notes while a cell runs */
#define ABORT_S 5                   /* for the launcher to end this process */
#define CLOSE_S 10                  /* for MPI to close, when all is done */

struct speaker {
    const struct dlb_speaker_how *how;
    const struct dlb_ranks *ranks;
    struct dlb_ranks_watch watch;
    struct dlb_message command, answer; /* the runner's, until they are dealt with */
    bool clocks, ends;                  /* likewise */
    bool failed_told;
    int64_t last_cost_ns; /* of the last step's round, to this rank; of none: the largest number */
};

static volatile sig_atomic_t asked_to_end;

static void on_end(int number)
{
    asked_to_end = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_end};
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (numbers[i] != SIGHUP || !dlb_signal_is_ignored(SIGHUP)) /* nohup's */
            (void)sigaction(numbers[i], &action, NULL);
}

static void keep(struct dlb_message *into, const struct dlb_message *message)
{
    free(into->bytes);
    *into = *message;
}

/* Takes what the runner has sent. */
static void pump(struct speaker *s)
{
    struct dlb_message message;
    while (!s->watch.runner_ended && dlb_message_is_there(s->how->fd)) {
        if (!dlb_message_receive(s->how->fd, &message)) {
            dlb_ranks_watch_reap(&s->watch, true);
            return;
        }
        if (message.kind == DLB_SAY_COMMAND) {
            keep(&s->command, &message);
            s->watch.cancel_early = false; /* what came before is about another one */
        } else if (message.kind == DLB_SAY_ANSWER || message.kind == DLB_SAY_FAILED) {
            keep(&s->answer, &message);
            s->watch.busy = false;
            if (message.kind == DLB_SAY_FAILED && !s->failed_told)
                dlb_ranks_watch_cancel(&s->watch);
            s->failed_told = true;
        } else if (message.kind == DLB_SAY_SCRATCH) {
            free(s->watch.scratch);
            s->watch.scratch = message.bytes;
        } else {
            s->clocks = s->clocks || message.kind == DLB_SAY_CLOCKS;
            s->ends = s->ends || message.kind == DLB_SAY_END;
            if (message.kind == DLB_SAY_CANCEL)
                dlb_ranks_watch_cancel(&s->watch);
            free(message.bytes);
        }
    }
}

static void hand_on_signal(struct speaker *s)
{
    if (asked_to_end && dlb_ranks_watch_interrupt(&s->watch))
        asked_to_end = 0;
}

/* While a collective function waits. */
static bool idle(void *ctx)
{
    struct speaker *s = ctx;
    hand_on_signal(s);
    pump(s);
    return dlb_ranks_watch_look(&s->watch);
}

/* Sleeps until the runner or the cell rings, or it is time to look for notes. */
static bool nap(struct speaker *s, uint32_t seen)
{
    dlb_event_wait(&s->how->meet->bell, seen, dlb_now_ns() + NAP_NS);
    return idle(s);
}

static int64_t until_ns(uint64_t end_ns, uint64_t now_ns)
{
    return (int64_t)(end_ns - now_ns);
}

static void count(const struct speaker *s, uint64_t n_bytes)
{
    s->how->meet->n_calls++;
    s->how->meet->n_bytes += n_bytes;
}

/* One round of all ranks: they come together, then exchange how long each still has to wait. That
 * is counted from one moment, but for the time that the barrier takes to let all go. What a round
 * costs is seen by the rank that comes last; the round after tells all. */
static bool round_of_all(struct speaker *s, bool asks, int64_t *n_active)
{
    struct dlb_meet *meet = s->how->meet;
    uint64_t begun_ns = dlb_now_ns();
    bool is_step = asks && meet->started_ns > 0 && !atomic_load(&meet->measured);
    if (!s->ranks->barrier())
        return false;
    uint64_t now_ns = dlb_now_ns();
    struct dlb_ranks_word word = {.left_ns = asks ? until_ns(meet->end_ns, now_ns) : INT64_MIN,
                                  .input_ns = asks ? (int64_t)meet->input_ns : 0,
                                  .least_ns = s->last_cost_ns,
                                  .n_active = asks};
    if (!s->ranks->reduce(&word))
        return false;
    count(s, 0);
    count(s, 2 * sizeof(word));
    if (word.least_ns != INT64_MAX)
        dlb_hist_add(&meet->cost, (uint64_t)word.least_ns);
    s->last_cost_ns = is_step ? (int64_t)(dlb_now_ns() - begun_ns) : INT64_MAX;
    if (asks)
        dlb_meet_answer(meet, now_ns + (uint64_t)word.left_ns, (uint64_t)word.input_ns,
                        word.n_active < s->ranks->size());
    *n_active = word.n_active;
    return true;
}

/* While runners do a command: cells meet, until the last loop has ended. A rank whose loop has
 * ended takes part in the rounds of the others, for which nobody waits. */
static bool serve(struct speaker *s)
{
    struct dlb_meet *meet = s->how->meet;
    int64_t n_active = 1;
    s->last_cost_ns = INT64_MAX;
    while (n_active > 0) {
        uint32_t seen = dlb_event_seq(&meet->bell);
        pump(s);
        bool asks = !dlb_meet_is_answered(meet);
        if (asks || s->answer.bytes || atomic_load(&meet->ended_ns) > 0) {
            if (!round_of_all(s, asks, &n_active))
                return false;
        } else if (!nap(s, seen)) {
            return false;
        }
    }
    while (!s->answer.bytes)
        if (!nap(s, dlb_event_seq(&meet->bell)))
            return false;
    return true;
}

/* All answers to rank 0's runner, as in answers.h. One that is stopped does not read them. */
static bool hand_over(struct speaker *s, const void *all, const uint64_t *n_each)
{
    uint64_t n_ranks = s->ranks->size(), n_bytes = 0;
    for (uint64_t i = 0; i < n_ranks; i++)
        n_bytes += n_each[i];
    size_t n_head = (size_t)(n_ranks + 1) * sizeof(uint64_t);
    size_t n_whole = n_head + (size_t)n_bytes + sizeof(s->watch.n_notes);
    char *whole = dlb_mem_new(n_whole);
    memcpy(whole, &n_ranks, sizeof(n_ranks));
    memcpy(whole + sizeof(n_ranks), n_each, (size_t)n_ranks * sizeof(*n_each));
    memcpy(whole + n_head, all, (size_t)n_bytes);
    memcpy(whole + n_head + n_bytes, &s->watch.n_notes, sizeof(s->watch.n_notes));
    dlb_ranks_watch_orders(&s->watch);
    bool sent = dlb_message_send_awake(s->how->fd, DLB_SAY_ANSWERS, whole, n_whole,
                                       &(struct dlb_ranks_idle){idle, s});
    free(whole);
    return sent;
}

static bool collect(struct speaker *s, const void *mine, uint64_t n_mine)
{
    bool here = s->ranks->rank() == 0;
    uint64_t *n_each = dlb_mem_array(s->ranks->size(), sizeof(*n_each));
    void *all = NULL;
    hand_on_signal(s); /* an interrupt is known before the answers that it cut short */
    bool ok = s->ranks->gather(mine, n_mine, &all, n_each);
    count(s, sizeof(*n_each) * (here ? s->ranks->size() : 1)); /* the numbers, then the bytes */
    uint64_t n_bytes = n_mine;
    for (uint32_t i = 1; ok && here && i < s->ranks->size(); i++)
        n_bytes += n_each[i];
    count(s, n_bytes);
    dlb_ranks_watch_hear(&s->watch);
    if (ok && here)
        ok = hand_over(s, all, n_each);
    free(all);
    free(n_each);
    return ok;
}

static bool compare_clocks(struct speaker *s)
{
    struct dlb_ranks_offset mine;
    return s->ranks->barrier() && s->ranks->offsets(&mine) && collect(s, &mine, sizeof(mine));
}

struct order {
    uint64_t kind, n_bytes;
};

/* A command of rank 0's runner, for the runners of all. */
static bool do_command(struct speaker *s, struct dlb_message *command)
{
    bool here = s->ranks->rank() == 0;
    uint64_t cpu_ns = dlb_thread_cpu_ns();
    if (!here)
        dlb_meet_reset(s->how->meet);
    dlb_ranks_watch_command(&s->watch, true, s->answer.bytes != NULL);
    s->failed_told = false;
    if (!here && !dlb_message_send(s->how->fd, DLB_SAY_COMMAND, command->bytes, command->n_bytes))
        dlb_ranks_watch_reap(&s->watch, true);
    count(s, sizeof(struct order));
    count(s, command->n_bytes);
    bool ok = serve(s);
    s->how->meet->cpu_ns = dlb_thread_cpu_ns() - cpu_ns;
    dlb_ranks_watch_command(&s->watch, false, false);
    ok = ok && collect(s, s->answer.bytes, s->answer.n_bytes);
    free(s->answer.bytes);
    s->answer = (struct dlb_message){.bytes = NULL};
    return ok;
}

/* Rank 0: waits for its runner's next order. */
static bool next_order(struct speaker *s, struct order *order)
{
    dlb_ranks_watch_orders(&s->watch);
    for (;;) {
        uint32_t seen = dlb_event_seq(&s->how->meet->bell);
        pump(s);
        *order = (struct order){.kind = s->command.bytes ? DLB_SAY_COMMAND
                                        : s->clocks      ? DLB_SAY_CLOCKS
                                                         : DLB_SAY_END,
                                .n_bytes = s->command.n_bytes};
        bool more = order->kind == DLB_SAY_END && !s->ends && !s->watch.runner_ended;
        if (!more || !nap(s, seen)) {
            s->watch.awaits_order = false;
            return !s->watch.over;
        }
    }
}

/* One order of rank 0's runner, at all ranks. *more: it was not the last. */
static bool do_order(struct speaker *s, bool *more)
{
    bool here = s->ranks->rank() == 0;
    struct order order;
    struct dlb_message command = {.kind = DLB_SAY_COMMAND};
    if ((here && !next_order(s, &order)) || !s->ranks->broadcast(&order, sizeof(order)))
        return false;
    *more = order.kind != DLB_SAY_END;
    if (order.kind == DLB_SAY_CLOCKS) {
        s->clocks = false;
        return compare_clocks(s);
    }
    if (!*more)
        return true;
    if (here)
        command = s->command;
    else
        command.bytes = dlb_mem_new((size_t)order.n_bytes + 1);
    s->command.bytes = NULL;
    command.n_bytes = (size_t)order.n_bytes;
    bool ok = s->ranks->broadcast(command.bytes, command.n_bytes) && do_command(s, &command);
    free(command.bytes);
    return ok;
}

static int check_size(const struct speaker *s, struct dlb_err *err)
{
    const struct dlb_launcher *launcher = s->how->launcher;
    if (launcher->size == 0 || launcher->size == s->ranks->size())
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_RANKS_NO_MODULE, NULL, DLB_NO_OFFSET,
                    "%s started %u processes, of which %s sees %u: it is of another MPI",
                    launcher->name, launcher->size, s->ranks->name, s->ranks->size());
}

static bool say_hello(const struct speaker *s)
{
    struct dlb_ranks_local local;
    if (!dlb_ranks_number(s->ranks, &local))
        return false;
    json_t *doc = dlb_json_made(json_pack(
        "{sI, sI, sI, sI, so, ss}", "rank", (json_int_t)s->ranks->rank(), "size",
        (json_int_t)s->ranks->size(), "local_rank", (json_int_t)local.rank, "n_local",
        (json_int_t)local.n, "node", dlb_json_safe_text(s->ranks->node()), "mpi", s->ranks->name));
    char *text = dlb_mem_check(json_dumps(doc, JSON_COMPACT));
    bool sent = dlb_message_send(s->how->fd, DLB_SAY_HELLO, text, strlen(text));
    free(text);
    json_decref(doc);
    return sent;
}

void dlb_speaker_abort(const struct dlb_speaker_how *how)
{
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(ABORT_S); /* the launcher may be out of reach */
    how->ranks->abort(3);
}

static volatile sig_atomic_t code_if_late;

static void on_late(int number)
{
    (void)number;
    _exit((int)code_if_late);
}

/* MPI_Finalize may wait for ranks that have already gone. By then the result is written, so that
 * this process ends as its runner did. */
static void close_in_time(const struct speaker *s)
{
    int status = s->watch.status;
    code_if_late = WIFEXITED(status) ? WEXITSTATUS(status) : 3;
    (void)signal(SIGALRM, on_late);
    (void)alarm(CLOSE_S);
    s->ranks->close();
    (void)alarm(0);
}

int dlb_speaker_run(const struct dlb_speaker_how *how, int *status, struct dlb_err *err)
{
    struct speaker s = {.how = how, .ranks = how->ranks};
    const struct dlb_ranks_idle callback = {idle, &s};
    char why[256] = "";
    dlb_ranks_watch_begin(&s.watch, how);
    if (!how->ranks->open(&callback, why, sizeof(why)))
        return dlb_fail(err, DLB_ERR_RANKS_NO_MODULE, NULL, DLB_NO_OFFSET, "%s: %s",
                        how->ranks->name, why);
    int rc = check_size(&s, err);
    if (rc)
        return rc;
    catch_signals(); /* not before: a launcher's signal ends a rank that waits in MPI_Init */
    dlb_ranks_watch_opened(&s.watch);
    bool more = say_hello(&s), ok = more;
    while (ok && more)
        ok = do_order(&s, &more);
    if (ok) {
        s.watch.ends = true;
        if (s.ranks->rank() > 0)
            (void)dlb_message_send(how->fd, DLB_SAY_END, NULL, 0);
        dlb_ranks_watch_reap(&s.watch, true);
        close_in_time(&s);
    } else {
        dlb_ranks_watch_end(&s.watch);
        rc = dlb_ranks_watch_error(&s.watch, err);
    }
    dlb_ranks_watch_clear_up(&s.watch);
    free(s.command.bytes);
    *status = s.watch.status;
    return rc;
}

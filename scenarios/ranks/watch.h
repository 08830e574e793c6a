/* The speaker's watch over its runner and the other speakers.
 *
 * Floor 4. The speaker's thread. */
#ifndef DLB_SCENARIOS_RANKS_WATCH_H
#define DLB_SCENARIOS_RANKS_WATCH_H

#include "core/base/err.h"
#include "scenarios/ranks/ranks.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct dlb_speaker_how;

struct dlb_ranks_seen {
    uint64_t at_ns; /* when it was heard last */
    char node[64];  /* "": never */
};

struct dlb_ranks_watch {
    const struct dlb_speaker_how *how;
    const struct dlb_ranks *ranks;
    bool opened, interrupted, runner_ended,
        over; /* over: a rank is lost, or this one is told to end */
    bool in_command, cancelled;
    bool ends;             /* the runner was told to end */
    bool busy;             /* the runner has a command, and has not answered */
    uint32_t n_commands;   /* so far; all ranks count the same */
    uint32_t cancel_heard; /* the last command that another rank wants to end */
    bool cancel_early;     /* the runner's command, which has not begun here, is to end at once */
    int status;            /* of the runner, if it has ended */
    uint64_t looked_ns, told_ns; /* when it last looked and told */
    uint64_t n_notes;            /* told and heard since the last command began */
    uint64_t n_signs, signs_ns;  /* of the runner while it watches a cell: the last, and when */
    bool awaits_order;           /* rank 0's, between two commands */
    bool told_quiet;             /* since its last sign */
    uint64_t life;               /* core/host/life.h: its last sign between two commands */
    uint64_t starved_ns;         /* how long it had waited for a CPU by then */
    struct dlb_ranks_seen *seen; /* [size] owned; ranks other than 0 look at its alone */
    struct dlb_ranks_note lost;  /* if over: who */
    char *scratch; /* the runner's own folder, which it removes itself, unless it is killed; owned;
                      NULL: it has none */
    bool left;     /* a killed runner's: to be removed */
    bool clears;   /* a thread removes it */
    pthread_t clearer;
    bool reported; /* rank 0's runner knows who is lost, and is to say it */
};

void dlb_ranks_watch_begin(struct dlb_ranks_watch *watch, const struct dlb_speaker_how *how);
void dlb_ranks_watch_opened(struct dlb_ranks_watch *watch); /* the ranks know each other */

/* Runners begin or end a command. `answered`: this rank's has already done it. */
void dlb_ranks_watch_command(struct dlb_ranks_watch *watch, bool begins, bool answered);

/* Rank 0: its runner is between two commands, until awaits_order is reset. */
void dlb_ranks_watch_orders(struct dlb_ranks_watch *watch);

/* Takes all notes of other ranks that have come. */
void dlb_ranks_watch_hear(struct dlb_ranks_watch *watch);

/* Often. False: no rank can go on. */
bool dlb_ranks_watch_look(struct dlb_ranks_watch *watch);

/* The job is to end: rank 0's runner is interrupted. False: not yet, because the ranks do not know
 * each other. */
bool dlb_ranks_watch_interrupt(struct dlb_ranks_watch *watch);

/* The cells of all ranks are to end: those of this command, or, before it begins, of the next. */
void dlb_ranks_watch_cancel(struct dlb_ranks_watch *watch);

/* Reaps the runner; `waits`: until it has ended. */
void dlb_ranks_watch_reap(struct dlb_ranks_watch *watch, bool waits);

/* When no rank can go on: tells rank 0's runner which rank is lost, and waits until this rank's
 * runner has ended. */
void dlb_ranks_watch_end(struct dlb_ranks_watch *watch);

/* At the end of the speaker: waits until a killed runner's folder is removed, for seconds at most.
 */
void dlb_ranks_watch_clear_up(struct dlb_ranks_watch *watch);

/* Behind it: why no rank can go on. DLB_END: rank 0's runner has said it. */
int dlb_ranks_watch_error(const struct dlb_ranks_watch *watch, struct dlb_err *err);

#endif

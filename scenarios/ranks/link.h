/* Between a rank's two processes: the runner, which starts cells, and the speaker, which speaks
 * MPI. The runner is forked before MPI is initialised, because processes that hold MPI's
 * connections must not fork. Messages go over a pair of sockets; an end of file is the other
 * process's end.
 *
 * Floor 4. Control thread of either process. */
#ifndef DLB_SCENARIOS_RANKS_LINK_H
#define DLB_SCENARIOS_RANKS_LINK_H

#include "core/base/err.h"
#include "loaders/meet.h"
#include "scenarios/ranks/gpu.h"
#include "scenarios/ranks/local.h"
#include "scenarios/ranks/ranks.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum dlb_message_kind {
    DLB_SAY_HELLO,   /* speaker: rank, size, node, local; MPI is initialised */
    DLB_SAY_COMMAND, /* runner of rank 0: what all runners are to do; speaker of others: do it */
    DLB_SAY_ANSWER,  /* runner: what it did */
    DLB_SAY_FAILED,  /* likewise, and the other ranks' cells need not go on */
    DLB_SAY_ANSWERS, /* speaker of rank 0: those of all ranks */
    DLB_SAY_SCRATCH, /* runner: the path of the folder that it removes at its end */
    DLB_SAY_CLOCKS,  /* runner of rank 0: compare clocks. Its speaker answers with all offsets */
    DLB_SAY_CANCEL,  /* runner of rank 0: end the cells of all ranks */
    DLB_SAY_LOST,    /* speaker of rank 0: a rank is gone */
    DLB_SAY_END,     /* runner of rank 0: it has ended */
};

struct dlb_message {
    enum dlb_message_kind kind;
    size_t n_bytes;
    char *bytes; /* and a zero byte; owned */
};

/* False: the other process is gone. */
bool dlb_message_send(int fd, enum dlb_message_kind kind, const void *bytes, size_t n_bytes);
/* Likewise. While the other process does not read, `idle` is called now and then. Once it says
 * false, no more, and the other process has 2 s to read the rest. False, too, if it has not: then
 * nothing more can be sent, and it finds an end of file behind what it was sent. */
bool dlb_message_send_awake(int fd, enum dlb_message_kind kind, const void *bytes, size_t n_bytes,
                            const struct dlb_ranks_idle *idle);
/* Blocks. The caller frees out->bytes. */
bool dlb_message_receive(int fd, struct dlb_message *out);
bool dlb_message_is_there(int fd);

/* What there is for each rank. */
struct dlb_ranks_share {
    uint32_t n_here;    /* ranks on rank 0's machine, which share its memory */
    uint32_t n_alike;   /* of these, ranks that share their CPUs with rank 0, which is one */
    uint32_t n_cpus;    /* for each, on the machine that has the least */
    uint64_t ram_bytes; /* of all machines together */
};

/* The runner's end. */
struct dlb_link {
    int fd, meet_fd;
    struct dlb_meet *meet; /* shared with the speaker and, by meet_fd, with cells */
    uint32_t rank, size;
    struct dlb_ranks_local local; /* by the names of the machines */
    struct dlb_rank_place place;  /* set once the runner has joined */
    char node[256], mpi[32];
    atomic_bool cancel; /* the command is to end: set by the speaker's SIGUSR1, and by the signals
                           of a scheduler, which ranks other than 0 hand on to their speaker */
    bool lost;          /* a rank is gone: nothing more can be asked of the others */
    struct dlb_err why; /* if lost */
    /* Rank 0's, once all have met: [size] owned by the process. */
    struct dlb_ranks_offset *clocks;
    struct dlb_ranks_share share;
};

/* Sockets and shared memory of both processes; speaker_fd is the speaker's end. */
int dlb_link_make(struct dlb_link *link, int *speaker_fd, struct dlb_err *err);

/* In the runner, after the fork: waits for the speaker's hello. Rank 0 says so if that takes long,
 * and ends the job if it takes minutes (DLB_ERR_RANK_LOST); other ranks do so a little later.
 * DLB_ERR_RANK_LOST, too, if a rank is lost by then. DLB_END: the speaker has ended, and has said
 * why itself. */
int dlb_link_join(struct dlb_link *link, struct dlb_err *err);

int dlb_link_send(struct dlb_link *link, enum dlb_message_kind kind, const json_t *doc,
                  struct dlb_err *err);

/* Rank 0's, for a command: if the user wants an end (`cancel`; NULL: never), the other ranks are
 * told, once. */
void dlb_link_pass_on(struct dlb_link *link, const atomic_bool *cancel);

/* Waits for a message of this kind, and passes `cancel` on meanwhile. DLB_ERR_RANK_LOST, then and
 * from then on, if a rank is gone. The caller frees out->bytes after success. */
int dlb_link_await(struct dlb_link *link, enum dlb_message_kind kind, const atomic_bool *cancel,
                   struct dlb_message *out, struct dlb_err *err);

/* A command begins: forgets the cancel of the one before. */
void dlb_link_begin(struct dlb_link *link);

/* While a cell runs: whether a rank is gone, which also sets link->cancel. */
bool dlb_link_look(struct dlb_link *link);

#endif

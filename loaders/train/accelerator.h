/* One accelerator's training loop, as a state machine whose caller says how long it may block.
 *
 * Floor 3, private to the consumer, whose one thread drives one or several of them. There is no
 * other training loop. A single accelerator may block where it likes. Several may not block at all:
 * each says when it wants to be called again. */
#ifndef DLB_LOADERS_TRAIN_ACCELERATOR_H
#define DLB_LOADERS_TRAIN_ACCELERATOR_H

#include "loaders/train/account.h"
#include "loaders/train/barrier.h"
#include "loaders/train/consumer.h"
#include "loaders/train/others.h"
#include "loaders/train/recorder.h"
#include "loaders/train/tally.h"
#include "loaders/train/window.h"

#define DLB_SLICE_NS (50 * DLB_NS_PER_MS) /* longest sleep without a look at `cancel` */
enum { DLB_MAX_DEPTH = 8 };

/* A batch between its copy and its step's end. */
struct dlb_flight {
    struct dlb_step step;
    struct dlb_batch batch;
    bool released;
    uint32_t buf;
};

/* The states: what it does next. */
enum dlb_at {
    DLB_AT_TAKE,   /* takes a batch, when there is one */
    DLB_AT_STEP,   /* starts the step of the batch on the device, when the barrier allows it */
    DLB_AT_SETTLE, /* waits for the oldest step to end, if as many are queued as may be */
    DLB_AT_ENDED,  /* nothing: no more batches in this epoch, enough were measured, or it drained */
};

/* What the accelerators of a run share. */
struct dlb_common {
    const struct dlb_consume *how;
    struct dlb_consumed *out;
    struct dlb_tally tally;
    bool shared;             /* one loader for all: slots are shared, so one can starve others */
    struct dlb_epoch *epoch; /* the current one */
    uint64_t epoch_start_ns;
    struct dlb_barrier barrier;
    uint64_t n_batches;   /* of all, for the heartbeat */
    uint32_t n_measuring; /* accelerators whose account is open */
    uint32_t n_short;     /* accelerators that have not measured their max_batches yet */
    struct dlb_others others;
};

/* Whether all accelerators of all ranks have measured their max_batches. */
static inline bool dlb_common_is_done(const struct dlb_common *common)
{
    return common->n_short == 0 && !dlb_others_measure(&common->others);
}

struct dlb_accelerator {
    struct dlb_common *common;
    const struct dlb_feed *feed;
    enum dlb_at at;
    uint64_t since_ns; /* start of the current stage */
    uint64_t wake_ns;  /* when it can go on; UINT64_MAX: when its loader or the barrier lets it */
    uint64_t dry_ns;   /* in SETTLE: when its device runs out of steps */
    struct dlb_step step;   /* the one that is being prepared */
    struct dlb_batch batch; /* and its batch */
    bool counted;           /* in the tally */
    struct dlb_span span;
    struct dlb_window window;
    struct dlb_flight flight[DLB_MAX_DEPTH + 1]; /* oldest at first */
    uint32_t first, n_flight, n_keep;            /* n_keep: steps that may stay queued */
    uint64_t n_batches;                          /* handed to the device, warm-up included */
    uint64_t round;                              /* steps handed over in this epoch */
    uint64_t order;                              /* checksum of this epoch's order so far */
    bool has_first;                              /* has had a batch of this epoch */
    bool ended;                                  /* this epoch ran to its end */
    bool has_enough;                             /* of measured batches */
    bool draining;
    double host_ns; /* CPU time for the steps so far that is still to be spent; negative: too much
                       was */
    struct dlb_account account;
    struct dlb_recorder recorder;
};

static inline bool dlb_consume_cancelled(const struct dlb_consume *how)
{
    return how->cancel && atomic_load_explicit(how->cancel, memory_order_relaxed);
}

void dlb_accelerator_open(struct dlb_accelerator *a, struct dlb_common *common,
                          const struct dlb_feed *feed);

/* Before the loaders begin an epoch, and after. */
void dlb_accelerator_before_epoch(struct dlb_accelerator *a);
void dlb_accelerator_begin_epoch(struct dlb_accelerator *a, uint32_t number, uint64_t now_ns);

/* After the last epoch: what is queued is to end. */
void dlb_accelerator_drain(struct dlb_accelerator *a);

/* Advances as far as it can, for one batch at most, without blocking for longer than patience_ns.
 * Then a->at and a->wake_ns say what it waits for (wake_ns 0: for its next turn). */
int dlb_accelerator_advance(struct dlb_accelerator *a, uint64_t patience_ns, struct dlb_err *err);

/* Closes account and window, which completes a->window.share. Idempotent. */
void dlb_accelerator_close(struct dlb_accelerator *a);
void dlb_accelerator_free(struct dlb_accelerator *a);

#endif

/* An interpreter of Python that serves batches, and the messages to it
 * (loaders/torch/dlbench_serve.py).
 *
 * Floor 3. The consumer's thread, except for dlb_link_fd, which another thread may poll. */
#ifndef DLB_LOADERS_TORCH_LINK_H
#define DLB_LOADERS_TORCH_LINK_H

#include "core/base/err.h"
#include "loaders/torch/keeper.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum dlb_link_question {
    DLB_LINK_EPOCH = 1,
    DLB_LINK_NEXT, /* with dlb_loader.foresee's time: from then on the batch after it is answered
                      without a question, which may come later */
    DLB_LINK_STOP,
    DLB_LINK_WINDOW, /* it opens (1) or closes (0); no answer */
    DLB_LINK_STATS,  /* READY, with what was measured */
    DLB_LINK_PING,   /* BEGUN */
};
enum dlb_link_kind {
    DLB_LINK_READY = 1, /* with JSON: dlb_link.about */
    DLB_LINK_FAILED,    /* with JSON; never handed out: it is the error */
    DLB_LINK_BEGUN,
    DLB_LINK_BATCH, /* after its copy; enum dlb_link_batch */
    DLB_LINK_END,
};

/* What the numbers of BATCH are. Times are of CLOCK_MONOTONIC. */
enum dlb_link_batch {
    DLB_LB_SAMPLES,
    DLB_LB_BYTES,
    DLB_LB_ASKED, /* the interpreter saw the question, or foresaw it */
    DLB_LB_READY, /* a worker had finished it; without stamps: ASKED if it came at once, or TAKEN */
    DLB_LB_TAKEN, /* next() returned it: its copy began */
    DLB_LB_COPIED,
    DLB_LB_WORKER, /* that made it */
    DLB_LB_COUNT,
};

struct dlb_link_answer {
    uint64_t kind; /* enum dlb_link_kind */
    uint64_t number[DLB_LB_COUNT];
};

struct dlb_link {
    struct dlb_keeper keeper;
    const char *interpreter; /* borrowed; for messages */
    int fd;
    json_t *about; /* what READY says; owned */
};

/* Starts `interpreter script` and sends it the set-up. It answers READY. `link` is zeroed. Close it
 * in any case. `quiet`: what it prints goes nowhere. */
int dlb_link_open(struct dlb_link *link, const char *interpreter, const char *script, bool quiet,
                  const json_t *setup, struct dlb_err *err);
void dlb_link_close(struct dlb_link *link);

int dlb_link_ask(struct dlb_link *link, enum dlb_link_question question, uint64_t number,
                 struct dlb_err *err);

/* The next answer; *got == false: timeout_ns passed without one. Errors: what the interpreter
 * reports as its failure, DLB_ERR_PYTHON_ENDED, DLB_ERR_PYTHON_GARBAGE. */
int dlb_link_wait(struct dlb_link *link, uint64_t timeout_ns, struct dlb_link_answer *out,
                  bool *got, struct dlb_err *err);

#endif

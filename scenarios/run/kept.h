/* What a journal keeps of a run: each repetition, when a block ended, and when the run was resumed.
 *
 * A resumed run takes over the blocks that ended. Repetitions of a block that had not ended stay in
 * the journal, unjudged, and the block runs anew: cells are compared within a block, where they met
 * the same conditions. The time that all of them took counts.
 *
 * Floor 4. Control thread. */
#ifndef DLB_SCENARIOS_RUN_KEPT_H
#define DLB_SCENARIOS_RUN_KEPT_H

#include "core/base/err.h"
#include "core/base/journal.h"
#include "scenarios/scenario.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What a run has spent until a moment, over all of its processes. */
struct dlb_kept_spent {
    double elapsed_s, unjudged_s;     /* as in struct dlb_results */
    uint64_t stolen_ticks, all_ticks; /* of the machine's CPUs; DLB_NOT_MEASURED */
};

/* One repetition, beside its result. */
struct dlb_kept_rep {
    struct dlb_task task;
    uint64_t config; /* hash of what its process is given */
    double took_s;
    struct dlb_kept_spent spent; /* at its end */
};

enum dlb_kept_what { DLB_KEPT_NOTHING, DLB_KEPT_REPETITION, DLB_KEPT_BLOCK, DLB_KEPT_RESUMED };

struct dlb_kept {
    struct dlb_journal *journal;  /* borrowed */
    bool resumes;                 /* an earlier process wrote to it */
    json_t *taken;                /* its records that are taken over, in their order; owned */
    size_t next;                  /* the first that was not taken yet */
    uint32_t n_taken, n_unjudged; /* repetitions */
    uint32_t n_resumed;           /* how often it was resumed before */
    struct dlb_kept_spent spent;  /* at the last record, of whatever kind */
};

/* Of a new journal. */
void dlb_kept_begin(struct dlb_kept *kept, struct dlb_journal *journal);

/* Of one with these records, the first of which is the caller's own. DLB_ERR_JOURNAL_DAMAGED for a
 * record that is none of these. Close it after an error, too. */
int dlb_kept_open(struct dlb_kept *kept, struct dlb_journal *journal, const json_t *records,
                  struct dlb_err *err);
void dlb_kept_close(struct dlb_kept *kept);

/* What is to be taken over next; nothing: the run goes on by itself. */
enum dlb_kept_what dlb_kept_next(const struct dlb_kept *kept);

/* Takes over what dlb_kept_next names. Of a repetition: *rep names the task and configuration that
 * the run wants, and gets the rest; the caller frees *result. DLB_ERR_JOURNAL_DIVERGES if the
 * journal has another one there. */
int dlb_kept_take_rep(struct dlb_kept *kept, struct dlb_kept_rep *rep,
                      struct dlb_cell_result *result, struct dlb_err *err);
int dlb_kept_take_block(struct dlb_kept *kept, uint32_t block, struct dlb_err *err);
void dlb_kept_take_resumed(struct dlb_kept *kept, struct dlb_kept_spent *spent);

/* Write to the journal, and to disk. */
int dlb_kept_add_rep(struct dlb_kept *kept, const struct dlb_kept_rep *rep,
                     const struct dlb_cell_result *result, struct dlb_err *err);
int dlb_kept_add_block(struct dlb_kept *kept, uint32_t block, struct dlb_err *err);
int dlb_kept_add_resumed(struct dlb_kept *kept, const struct dlb_kept_spent *spent,
                         struct dlb_err *err);

#endif

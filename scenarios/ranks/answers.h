/* What runners answer, and how rank 0 takes the answers of all (DLB_SAY_ANSWERS): their number and
 * the bytes of each as 64-bit words, all of them, and a word more: the notes between rank 0's
 * speaker and the others since the command began (speaker.h).
 *
 * Floor 4, private to scenarios/ranks. Control thread. */
#ifndef DLB_SCENARIOS_RANKS_ANSWERS_H
#define DLB_SCENARIOS_RANKS_ANSWERS_H

#include "core/base/err.h"
#include "scenarios/cell/cell_result.h"
#include "scenarios/ranks/link.h"
#include "scenarios/ranks/merge.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Of a cell that has ended. New reference. */
json_t *dlb_answer_of_cell(const struct dlb_link *link, const struct dlb_cell_result *result);

/* parts[n]: whatever happens, the caller frees each result. DLB_ERR_FORMAT for what is no answer.
 */
int dlb_answers_take_cells(const struct dlb_message *answers, uint32_t n,
                           struct dlb_rank_part *parts, struct dlb_err *err);

/* n structs of n_bytes. */
int dlb_answers_take_bytes(const struct dlb_message *answers, uint32_t n, void *out, size_t n_bytes,
                           struct dlb_err *err);

/* The notes; 0 for what is no answer. */
uint64_t dlb_answers_n_notes(const struct dlb_message *answers);

/* Array of n documents; null for what is none. New reference. */
json_t *dlb_answers_documents(const struct dlb_message *answers, uint32_t n);

#endif

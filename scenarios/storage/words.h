/* What a search for the number of accelerators says: the sentence of its answer, and its notes.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_STORAGE_WORDS_H
#define DLB_SCENARIOS_STORAGE_WORDS_H

#include "scenarios/storage/outcome.h"

/* Fills j->text. */
void dlb_storage_words(const struct dlb_storage_outcome *o, struct dlb_judgement *j);

/* Adds to j->notes. */
void dlb_storage_notes(const struct dlb_storage_outcome *o, struct dlb_judgement *j);

#endif

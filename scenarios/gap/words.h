/* The ladder in words: the gap, where it goes, what closes it.
 *
 * Floor 4. Pure. */
#ifndef DLB_SCENARIOS_GAP_WORDS_H
#define DLB_SCENARIOS_GAP_WORDS_H

#include "scenarios/gap/judgement.h"

/* Fills text from everything else in the judgement. */
void dlb_gap_words(const struct dlb_gap_setting *setting, struct dlb_gap_judgement *j);

#endif

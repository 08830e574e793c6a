/* The verdict's sentences; the rule is in verdict.c.
 *
 * Floor 1, private to core/measure. Pure functions, any thread. */
#ifndef DLB_CORE_MEASURE_VERDICT_WORDS_H
#define DLB_CORE_MEASURE_VERDICT_WORDS_H

#include "core/measure/verdict_terms.h"

#include <stddef.h>

/* Writes sentences: what was found, by how much, why, and what to try next. */
void dlb_verdict_words(const struct dlb_evidence *evidence, const struct dlb_finding *finding,
                       char *text, size_t n_text);

#endif

/* --trace: the timeline of the repetition that the result shows.
 *
 * Floor 5, private to bench/experiment. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_TRACED_H
#define DLB_BENCH_EXPERIMENT_TRACED_H

#include "bench/cli/verb.h"
#include "bench/experiment/result.h"
#include "scenarios/scenario.h"

#include <jansson.h>

/* Writes the file of --trace, says on stderr what is in it, and puts its first steps into the
 * document. Nothing without --trace. Prints errors; returns enum dlb_exit. */
int dlb_traced_finish(const struct dlb_args *args, const struct dlb_result_folder *folder,
                      const struct dlb_judgement *judgement, json_t *doc);

#endif

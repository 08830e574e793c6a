/* What `dlbench compare` is asked for, from its flags.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_COMPARED_H
#define DLB_BENCH_EXPERIMENT_COMPARED_H

#include "bench/cli/verb.h"
#include "scenarios/compare/compare.h"

/* Fills smallest_frac and between_frac. DLB_E_CONFIG: COMPARE_SHARE. */
int dlb_compared_shares(const struct dlb_args *args, struct dlb_compare_request *out,
                        struct dlb_err *err);

/* Puts "compare" into the document of `compare --run`, whose two cells were measured in turns;
 * nothing where one of them was not measured. */
void dlb_compared_put(const struct dlb_args *args, json_t *doc);

#endif

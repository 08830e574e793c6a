/* From what repetitions measured to numbers, verdicts and a recommendation.
 *
 * Floor 4. Control thread; pure. */
#ifndef DLB_SCENARIOS_JUDGE_JUDGE_H
#define DLB_SCENARIOS_JUDGE_JUDGE_H

#include "scenarios/scenario.h"

/* judge() of scenarios whose cells are consumer runs: every cell's estimate, evidence and verdict;
 * best and recommended; notes. */
void dlb_judge_cells(const struct dlb_plan *plan, const struct dlb_results *results,
                     uint32_t n_cpus, struct dlb_judgement *out);

/* The part of dlb_judge_cells that recommends nothing: estimates, evidence and verdicts. */
void dlb_judge_each(const struct dlb_plan *plan, const struct dlb_results *results, uint32_t n_cpus,
                    struct dlb_judgement *out);

/* Fills pytorch and not_modelled from best, recommended and set. */
void dlb_judge_settings(const struct dlb_plan *plan, struct dlb_judgement *judgement);

/* "DataLoader(dataset, batch_size=256, num_workers=4, ...)" for a cell's settings. `python`: what
 * the interpreter said of itself (cells[].python), with the arguments that the user's module has
 * values for and the settings that a loader of the user's own was given; or NULL. `j` knows which
 * keys make no difference, so that DataLoader's default holds for them, and whether dlbench's own
 * cell has ragged samples; or NULL. `iterable`: what the plan has, for a `python` that does not
 * tell. */
void dlb_pytorch_text(const struct dlb_spec *spec, bool iterable, const json_t *python,
                      const struct dlb_judgement *j, char *text, size_t n_text);

/* Whether samples of a cell that dlbench's own loader fills differ in size in the batch: whole
 * images, or stored bytes that do. False where that is not known. */
bool dlb_pytorch_is_ragged(const struct dlb_plan *plan, const struct dlb_spec *spec);

/* Appends to j->unmeasured: the arguments in j->pytorch of which PyTorch's cells compared no two
 * values, and where they follow another race, keys that were swept there and not here; these
 * cells do not pin. Nothing where `spec` is not PyTorch's. */
void dlb_pytorch_unmeasured(const struct dlb_plan *plan, const struct dlb_spec *spec,
                            struct dlb_judgement *j);

/* {"python.start_method": ["spawn"]}: of keys that PyTorch's cells compared after another race, the
 * listed values that none of them has. New reference. */
json_t *dlb_pytorch_unmeasured_values(const struct dlb_plan *plan, const struct dlb_judgement *j);

#endif

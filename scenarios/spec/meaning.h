/* Whether an option has a meaning in a spec: the conditions that the option tables name
 * (core/base/opt.h, `needs` and `shows_with`).
 *
 * Floor 4. Pure; any thread. `iterable`: the kind of the spec's data set. */
#ifndef DLB_SCENARIOS_SPEC_MEANING_H
#define DLB_SCENARIOS_SPEC_MEANING_H

#include "scenarios/spec/spec.h"

/* Epochs needed to measure a border: the first border belongs to the warm-up. */
#define DLB_EPOCHS_WITH_BORDERS 3

/* Whether the option has a meaning: its row's `needs`, and for a format's section, that format. */
bool dlb_meaning_has(const struct dlb_opt_group *group, const struct dlb_opt *opt,
                     const struct dlb_spec *spec, bool iterable);

/* Whether two values of it could show a difference: it has a meaning, and its row's `shows_with`.
 */
bool dlb_meaning_shows(const struct dlb_opt_group *group, const struct dlb_opt *opt,
                       const struct dlb_spec *spec, bool iterable);

/* Why they could not, as a sentence without full stop: "prefetch_factor has no meaning with
 * loader.num_workers = 0: ...". For an option for which dlb_meaning_shows is false. */
void dlb_meaning_why_not(const struct dlb_opt_group *group, const struct dlb_opt *opt,
                         const struct dlb_spec *spec, bool iterable, char *text, size_t n_text);

/* Sets what has no meaning in `spec` to what `other` has. */
void dlb_meaning_fill(struct dlb_spec *spec, const struct dlb_spec *other, bool iterable);

/* Sets what has no meaning to its default, so that specs that ask for the same are equal. */
void dlb_meaning_settle(struct dlb_spec *spec, bool iterable);

#endif

#include "bench/experiment/conclude.h"

#include "bench/cli/print.h"
#include "bench/experiment/resume.h"
#include "bench/experiment/watch.h"
#include "core/base/say.h"
#include "scenarios/judge/judged.h"

#include <stdio.h>

bool dlb_experiment_fails(const struct dlb_scenario *scenario, const struct dlb_results *results)
{
    return scenario->all_or_nothing && dlb_results_n_failed(results) > 0;
}

/* " [E_...]" behind a message, where the cell has a code. */
static const char *code_text(const struct dlb_judged_cell *cell, char *text, size_t n_text)
{
    text[0] = '\0';
    if (cell->code < DLB_N_CODES)
        (void)snprintf(text, n_text, " [%s]", dlb_code_name(cell->code));
    return text;
}

/* Says which cells failed; the exit code where none is ok, else DLB_EXIT_OK. */
static int conclude_cells(const struct dlb_conclude *how, const struct dlb_judgement *j)
{
    uint32_t n_failed = dlb_judged_count(j, DLB_CELL_FAILED), first = 0;
    char code[64], name[64];
    if (n_failed == 0)
        return DLB_EXIT_OK;
    while (j->cells[first].status != DLB_CELL_FAILED)
        first++;
    const struct dlb_judged_cell *cell = &j->cells[first];
    (void)code_text(cell, code, sizeof code);
    if (dlb_judged_count(j, DLB_CELL_OK) == 0) {
        dlb_say(stderr, "dlbench: %s: %s%s",
                n_failed > 1 ? "every cell failed, the first with" : "the run failed", cell->reason,
                code);
        return cell->error == DLB_E_CONFIG || cell->error == DLB_E_MISSING ? DLB_EXIT_USAGE
                                                                           : DLB_EXIT_FAILED;
    }
    dlb_say(stderr, "dlbench: partial: %u of %u cells failed, the first (%s): %s%s", n_failed,
            how->plan->n_cells, dlb_watch_cell_name(how->plan, first, name, sizeof name),
            cell->reason, code);
    return DLB_EXIT_OK;
}

int dlb_conclude(const struct dlb_conclude *how, const struct dlb_judgement *j)
{
    uint32_t n_lost = dlb_results_n_untold(how->results, j);
    char code[64];
    int failed = conclude_cells(how, j);
    if (how->results->interrupted) {
        dlb_result_say_interrupted(how->folder);
        dlb_result_say_resume(how->folder, how->args, how->scenario->name);
        return DLB_EXIT_INTERRUPTED;
    }
    if (failed)
        return failed;
    if (n_lost > 0 && dlb_judged_count(j, DLB_CELL_FAILED) == 0)
        dlb_say(stderr,
                "dlbench: partial: %u process%s beside the cells' own failed; the notes of the "
                "result say which",
                n_lost, n_lost == 1 ? "" : "es");
    if (how->plan->n_cells > 0 && dlb_judged_count(j, DLB_CELL_SKIPPED) == how->plan->n_cells)
        dlb_say(stderr, "dlbench: nothing was measured: %s%s", j->cells[0].reason,
                code_text(&j->cells[0], code, sizeof code));
    if (j->no_answer || dlb_judged_count(j, DLB_CELL_OK) == 0)
        return DLB_EXIT_FAILED;
    return dlb_experiment_fails(how->scenario, how->results) ? DLB_EXIT_FAILED : DLB_EXIT_OK;
}

int dlb_conclude_spared(const struct dlb_result_folder *folder, const struct dlb_err *told)
{
    if (!folder->spared.is)
        return DLB_EXIT_OK;
    const struct dlb_err *why = &folder->spared.why;
    if (!told || why->sys_errno == 0 || told->sys_errno != why->sys_errno)
        (void)dlb_print_err(why);
    dlb_say_note("the result is whole without its page; `dlbench report RESULT --format html` "
                 "makes the page from %s/summary.json",
                 folder->written);
    return DLB_EXIT_FAILED;
}

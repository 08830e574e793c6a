/* Going on with a run that did not end. The first record of its journal says what the run is:
 * configuration, program, data, machine, and the plan's cells. A run that is another one is
 * refused, and what differs is named.
 *
 * Floor 5. Control thread. */
#ifndef DLB_BENCH_EXPERIMENT_RESUME_H
#define DLB_BENCH_EXPERIMENT_RESUME_H

#include "bench/experiment/result.h"
#include "core/base/config.h"
#include "core/base/journal.h"
#include "scenarios/run/kept.h"
#include "scenarios/scenario.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Facts of the moment that a plan depends on. A resumed run takes those of the first one, so that
 * it has the same plan. 0, NaN: not known. */
struct dlb_resume_host {
    uint64_t available_bytes;
    double memcpy_bytes_per_s;
};

struct dlb_resume {
    struct dlb_journal journal;
    struct dlb_kept kept;
    json_t *head;     /* the first record, of the process that began; NULL: this one begins */
    json_t *asked;    /* the configuration, as the user wrote it */
    json_t *asked_b;  /* likewise, the other one of compare; NULL: there is none */
    uint32_t n_ranks; /* that a launcher started, 0: there is none; set by the caller before all */
    bool open;        /* there is a journal */
};

/* What this process would measure. All borrowed. */
struct dlb_resume_run {
    const struct dlb_scenario *scenario;
    const struct dlb_result_folder *folder;
    const struct dlb_config *cfg; /* as it was prepared */
    const struct dlb_subject *subject;
    const struct dlb_plan *plan;
    const json_t *environment;
    const char *arguments; /* bench/cli/again.h */
    uint32_t n_cpus;
    struct dlb_resume_host host;
};

/* Keeps the configurations as they are before they are prepared. `cfg_b`: may be NULL. */
void dlb_resume_remember(struct dlb_resume *resume, const struct dlb_config *cfg,
                         const struct dlb_config *cfg_b);

/* Reads the journal of a folder that dlb_result_reopen opened. `cfg` gets the run's configuration;
 * where the user gave one beside --resume, it has to be the same, and so has `cfg_b`. Errors: those
 * of core/base/journal.h, DLB_ERR_RESUME_OTHER_PROGRAM and _CONFIG, and DLB_ERR_RANKS_SETTINGS if
 * the run began on another number of ranks. */
int dlb_resume_open(struct dlb_resume *resume, struct dlb_result_folder *folder,
                    const char *command, struct dlb_config *cfg, const struct dlb_config *cfg_b,
                    struct dlb_err *err);

/* Those of the process that began; else `now`. */
struct dlb_resume_host dlb_resume_host(const struct dlb_resume *resume,
                                       const struct dlb_resume_host *now);

/* Those of the run when it began, prepared; NULL where this process begins. Borrowed. */
const json_t *dlb_resume_settings(const struct dlb_resume *resume);

/* The arguments that the run was begun with; `now` where this process begins. Borrowed. */
const char *dlb_resume_arguments(const struct dlb_resume *resume, const char *now);

/* After the plan is made: DLB_ERR_RESUME_OTHER_* where the run is another one. DLB_OK where this
 * process begins. */
int dlb_resume_check(const struct dlb_resume *resume, const struct dlb_resume_run *run,
                     struct dlb_err *err);

/* Before the first task: makes the journal, if this process begins. */
int dlb_resume_begin(struct dlb_resume *resume, const struct dlb_resume_run *run,
                     struct dlb_err *err);

void dlb_resume_close(struct dlb_resume *resume);

#endif

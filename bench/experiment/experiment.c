#include "bench/experiment/experiment.h"

#include "bench/cli/again.h"
#include "bench/cli/print.h"
#include "bench/cli/together.h"
#include "bench/cli/version.h"
#include "bench/experiment/compared.h"
#include "bench/experiment/conclude.h"
#include "bench/experiment/preview.h"
#include "bench/experiment/result.h"
#include "bench/experiment/resume.h"
#include "bench/experiment/rules.h"
#include "bench/experiment/subject.h"
#include "bench/experiment/tell.h"
#include "bench/experiment/traced.h"
#include "bench/experiment/watch.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/say.h"
#include "core/host/osacct.h"
#include "scenarios/judge/judged.h"
#include "scenarios/judge/summary.h"
#include "scenarios/plan/devices.h"
#include "scenarios/ranks/team.h"
#include "scenarios/run/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The steps, in their order: prepare, plan, execute (with a save after each block), report. */
struct experiment {
    const struct dlb_args *args;
    const struct dlb_scenario *scenario;
    struct dlb_subject subject;
    uint32_t n_cpus;
    struct dlb_plan plan;
    struct dlb_results results;
    struct dlb_result_folder folder;
    struct dlb_resume resume;
    struct dlb_resume_host host;
    char *arguments; /* that the run was begun with */
    json_t *environment;
    struct dlb_watch watch;
    struct dlb_link *team;  /* the ranks that a launcher started, this one as the first; or NULL */
    json_t *nodes, *clocks; /* of them */
};

static void say_waiting(void *ctx)
{
    struct experiment *x = ctx;
    char text[DLB_OPT_STRING_CAP + 32];
    (void)snprintf(text, sizeof(text), "opening %s (Ctrl-C ends it)", x->subject.spec.dataset.path);
    dlb_progress_update(&x->watch.progress, (double)NAN, text);
}

/* What there is for one rank, where several share the machine. Bandwidth was measured with the CPUs
 * that this rank may use. */
static void share_host(const struct dlb_link *team, struct dlb_plan_host *host)
{
    if (!team)
        return;
    host->memcpy_bytes_per_s /= team->share.n_alike;
    host->ram_bytes = team->share.ram_bytes;
}

static int plan_with(struct experiment *x, const struct dlb_plan_torch *torch, struct dlb_plan *out,
                     struct dlb_err *err)
{
    uint32_t n_here = dlb_os_n_cpus(&(double){0});
    x->n_cpus = x->team ? x->team->share.n_cpus : n_here;
    struct dlb_plan_input in = {.cfg = x->args->cfg,
                                .cfg_b = x->args->cfg_b,
                                .n_cpus = x->n_cpus,
                                .iterable = x->subject.shape.iterable,
                                .torch = *torch,
                                .own = x->subject.own};
    dlb_subject_host(&x->subject, x->scenario, n_here, &in.host);
    share_host(x->team, &in.host);
    x->host.memcpy_bytes_per_s = in.host.memcpy_bytes_per_s;
    x->host = dlb_resume_host(&x->resume, &x->host);
    in.host.memcpy_bytes_per_s = x->host.memcpy_bytes_per_s;
    in.host.available_bytes =
        dlb_count_or_zero(x->host.available_bytes) / (x->team ? x->team->share.n_here : 1);
    int rc = x->scenario->plan(&in, out, err);
    if (rc == DLB_OK)
        dlb_plan_devices(out, x->scenario->varies != NULL &&
                                  x->subject.spec.storage.max_accelerators > 1);
    return rc;
}

/* What can be refused in a moment, before an interpreter imports torch for seconds: plans with what
 * is known so far. */
static int check_early(struct experiment *x, struct dlb_err *err)
{
    struct dlb_plan plan;
    struct dlb_plan_torch torch = {.there = x->subject.spec.sweep.confirm == DLB_CONFIRM_TORCH,
                                   .code = DLB_N_CODES};
    int rc = plan_with(x, &torch, &plan, err);
    if (!rc)
        dlb_plan_free(&plan);
    return rc;
}

/* Of data that only Python reads. `scratch`: NULL in a dry run. */
static int ask(struct experiment *x, const char *scratch, struct dlb_err *err)
{
    const struct dlb_spec *spec = &x->subject.spec;
    if (!dlb_subject_asks(x->args->cfg, x->scenario, spec))
        return DLB_OK;
    x->subject.max_payload_bytes = (uint64_t)spec->python.shape.sample_bytes;
    int rc = check_early(x, err);
    return rc ? rc : dlb_subject_ask(x->args->cfg, x->scenario, scratch, &x->subject, err);
}

/* Of a sweep whose answer PyTorch's own cells may give. */
static int ask_for_torch(struct experiment *x, const char *scratch, struct dlb_err *err)
{
    if (!x->scenario->sweeps)
        return DLB_OK;
    int rc = check_early(x, err);
    return rc ? rc : dlb_subject_torch(scratch, &x->subject, err);
}

/* The folder and the journal of a run that did not end, and its configuration. */
static int reopen(struct experiment *x, struct dlb_err *err)
{
    int rc = dlb_result_reopen(x->args->resume, &x->folder, err);
    if (!rc && dlb_config_is_set(x->args->cfg)) /* it is compared with that of the run */
        rc = dlb_together_settings(x->team, x->args->cfg, err);
    return rc ? rc
              : dlb_resume_open(&x->resume, &x->folder, x->scenario->name, x->args->cfg,
                                x->args->cfg_b, err);
}

static int open_folder(struct experiment *x, struct dlb_err *err)
{
    return x->args->resume ? DLB_OK : dlb_result_open(x->args, x->scenario->name, &x->folder, err);
}

static int prepare(struct experiment *x, struct dlb_err *err)
{
    int rc = x->args->resume ? reopen(x, err) : dlb_together_settings(x->team, x->args->cfg, err);
    if (!rc && x->team)
        rc = dlb_team_meet(x->team, &x->nodes, err);
    if (rc)
        return rc;
    dlb_resume_remember(&x->resume, x->args->cfg, x->args->cfg_b);
    x->host = dlb_resume_host(&x->resume, &x->host);
    rc = x->scenario->check ? x->scenario->check(x->args->cfg, err)
                            : dlb_subject_spec(x->args->cfg, x->scenario, &x->subject, err);
    if (!rc)
        rc = dlb_rules_check(x->args, err);
    if (!rc)
        rc = open_folder(x, err);
    if (rc)
        return rc;
    dlb_catch_interrupts();
    dlb_progress_begin(&x->watch.progress, x->scenario->name, x->args->quiet);
    dlb_progress_update(&x->watch.progress, 0.0, "looking at what is to be measured");
    struct dlb_prepare_input in = {.cfg = x->args->cfg,
                                   .scratch = x->folder.scratch,
                                   .available_bytes = x->host.available_bytes,
                                   .begun = dlb_resume_settings(&x->resume),
                                   .cancel = &dlb_interrupted};
    if (!x->scenario->check)
        rc = ask(x, x->folder.scratch, err);
    if (!rc)
        rc = x->scenario->prepare ? x->scenario->prepare(&in, &x->subject, err)
                                  : dlb_subject_look(x->scenario, &x->subject, say_waiting, x, err);
    if (!rc)
        rc = ask_for_torch(x, x->folder.scratch, err);
    if (!rc)
        x->environment = dlb_subject_environment(&x->subject);
    return rc;
}

static int make_plan(struct experiment *x, struct dlb_err *err)
{
    int rc = plan_with(x, &x->subject.torch, &x->plan, err);
    if (!rc)
        dlb_results_init(&x->results, &x->plan);
    return rc;
}

static struct dlb_resume_run this_run(const struct experiment *x)
{
    return (struct dlb_resume_run){.scenario = x->scenario,
                                   .folder = &x->folder,
                                   .cfg = x->args->cfg,
                                   .subject = &x->subject,
                                   .plan = &x->plan,
                                   .environment = x->environment,
                                   .arguments = x->arguments,
                                   .n_cpus = x->n_cpus,
                                   .host = x->host};
}

/* Whether this process may go on with what an earlier one began. */
static int check_resumed(const struct experiment *x, struct dlb_err *err)
{
    const struct dlb_resume_run run = this_run(x);
    return dlb_resume_check(&x->resume, &run, err);
}

static struct dlb_tell telling(struct experiment *x)
{
    return (struct dlb_tell){.cfg = x->args->cfg,
                             .scenario = x->scenario,
                             .subject = &x->subject,
                             .plan = &x->plan,
                             .kept = &x->resume.kept};
}

/* Before anything ran. */
static uint32_t n_skipped(const struct dlb_plan *plan)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < plan->n_cells; i++)
        n += plan->cells[i].skipped;
    return n;
}

/* Judges what there is. New reference; the caller frees the judgement. */
static json_t *build(const struct experiment *x, bool unfinished, struct dlb_judgement *judgement)
{
    x->scenario->judge(&x->plan, &x->results, x->n_cpus, judgement);
    bool failed =
        dlb_results_n_failed(&x->results) > 0 || dlb_judged_count(judgement, DLB_CELL_FAILED) > 0;
    bool cut = dlb_judged_count(judgement, DLB_CELL_SKIPPED) > n_skipped(&x->plan);
    struct dlb_summary in = {
        .command = x->scenario->name,
        .arguments = dlb_resume_arguments(&x->resume, x->arguments),
        .run_name = x->folder.name,
        .version = DLB_VERSION,
        .commit = DLB_COMMIT,
        .environment = x->environment,
        .shape = &x->subject.shape,
        .spec = &x->subject.spec,
        .cfg = x->args->cfg,
        .plan = &x->plan,
        .results = &x->results,
        .judgement = judgement,
        .nodes = x->nodes,
        .clocks = x->clocks,
        .partial = unfinished || x->results.interrupted || failed || cut,
    };
    json_t *doc = dlb_summary_build(&in);
    if (x->args->measures)
        dlb_compared_put(x->args, doc);
    return doc;
}

/* After each block, so that what was measured survives whatever happens to this process. */
static void save(void *ctx)
{
    struct experiment *x = ctx;
    struct dlb_judgement judgement;
    if (x->folder.replaces)
        return;
    json_t *doc = build(x, true, &judgement);
    dlb_result_save(&x->folder, doc);
    json_decref(doc);
    dlb_judgement_free(&judgement);
}

static int run_on_all(void *team, const struct dlb_child *how, struct dlb_cell_result *result,
                      struct dlb_err *err)
{
    return dlb_team_run(team, how, result, err);
}

static int execute(struct experiment *x, struct dlb_err *err)
{
    x->watch.plan = &x->plan;
    x->watch.grows = x->plan.grows;
    x->watch.save = save;
    x->watch.ctx = x;
    struct dlb_runner runner = {
        .scratch = x->folder.scratch,
        .n_samples = x->subject.shape.n_samples,
        .looked_at = &x->subject.spec,
        .data_id = x->subject.shape.id,
        .cancel = &dlb_interrupted,
        .event = dlb_watch_event,
        .ctx = &x->watch,
        .kept = &x->resume.kept,
        .scenario = x->scenario,
        .traces = x->args->trace != NULL,
        .run_cell = x->team ? run_on_all : NULL,
        .team = x->team,
    };
    const struct dlb_resume_run run = this_run(x);
    int rc = dlb_result_begin(&x->folder, x->environment, err);
    if (!rc)
        rc = dlb_resume_begin(&x->resume, &run, err);
    if (rc)
        return rc;
    const struct dlb_tell tell = telling(x);
    dlb_tell_resumed(&tell);
    dlb_tell_length(&tell);
    return dlb_runner_execute(&runner, &x->plan, &x->results, err);
}

static int report(struct experiment *x, int ran, struct dlb_err *err)
{
    struct dlb_judgement judgement;
    struct dlb_err late;
    if (ran)
        (void)dlb_print_err(err);
    x->clocks = x->team ? dlb_team_clocks(x->team) : NULL;
    json_t *doc = build(x, ran != DLB_OK, &judgement);
    int ruled = dlb_rules_put(x->args, doc, NULL, &late) ? dlb_print_err(&late) : DLB_EXIT_OK;
    if (x->args->trace) /* the timeline may take memory and space that the result needs */
        dlb_result_save(&x->folder, doc);
    int traced = dlb_traced_finish(x->args, &x->folder, &judgement, doc);
    enum dlb_result_part part =
        dlb_judged_count(&judgement, DLB_CELL_OK) == 0 ? DLB_RESULT_NOTHING
        : ran || x->results.interrupted || dlb_experiment_fails(x->scenario, &x->results)
            ? DLB_RESULT_PART
            : DLB_RESULT_WHOLE;
    int written = dlb_result_finish(&x->folder, x->environment, doc, part, &late);
    bool told = ran && written && err->sys_errno != 0 && err->sys_errno == late.sys_errno;
    int code = written && !told ? dlb_print_err(&late) : DLB_EXIT_OK;
    if (!written)
        code = dlb_conclude_spared(&x->folder, ran ? err : NULL);
    if (written == DLB_E_CANCELLED) /* the result that was there is kept; dlb_conclude() says why */
        code = DLB_EXIT_OK;
    bool ended = !ran && !x->results.interrupted && (!written || written == DLB_E_CANCELLED);
    if (ended)
        dlb_result_end_journal(&x->folder);
    else if (!dlb_result_end_empty_journal(&x->folder) && !x->results.interrupted)
        dlb_result_say_resume(&x->folder, x->args, x->scenario->name);
    dlb_result_print(doc, written ? NULL : x->folder.written, x->args);
    (void)fflush(stdout);
    const struct dlb_conclude how = {
        .args = x->args,
        .scenario = x->scenario,
        .plan = &x->plan,
        .results = &x->results,
        .folder = &x->folder,
    };
    int concluded = dlb_conclude(&how, &judgement);
    code = ran ? DLB_EXIT_FAILED : code ? code : concluded ? concluded : ruled ? ruled : traced;
    code = dlb_rules_conclude(x->args, doc, code);
    json_decref(doc);
    dlb_judgement_free(&judgement);
    return code;
}

/* Asks an interpreter for data that only Python reads, opens the data set, asks for PyTorch's, and
 * plans; keeps nothing and measures nothing. */
static int dry_run(struct experiment *x, struct dlb_err *err)
{
    int rc = dlb_together_meet(x->team, x->args->cfg, &x->nodes, err);
    if (!rc)
        rc = dlb_subject_spec(x->args->cfg, x->scenario, &x->subject, err);
    if (!rc)
        rc = dlb_rules_check(x->args, err);
    if (!rc)
        rc = dlb_result_may_open(x->args, err);
    dlb_catch_interrupts();
    if (!rc)
        rc = ask(x, NULL, err);
    uint64_t start_ns = dlb_now_ns();
    if (!rc)
        rc = dlb_subject_look(x->scenario, &x->subject, NULL, NULL, err);
    double open_s = (double)(dlb_now_ns() - start_ns) * 1e-9;
    if (!rc)
        rc = ask_for_torch(x, NULL, err);
    if (!rc)
        rc = make_plan(x, err);
    if (rc)
        return rc;
    const struct dlb_tell tell = telling(x);
    dlb_tell_left_out(&tell);
    struct dlb_preview preview = {x->scenario, &x->subject, &x->plan, x->n_cpus, open_s};
    json_t *doc = dlb_preview_json(&preview);
    if (x->args->json)
        dlb_print_json(doc);
    else
        dlb_preview_print(doc);
    json_decref(doc);
    return DLB_OK;
}

int dlb_experiment_run(const struct dlb_args *args, const struct dlb_scenario *scenario)
{
    struct experiment *x = dlb_mem_new(sizeof(*x));
    struct dlb_err err;
    int code;
    x->args = args;
    x->scenario = scenario;
    x->arguments = dlb_again(args);
    x->team = dlb_together();
    x->resume.n_ranks = x->team ? x->team->size : 0;
    x->host.available_bytes = dlb_os_mem_available_bytes();
    if (args->dry_run) {
        code = dry_run(x, &err) ? dlb_print_err(&err) : DLB_EXIT_OK;
    } else if (prepare(x, &err) || make_plan(x, &err) || check_resumed(x, &err)) {
        dlb_progress_end(&x->watch.progress);
        code = dlb_rules_refuse(args, scenario->name, &err);
    } else {
        const struct dlb_tell tell = telling(x);
        dlb_tell_left_out(&tell);
        int ran = execute(x, &err);
        dlb_progress_end(&x->watch.progress);
        /* What the journal's own run has written says more than this one's. */
        code = ran && err.code == DLB_ERR_JOURNAL_DIVERGES ? dlb_print_err(&err)
                                                           : report(x, ran, &err);
    }
    dlb_results_free(&x->results);
    dlb_plan_free(&x->plan);
    if (scenario->release)
        scenario->release(x->subject.own); /* it may have files in the scratch folder */
    if (x->folder.path[0])
        dlb_result_close(&x->folder);
    dlb_resume_close(&x->resume);
    free(x->arguments);
    json_decref(x->environment);
    json_decref(x->nodes);
    json_decref(x->clocks);
    free(x->subject.shard_samples);
    free(x);
    return code;
}

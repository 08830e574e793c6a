#include "scenarios/ranks/team.h"

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/pulse.h"
#include "scenarios/ranks/answers.h"
#include "scenarios/ranks/machines.h"
#include "scenarios/ranks/merge.h"
#include "scenarios/ranks/quiet.h"
#include "scenarios/ranks/ranks.h"
#include "scenarios/ranks/scratch.h"
#include "scenarios/ranks/team_convert.h"
#include "scenarios/ranks/team_gen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "/proc/self/exe"

/* One cell, on this rank. */
struct own {
    struct dlb_link *link;
    const struct dlb_child *how; /* with the caller's cancel, tick and ctx */
    struct dlb_quiet quiet;      /* of the cell */
};

/* A cell may be silent for minutes before it is ended (scenarios/run/stall.h). */
static void look_for_progress(struct own *own, const struct dlb_pulse *pulse)
{
    if (dlb_meet_waits(own->link->meet))
        dlb_quiet_excuse(&own->quiet);
    dlb_quiet_look(&own->quiet, own->link,
                   atomic_load(&pulse->n_batches) + atomic_load(&pulse->n_signs), "batch",
                   pulse->pid);
}

static void tick(void *ctx, const struct dlb_pulse *pulse)
{
    struct own *own = ctx;
    (void)dlb_link_look(own->link);
    dlb_link_pass_on(own->link, own->how->cancel);
    look_for_progress(own, pulse);
    if (own->how->tick)
        own->how->tick(own->how->ctx, pulse);
}

/* Runs this rank's cell, and answers with what it measured. */
static int run_own(struct dlb_link *link, const struct dlb_child *how, struct dlb_err *err)
{
    struct own own = {.link = link, .how = how};
    struct dlb_child child = *how;
    struct dlb_cell_result result;
    struct dlb_err failed;
    child.meet_fd = link->meet_fd;
    child.meet = link->meet;
    child.cancel = &link->cancel;
    child.tick = tick;
    child.ctx = &own;
    if (dlb_child_run(&child, false, &result, &failed)) {
        dlb_cell_result_init(&result);
        dlb_cell_result_fail(&result, &failed);
    }
    json_t *answer = dlb_answer_of_cell(link, &result);
    bool fails = result.status == DLB_REP_FAILED;
    int rc = dlb_link_send(link, fails ? DLB_SAY_FAILED : DLB_SAY_ANSWER, answer, err);
    json_decref(answer);
    dlb_cell_result_free(&result);
    return rc;
}

/* What the other ranks are to do: a cell's mode is a word behind --mode. */
static json_t *command_of(const struct dlb_child *how)
{
    const char *mode = "measure";
    for (int i = 0; how->tail && how->tail[i]; i++)
        if (strcmp(how->tail[i], "--mode") == 0)
            mode = how->tail[i + 1];
    return dlb_json_made(json_pack("{ss, ss, sI, sO}", "do", "cell", "mode", mode, "stall_ns",
                                   (json_int_t)how->stall_ns, "config", how->config));
}

/* After a user's interrupt the launcher may end the others before they have answered. */
static int interrupted_alone(const struct dlb_child *how, struct dlb_cell_result *result, int rc)
{
    struct dlb_err cancelled;
    if (!how->cancel || !atomic_load(how->cancel))
        return rc;
    (void)dlb_fail(&cancelled, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    dlb_cell_result_init(result);
    dlb_cell_result_fail(result, &cancelled);
    return DLB_OK;
}

/* Of rank 0, which carries the most. */
static json_t *traffic(const struct dlb_meet *meet, uint64_t n_notes)
{
    return dlb_json_made(json_pack("{sI, sI, sI, sf}", "calls", (json_int_t)meet->n_calls, "bytes",
                                   (json_int_t)meet->n_bytes, "notes", (json_int_t)n_notes, "cpu_s",
                                   (double)meet->cpu_ns / 1e9));
}

int dlb_team_run(struct dlb_link *link, const struct dlb_child *how, struct dlb_cell_result *result,
                 struct dlb_err *err)
{
    struct dlb_message message;
    json_t *command = command_of(how);
    dlb_meet_reset(link->meet);
    dlb_link_begin(link);
    int rc = dlb_link_send(link, DLB_SAY_COMMAND, command, err);
    json_decref(command);
    if (!rc)
        rc = run_own(link, how, err);
    if (!rc)
        rc = dlb_link_await(link, DLB_SAY_ANSWERS, how->cancel, &message, err);
    if (rc)
        return interrupted_alone(how, result, rc);
    struct dlb_rank_part *parts = dlb_mem_array(link->size, sizeof(*parts));
    rc = dlb_answers_take_cells(&message, link->size, parts, err);
    uint64_t n_notes = dlb_answers_n_notes(&message);
    free(message.bytes);
    if (!rc) {
        dlb_ranks_merge(parts, link->size, &link->meet->cost, result);
        dlb_json_put(result->ranks, "ranks_traffic", traffic(link->meet, n_notes));
        if (result->code == DLB_ERR_RANKS_DATA)
            rc = dlb_fail(err, DLB_ERR_RANKS_DATA, NULL, DLB_NO_OFFSET, "%s", result->reason);
        if (rc)
            dlb_cell_result_free(result);
    }
    for (uint32_t i = 0; i < link->size; i++)
        dlb_cell_result_free(&parts[i].result);
    free(parts);
    return rc;
}

static int clocks(struct dlb_link *link, struct dlb_ranks_offset *out, struct dlb_err *err)
{
    struct dlb_message message;
    int rc = dlb_link_send(link, DLB_SAY_CLOCKS, NULL, err);
    if (!rc)
        rc = dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, err);
    if (rc)
        return rc;
    rc = dlb_answers_take_bytes(&message, link->size, out, sizeof(*out), err);
    free(message.bytes);
    return rc;
}

int dlb_team_greet(struct dlb_link *link, json_t **nodes, struct dlb_err *err)
{
    struct dlb_message message;
    json_t *command = dlb_json_made(json_pack("{ss}", "do", "hello")), *own = dlb_machine_of(link);
    *nodes = NULL;
    dlb_rank_scratch_clear(link->node);
    dlb_meet_reset(link->meet);
    int rc = dlb_link_send(link, DLB_SAY_COMMAND, command, err);
    if (!rc)
        rc = dlb_link_send(link, DLB_SAY_ANSWER, own, err);
    if (!rc)
        rc = dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, err);
    json_decref(command);
    json_decref(own);
    if (rc)
        return rc;
    *nodes = dlb_answers_documents(&message, link->size);
    free(message.bytes);
    return dlb_machines_check(*nodes, err);
}

int dlb_team_meet(struct dlb_link *link, json_t **nodes, struct dlb_err *err)
{
    int rc = dlb_team_greet(link, nodes, err);
    if (rc)
        return rc;
    dlb_machines_note_bound(*nodes);
    dlb_machines_note_placed(*nodes);
    link->share = dlb_machines_share(*nodes);
    link->clocks = dlb_mem_array(link->size, sizeof(*link->clocks));
    return clocks(link, link->clocks, err);
}

json_t *dlb_team_clocks(struct dlb_link *link)
{
    struct dlb_ranks_offset *after = dlb_mem_array(link->size, sizeof(*after));
    struct dlb_err ignored;
    double max_us = 0, error_us = 0;
    bool known = clocks(link, after, &ignored) == DLB_OK;
    for (uint32_t i = 0; known && i < link->size; i++) {
        const struct dlb_ranks_offset *b = &link->clocks[i], *a = &after[i];
        double drift_us = fabs((double)(a->offset_ns - b->offset_ns)) / 1e3;
        double round_us = (double)(a->error_ns > b->error_ns ? a->error_ns : b->error_ns) / 1e3;
        max_us = fmax(max_us, fabs((double)a->offset_ns) / 1e3);
        error_us = fmax(error_us, fmax(drift_us, round_us));
    }
    free(after);
    return known ? dlb_json_made(json_pack("{sf, sf}", "max", max_us, "error", error_us))
                 : json_null();
}

/* Its own share of the data, where the configuration shares them. */
static void take_share(const struct dlb_link *link, json_t *config)
{
    if (dlb_json_u64(config, "run.world", 1) == link->size)
        dlb_json_put(config, "run.rank", json_integer(link->rank));
}

static int do_cell(struct dlb_link *link, const json_t *command, const char *scratch,
                   struct dlb_err *err)
{
    static const char *const lead[] = {"dlbench", "cell", NULL};
    const char *const tail[] = {"--mode", dlb_json_text(command, "mode"), "--memo", scratch, NULL};
    json_t *config = json_object_get(command, "config");
    take_share(link, config);
    const struct dlb_child how = {.exe = PROGRAM,
                                  .lead = lead,
                                  .tail = tail,
                                  .config = config,
                                  .data_path = dlb_json_text(config, "dataset.path"),
                                  .scratch = scratch,
                                  .stall_ns = dlb_json_u64(command, "stall_ns", 0)};
    return run_own(link, &how, err);
}

static int do_command(struct dlb_link *link, const char *text, const char *scratch,
                      struct dlb_err *err)
{
    json_t *command = json_loads(text, 0, NULL);
    int rc;
    dlb_link_begin(link);
    if (strcmp(dlb_json_text(command, "do"), "cell") == 0) {
        rc = do_cell(link, command, scratch, err);
    } else if (strcmp(dlb_json_text(command, "do"), "gen") == 0) {
        rc = dlb_team_generate_share(link, command, err);
    } else if (strcmp(dlb_json_text(command, "do"), "convert") == 0) {
        rc = dlb_team_convert_share(link, command, err);
    } else {
        json_t *own = dlb_machine_of(link);
        rc = dlb_link_send(link, DLB_SAY_ANSWER, own, err);
        json_decref(own);
    }
    json_decref(command);
    return rc;
}

int dlb_team_follow(struct dlb_link *link, struct dlb_err *err)
{
    struct dlb_rank_scratch scratch;
    struct dlb_message message;
    dlb_rank_scratch_clear(link->node);
    int rc = dlb_rank_scratch_make(link->node, link->rank, &scratch, err);
    bool more = rc == DLB_OK &&
                dlb_message_send(link->fd, DLB_SAY_SCRATCH, scratch.path, strlen(scratch.path));
    while (more) {
        more = dlb_message_receive(link->fd, &message);
        if (!more)
            break; /* rank 0 says why */
        more = message.kind == DLB_SAY_COMMAND;
        if (more)
            rc = do_command(link, message.bytes, scratch.path, err);
        more = more && rc == DLB_OK;
        free(message.bytes);
    }
    dlb_rank_scratch_remove(&scratch);
    return link->lost ? DLB_OK : rc; /* rank 0 says what is lost */
}

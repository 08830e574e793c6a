/* One cell on each rank of a fake job (fake_job.h), and the merged result at rank 0. Exit codes
 * that are not 0 tell what went wrong. Header-only. */
#ifndef DLB_TESTS_SUPPORT_FAKE_CELLS_H
#define DLB_TESTS_SUPPORT_FAKE_CELLS_H

#include "scenarios/ranks/answers.h"
#include "scenarios/ranks/merge.h"
#include "tests/support/cell.h"
#include "tests/support/fake_job.h"

#include <stdlib.h>

/* The test's: what a rank answers (answer_of_cell), and whether that is right: 0, or from 4 on. */
static struct fake_cells {
    json_t *(*measure)(struct dlb_link *link);
    int (*judge)(const struct dlb_rank_part *parts, const struct dlb_cell_result *all);
} fake_cells;

/* `settings` ends with NULL; cancel may be NULL. */
static json_t *answer_of_cell(struct dlb_link *link, const char *const *settings,
                              const atomic_bool *cancel)
{
    const struct dlb_cell_watch watch = {.meet = link->meet, .cancel = cancel};
    struct dlb_cell_result result;
    cell_ran(settings, DLB_MODE_MEASURE, &watch, &result);
    json_t *answer = dlb_answer_of_cell(link, &result);
    dlb_cell_result_free(&result);
    return answer;
}

static int follow(struct dlb_link *link)
{
    struct dlb_message message;
    struct dlb_err err;
    if (!dlb_message_receive(link->fd, &message) || message.kind != DLB_SAY_COMMAND)
        return 1;
    free(message.bytes);
    json_t *answer = fake_cells.measure(link);
    int rc = dlb_link_send(link, DLB_SAY_ANSWER, answer, &err);
    json_decref(answer);
    return rc || !dlb_message_receive(link->fd, &message) || message.kind != DLB_SAY_END;
}

static int lead(struct dlb_link *link)
{
    struct dlb_rank_part parts[FAKE_RANKS];
    struct dlb_cell_result all;
    struct dlb_message message;
    struct dlb_err err;
    json_t *command = json_object();
    int rc = dlb_link_send(link, DLB_SAY_COMMAND, command, &err);
    json_decref(command);
    if (rc)
        return 1;
    json_t *answer = fake_cells.measure(link);
    rc = dlb_link_send(link, DLB_SAY_ANSWER, answer, &err);
    json_decref(answer);
    if (rc || dlb_link_await(link, DLB_SAY_ANSWERS, NULL, &message, &err) ||
        dlb_answers_take_cells(&message, FAKE_RANKS, parts, &err))
        return 2;
    free(message.bytes);
    dlb_ranks_merge(parts, FAKE_RANKS, &link->meet->cost, &all);
    int code = fake_cells.judge(parts, &all);
    if (code)
        json_dumpf(all.ranks, stderr, JSON_INDENT(1));
    dlb_cell_result_free(&all);
    for (uint32_t i = 0; i < FAKE_RANKS; i++)
        dlb_cell_result_free(&parts[i].result);
    return code;
}

#endif

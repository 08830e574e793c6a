/* What runners of a fake job do (fake_job.h): exit codes that are not 0 tell what went wrong.
 * Header-only. */
#ifndef DLB_TESTS_SUPPORT_FAKE_PARTS_H
#define DLB_TESTS_SUPPORT_FAKE_PARTS_H

#include "core/base/clock.h"
#include "scenarios/ranks/link.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static inline int take_command(struct dlb_link *link)
{
    struct dlb_message message;
    if (!dlb_message_receive(link->fd, &message))
        return 30;
    free(message.bytes);
    while (!dlb_link_look(link)) /* as a runner that watches a cell */
        (void)dlb_sleep_until_ns(dlb_now_ns() + 50 * DLB_NS_PER_MS);
    return 0;
}

static inline int die(struct dlb_link *link)
{
    struct dlb_message message;
    (void)dlb_message_receive(link->fd, &message);
    (void)kill(getpid(), SIGKILL);
    return 31;
}

static inline int answer_as(struct dlb_link *link, enum dlb_message_kind kind)
{
    struct dlb_err err;
    json_t *answer = json_object();
    int rc = dlb_link_send(link, kind, answer, &err);
    json_decref(answer);
    return rc ? 40 : 0;
}

static inline int begin_next(struct dlb_link *link)
{
    struct dlb_message message;
    if (!dlb_message_receive(link->fd, &message) || message.kind != DLB_SAY_COMMAND)
        return 41;
    free(message.bytes);
    dlb_link_begin(link);
    return 0;
}

/* A runner that ends before rank 0's has is lost. */
static inline int await_end(struct dlb_link *link)
{
    struct dlb_message message;
    if (!dlb_message_receive(link->fd, &message))
        return 46;
    free(message.bytes);
    return message.kind == DLB_SAY_END ? 0 : 47;
}

#endif

#include "formats/convert/apart.h"

#include "core/base/told.h"
#include "formats/convert/event.h"
#include "formats/read_apart.h"

#include <unistd.h>

/* A message of the child; ENDED is the last. */
struct event {
    enum { REPORTED, SKIPPED, DAMAGED, ENDED } kind;
    pid_t pid;
    enum dlb_convert_phase phase;
    uint64_t n_done, n_total, n_bytes;
    bool shard;
    int rc;
    struct dlb_err err;
    struct dlb_converted out;
};

struct conversion {
    struct dlb_convert_apart *c;
    struct event last;
};

static void send_event(void *pipe, struct event event)
{
    event.pid = getpid();
    (void)dlb_pass(pipe, &event, sizeof event); /* fails only when the parent has ended */
}

static void report(void *pipe, enum dlb_convert_phase phase, uint64_t n_done, uint64_t n_total,
                   uint64_t n_bytes)
{
    send_event(pipe, (struct event){.kind = REPORTED,
                                    .phase = phase,
                                    .n_done = n_done,
                                    .n_total = n_total,
                                    .n_bytes = n_bytes});
}

static void skipped(void *pipe, const struct dlb_err *why, bool shard)
{
    send_event(pipe, (struct event){.kind = SKIPPED, .err = *why, .shard = shard});
}

static void damaged(void *pipe, const struct dlb_err *why)
{
    send_event(pipe, (struct event){.kind = DAMAGED, .err = *why});
}

static bool tell(const struct conversion *conversion, struct dlb_pipe *pipe)
{
    const struct dlb_convert_apart *c = conversion->c;
    const struct dlb_convert_watch watch = {.report = report,
                                            .skipped = skipped,
                                            .damaged = damaged,
                                            .ctx = pipe,
                                            .cancel = c->watch->cancel};
    struct event end = {.kind = ENDED};

    end.rc = c->work(c->ctx, &watch, &end.out, &end.err);
    return dlb_pass(pipe, &end, sizeof end);
}

/* What the caller does not listen to is not told, but by a child that lies. */
static bool is_awaited(const struct event *event, const struct dlb_convert_watch *watch)
{
    return (event->kind != SKIPPED || watch->skipped) && (event->kind != DAMAGED || watch->damaged);
}

static bool makes_sense(const struct event *event, const struct dlb_convert_watch *watch)
{
    const struct dlb_convert_told told = {event->phase, event->n_done, event->n_total, event->rc,
                                          &event->err};

    return event->kind >= REPORTED && event->kind <= ENDED && is_awaited(event, watch) &&
           dlb_told_bool(&event->shard) && dlb_convert_told_makes_sense(&told) &&
           (event->rc != DLB_OK || dlb_converted_makes_sense(&event->out));
}

static bool hear(struct conversion *conversion, struct dlb_pipe *pipe)
{
    const struct dlb_convert_watch *watch = conversion->c->watch;
    struct event *event = &conversion->last;

    while (dlb_pass(pipe, event, sizeof *event) && makes_sense(event, watch)) {
        if (event->kind == ENDED)
            return true;
        conversion->c->pid = event->pid;
        if (event->kind == SKIPPED)
            watch->skipped(watch->ctx, &event->err, event->shard);
        else if (event->kind == DAMAGED)
            watch->damaged(watch->ctx, &event->err);
        else
            watch->report(watch->ctx, event->phase, event->n_done, event->n_total, event->n_bytes);
    }
    return false;
}

static int begin(void *ctx, struct dlb_err *err)
{
    (void)ctx, (void)err;
    return DLB_OK; /* tell() does the work */
}

static bool pass(void *ctx, struct dlb_pipe *pipe)
{
    return pipe->tells ? tell(ctx, pipe) : hear(ctx, pipe);
}

static void wait_longer(void *ctx)
{
    const struct dlb_convert_apart *c = ((struct conversion *)ctx)->c;
    if (c->waiting)
        c->waiting(c->ctx);
}

int dlb_convert_apart(struct dlb_convert_apart *c, struct dlb_apart how,
                      const struct dlb_shape *source, struct dlb_converted *out,
                      struct dlb_err *err)
{
    struct conversion conversion = {.c = c};

    how.work = begin;
    how.pass = pass;
    how.waiting = wait_longer;
    how.ctx = &conversion;
    int rc = source ? dlb_read_apart(source, how, err) : dlb_apart(&how, err);
    if (rc != DLB_OK)
        return rc;
    *out = conversion.last.out;
    *err = conversion.last.err;
    return conversion.last.rc;
}

#include "formats/convert/apart.h"

#include "formats/read_apart.h"

/* A message of the child; ENDED is the last. */
struct event {
    enum { REPORTED, SKIPPED, DAMAGED, ENDED } kind;
    enum dlb_convert_phase phase;
    uint64_t n_done, n_total, n_bytes;
    bool shard;
    int rc;
    struct dlb_err err;
    struct dlb_converted out;
};

struct conversion {
    dlb_convert_work *work;
    const struct dlb_convert *how;
    const struct dlb_convert_target *target;
    struct event last;
};

static void send_event(void *pipe, struct event event)
{
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

static bool tell(const struct conversion *c, struct dlb_pipe *pipe)
{
    const struct dlb_convert_watch watch = {.report = report,
                                            .skipped = skipped,
                                            .damaged = damaged,
                                            .ctx = pipe,
                                            .cancel = c->how->watch->cancel};
    struct dlb_convert how = *c->how;
    struct event end = {.kind = ENDED};

    how.watch = &watch;
    end.rc = c->work(&how, c->target, &end.out, &end.err);
    return dlb_pass(pipe, &end, sizeof end);
}

static bool hear(struct conversion *c, struct dlb_pipe *pipe)
{
    const struct dlb_convert_watch *watch = c->how->watch;
    struct event *event = &c->last;

    while (dlb_pass(pipe, event, sizeof *event)) {
        if (event->kind == ENDED)
            return true;
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

int dlb_convert_apart(dlb_convert_work *work, const struct dlb_convert *how,
                      const struct dlb_convert_target *target, struct dlb_converted *out,
                      struct dlb_err *err)
{
    struct conversion c = {.work = work, .how = how, .target = target};
    struct dlb_apart apart = {.path = how->from_path,
                              .work = begin,
                              .pass = pass,
                              .ctx = &c,
                              .cancel = how->watch->cancel};

    int rc = dlb_read_apart(&how->from->shape, apart, err);
    if (rc != DLB_OK)
        return rc;
    *out = c.last.out;
    *err = c.last.err;
    return c.last.rc;
}

/* A PyTorch DataLoader in an interpreter of its own. Batches stay there: the cell asks for one, is
 * told of it, and counts its samples and bytes. The interpreter copies each batch once, as .to()
 * does from pageable memory, before it answers: one answer a batch wakes the consumer once. Times
 * in it part the wait from the copy.
 *
 * A batch is asked for when the consumer asks for it: with 0 workers it is loaded then, as in
 * PyTorch. The question says when the one after it will come: the interpreter does not wait for
 * that one, because a training script's next() does not wait for another process to be scheduled.
 * With several accelerators a thread signals job->ready when the interpreter answers. */
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/host/group.h"
#include "loaders/loader.h"
#include "loaders/torch/interpreter.h"
#include "loaders/torch/rings.h"
#include "loaders/torch/weight.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#define STOP_NS (200 * DLB_NS_PER_MS) /* how long an interpreter may take to end by itself */
/* How long a ceiling delivers, and how many batches in any case. */
#define DELIVER_NS (2 * DLB_NS_PER_S)
#define MIN_DELIVERED 8
#define N_PINGS 101
/* How long the account of the stamps may take, in which the interpreter counts up to 2^24 indices;
 * and of an interpreter that still loads a batch, of which a cell may have many that hang. */
#define STATS_NS (2 * DLB_NS_PER_S)
#define BUSY_STATS_NS (100 * DLB_NS_PER_MS)

struct torch {
    const struct dlb_job *job;
    struct dlb_interpreter_how how;
    struct dlb_interpreter interpreter;
    bool asked;           /* for a batch that was not told of yet */
    uint64_t asked_ns;    /* since when */
    uint64_t foreseen_ns; /* dlb_loader.foresee */
    bool ahead;           /* the next question may be answered before it is asked */
    uint64_t seq, n_delivered, n_samples, first_ns;
    struct dlb_event question; /* signalled for the bell when a batch is asked for */
    pthread_t bell;
    bool bell_runs;
    atomic_bool stopping;
    bool at_end; /* of the epoch */
    bool use_begun;
    json_t *rings;             /* of the timeline; owned; or NULL */
    json_t *told;              /* what the interpreter is; then with what it measured; owned */
    struct dlb_os_process use; /* since the first epoch began */
    uint64_t pss_bytes;
    struct dlb_weight weight;
};

/* The thread of a loader that is one of several: it signals job->ready when the interpreter has
 * answered, because the consumer then sleeps on that one event. */
static void *ring(void *ld)
{
    struct torch *self = ld;
    struct pollfd wait = {.fd = self->interpreter.link.fd, .events = POLLIN};
    uint32_t seen = 0;

    while (!atomic_load(&self->stopping)) {
        dlb_event_wait(&self->question, seen, UINT64_MAX);
        uint32_t now = dlb_event_seq(&self->question);
        if (now == seen)
            continue;
        seen = now;
        (void)poll(&wait, 1, -1);
        dlb_event_signal(self->job->ready);
    }
    return NULL;
}

static int start_bell(struct torch *self, struct dlb_err *err)
{
    if (!self->job->ready)
        return DLB_OK;
    if (pthread_create(&self->bell, NULL, ring, self) != 0)
        return dlb_fail(err, DLB_ERR_WORKER_NOT_STARTED, NULL, DLB_NO_OFFSET,
                        "cannot start a thread for the answers of an interpreter");
    self->bell_runs = true;
    return DLB_OK;
}

/* The data set of the configuration, as the interpreter sees it, must be the same. */
static int check_same(const struct torch *self, struct dlb_err *err)
{
    uint64_t n = dlb_json_u64(self->interpreter.link.about, "samples", UINT64_MAX);
    uint64_t known = self->job->dataset->shape.n_samples;

    if (n == UINT64_MAX || n == known)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_PYTHON_DATA_DIFFER, self->interpreter.path, DLB_NO_OFFSET,
                    "PyTorch's data set has %llu samples, and dlbench counts %llu",
                    (unsigned long long)n, (unsigned long long)known);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The median of questions that are answered at once: what a batch costs beside its loading. */
static int time_round_trip(struct torch *self, struct dlb_err *err)
{
    uint64_t ns[N_PINGS];
    struct dlb_link_answer answer;
    int rc = DLB_OK;

    for (int i = 0; rc == DLB_OK && i < N_PINGS; i++) {
        self->asked_ns = dlb_now_ns();
        rc = dlb_link_ask(&self->interpreter.link, DLB_LINK_PING, 0, err);
        if (rc == DLB_OK)
            rc = dlb_interpreter_await(&self->interpreter, &self->how, DLB_LINK_BEGUN,
                                       self->asked_ns, &answer, err);
        ns[i] = dlb_now_ns() - self->asked_ns;
    }
    if (rc != DLB_OK)
        return rc;
    qsort(ns, N_PINGS, sizeof *ns, by_size);
    uint64_t median_ns = ns[N_PINGS / 2];
    self->told = dlb_json_made(json_copy(self->interpreter.link.about));
    (void)json_object_del(self->told, "stamp_words"); /* the interpreter's own */
    dlb_json_put(self->told, "round_trip_us", json_real((double)median_ns / 1e3));
    return DLB_OK;
}

static int torch_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    struct torch *self = ld;

    self->job = job;
    self->foreseen_ns = DLB_UNFORESEEN;
    self->rings = dlb_torch_rings(job->trace, job->nth);
    self->how = (struct dlb_interpreter_how){.python = job->python,
                                             .settings = job->settings,
                                             .mode = job->ceiling ? "ceiling" : "measure",
                                             .scratch = job->scratch,
                                             .rank = job->rank,
                                             .world = job->world,
                                             .seed = job->seed,
                                             .n_samples = job->dataset->shape.n_samples,
                                             .trace = self->rings,
                                             .cancel = job->cancel,
                                             .pulse = job->pulse};
    int rc = dlb_interpreter_start(&self->interpreter, &self->how, err);
    if (rc == DLB_OK)
        rc = check_same(self, err);
    if (rc == DLB_OK)
        rc = time_round_trip(self, err);
    return rc;
}

static void torch_memory(void *ld, struct dlb_memory *out)
{
    (void)ld;
    *out = (struct dlb_memory){.shared = true}; /* its batches are the interpreter's */
}

static int torch_begin_epoch(void *ld, uint32_t epoch, struct dlb_err *err)
{
    struct torch *self = ld;
    struct dlb_link_answer answer;

    if (!self->use_begun) {
        dlb_os_group(self->interpreter.link.keeper.program, &self->use, &self->pss_bytes);
        self->use_begun = true;
        if (!self->job->ceiling)
            dlb_weight_begin(&self->weight, self->interpreter.link.keeper.program);
        if (start_bell(self, err) != DLB_OK) /* by now each loader has forked its keeper */
            return (int)err->status;
    }
    self->seq = 0;
    self->at_end = false;
    self->asked_ns = dlb_now_ns();
    int rc = dlb_link_ask(&self->interpreter.link, DLB_LINK_EPOCH, epoch, err);
    return rc == DLB_OK ? dlb_interpreter_await(&self->interpreter, &self->how, DLB_LINK_BEGUN,
                                                self->asked_ns, &answer, err)
                        : rc;
}

static void torch_foresee(void *ld, uint64_t asks_ns)
{
    ((struct torch *)ld)->foreseen_ns = asks_ns;
}

static int ask(struct torch *self, struct dlb_err *err)
{
    if (self->asked)
        return DLB_OK;
    int rc = dlb_link_ask(&self->interpreter.link, DLB_LINK_NEXT, self->foreseen_ns, err);
    self->asked_ns = dlb_now_ns();
    self->asked = rc == DLB_OK;
    self->ahead = self->foreseen_ns != DLB_UNFORESEEN;
    if (self->bell_runs)
        dlb_event_signal(&self->question);
    return rc;
}

/* Whether a ceiling has delivered for long enough: copies and steps may take longer than planned.
 */
static bool is_overdue(const struct torch *self)
{
    uint64_t least = MIN_DELIVERED * (1 + (uint64_t)self->job->n_others);
    return self->job->ceiling && self->n_delivered >= least &&
           dlb_now_ns() - self->first_ns >= DELIVER_NS;
}

static struct dlb_batch batch_of(const struct torch *self, const uint64_t number[DLB_LB_COUNT])
{
    uint64_t n_workers = (uint64_t)self->job->opts->num_workers;

    return (struct dlb_batch){.n_samples = (uint32_t)number[DLB_LB_SAMPLES],
                              .n_bytes = (size_t)number[DLB_LB_BYTES],
                              .ready_ns = number[DLB_LB_READY],
                              .taken_ns = number[DLB_LB_TAKEN],
                              .copied_ns = number[DLB_LB_COPIED],
                              .late = number[DLB_LB_READY] > number[DLB_LB_ASKED],
                              .worker =
                                  n_workers > 0 ? (uint32_t)(number[DLB_LB_WORKER] % n_workers) : 0,
                              .seq = self->seq,
                              .number = self->seq};
}

static int torch_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                      struct dlb_err *err)
{
    struct torch *self = ld;
    const struct dlb_job *job = self->job;
    struct dlb_link_answer answer;
    bool answered = false;

    *got = false;
    if (self->at_end) /* another accelerator's question was told so */
        return DLB_END;
    if (!self->asked && is_overdue(self)) {
        if (!self->ahead)
            return DLB_END;
        self->foreseen_ns = DLB_UNFORESEEN; /* the one that is under way is the last */
    }
    int rc = ask(self, err);
    if (rc == DLB_OK)
        rc = dlb_link_wait(&self->interpreter.link, timeout_ns, &answer, &answered, err);
    if (rc != DLB_OK || !answered)
        return rc != DLB_OK ? rc
                            : dlb_interpreter_patience(&self->interpreter, &self->how,
                                                       self->asked_ns, job->opts->timeout_s, err);
    self->asked = false;
    self->at_end = answer.kind == DLB_LINK_END;
    if (self->at_end)
        return DLB_END;
    if (answer.kind != DLB_LINK_BATCH || answer.number[DLB_LB_SAMPLES] > UINT32_MAX)
        return dlb_fail(err, DLB_ERR_PYTHON_GARBAGE, self->interpreter.path, DLB_NO_OFFSET,
                        "answer %u to a question for a batch", (unsigned)answer.kind);
    *out = batch_of(self, answer.number);
    dlb_weight_batch(&self->weight);
    self->seq++;
    self->n_samples += out->n_samples;
    if (self->n_delivered++ == 0)
        self->first_ns = dlb_now_ns();
    *got = true;
    return DLB_OK;
}

static void torch_release(void *ld, const struct dlb_batch *batch)
{
    (void)ld;
    (void)batch;
}

static uint64_t rise(uint64_t before, uint64_t after)
{
    return after == DLB_NOT_MEASURED ? after : dlb_count_rise(after, before);
}

static void end_use(struct torch *self)
{
    struct dlb_os_process *use = &self->use, now;

    if (!self->use_begun)
        return;
    self->use_begun = false;
    dlb_os_group(self->interpreter.link.keeper.program, &now, &self->pss_bytes);
    uint64_t most_bytes = dlb_weight_end(&self->weight); /* workers may have left since */
    if (most_bytes > self->pss_bytes)
        self->pss_bytes = most_bytes;
    *use = (struct dlb_os_process){.utime_ns = rise(use->utime_ns, now.utime_ns),
                                   .stime_ns = rise(use->stime_ns, now.stime_ns),
                                   .minor_faults = rise(use->minor_faults, now.minor_faults),
                                   .major_faults = rise(use->major_faults, now.major_faults),
                                   .voluntary_switches = now.voluntary_switches,
                                   .involuntary_switches = now.involuntary_switches,
                                   .read_chars = rise(use->read_chars, now.read_chars),
                                   .read_device_bytes =
                                       rise(use->read_device_bytes, now.read_device_bytes)};
}

static void torch_measure(void *ld, bool opens)
{
    struct dlb_err ignored; /* the next question tells */
    (void)dlb_link_ask(&((struct torch *)ld)->interpreter.link, DLB_LINK_WINDOW, opens, &ignored);
}

/* Answers to earlier questions come first. Nothing, if it does not answer. */
static void take_stats(struct torch *self)
{
    struct dlb_link *link = &self->interpreter.link;
    uint64_t patience_ns = self->asked ? BUSY_STATS_NS : STATS_NS;
    uint64_t end_ns = dlb_now_ns() + patience_ns;
    struct dlb_link_answer answer = {0};
    struct dlb_err ignored;
    bool got = false;

    int rc = dlb_link_ask(link, DLB_LINK_STATS, 0, &ignored);
    while (rc == DLB_OK && dlb_now_ns() < end_ns && !(got && answer.kind == DLB_LINK_READY))
        rc = dlb_link_wait(link, patience_ns / 10, &answer, &got, &ignored);
    if (rc != DLB_OK || !got || answer.kind != DLB_LINK_READY)
        return;
    dlb_torch_rings_names(self->job->trace, json_object_get(link->about, "names"));
    (void)json_object_del(link->about, "names");
    (void)json_object_update(self->told, link->about);
}

static void torch_dismiss(void *ld)
{
    struct torch *self = ld;
    struct dlb_err ignored;

    if (self->use_begun)
        take_stats(self);
    end_use(self);
    if (self->interpreter.link.keeper.pid > 0)
        (void)dlb_link_ask(&self->interpreter.link, DLB_LINK_STOP, 0, &ignored);
}

static int torch_stop(void *ld, struct dlb_err *err)
{
    struct torch *self = ld;

    torch_dismiss(self);
    if (self->bell_runs) {
        atomic_store(&self->stopping, true);
        (void)shutdown(self->interpreter.link.fd, SHUT_RDWR);
        dlb_event_signal(&self->question);
        (void)pthread_join(self->bell, NULL);
        self->bell_runs = false;
    }
    if (dlb_keeper_end(&self->interpreter.link.keeper, STOP_NS))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_WORKER_HANGS, self->interpreter.path, DLB_NO_OFFSET,
                    "a process of the interpreter does not end");
}

static void torch_stats(void *ld, struct dlb_loader_stats *out)
{
    struct torch *self = ld;

    dlb_os_process_add(&out->os, &self->use);
    out->private_bytes += self->pss_bytes;
    out->workers.n_samples += self->n_samples;
    out->workers.io_bytes = DLB_NOT_MEASURED; /* the data set's own code reads */
    out->runqueue_ns = DLB_NOT_MEASURED;
}

static json_t *torch_describe(void *ld)
{
    return json_incref(((struct torch *)ld)->told);
}

static void torch_close(void *ld)
{
    struct torch *self = ld;
    dlb_interpreter_close(&self->interpreter);
    json_decref(self->told);
    json_decref(self->rings);
}

const struct dlb_loader dlb_ld_torch = {
    .name = "torch",
    .summary = "PyTorch's DataLoader itself, in your interpreter",
    .state_bytes = sizeof(struct torch),
    .start = torch_start,
    .memory = torch_memory,
    .begin_epoch = torch_begin_epoch,
    .next = torch_next,
    .elsewhere = true,
    .foresee = torch_foresee,
    .measure = torch_measure,
    .release = torch_release,
    .dismiss = torch_dismiss,
    .stop = torch_stop,
    .stats = torch_stats,
    .describe = torch_describe,
    .close = torch_close,
};

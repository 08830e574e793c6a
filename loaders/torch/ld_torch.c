/* A PyTorch DataLoader in an interpreter of its own. Batches stay there: the cell asks for one, is
 * told of it, and counts its samples and bytes. The interpreter copies each batch once, as .to()
 * does from pageable memory; the consumer counts that as the copy.
 *
 * A batch is asked for when the consumer asks for it: with 0 workers it is loaded then, as in
 * PyTorch. With several accelerators a thread signals job->ready when the interpreter answers. */
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/base/json.h"
#include "core/base/remove.h"
#include "core/host/group.h"
#include "loaders/loader.h"
#include "loaders/python.h"
#include "loaders/torch/link.h"
#include "loaders/torch/scripts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SLICE_NS (50 * DLB_NS_PER_MS) /* longest sleep without a look at job->cancel */
#define STOP_NS (200 * DLB_NS_PER_MS) /* how long an interpreter may take to end by itself */
/* How long a ceiling delivers, and how many batches in any case. */
#define DELIVER_NS (2 * DLB_NS_PER_S)
#define MIN_DELIVERED 8

struct torch {
    const struct dlb_job *job;
    struct dlb_link link;
    char folder[PATH_MAX], interpreter[PATH_MAX]; /* folder: of the scripts; "": not made */
    bool asked;                                   /* for a batch that was not told of yet */
    uint64_t asked_ns;                            /* since when */
    uint64_t seq, n_delivered, n_samples, first_ns;
    struct dlb_event question; /* signalled for the bell when a batch is asked for */
    pthread_t bell;
    bool bell_runs;
    atomic_bool stopping;
    bool use_begun;
    struct dlb_os_process use; /* since the first epoch began */
    uint64_t pss_bytes;
};

/* The bell of several accelerators: whoever waits for any loader sleeps on one event. */
static void *ring(void *ld)
{
    struct torch *self = ld;
    struct pollfd wait = {.fd = self->link.fd, .events = POLLIN};
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

static int write_scripts(struct torch *self, struct dlb_err *err)
{
    const char *folder = self->job->scratch ? self->job->scratch : "/tmp";
    char path[PATH_MAX];
    int rc = DLB_OK;

    if (snprintf(path, sizeof path, "%s/python-XXXXXX", folder) >= (int)sizeof path - 64)
        return dlb_fail(err, DLB_ERR_SCRATCH_PATH_TOO_LONG, folder, DLB_NO_OFFSET,
                        "a path of more than %d bytes", PATH_MAX - 64);
    if (!mkdtemp(path))
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot make a folder");
    if (!realpath(path, self->folder)) /* the user's code may change the working folder */
        return dlb_fail_errno(err, path, DLB_NO_OFFSET, "cannot find a folder");
    for (const struct dlb_embedded *script = dlb_torch_scripts; rc == DLB_OK && script->name;
         script++) {
        (void)snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 64, self->folder, script->name);
        rc = dlb_write_file_atomic(path, script->bytes, script->n_bytes, err);
    }
    return rc;
}

static json_t *setup_of(const struct torch *self)
{
    const struct dlb_job *job = self->job;
    json_t *out = dlb_json_made(
        json_pack("{ss, sI, sI, sI, sI, sb}", "mode", job->ceiling ? "ceiling" : "measure", "rank",
                  (json_int_t)job->rank, "world", (json_int_t)job->world, "seed",
                  (json_int_t)job->seed, "samples", (json_int_t)job->dataset->shape.n_samples,
                  "iterable", job->dataset->shape.iterable));
    dlb_json_put(out, "settings", json_incref((json_t *)(uintptr_t)job->settings));
    return out;
}

static bool is_cancelled(const struct torch *self)
{
    return self->job->cancel && atomic_load(self->job->cancel);
}

static int fail_hanging(const struct torch *self, double waited_s, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_PYTHON_HANGS, self->interpreter, DLB_NO_OFFSET,
                    "no answer for %.3g s", waited_s);
}

/* Whether the interpreter may go on taking its time. */
static int check_patience(const struct torch *self, struct dlb_err *err)
{
    const struct dlb_pulse *pulse = self->job->pulse;
    double waited_s = (double)(dlb_now_ns() - self->asked_ns) / (double)DLB_NS_PER_S;
    double limit_s = self->job->opts->timeout_s;

    if (is_cancelled(self))
        return dlb_fail(err, DLB_ERR_CANCELLED, NULL, DLB_NO_OFFSET, "interrupted");
    if (self->asked && limit_s > 0 && waited_s > limit_s)
        return fail_hanging(self, waited_s, err);
    if (pulse && pulse->stall_ns > 0 && waited_s > (double)pulse->stall_ns / (double)DLB_NS_PER_S)
        return fail_hanging(self, waited_s, err);
    return DLB_OK;
}

/* Waits for the answer of this kind, which nothing but END can take the place of. */
static int await(struct torch *self, uint64_t kind, struct dlb_link_answer *answer,
                 struct dlb_err *err)
{
    bool got = false;
    int rc = DLB_OK;

    while (rc == DLB_OK && !got) {
        rc = dlb_link_wait(&self->link, SLICE_NS, answer, &got, err);
        if (rc == DLB_OK && !got)
            rc = check_patience(self, err);
    }
    if (rc == DLB_OK && answer->kind != kind)
        rc = dlb_fail(err, DLB_ERR_PYTHON_GARBAGE, self->interpreter, DLB_NO_OFFSET,
                      "answer %u instead of %u", (unsigned)answer->kind, (unsigned)kind);
    return rc;
}

/* The data set of the configuration, as the interpreter sees it, must be the same. */
static int check_same(const struct torch *self, struct dlb_err *err)
{
    uint64_t n = dlb_json_u64(self->link.about, "samples", UINT64_MAX);
    uint64_t known = self->job->dataset->shape.n_samples;

    if (n == UINT64_MAX || n == known)
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_PYTHON_DATA_DIFFER, self->interpreter, DLB_NO_OFFSET,
                    "PyTorch's data set has %llu samples, and dlbench counts %llu",
                    (unsigned long long)n, (unsigned long long)known);
}

/* Starts interpreters until one has torch. */
static int start_any(struct torch *self, struct dlb_err *err)
{
    const char *given = self->job->python->interpreter;
    struct dlb_link_answer answer;
    char script[PATH_MAX];
    json_t *setup = setup_of(self);
    int rc = dlb_fail(err, DLB_ERR_PYTHON_NO_TORCH, given[0] ? given : NULL, DLB_NO_OFFSET,
                      "%s: name one by python.interpreter",
                      given[0] ? "there is no such program" : "this machine has no python3");

    (void)snprintf(script, sizeof script, "%.*s/%s", PATH_MAX - 64, self->folder,
                   dlb_torch_scripts[0].name);
    for (uint32_t i = 0; rc != DLB_OK && err->code == DLB_ERR_PYTHON_NO_TORCH &&
                         dlb_python_candidate(given, i, self->interpreter);
         i++) {
        dlb_link_close(&self->link);
        self->asked_ns = dlb_now_ns();
        rc = dlb_link_open(&self->link, self->interpreter, script, setup, err);
        if (rc == DLB_OK)
            rc = await(self, DLB_LINK_READY, &answer, err);
    }
    json_decref(setup);
    return rc;
}

static int torch_start(void *ld, const struct dlb_job *job, struct dlb_err *err)
{
    struct torch *self = ld;

    self->job = job;
    self->link.fd = -1;
    int rc = write_scripts(self, err);
    if (rc == DLB_OK)
        rc = start_any(self, err);
    if (rc == DLB_OK)
        rc = check_same(self, err);
    return rc == DLB_OK ? start_bell(self, err) : rc;
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

    if (!self->use_begun)
        dlb_os_group(self->link.keeper.program, &self->use, &self->pss_bytes);
    self->use_begun = true;
    self->seq = 0;
    self->asked_ns = dlb_now_ns();
    int rc = dlb_link_ask(&self->link, DLB_LINK_EPOCH, epoch, err);
    return rc == DLB_OK ? await(self, DLB_LINK_BEGUN, &answer, err) : rc;
}

static int ask(struct torch *self, struct dlb_err *err)
{
    if (self->asked)
        return DLB_OK;
    int rc = dlb_link_ask(&self->link, DLB_LINK_NEXT, 0, err);
    self->asked_ns = dlb_now_ns();
    self->asked = rc == DLB_OK;
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

static int torch_next(void *ld, uint64_t timeout_ns, struct dlb_batch *out, bool *got,
                      struct dlb_err *err)
{
    struct torch *self = ld;
    const struct dlb_job *job = self->job;
    struct dlb_link_answer answer;
    bool answered = false;

    *got = false;
    if (!self->asked && is_overdue(self))
        return DLB_END;
    int rc = ask(self, err);
    if (rc == DLB_OK)
        rc = dlb_link_wait(&self->link, timeout_ns, &answer, &answered, err);
    if (rc != DLB_OK || !answered)
        return rc != DLB_OK ? rc : check_patience(self, err);
    self->asked = false;
    if (answer.kind == DLB_LINK_END)
        return DLB_END;
    if (answer.kind != DLB_LINK_BATCH || answer.number[0] > UINT32_MAX)
        return dlb_fail(err, DLB_ERR_PYTHON_GARBAGE, self->interpreter, DLB_NO_OFFSET,
                        "answer %u to a question for a batch", (unsigned)answer.kind);
    *out = (struct dlb_batch){.n_samples = (uint32_t)answer.number[0],
                              .n_bytes = (size_t)answer.number[1],
                              .ready_ns = answer.number[3],
                              .seq = self->seq};
    if (job->opts->num_workers > 0)
        out->worker = (uint32_t)(self->seq % (uint64_t)job->opts->num_workers);
    self->seq++;
    self->n_samples += out->n_samples;
    if (self->n_delivered++ == 0)
        self->first_ns = dlb_now_ns();
    *got = true;
    return DLB_OK;
}

static int torch_copy(void *ld, const struct dlb_batch *batch, struct dlb_err *err)
{
    struct torch *self = ld;
    struct dlb_link_answer answer;
    (void)batch;

    return await(self, DLB_LINK_COPIED, &answer, err);
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
    dlb_os_group(self->link.keeper.program, &now, &self->pss_bytes);
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

static void torch_dismiss(void *ld)
{
    struct torch *self = ld;
    struct dlb_err ignored;

    end_use(self);
    if (self->link.keeper.pid > 0)
        (void)dlb_link_ask(&self->link, DLB_LINK_STOP, 0, &ignored);
}

static int torch_stop(void *ld, struct dlb_err *err)
{
    struct torch *self = ld;

    torch_dismiss(self);
    if (self->bell_runs) {
        atomic_store(&self->stopping, true);
        (void)shutdown(self->link.fd, SHUT_RDWR);
        dlb_event_signal(&self->question);
        (void)pthread_join(self->bell, NULL);
        self->bell_runs = false;
    }
    if (dlb_keeper_end(&self->link.keeper, STOP_NS))
        return DLB_OK;
    return dlb_fail(err, DLB_ERR_WORKER_HANGS, self->interpreter, DLB_NO_OFFSET,
                    "a process of the interpreter does not end");
}

static void torch_stats(void *ld, struct dlb_loader_stats *out)
{
    struct torch *self = ld;

    dlb_os_process_add(&out->os, &self->use);
    out->private_bytes += self->pss_bytes;
    out->workers.n_samples += self->n_samples;
    out->runqueue_ns = DLB_NOT_MEASURED;
}

static void torch_close(void *ld)
{
    struct torch *self = ld;

    dlb_link_close(&self->link);
    if (self->folder[0])
        dlb_remove_tree(AT_FDCWD, self->folder);
}

const struct dlb_loader dlb_ld_torch = {
    .name = "torch",
    .summary = "PyTorch's DataLoader itself, in your interpreter",
    .state_bytes = sizeof(struct torch),
    .start = torch_start,
    .memory = torch_memory,
    .begin_epoch = torch_begin_epoch,
    .next = torch_next,
    .copy = torch_copy,
    .release = torch_release,
    .dismiss = torch_dismiss,
    .stop = torch_stop,
    .stats = torch_stats,
    .close = torch_close,
};

#include "loaders/worker/async_read.h"

#include "core/base/clock.h"
#include "loaders/uring.h"
#include "loaders/worker/readahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define WAKE_NS (50 * DLB_NS_PER_MS)       /* between looks at whether to stop */
#define CANCEL_NS (10 * DLB_NS_PER_MS)     /* between cancels: a chain's next step may have begun */
#define MAX_READ_BYTES (UINT32_C(1) << 30) /* the kernel cuts reads at 2 GiB */
/* Submitting a read costs a few microseconds. If it takes longer, the file system reads within the
 * call (as FUSE does), and nothing overlaps. */
#define HANDED_OVER_NS (100 * DLB_NS_PER_US)
enum { DEFAULT_DEPTH = 32, MIN_JUDGED = 4 };

/* A read in flight; its index is its number. */
struct request {
    uint32_t sample, piece;
    uint32_t n_awaited; /* completions; 0: free */
    int32_t opened;
    bool again; /* to be continued when its last completion has come */
    uint64_t since_ns;
    char *path; /* when the folder is not open; owned */
};

struct dlb_async {
    const struct dlb_worker_setup *setup;
    struct dlb_uring *ring;
    struct dlb_readahead ra;
    uint32_t depth, n_free;
    uint32_t n_prepared;     /* since the last submit */
    bool slow;               /* the last submit took too long */
    bool by_thread;          /* the kernel is to read in threads of its own */
    bool ending;             /* completions are only counted */
    bool registered;         /* registering the buffer was tried */
    struct request *request; /* [depth]; owned */
    uint32_t *free;          /* [depth] a stack of numbers; owned */
};

static struct dlb_io_meters *meters_of(struct dlb_async *a)
{
    return &dlb_worker_report_meters(a->setup->report)->io;
}

static void fall_back(struct dlb_worker_report *report, const char *why)
{
    struct dlb_io_used *io = &report->io;
    if (io->n_sync++ == 0)
        (void)snprintf(io->reason, sizeof io->reason, "%s", why);
}

/* NULL, or why loader.io = "auto" reads these data sample by sample. */
static const char *why_not(const struct dlb_worker_setup *setup)
{
    const struct dlb_dataset *ds = setup->job->dataset;
    if (setup->job->opts->io != DLB_READ_AUTO)
        return NULL;
    if (ds->shape.iterable || !ds->format->reader->locate || !dlb_access_locates(ds->access))
        return "these data are not read by the places of samples";
    if (dlb_uring_missing())
        return dlb_uring_missing();
    return setup->report->trial.over && !setup->report->trial.uring ? setup->report->io.reason
                                                                    : NULL;
}

int dlb_async_open(struct dlb_async **out, const struct dlb_worker_setup *setup, void *reader,
                   struct dlb_err *err)
{
    int64_t asked = setup->job->opts->io_depth;
    uint32_t depth = asked > 0 ? (uint32_t)asked : DEFAULT_DEPTH;
    struct dlb_uring *ring;
    char why[sizeof setup->report->io.reason];

    *out = NULL;
    const char *unfit = why_not(setup);
    if (!unfit && !dlb_uring_open(&ring, depth, why, sizeof why))
        unfit = why;
    if (unfit) {
        fall_back(setup->report, unfit);
        return DLB_OK;
    }
    struct dlb_async *a = calloc(1, sizeof *a);
    if (!a) {
        dlb_uring_close(ring);
        return dlb_fail_memory(err, NULL, sizeof *a);
    }
    *a = (struct dlb_async){.setup = setup, .ring = ring, .depth = depth};
    *out = a;
    a->request = calloc(depth, sizeof *a->request);
    a->free = calloc(depth, sizeof *a->free);
    if (!a->request || !a->free)
        return dlb_fail_memory(err, NULL, depth * (sizeof *a->request + sizeof *a->free));
    for (; a->n_free < depth; a->n_free++)
        a->free[a->n_free] = depth - 1 - a->n_free;
    setup->report->io.n_uring++;
    return dlb_readahead_open(&a->ra, setup, reader, depth, err);
}

/* The worker ends before it has chosen. */
static void leave_open(struct dlb_worker_report *report)
{
    report->io.n_uring--;
    report->io.n_undecided++;
    dlb_io_trial_text(&report->trial, report->io.reason, sizeof report->io.reason);
}

static bool is_trying(const struct dlb_async *a)
{
    return a->setup->job->opts->io == DLB_READ_AUTO && !a->setup->report->trial.over;
}

struct dlb_async *dlb_async_of(struct dlb_async *a)
{
    bool waits = a && a->setup->job->opts->io == DLB_READ_AUTO &&
                 !dlb_io_trial_uring(&a->setup->report->trial);
    return waits ? NULL : a;
}

void dlb_async_loaded(struct dlb_async *a, uint64_t ns, uint32_t n_samples)
{
    if (!a || !is_trying(a))
        return;
    struct dlb_worker_report *report = a->setup->report;
    if (!dlb_io_trial_add(&report->trial, ns, n_samples))
        return;
    dlb_io_trial_text(&report->trial, report->io.reason, sizeof report->io.reason);
    report->io.n_uring -= !report->trial.uring;
    report->io.n_sync += !report->trial.uring;
}

void dlb_async_close(struct dlb_async *a)
{
    if (!a)
        return;
    if (is_trying(a))
        leave_open(a->setup->report);
    dlb_async_abandon(a);
    dlb_uring_close(a->ring);
    dlb_readahead_close(&a->ra);
    for (uint32_t i = 0; a->request && i < a->depth; i++)
        free(a->request[i].path);
    free(a->request);
    free(a->free);
    free(a);
}

void dlb_async_begin(struct dlb_async *a, uint64_t first, uint32_t n, struct dlb_dest slot)
{
    a->ending = false;
    dlb_readahead_begin(&a->ra, first, n, slot);
}

/* The path to open when the folder is not open. It stays with the request until the kernel has read
 * it. */
static const char *whole_path(struct request *request, const struct dlb_extent *extent)
{
    free(request->path);
    if (asprintf(&request->path, "%s/%s", extent->folder, extent->name) < 0)
        request->path = NULL;
    return request->path ? request->path : ""; /* which is never found */
}

/* Prepares a read of the bytes that a piece still lacks. */
static void prepare(struct dlb_async *a, uint32_t number, uint64_t now_ns)
{
    struct request *request = &a->request[number];
    const struct dlb_ra_piece *piece = &a->ra.sample[request->sample].piece[request->piece];
    const struct dlb_extent *extent = &piece->extent;
    uint64_t left = piece->asked_bytes - piece->done_bytes;
    bool by_path = extent->fd < 0 && extent->dir_fd == DLB_IO_NO_DIR && extent->folder;
    struct dlb_uring_read what = {.fd = extent->fd,
                                  .dir_fd = extent->dir_fd,
                                  .name = by_path ? whole_path(request, extent) : extent->name,
                                  .direct = extent->align_bytes > 0,
                                  .by_thread = a->by_thread,
                                  .dst = piece->dst + piece->done_bytes,
                                  .n_bytes =
                                      left < MAX_READ_BYTES ? (uint32_t)left : MAX_READ_BYTES,
                                  .offset_bytes = piece->from_bytes + piece->done_bytes};

    request->opened = 0;
    request->again = false;
    request->since_ns = now_ns;
    request->n_awaited = dlb_uring_read(a->ring, number, &what);
    a->n_prepared++;
    if (a->depth - a->n_free > meters_of(a)->max_in_flight)
        meters_of(a)->max_in_flight = a->depth - a->n_free;
}

/* The common buffer is made for the first sample that needs it, before that sample is read. */
static void register_buffer(struct dlb_async *a)
{
    if (a->registered || !a->ra.buffer)
        return;
    a->registered = true;
    if (dlb_uring_register(a->ring, a->ra.buffer, a->ra.buffer_bytes))
        a->setup->report->io.n_registered++;
}

static void pump(struct dlb_async *a)
{
    uint64_t now_ns = dlb_now_ns();
    uint32_t sample, piece;

    while (a->n_free > 0 && dlb_readahead_next(&a->ra, &sample, &piece)) {
        uint32_t number = a->free[--a->n_free];
        register_buffer(a);
        a->request[number].sample = sample;
        a->request[number].piece = piece;
        prepare(a, number, now_ns);
    }
}

static void complete(struct dlb_async *a, const struct dlb_uring_done *done, uint64_t now_ns)
{
    struct request *request = &a->request[done->request];

    request->n_awaited--;
    if (done->step == DLB_URING_OPENED)
        request->opened = done->result;
    if (done->step == DLB_URING_READ && !a->ending) {
        dlb_hist_add(&meters_of(a)->request, now_ns - request->since_ns);
        if (request->opened >= 0 && done->result > 0)
            meters_of(a)->n_bytes += (uint64_t)done->result;
        request->again = !dlb_readahead_settle(&a->ra, request->sample, request->piece,
                                               request->opened, done->result);
    }
    if (request->n_awaited > 0)
        return;
    if (request->again && !a->ending) {
        meters_of(a)->n_again++;
        prepare(a, done->request, now_ns);
    } else {
        a->free[a->n_free++] = done->request;
    }
}

static void reap(struct dlb_async *a)
{
    struct dlb_uring_done done;
    uint64_t now_ns = 0;

    while (dlb_uring_next(a->ring, &done)) {
        now_ns = now_ns ? now_ns : dlb_now_ns();
        complete(a, &done, now_ns);
    }
}

/* No sample is to blame, so that none can be skipped. */
static int fail_ring(struct dlb_err *err, int code)
{
    const char *why = strerrordesc_np(-code); /* NULL: a number that only the kernel knows */
    int rc = dlb_fail(err, DLB_ERR_URING_FAILED, NULL, DLB_NO_OFFSET,
                      "handing reads to io_uring: error %d (%s)", -code, why ? why : "?");
    err->sys_errno = -code;
    return rc;
}

/* How often the thread has slept (voluntary context switches). */
static uint64_t sleeps_of_thread(void)
{
    struct rusage usage = {.ru_nvcsw = 0};
    (void)getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_nvcsw;
}

/* One slow submit may come from other work on this CPU. Two in a row, with a sleep for every other
 * read, come from the file system: then the kernel is told to read in its own threads. */
static int submit(struct dlb_async *a, struct dlb_err *err)
{
    uint32_t n = a->n_prepared;

    if (n == 0)
        return DLB_OK;
    a->n_prepared = 0;
    bool judged = n >= MIN_JUDGED && !a->by_thread;
    uint64_t n_sleeps = judged && a->slow ? sleeps_of_thread() : 0;
    uint64_t start_ns = dlb_now_ns();
    int code = dlb_uring_submit(a->ring, 0);
    bool slow = dlb_now_ns() - start_ns > n * HANDED_OVER_NS;
    if (judged && slow && a->slow)
        a->by_thread = sleeps_of_thread() - n_sleeps >= n / 2;
    if (judged)
        a->slow = slow;
    return code == 0 ? DLB_OK : fail_ring(err, code);
}

static int wait(struct dlb_async *a, uint64_t timeout_ns, struct dlb_err *err)
{
    int code = dlb_uring_submit(a->ring, timeout_ns);
    return code == 0 ? DLB_OK : fail_ring(err, code);
}

int dlb_async_take(struct dlb_async *a, struct dlb_dest dest, struct dlb_sample *out,
                   struct dlb_err *err)
{
    dlb_readahead_release(&a->ra);
    for (;;) {
        reap(a);
        /* Refills when half of the requests are free, so that many go to the kernel in one call. */
        if (a->n_free > a->depth / 2 || !dlb_readahead_ready(&a->ra))
            pump(a);
        bool handed_over = a->n_prepared > 0;
        int rc = submit(a, err);
        if (rc != DLB_OK)
            return rc;
        reap(a); /* reads from the page cache have completed */
        if (dlb_readahead_ready(&a->ra))
            return dlb_readahead_take(&a->ra, dest, out, err);
        if (dlb_worker_told_to_stop(a->setup))
            return DLB_E_CANCELLED;
        /* If reads completed within the call, there is room for more. So it waits only when nothing
         * was submitted. */
        if (!handed_over)
            rc = wait(a, WAKE_NS, err);
        if (rc != DLB_OK)
            return rc;
    }
}

void dlb_async_abandon(struct dlb_async *a)
{
    struct dlb_err ignored;

    if (!a || !a->request || !a->free)
        return;
    a->ending = true;
    while (a->n_free < a->depth) {
        for (uint32_t i = 0; i < a->depth; i++)
            if (a->request[i].n_awaited > 0)
                dlb_uring_cancel(a->ring, i);
        if (wait(a, CANCEL_NS, &ignored) != DLB_OK)
            break;
        reap(a);
    }
    if (a->ra.sample)
        dlb_readahead_begin(&a->ra, 0, 0, (struct dlb_dest){0});
}

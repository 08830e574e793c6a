#include "loaders/uring.h"

#include "core/base/clock.h"
#include "core/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DLB_HAVE_URING

#include <liburing.h>

/* A chain has three entries, and cancelling a request takes two more. */
enum { ENTRIES_PER_REQUEST = 5, CHAIN_ENTRIES = 3, STEP_BITS = 2, MAX_THREADS = 128 };
#define CANCEL_TAG UINT64_MAX

struct dlb_uring {
    struct io_uring ring;
    uint8_t *registered;
    size_t n_registered_bytes;
};

const char *dlb_uring_missing(void)
{
    return NULL;
}

static uint64_t tag_of(uint32_t request, enum dlb_uring_step step)
{
    return (uint64_t)request << STEP_BITS | (uint64_t)step;
}

static bool refuse(char *why, size_t n_why, const char *what, int code)
{
    (void)snprintf(why, n_why, "%s: %s%s", what, strerrordesc_np(code),
                   code == EPERM || code == EACCES
                       ? " (a seccomp filter, or the sysctl kernel.io_uring_disabled?)"
                   : code == ENOMEM ? " (RLIMIT_MEMLOCK?)"
                                    : "");
    return false;
}

/* SINGLE_ISSUER: one thread submits, which saves locks in kernels from 6.0 on. Not COOP_TASKRUN:
 * the next step of a chain would wait until the worker, which may decode, enters the kernel. */
static int init(struct io_uring *ring, uint32_t n_entries)
{
    struct io_uring_params params = {.flags = IORING_SETUP_SINGLE_ISSUER};
    int code = io_uring_queue_init_params(n_entries, ring, &params);
    if (code == -EINVAL) {
        params = (struct io_uring_params){0};
        code = io_uring_queue_init_params(n_entries, ring, &params);
    }
    return code;
}

/* A seccomp filter may allow a ring to be created and forbid its use. */
static int try_one(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    struct io_uring_cqe *cqe;

    io_uring_prep_nop(sqe);
    int code = io_uring_submit_and_wait(ring, 1);
    if (code < 0)
        return code;
    code = io_uring_wait_cqe(ring, &cqe);
    if (code == 0)
        io_uring_cqe_seen(ring, cqe);
    return code;
}

static int register_slots(struct io_uring *ring, uint32_t n)
{
    int *none = malloc(n * sizeof *none);
    if (!none)
        return -ENOMEM;
    memset(none, 0xff, n * sizeof *none);
    int code = io_uring_register_files(ring, none, n);
    free(none);
    return code;
}

/* Allows the kernel as many threads as reads may be in flight; by default it takes four for each
 * CPU. If it refuses, it uses fewer. */
static void allow_threads(struct io_uring *ring, uint32_t n_requests)
{
    unsigned n = n_requests < MAX_THREADS ? n_requests : MAX_THREADS;
    unsigned most[] = {n, n}; /* for files, and for all else */
    (void)io_uring_register_iowq_max_workers(ring, most);
}

bool dlb_uring_open(struct dlb_uring **out, uint32_t n_requests, char *why, size_t n_why)
{
    *out = NULL;
    struct dlb_uring *self = calloc(1, sizeof *self);
    if (!self)
        return refuse(why, n_why, "io_uring", ENOMEM);
    int code = init(&self->ring, n_requests * ENTRIES_PER_REQUEST);
    if (code < 0) {
        free(self);
        return refuse(why, n_why, "the kernel refuses io_uring", -code);
    }
    /* Before Linux 5.18 a chain's read looked up its file before the open had put it there. */
    if (!(self->ring.features & IORING_FEAT_LINKED_FILE)) {
        dlb_uring_close(self);
        (void)snprintf(
            why, n_why,
            "the kernel's io_uring cannot open and read in a chain: Linux 5.18 and newer "
            "can");
        return false;
    }
    code = try_one(&self->ring);
    if (code == 0)
        code = register_slots(&self->ring, n_requests);
    if (code < 0) {
        dlb_uring_close(self);
        return refuse(why, n_why, "the kernel makes an io_uring and refuses its use", -code);
    }
    allow_threads(&self->ring, n_requests);
    *out = self;
    return true;
}

void dlb_uring_close(struct dlb_uring *self)
{
    if (!self)
        return;
    io_uring_queue_exit(&self->ring);
    free(self);
}

bool dlb_uring_register(struct dlb_uring *self, void *memory, size_t n_bytes)
{
    struct iovec whole = {.iov_base = memory, .iov_len = n_bytes};

    if (self->registered || io_uring_register_buffers(&self->ring, &whole, 1) != 0)
        return false;
    self->registered = memory;
    self->n_registered_bytes = n_bytes;
    return true;
}

/* Makes room for n entries in a row: a submission must not cut a chain. */
static void make_room(struct io_uring *ring, unsigned n)
{
    while (io_uring_sq_space_left(ring) < n) {
        int code = io_uring_submit(ring);
        if (code < 0 && code != -EINTR && code != -EAGAIN && code != -EBUSY)
            DLB_BUG("io_uring takes no entries");
    }
}

static struct io_uring_sqe *entry(struct io_uring *ring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (!sqe)
        DLB_BUG("no room in the ring, though it was made");
    return sqe;
}

/* Called after the preparation of an entry, which clears flags and tag. */
static void finish(struct io_uring_sqe *sqe, unsigned flags, uint64_t tag)
{
    io_uring_sqe_set_flags(sqe, flags);
    io_uring_sqe_set_data64(sqe, tag);
}

static void prepare_read(struct dlb_uring *self, uint32_t request, int fd, unsigned flags,
                         const struct dlb_uring_read *what)
{
    struct io_uring_sqe *sqe = entry(&self->ring);
    const uint8_t *dst = what->dst;

    bool known = self->registered && dst >= self->registered &&
                 dst + what->n_bytes <= self->registered + self->n_registered_bytes;
    if (known)
        io_uring_prep_read_fixed(sqe, fd, what->dst, what->n_bytes, what->offset_bytes, 0);
    else
        io_uring_prep_read(sqe, fd, what->dst, what->n_bytes, what->offset_bytes);
    finish(sqe, flags | (what->by_thread ? IOSQE_ASYNC : 0), tag_of(request, DLB_URING_READ));
}

uint32_t dlb_uring_read(struct dlb_uring *self, uint32_t request, const struct dlb_uring_read *what)
{
    struct io_uring *ring = &self->ring;

    make_room(ring, CHAIN_ENTRIES);
    if (what->fd >= 0) {
        prepare_read(self, request, what->fd, 0, what);
        return 1;
    }
    /* Hard links: after a short read or a failed open, soft ones would skip the close. */
    struct io_uring_sqe *sqe = entry(ring);
    io_uring_prep_openat_direct(sqe, what->dir_fd, what->name,
                                O_RDONLY | (what->direct ? O_DIRECT : 0), 0, request);
    finish(sqe, IOSQE_IO_HARDLINK, tag_of(request, DLB_URING_OPENED));
    prepare_read(self, request, (int)request, IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK, what);
    sqe = entry(ring);
    io_uring_prep_close_direct(sqe, request);
    finish(sqe, 0, tag_of(request, DLB_URING_CLOSED));
    return CHAIN_ENTRIES;
}

void dlb_uring_cancel(struct dlb_uring *self, uint32_t request)
{
    make_room(&self->ring, 2);
    for (enum dlb_uring_step step = DLB_URING_OPENED; step <= DLB_URING_READ; step++) {
        struct io_uring_sqe *sqe = entry(&self->ring);
        io_uring_prep_cancel64(sqe, tag_of(request, step), 0);
        finish(sqe, 0, CANCEL_TAG);
    }
}

int dlb_uring_submit(struct dlb_uring *self, uint64_t timeout_ns)
{
    struct __kernel_timespec limit = {.tv_sec = (int64_t)(timeout_ns / DLB_NS_PER_S),
                                      .tv_nsec = (long long)(timeout_ns % DLB_NS_PER_S)};
    struct io_uring_cqe *cqe;
    int code = timeout_ns > 0 ? io_uring_submit_and_wait_timeout(&self->ring, &cqe, 1, &limit, NULL)
                              : io_uring_submit(&self->ring);

    if (code == -EAGAIN || code == -EBUSY) { /* short of memory: taking completions may help */
        (void)dlb_sleep_until_ns(dlb_now_ns() + 100 * DLB_NS_PER_US);
        return 0;
    }
    return code >= 0 || code == -EINTR || code == -ETIME ? 0 : code;
}

bool dlb_uring_next(struct dlb_uring *self, struct dlb_uring_done *out)
{
    struct io_uring_cqe *cqe;

    while (io_uring_peek_cqe(&self->ring, &cqe) == 0) {
        uint64_t tag = io_uring_cqe_get_data64(cqe);
        out->result = cqe->res;
        io_uring_cqe_seen(&self->ring, cqe);
        if (tag == CANCEL_TAG)
            continue;
        out->request = (uint32_t)(tag >> STEP_BITS);
        out->step = (enum dlb_uring_step)(tag & ((1u << STEP_BITS) - 1));
        return true;
    }
    return false;
}

#else

static const char missing[] = "built without liburing";

const char *dlb_uring_missing(void)
{
    return missing;
}

bool dlb_uring_open(struct dlb_uring **out, uint32_t n_requests, char *why, size_t n_why)
{
    (void)n_requests;
    *out = NULL;
    (void)snprintf(why, n_why, "%s", missing);
    return false;
}

void dlb_uring_close(struct dlb_uring *ring)
{
    (void)ring;
}

bool dlb_uring_register(struct dlb_uring *ring, void *memory, size_t n_bytes)
{
    (void)ring, (void)memory, (void)n_bytes;
    return false;
}

uint32_t dlb_uring_read(struct dlb_uring *ring, uint32_t request, const struct dlb_uring_read *what)
{
    (void)ring, (void)request, (void)what;
    return 0;
}

void dlb_uring_cancel(struct dlb_uring *ring, uint32_t request)
{
    (void)ring, (void)request;
}

int dlb_uring_submit(struct dlb_uring *ring, uint64_t timeout_ns)
{
    (void)ring, (void)timeout_ns;
    return -ENOSYS;
}

bool dlb_uring_next(struct dlb_uring *ring, struct dlb_uring_done *out)
{
    (void)ring, (void)out;
    return false;
}

#endif

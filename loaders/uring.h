/* The part of io_uring that reading samples needs. Only uring.c includes liburing.
 *
 * Floor 3. A ring belongs to the thread that opened it; open it after a fork. The caller numbers
 * its requests [0, n_requests), and reuses a number when it has taken all completions of it. */
#ifndef DLB_LOADERS_URING_H
#define DLB_LOADERS_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_uring;

/* NULL, or why this build lacks io_uring. Then dlb_uring_open fails, and no other function may be
 * called. */
const char *dlb_uring_missing(void);

/* False, with the reason in `why`, when the kernel refuses: it has no io_uring, forbids it
 * (seccomp, kernel.io_uring_disabled), cannot open files within a chain, or is out of memory. */
bool dlb_uring_open(struct dlb_uring **out, uint32_t n_requests, char *why, size_t n_why);
/* No read may be in flight, because the kernel might still write. NULL is fine. */
void dlb_uring_close(struct dlb_uring *ring);

/* Registers memory that reads go to, which saves the kernel a look-up of pages with each read;
 * once. False when the kernel refuses (RLIMIT_MEMLOCK): reads to that memory work all the same. */
bool dlb_uring_register(struct dlb_uring *ring, void *memory, size_t n_bytes);

struct dlb_uring_read {
    int fd; /* -1: `name` is opened, read and closed in one chain */
    int dir_fd;
    const char *name; /* borrowed until dlb_uring_submit */
    bool direct;      /* opened with O_DIRECT */
    bool by_thread;   /* the kernel is to read in a thread of its own from the start */
    void *dst;
    uint32_t n_bytes;
    uint64_t offset_bytes;
};

/* Prepares a read. It goes to the kernel with the next submit, or earlier when the queue is full.
 * Returns how many completions it will have. */
uint32_t dlb_uring_read(struct dlb_uring *ring, uint32_t request,
                        const struct dlb_uring_read *what);
/* Asks the kernel to cancel the rest of a request; it may still complete. */
void dlb_uring_cancel(struct dlb_uring *ring, uint32_t request);

/* Submits what is prepared. With timeout_ns > 0 it then waits for a completion, for at most that
 * long or until a signal. 0, or a negative errno: then the ring cannot be used any more. */
int dlb_uring_submit(struct dlb_uring *ring, uint64_t timeout_ns);

/* The steps of a chain complete in this order, also when they fail. */
enum dlb_uring_step { DLB_URING_OPENED, DLB_URING_READ, DLB_URING_CLOSED };
struct dlb_uring_done {
    uint32_t request;
    enum dlb_uring_step step;
    int32_t result; /* bytes, or a negative errno */
};
bool dlb_uring_next(struct dlb_uring *ring, struct dlb_uring_done *out); /* false: none now */

#endif

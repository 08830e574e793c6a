/* io_uring, as much of it as reading samples takes. The one file behind it sees liburing.
 *
 * Floor 3. A ring belongs to the thread that opened it, and to its process: it is made after the
 * fork. Requests are numbered [0, n_requests) by the caller, who uses a number again when all of
 * its completions have been taken. */
#ifndef DLB_LOADERS_URING_H
#define DLB_LOADERS_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dlb_uring;

/* NULL, or why this build has it not: then dlb_uring_open fails, and nothing else may be called. */
const char *dlb_uring_missing(void);

/* False with the reason, in words, where the kernel refuses: none there, forbidden (a seccomp
 * filter, kernel.io_uring_disabled), too old to open files within a chain, out of memory. */
bool dlb_uring_open(struct dlb_uring **out, uint32_t n_requests, char *why, size_t n_why);
/* Nothing may be in flight: the kernel might still write. NULL is fine. */
void dlb_uring_close(struct dlb_uring *ring);

/* Lets the kernel keep hold of memory that reads go to, which saves it looking up the pages of
 * each; once. False when it will not (RLIMIT_MEMLOCK): reads go there all the same. */
bool dlb_uring_register(struct dlb_uring *ring, void *memory, size_t n_bytes);

struct dlb_uring_read {
    int fd; /* or -1: name is opened, read, and closed, as a chain */
    int dir_fd;
    const char *name; /* borrowed until dlb_uring_submit */
    bool direct;      /* opened with O_DIRECT */
    bool by_thread;   /* the kernel reads in a thread of its own from the start */
    void *dst;
    uint32_t n_bytes;
    uint64_t offset_bytes;
};

/* Prepares a read; it goes to the kernel with the next submit, or before when many are prepared.
 * Returns how many completions will come of it. */
uint32_t dlb_uring_read(struct dlb_uring *ring, uint32_t request,
                        const struct dlb_uring_read *what);
/* Asks for what is left of a request to end, which it may do in any way. */
void dlb_uring_cancel(struct dlb_uring *ring, uint32_t request);

/* Hands over what is prepared; with timeout_ns > 0 waits for a completion, but no longer than that
 * or until a signal. 0, or a negative errno: the ring is of no more use. */
int dlb_uring_submit(struct dlb_uring *ring, uint64_t timeout_ns);

/* A chain's steps complete in this order, whether they work or not. */
enum dlb_uring_step { DLB_URING_OPENED, DLB_URING_READ, DLB_URING_CLOSED };
struct dlb_uring_done {
    uint32_t request;
    enum dlb_uring_step step;
    int32_t result; /* bytes, or a negative errno */
};
bool dlb_uring_next(struct dlb_uring *ring, struct dlb_uring_done *out); /* false: none now */

#endif

/* What torch's processes have left in /dev/shm.
 *
 * Floor 3, private to loaders/torch. One thread, of the keeper's process. torch makes shared memory
 * as /dev/shm/torch_<process>_<random>_<counter> and unlinks it at once, or has its
 * torch_shm_manager do it. A process that is killed in between leaves the file. */
#ifndef DLB_LOADERS_TORCH_LEFT_H
#define DLB_LOADERS_TORCH_LEFT_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct dlb_left {
    struct timespec since; /* by the clock of file systems */
    uint8_t *pids;         /* a bit for each number that a process can have; NULL: no memory */
};

/* Files that are older than this call stay. dlb_left_unlink frees what it takes. */
void dlb_left_begin(struct dlb_left *left);

/* `pid` was a process of ours, and is ended or killed. */
void dlb_left_add(struct dlb_left *left, pid_t pid);

/* Unlinks the files of the processes that were added, once all of them have ended. A file stays if
 * it is another user's, if its process's number is in use again, if it does not begin with zeros,
 * or if any process has it open or mapped, in whatever container. So does one where that cannot be
 * told: without leases of files. Returns how many were unlinked. */
uint32_t dlb_left_unlink(struct dlb_left *left);

#endif

/* The file that takes what a child process prints, on stdout and stderr.
 *
 * Floor 4. Control thread. The child writes on while these run: its file offset is shared, and is
 * left alone. */
#ifndef DLB_SCENARIOS_RUN_CHILD_LOG_H
#define DLB_SCENARIOS_RUN_CHILD_LOG_H

#include <stdbool.h>
#include <sys/types.h>

#define DLB_LOG_HEAD_BYTES (64 << 10)
#define DLB_LOG_BODY_BYTES (1 << 20) /* kept of what was printed last, at least */
#define DLB_LOG_TAIL_BYTES 240

struct dlb_child_log {
    int fd;     /* without O_APPEND */
    off_t cut;  /* bytes between head and here take no disk; 0: nothing is cut */
    bool whole; /* its file system has no holes (NFS before 4.2, vfat): all of it is kept */
};

/* Frees the disk space between the head and the last DLB_LOG_BODY_BYTES to twice as many, behind a
 * line "[N bytes cut]". What was printed last is not moved, so that no byte of it is lost. Called
 * often: between two calls the file grows by what is printed meanwhile. */
void dlb_child_log_bound(struct dlb_child_log *log);

/* The last line or so, on one line and from a whole character of UTF-8. Once the child has ended.
 */
void dlb_child_log_tail(const struct dlb_child_log *log, char text[DLB_LOG_TAIL_BYTES + 1]);

#endif

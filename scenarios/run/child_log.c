#include "scenarios/run/child_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES (64 << 10) /* a multiple of what file systems free */

void dlb_child_log_bound(struct dlb_child_log *log)
{
    struct stat st;
    char mark[64];

    if (log->whole || fstat(log->fd, &st) != 0)
        return;
    off_t from = log->cut > 0 ? log->cut : DLB_LOG_HEAD_BYTES;
    off_t to = (st.st_size - DLB_LOG_BODY_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
    if (to - from < DLB_LOG_BODY_BYTES)
        return;
    if (fallocate(log->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, to - from) != 0) {
        log->whole = errno != EINTR;
        return;
    }
    log->cut = to;
    int n = snprintf(mark, sizeof(mark), "\n[%" PRIu64 " bytes cut]\n",
                     (uint64_t)(to - DLB_LOG_HEAD_BYTES));
    if (pwrite(log->fd, mark, (size_t)n, DLB_LOG_HEAD_BYTES) < 0)
        return; /* only the mark is missing: the disk is full */
}

void dlb_child_log_tail(const struct dlb_child_log *log, char text[DLB_LOG_TAIL_BYTES + 1])
{
    off_t end = lseek(log->fd, 0, SEEK_END);
    off_t from = end > DLB_LOG_TAIL_BYTES ? end - DLB_LOG_TAIL_BYTES : 0;
    ssize_t n = pread(log->fd, text, DLB_LOG_TAIL_BYTES, from);
    size_t n_cut = 0;
    text[n > 0 ? n : 0] = '\0';
    while (from > 0 && ((unsigned char)text[n_cut] & 0xc0) == 0x80)
        n_cut++;
    memmove(text, text + n_cut, strlen(text + n_cut) + 1);
    for (char *at = text; (at = strpbrk(at, "\r\n"));)
        *at = ' ';
    for (size_t len = strlen(text); len > 0 && text[len - 1] == ' ';)
        text[--len] = '\0';
}

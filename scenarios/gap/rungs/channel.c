#include "scenarios/gap/rungs/channel.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

union descriptor_room {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int dlb_gap_send(int channel, const struct dlb_gap_message *message, int with_fd,
                 struct dlb_err *err)
{
    union descriptor_room room = {.bytes = {0}};
    struct iovec io = {.iov_base = (void *)(uintptr_t)message, .iov_len = sizeof *message};
    struct msghdr head = {.msg_iov = &io, .msg_iovlen = 1};

    if (with_fd >= 0) {
        head.msg_control = room.bytes;
        head.msg_controllen = sizeof room.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&head);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof with_fd);
        memcpy(CMSG_DATA(c), &with_fd, sizeof with_fd);
    }
    while (sendmsg(channel, &head, MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            return dlb_fail_errno(err, NULL, DLB_NO_OFFSET,
                                  "sending to or from a worker of a rung");
    return DLB_OK;
}

bool dlb_gap_readable(int channel, int timeout_ms)
{
    struct pollfd look = {.fd = channel, .events = POLLIN};
    return poll(&look, 1, timeout_ms) > 0;
}

int dlb_gap_receive(int channel, struct dlb_gap_message *message, int *fd, struct dlb_err *err)
{
    union descriptor_room room;
    struct iovec io = {.iov_base = message, .iov_len = sizeof *message};
    struct msghdr head = {.msg_iov = &io,
                          .msg_iovlen = 1,
                          .msg_control = room.bytes,
                          .msg_controllen = sizeof room.bytes};
    ssize_t n;

    *fd = -1;
    while ((n = recvmsg(channel, &head, MSG_CMSG_CLOEXEC)) < 0)
        if (errno != EINTR)
            return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "receiving from a worker of a rung");
    if (n != (ssize_t)sizeof *message)
        return dlb_fail(err, DLB_ERR_RUNG_WORKER_DIED, NULL, DLB_NO_OFFSET,
                        "a worker of the rung closed its channel");
    const struct cmsghdr *c = CMSG_FIRSTHDR(&head);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return DLB_OK;
}

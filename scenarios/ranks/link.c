#include "scenarios/ranks/link.h"

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/process.h"
#include "core/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_S 30   /* for all ranks to start, before rank 0 says that it waits */
#define START_S 300  /* ... and before it ends the job */
#define LATER_S 30   /* ... and after which another rank does, should rank 0 not be there */
#define LOOK_MS 50   /* between looks whether the user wants an end */
#define ROOM_MS 10   /* ... and whether the other process has read something */
#define REST_MS 2000 /* for the other process to read the rest, once nobody is to wait for it */

struct head {
    uint32_t kind;
    uint64_t n_bytes;
};

struct patience {
    const struct dlb_ranks_idle *idle; /* NULL: without end */
    uint64_t until_ns;                 /* 0: idle has not yet said false */
};

/* Waits until there is room for more, or it is time to look. False: no longer. */
static bool await_room(int fd, struct patience *patience)
{
    const struct dlb_ranks_idle *idle = patience->idle;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    (void)poll(&wait, 1, ROOM_MS);
    if (patience->until_ns == 0 && !idle->idle(idle->ctx))
        patience->until_ns = dlb_now_ns() + REST_MS * DLB_NS_PER_MS;
    return patience->until_ns == 0 || dlb_now_ns() < patience->until_ns;
}

static bool send_all(int fd, const void *bytes, size_t n_bytes, struct patience *patience)
{
    const char *at = bytes;
    int flags = MSG_NOSIGNAL | (patience->idle ? MSG_DONTWAIT : 0);
    while (n_bytes > 0) {
        ssize_t n = send(fd, at, n_bytes, flags);
        bool full = n < 0 && patience->idle && (errno == EAGAIN || errno == EWOULDBLOCK);
        if (full ? await_room(fd, patience) : n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t n_bytes)
{
    char *at = bytes;
    while (n_bytes > 0) {
        ssize_t n = recv(fd, at, n_bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

bool dlb_message_send_awake(int fd, enum dlb_message_kind kind, const void *bytes, size_t n_bytes,
                            const struct dlb_ranks_idle *idle)
{
    struct head head;
    memset(&head, 0, sizeof(head));
    head.kind = kind;
    head.n_bytes = n_bytes;
    struct patience patience = {.idle = idle};
    bool sent =
        send_all(fd, &head, sizeof(head), &patience) && send_all(fd, bytes, n_bytes, &patience);
    if (!sent && idle)
        (void)shutdown(fd, SHUT_WR); /* another message would be taken for the rest of this one */
    return sent;
}

bool dlb_message_send(int fd, enum dlb_message_kind kind, const void *bytes, size_t n_bytes)
{
    return dlb_message_send_awake(fd, kind, bytes, n_bytes, NULL);
}

bool dlb_message_receive(int fd, struct dlb_message *out)
{
    struct head head;
    if (!receive_all(fd, &head, sizeof(head)))
        return false;
    out->kind = (enum dlb_message_kind)head.kind;
    out->n_bytes = head.n_bytes;
    out->bytes = dlb_mem_new(head.n_bytes + 1);
    if (receive_all(fd, out->bytes, head.n_bytes))
        return true;
    free(out->bytes);
    out->bytes = NULL;
    return false;
}

static bool is_there_within(int fd, int ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t end_ns = dlb_now_ns() + (uint64_t)ms * DLB_NS_PER_MS, now_ns;
    int n;
    while ((n = poll(&wait, 1, ms)) < 0 && errno == EINTR) {
        now_ns = dlb_now_ns();
        ms = now_ns < end_ns ? (int)((end_ns - now_ns + DLB_NS_PER_MS - 1) / DLB_NS_PER_MS) : 0;
    }
    return n > 0;
}

bool dlb_message_is_there(int fd)
{
    return is_there_within(fd, 0);
}

int dlb_link_make(struct dlb_link *link, int *speaker_fd, struct dlb_err *err)
{
    int pair[2];
    memset(link, 0, sizeof(*link));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot make a pair of sockets");
    link->fd = pair[0];
    *speaker_fd = pair[1];
    link->meet_fd = memfd_create("dlbench-meet", MFD_CLOEXEC);
    if (link->meet_fd < 0 || ftruncate(link->meet_fd, (off_t)sizeof(*link->meet)))
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot make shared memory");
    link->meet =
        mmap(NULL, sizeof(*link->meet), PROT_READ | PROT_WRITE, MAP_SHARED, link->meet_fd, 0);
    if (link->meet == MAP_FAILED)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot map shared memory");
    return DLB_OK;
}

static struct dlb_link *joined;

/* A signal that comes late is about a command that has ended. */
static void on_cancel(int number)
{
    (void)number;
    if (atomic_load(&joined->meet->cancelled))
        atomic_store(&joined->cancel, true);
}

static pid_t speaker;

/* Of a scheduler that ends the job, or one of its machines: the speaker tells rank 0. */
static void hand_on(int number)
{
    atomic_store(&joined->cancel, true); /* its cell may have got it, too */
    if (getppid() == speaker)
        (void)kill(speaker, number);
}

/* Rank 0's runner has its own functions for all but the first. */
static void catch_signals(const struct dlb_link *link)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction cancels = {.sa_handler = on_cancel}, hands_on = {.sa_handler = hand_on};
    (void)sigemptyset(&cancels.sa_mask);
    (void)sigemptyset(&hands_on.sa_mask);
    (void)sigaction(SIGUSR1, &cancels, NULL);
    for (size_t i = 0; link->rank > 0 && i < sizeof(ends) / sizeof(*ends); i++)
        if (ends[i] != SIGHUP || !dlb_signal_is_ignored(SIGHUP)) /* nohup's */
            (void)sigaction(ends[i], &hands_on, NULL);
}

void dlb_link_begin(struct dlb_link *link)
{
    atomic_store(&link->cancel, false);
    if (atomic_load(&link->meet->cancelled)) /* its signal came before the command was read */
        atomic_store(&link->cancel, true);
}

/* The speaker is in MPI_Init, where a signal ends it: then the launcher ends the job. */
static int give_up(int limit_s, struct dlb_err *err)
{
    (void)kill(getppid(), SIGTERM);
    return dlb_fail(err, DLB_ERR_RANK_LOST, NULL, DLB_NO_OFFSET,
                    "not all ranks have started within %d s", limit_s);
}

static int lose(struct dlb_link *link, const char *why)
{
    if (!link->lost)
        (void)dlb_fail(&link->why, DLB_ERR_RANK_LOST, NULL, DLB_NO_OFFSET, "%s", why);
    link->lost = true;
    atomic_store(&link->cancel, true);
    return DLB_E_WORKER;
}

static void take_hello(struct dlb_link *link, const char *text)
{
    json_t *doc = json_loads(text, 0, NULL);
    link->rank = (uint32_t)dlb_json_u64(doc, "rank", 0);
    link->size = (uint32_t)dlb_json_u64(doc, "size", 1);
    link->local.rank = (uint32_t)dlb_json_u64(doc, "local_rank", 0);
    link->local.n = (uint32_t)dlb_json_u64(doc, "n_local", 0);
    dlb_json_take_text(doc, "node", link->node, sizeof(link->node));
    dlb_json_take_text(doc, "mpi", link->mpi, sizeof(link->mpi));
    json_decref(doc);
}

int dlb_link_join(struct dlb_link *link, struct dlb_err *err)
{
    struct dlb_message hello;
    joined = link;
    speaker = getppid();
    catch_signals(link);
    int limit_s = link->rank == 0 ? START_S : START_S + LATER_S;
    if (!is_there_within(link->fd, HELLO_S * 1000)) {
        if (link->rank == 0)
            dlb_say_note("waiting for MPI: after %d s not all ranks have started", HELLO_S);
        if (!is_there_within(link->fd, (limit_s - HELLO_S) * 1000))
            return give_up(limit_s, err);
    }
    if (!dlb_message_receive(link->fd, &hello))
        return DLB_END;
    int rc = hello.kind == DLB_SAY_HELLO ? DLB_OK : lose(link, hello.bytes);
    if (!rc)
        take_hello(link, hello.bytes);
    free(hello.bytes);
    *err = link->why;
    return rc;
}

/* A launcher that ends all ranks because of one kills the speakers of all: which was the first
 * cannot be seen from here, so that no rank is blamed. */
static int lose_speaker(struct dlb_link *link)
{
    return lose(link,
                "MPI has ended: the launcher ended the job because of some rank, or a process "
                "that it started was killed");
}

int dlb_link_send(struct dlb_link *link, enum dlb_message_kind kind, const json_t *doc,
                  struct dlb_err *err)
{
    char *text = doc ? dlb_mem_check(json_dumps(doc, JSON_COMPACT)) : NULL;
    if (!link->lost && !dlb_message_send(link->fd, kind, text, text ? strlen(text) : 0) &&
        !dlb_link_look(link)) /* it may have said why before it ended */
        (void)lose_speaker(link);
    dlb_event_signal(&link->meet->bell);
    free(text);
    *err = link->why;
    return link->lost ? DLB_E_WORKER : DLB_OK;
}

void dlb_link_pass_on(struct dlb_link *link, const atomic_bool *cancel)
{
    struct dlb_err ignored;
    if (cancel && atomic_load(cancel) && !atomic_exchange(&link->cancel, true))
        (void)dlb_link_send(link, DLB_SAY_CANCEL, NULL, &ignored);
}

/* Takes the next message; false: it was that a rank is gone, or the speaker is. */
static bool take(struct dlb_link *link, struct dlb_message *out)
{
    out->bytes = NULL;
    if (!dlb_message_receive(link->fd, out)) {
        (void)lose_speaker(link);
        return false;
    }
    if (out->kind != DLB_SAY_LOST)
        return true;
    (void)lose(link, out->bytes);
    free(out->bytes);
    out->bytes = NULL;
    return false;
}

int dlb_link_await(struct dlb_link *link, enum dlb_message_kind kind, const atomic_bool *cancel,
                   struct dlb_message *out, struct dlb_err *err)
{
    out->bytes = NULL;
    while (!link->lost) {
        while (cancel && !link->lost && !is_there_within(link->fd, LOOK_MS))
            dlb_link_pass_on(link, cancel);
        if (!take(link, out))
            break;
        if (out->kind == kind)
            return DLB_OK;
        free(out->bytes);
    }
    *err = link->why;
    return DLB_E_WORKER;
}

bool dlb_link_look(struct dlb_link *link)
{
    struct dlb_message message;
    atomic_fetch_add(&link->meet->n_signs, 1);
    while (!link->lost && dlb_message_is_there(link->fd))
        if (take(link, &message))
            free(message.bytes);
    return link->lost;
}

#include "loaders/torch/link.h"

#include "core/base/clock.h"
#include "core/base/escape.h"
#include "core/base/json.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PACKET_BYTES 65536
#define MAX_SETUP_BYTES (128 << 10) /* fits into a socket's buffer as systems have them */
#define PIP_NAME_BYTES 100
#define MAX_REASON 300              /* bytes of it in a message */
#define DYING_NS (2 * DLB_NS_PER_S) /* between the end of a channel and that of its process */

static int start(struct dlb_link *link, const char *script, bool quiet, struct dlb_err *err)
{
    int ends[2];
    char fd[16],
        *argv[] = {(char *)(uintptr_t)link->interpreter, (char *)(uintptr_t)script, fd, NULL};

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return dlb_fail_errno(err, NULL, DLB_NO_OFFSET, "cannot make a socket");
    (void)snprintf(fd, sizeof fd, "%d", DLB_KEEPER_FD);
    link->fd = ends[0];
    int rc = dlb_keeper_start(&link->keeper, argv, ends[1], quiet, err);
    (void)close(ends[1]);
    return rc;
}

/* The channel is closed: how the interpreter ended. */
static int fail_ended(struct dlb_link *link, struct dlb_err *err)
{
    uint64_t end_ns = dlb_now_ns() + DYING_NS;
    char how[80] = "closed its channel, and still runs";

    while (!dlb_keeper_ended(&link->keeper) && dlb_now_ns() < end_ns)
        (void)dlb_sleep_until_ns(dlb_now_ns() + DLB_NS_PER_MS);
    int status = link->keeper.status;
    if (link->keeper.error)
        return dlb_fail(err, DLB_ERR_PYTHON_NOT_FOUND, link->interpreter, DLB_NO_OFFSET,
                        "it cannot be run: %s", strerror(link->keeper.error));
    if (link->keeper.ended && WIFSIGNALED(status))
        (void)snprintf(how, sizeof how, "was ended by signal %d (%s)", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
    else if (link->keeper.ended)
        (void)snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(status));
    return dlb_fail(err, DLB_ERR_PYTHON_ENDED, link->interpreter, DLB_NO_OFFSET,
                    "the interpreter %s in the middle of its work: run the same code by itself",
                    how);
}

/* What send() says of a channel whose other end is closed. */
static bool is_over(int error)
{
    return error == EPIPE || error == ECONNRESET;
}

int dlb_link_open(struct dlb_link *link, const char *interpreter, const char *script, bool quiet,
                  const json_t *setup, struct dlb_err *err)
{
    *link = (struct dlb_link){.fd = -1, .interpreter = interpreter};
    int rc = start(link, script, quiet, err);
    if (rc != DLB_OK)
        return rc;
    char *text = dlb_json_dumped(setup, JSON_COMPACT | JSON_ENSURE_ASCII);
    size_t n = strlen(text);
    if (n > MAX_SETUP_BYTES)
        rc =
            dlb_fail(err, DLB_ERR_CONFIG_TOO_LARGE, NULL, DLB_NO_OFFSET,
                     "the settings have %zu bytes as JSON; up to %d can be given to an interpreter",
                     n, MAX_SETUP_BYTES);
    else if (send(link->fd, text, n, MSG_NOSIGNAL) < 0)
        rc = is_over(errno) ? fail_ended(link, err)
                            : dlb_fail_errno(err, link->interpreter, DLB_NO_OFFSET,
                                             "cannot send the settings");
    free(text);
    return rc;
}

void dlb_link_close(struct dlb_link *link)
{
    (void)dlb_keeper_end(&link->keeper, 0);
    if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
    json_decref(link->about);
    link->about = NULL;
}

static int fail_garbage(struct dlb_link *link, struct dlb_err *err)
{
    return dlb_fail(err, DLB_ERR_PYTHON_GARBAGE, link->interpreter, DLB_NO_OFFSET,
                    "the interpreter answered what is no answer: does the code write to descriptor "
                    "%d?",
                    DLB_KEEPER_FD);
}

/* The codes that dlbench_serve.py may name; any other counts as an exception. */
static enum dlb_code code_of(const char *name)
{
    char full[64];

    (void)snprintf(full, sizeof full, "E_%.50s", name);
    enum dlb_code code = dlb_code_by_name(full);
    return code < DLB_N_CODES && dlb_code_status(code) >= DLB_E_IO ? code : DLB_ERR_PYTHON_RAISED;
}

/* What pip calls the package that holds a module. */
static void name_for_pip(const char *module, char out[PIP_NAME_BYTES])
{
    static const char *const differ[][2] = {{"PIL", "pillow"},
                                            {"cv2", "opencv-python"},
                                            {"skimage", "scikit-image"},
                                            {"sklearn", "scikit-learn"},
                                            {"yaml", "pyyaml"}};
    size_t n = strcspn(module, ".");

    for (size_t i = 0; i < sizeof differ / sizeof *differ; i++)
        if (strlen(differ[i][0]) == n && strncmp(module, differ[i][0], n) == 0) {
            module = differ[i][1];
            n = strlen(module);
            break;
        }
    if (n >= PIP_NAME_BYTES)
        n = PIP_NAME_BYTES - 1;
    memcpy(out, module, n);
    out[n] = '\0';
}

/* Of as many frames as there is room for, the innermost first: it alone may be cut. */
static void say_where(const json_t *frames, char *where, size_t n_where)
{
    size_t len = 0;
    for (size_t i = json_array_size(frames); i-- > 0;) {
        const char *frame = json_string_value(json_array_get(frames, i));
        int n = snprintf(where + len, n_where - len, "%s%s", len ? ", from " : " at ",
                         frame ? frame : "");
        if (n < 0 || (size_t)n >= n_where - len) {
            where[len > 0 ? len : n_where - 1] = '\0';
            break;
        }
        len += (size_t)n;
    }
}

static int fail_as_told(struct dlb_link *link, const json_t *doc, struct dlb_err *err)
{
    enum dlb_code code = code_of(dlb_json_text(doc, "code"));
    const char *reason = dlb_json_text(doc, "reason"), *package = dlb_json_text(doc, "package");
    const json_t *frames = json_object_get(doc, "frames");
    char where[300] = "", pip[PIP_NAME_BYTES];

    say_where(frames, where, sizeof where);
    if (code == DLB_ERR_PYTHON_PACKAGE_MISSING) {
        name_for_pip(package, pip);
        return dlb_fail(err, code, link->interpreter, DLB_NO_OFFSET,
                        "it has no package %s: `%s -m pip install %s`, unless it is your own",
                        package, link->interpreter, pip);
    }
    return dlb_fail(err, code, link->interpreter, DLB_NO_OFFSET, "%.*s%s%s",
                    DLB_CUT(reason, MAX_REASON), strlen(reason) > MAX_REASON ? "..." : "", where);
}

/* A packet with JSON behind its kind. */
static int take_document(struct dlb_link *link, const char *packet, size_t n, uint64_t kind,
                         struct dlb_err *err)
{
    json_t *doc = json_loadb(packet + sizeof kind, n - sizeof kind, JSON_ALLOW_NUL, NULL);
    int rc = DLB_OK;

    if (!json_is_object(doc))
        rc = fail_garbage(link, err);
    else if (kind == DLB_LINK_FAILED)
        rc = fail_as_told(link, doc, err);
    if (rc != DLB_OK) {
        json_decref(doc);
        return rc;
    }
    json_decref(link->about);
    link->about = doc;
    return DLB_OK;
}

static int take(struct dlb_link *link, struct dlb_link_answer *out, struct dlb_err *err)
{
    union {
        struct dlb_link_answer answer;
        char bytes[MAX_PACKET_BYTES];
    } packet;

    ssize_t n = recv(link->fd, &packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && errno == ECONNRESET) /* a question lies unread there; here may lie an answer */
        n = recv(link->fd, &packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC);
    if (n <= 0)
        return fail_ended(link, err);
    if ((size_t)n > sizeof packet || (size_t)n < sizeof packet.answer.kind)
        return fail_garbage(link, err);
    uint64_t kind = packet.answer.kind;
    *out = (struct dlb_link_answer){.kind = kind};
    if (kind == DLB_LINK_READY || kind == DLB_LINK_FAILED)
        return take_document(link, packet.bytes, (size_t)n, kind, err);
    if (n != sizeof packet.answer || kind > DLB_LINK_END)
        return fail_garbage(link, err);
    *out = packet.answer;
    return DLB_OK;
}

int dlb_link_ask(struct dlb_link *link, enum dlb_link_question question, uint64_t number,
                 struct dlb_err *err)
{
    uint64_t words[2] = {question, number};
    struct dlb_link_answer last;

    if (send(link->fd, words, sizeof words, MSG_NOSIGNAL) == sizeof words)
        return DLB_OK;
    if (!is_over(errno))
        return dlb_fail_errno(err, link->interpreter, DLB_NO_OFFSET, "cannot ask for a batch");
    int rc = take(link, &last, err); /* it answers ahead: it may have said why it ended */
    return rc == DLB_OK ? fail_ended(link, err) : rc;
}

int dlb_link_wait(struct dlb_link *link, uint64_t timeout_ns, struct dlb_link_answer *out,
                  bool *got, struct dlb_err *err)
{
    /* A process that outlives a killed keeper can hold the channel open. */
    struct pollfd wait[] = {{.fd = link->fd, .events = POLLIN},
                            {.fd = link->keeper.told_fd, .events = POLLIN}};
    struct timespec limit = dlb_timespec(timeout_ns);

    *got = false;
    if (ppoll(wait, 2, &limit, NULL) <= 0)
        return DLB_OK;
    *got = true;
    return wait[0].revents ? take(link, out, err) : fail_ended(link, err);
}
